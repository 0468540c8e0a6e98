"""Private cross-validation.

A secret draw assigns each row to a fold, independently of the data. A row takes part in all fits
except that of its fold, so at most ``nfold - 1`` of the ``nfold`` fits add up for it; it takes part
in the metric of one fold, so the metrics of the folds do not add up. The fits use nine tenths of
the budget and the metrics one tenth. Metrics on public rows are free, and the fits then use the
whole budget.

Private metrics are those of ``dpboost.evaluate`` with folds as groups: all metrics of a round are
one charge. They are released for a few rounds, after the last one, because fewer releases have less
noise; the rounds between repeat them. Metrics on public rows are computed for each round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv
from numpy.typing import NDArray

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import InvalidParameterError, RefusedError, check_integer
from dpboost._utils.warnings import of_table, one_warning, warn_once, without_advice
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import Claim, claim
from dpboost.budgeting.windows import Window
from dpboost.data.containers import unpack
from dpboost.data.evaluation_rows import is_training_set
from dpboost.data.table import Reading, read
from dpboost.data.users import read_users, sample_rows, take_rows
from dpboost.estimators.cv_callbacks import (
    CVBooster,
    mean_lines,
    run_callbacks,
    without_early_stopping,
)
from dpboost.estimators.fit_arguments import Feval
from dpboost.estimators.intake import asked_privacy, declared_features
from dpboost.estimators.train import build_estimator, check_dataset, labels_for, listed
from dpboost.lightgbm.dataset import rows_of
from dpboost.lightgbm.parameters import (
    ParameterWarning,
    canonical_names,
    is_silent,
    value_of,
)
from dpboost.model_selection.fold_metrics import FoldMetric, release_fold_metrics
from dpboost.model_selection.fold_rounds import (
    ModelAtRound,
    check_rounds,
    chosen_rounds,
    divided,
    number_of_folds,
    repeated,
)
from dpboost.model_selection.secret_folds import deal_folds
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import DELTA_SHARE, PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.recording import note
from dpboost.privacy.release_record import record_of_folds
from dpboost.recipes import ALGORITHMS
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.reporting.terms import ReleaseSummary
from dpboost.schema import Schema
from dpboost.training.inputs import (
    known_classes,
    nominal_columns,
    note_labels,
    read_labels,
    read_weights,
)
from dpboost.training.privacy_params import warn_of_sum
from dpboost.training.public_schema import check_learnable
from dpboost.transcripts.recorded import recorded
from dpboost.transcripts.transcript import Transcript

#: Part of the budget that pays for the metrics.
METRIC_SHARE = Fraction(1, 10)
#: Rounds that divide it by default.
METRIC_ROUNDS = 5


class CVResults(dict[str, Any]):
    """The result of ``cv``: LightGBM's dict, with the report of all fits and metrics.

    ``privacy_report`` covers all fits and metrics together; each model has a separate report. In a
    federated cross-validation ``party_reports`` has one for each party. ``transcript`` contains all
    fits and metrics, for `dpboost.replay`.

    Examples
    --------
    >>> import dpboost
    >>> X = np.random.default_rng(0).uniform(size=(500, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> params = {"objective": "regression", "schema": schema, "verbosity": -1}
    >>> result = dpboost.cv(params, dpboost.Dataset(X, X[:, 0]), num_boost_round=5, nfold=2)
    >>> {name: len(values) for name, values in result.items()}
    {'valid l2-mean': 5, 'valid l2-stdv': 5}
    >>> result.privacy_report.epsilon_spent <= 1
    True
    """

    privacy_report: PrivacyReport
    party_reports: tuple[PrivacyReport, ...]
    transcript: Transcript


def _keep(results: CVResults, transcript: Transcript) -> CVResults:
    """Return the results with their transcript."""
    results.transcript = transcript
    return results


@recorded(_keep)
@one_warning
def cv(
    params: Mapping[str, Any],
    train_set: lightgbm.Dataset,
    num_boost_round: int | None = None,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,
    shuffle: bool = True,
    metrics: Any = None,
    feval: Any = None,
    init_model: Any = None,
    fpreproc: None = None,
    seed: int = 0,
    callbacks: Sequence[Callable[..., Any]] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
    *,
    public_sets: Any = None,
    metric_rounds: int | str = METRIC_ROUNDS,
    budget: Budget | DisjointTable | Window | None = None,
    fraction: Any = None,
) -> CVResults:
    """Cross-validate privately: all fits and metrics are one mechanism.

    Parameters
    ----------
    params : dict
        As in :func:`dpboost.train`.
    train_set : Dataset
        As in :func:`dpboost.train`.
    num_boost_round : int, optional
        As in :func:`dpboost.train`.
    folds : KFold, StratifiedKFold, SecretKFold or iterable of (train, test), optional
        Only the number of folds is used, with a warning: a secret random assignment determines the
        fold of each row. Splitters by groups or by time are refused.
    nfold : int, default=5
        Number of folds, from 2 to 100.
    stratified, shuffle, seed
        Ignored, for compatibility: a secret random assignment determines the fold of each row.
    metrics : str or list of str, optional
        LightGBM's names, or those of ``dpboost.evaluate``. The default is the metric of the
        objective, and none for a function. Private metrics are ``l1``, ``l2``, ``rmse``,
        ``quantile``, ``binary_logloss``, ``binary_error``, ``multi_logloss``, ``multi_error`` and
        those of ``dpboost.evaluate``, such as ``auc``; all rows have the same weight. Other metrics
        are ``nan``, with a warning, unless there are ``public_sets``.
    feval : callable or list of callable, optional
        Custom metrics. A metric that agrees with a private one on synthetic rows is replaced by
        it. Others have no known bound and are ``nan`` without ``public_sets``.
    init_model : str, Path or Booster, optional
        Model to continue.
    fpreproc : None
        Refused, because a function of all rows has no bound.
    callbacks : list of callable, optional
        Callbacks before a round run in every fit. Callbacks after a round run once all fits are
        finished, on the metrics of every round. Early stopping uses the released rounds.
    eval_train_metric : bool
        Metrics of the training rows are not released: they are ``nan``, with a warning.
    return_cvbooster : bool, default=False
        Whether the result contains the models, as ``"cvbooster"``.
    public_sets : Dataset or list of Dataset, optional
        Public rows, on which metrics are computed in each round, at no cost.
    metric_rounds : int or "all", default=5
        Number of rounds with released metrics, evenly spaced from the first to the last; 1 means
        the last one only. They divide a tenth of the budget. Rounds in between repeat the metrics
        of the previous one, with a warning.
    budget : Budget, optional
        Budget whose ledger records all fits and metrics, as one line; it replaces ``epsilon`` and
        ``delta``. Inside ``with Budget(...)`` that budget by default.
    fraction : float or Fraction, optional
        Fraction of the budget for all of them, in (0, 1].

    Returns
    -------
    CVResults
        A dict of lists named ``"valid l2-mean"`` and ``"valid l2-stdv"``, or by the public set,
        with one value for each round up to the best; and ``privacy_report``.

    Raises
    ------
    InvalidParameterError
        For invalid parameters, before anything is drawn or charged.
    BudgetExceededError
        If too little of the budget remains; nothing is drawn or charged.

    Privacy
    -------
    Uses ``epsilon``, or its fraction of the budget, once: the whole result, including the models,
    satisfies the guarantee that ``privacy_report`` states.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}}
    >>> params = {"objective": "binary", "epsilon": 4.0, "schema": schema, "verbosity": -1}
    >>> result = dpboost.cv(params, dpboost.Dataset(X, y), num_boost_round=10, nfold=3)
    >>> sorted(result)
    ['valid binary_logloss-mean', 'valid binary_logloss-stdv']
    >>> result.privacy_report.epsilon_spent <= 4  # of all fits and their scores together
    True
    """
    if fpreproc is not None:
        raise RefusedError(
            "The 'fpreproc' argument of cv is refused: a function of all rows has no bound. "
            "Compute columns from their own row only, before cv."
        )
    nfold, remark = number_of_folds(folds, nfold)
    note("folds", nfold)
    check_rounds(metric_rounds)
    check_integer("nfold", "cv", nfold, low=2, high=100)
    chosen = dict(params)
    if metrics is not None:
        names = canonical_names()
        chosen = {name: value for name, value in chosen.items() if names.get(name) != "metric"}
        chosen["metric"] = metrics
    public = listed(public_sets)
    for each in public:
        check_dataset(each, "public_sets")
        if isinstance(train_set, lightgbm.Dataset) and is_training_set(each, train_set):
            raise RefusedError(
                "public_sets contains the training set: leave it out, so that metrics are "
                "released privately, or pass public rows."
            )
    rows = getattr(train_set, "data", None)
    taken = claim(
        budget,
        fraction,
        what="cv",
        rows=train_set if rows is None else rows,
        call="cv",
        belongs=(rows,),
        carrier=train_set,
    )
    with without_advice(is_silent(chosen)):
        run = _Run(
            chosen, train_set, num_boost_round, nfold, public, feval, init_model, callbacks, taken
        )
        run.metric_rounds = metric_rounds
        run.remarks += [] if remark is None else [remark]
        if eval_train_metric:
            run.remarks.append(
                "eval_train_metric: metrics of the training rows are nan, as each is a query of "
                "its own, without a charge"
            )
            run.of_training = True
        return run.results(return_cvbooster)


class _Run:
    """One cross-validation, from the random assignment to the results."""

    metric_rounds: int | str
    of_training = False

    def __init__(
        self,
        params: dict[str, Any],
        train_set: lightgbm.Dataset,
        num_boost_round: int | None,
        n_folds: int,
        public: list[Any],
        feval: Any,
        init_model: Any,
        callbacks: Sequence[Callable[..., Any]] | None,
        taken: Claim | None,
    ) -> None:
        self.n_folds = n_folds
        self.public = public
        self.feval = listed(feval)
        self.init_model = init_model
        self.train_set = train_set
        given = list(dict.fromkeys(callbacks or ()))
        for position, callback in enumerate(given):
            callback.__dict__.setdefault("order", position - len(given))
        self.before = [each for each in given if getattr(each, "before_iteration", False)]
        after = [each for each in given if not getattr(each, "before_iteration", False)]
        self.after = sorted(after, key=attrgetter("order"))
        self.params, stopping = without_early_stopping(params)
        self.estimator, self.labels = build_estimator(
            self.params, train_set, num_boost_round, owner="cv"
        )
        self.after += stopping
        rows, self.weight = rows_of(train_set), train_set.weight
        rows = declared_features(self.estimator, rows)
        self.rows = rows
        own = self.estimator.get_params()
        if np.ndim(own.get("alpha")):
            raise InvalidParameterError(
                "The 'alpha' parameter of cv must be one number: metrics are of one prediction a "
                "row. Cross-validate each quantile by itself."
            )
        # Batches are looked at first: their labels are kept, and not read a second time.
        self.table = read(rows, Schema.coerce(own["schema"]), Reading())
        if self.labels is None:
            labels, weight = rows.labels()
            self.labels = labels_for(self.estimator, labels)
            if self.weight is None or isinstance(self.weight, str):
                self.weight = weight
        self.remarks: list[str] = []
        self.asked, self.unpaid = ([], []) if public else self._paid_metrics()
        self.recipe = ALGORITHMS.find(own["recipe"], "cv")
        self.privacy = asked_privacy("cv", own, taken).settled(self.recipe.accountant)
        task = "classification" if hasattr(self.estimator, "predict_proba") else "regression"
        known = read_labels(self.labels, self.table.n_rows, task)
        # A fold may lack a class that is public.
        self.known_classes = known_classes(known, task, self.privacy)
        note_labels(known, self.known_classes)
        self.lines: list[list[Any]] = []
        named = train_set.categorical_feature
        columns: tuple[Any, ...] = () if isinstance(named, str) else tuple(named)
        facts = self.table.columns
        check_learnable(
            self.privacy.schema.resolve(self.table.feature_names),
            facts,
            task=task,
            assume_public=self.privacy.assume_public,
            nominal=nominal_columns(columns, self.table, self.privacy.schema, "cv"),
            epsilon=self.privacy.epsilon,
            delta=self.privacy.learning_delta,
            why=self.privacy.why_no_names,
        )
        of_table(facts.key)
        warn_of_sum(self.privacy, facts)
        # A fit would see them as well, but maybe not the first one.
        read_weights(self.weight, self.table.n_rows)

    def results(self, return_cvbooster: bool) -> CVResults:
        """Draw the folds, fit, and release the metrics."""
        share = METRIC_SHARE if self.asked else Fraction(0)
        ledger = self._ledger(share)
        rows, users = self._rows(ledger)
        units = np.arange(len(rows)) if users is None else users[rows]
        fold = deal_folds(ledger.row_coins(), self.n_folds, units)
        part = ((1 - share) / (self.n_folds - 1), self.n_folds)
        models = [
            self._fit(position, rows[fold != position], part) for position in range(self.n_folds)
        ]
        booster = CVBooster()
        booster.boosters = [model.booster_ for model in models]
        history: list[list[Any]] = []
        judged = None
        if self.public:  # of folds that have rounds by their own released sizes, those of all
            history = [mean_lines(lines) for lines in zip(*self.lines, strict=False)]
        elif self.asked or self.unpaid:
            n_rounds = min(map(len, self.lines))
            judged = chosen_rounds(n_rounds, self.metric_rounds)
            history = self._history(models, rows, fold, ledger, judged, n_rounds)
        if self.of_training:
            history = [[*map(_of_training, lines), *lines] for lines in history]
        if self.remarks:
            text = "; ".join(self.remarks)
            warn_once(f"Of what cv was asked for, this is different: {text}.", ParameterWarning)
        results = CVResults(
            run_callbacks(booster, history, callbacks=self.after, params=self.params, judged=judged)
        )
        if return_cvbooster:
            results["cvbooster"] = booster
        results.privacy_report = self._report(ledger, [m.privacy_report_ for m in models])
        return results

    def _ledger(self, share: Fraction) -> Ledger:
        """Open the ledger of the metrics, whose entropy also assigns rows to folds.

        Under a budget the first fit records the whole charge, after all checks.
        """
        request = replace(self.privacy, part=(share or Fraction(1), self.n_folds))
        if request.claim is not None:
            request = replace(request, claim=replace(request.claim, booked=True))
        return request.ledger(request.accountant(self.recipe))

    def _rows(self, ledger: Ledger) -> tuple[NDArray[np.intp], NDArray[np.int64] | None]:
        """Return the rows that take part: all, or a sample of the rows of each user."""
        n_rows = self.table.n_rows
        ids, most = getattr(self.train_set, "user_ids", None), self.privacy.rows_per_user
        if (ids is None) != (most is None):
            raise InvalidParameterError(
                "cv needs rows_per_user=... and Dataset(..., user_ids=...) together to protect "
                "users: pass both or neither."
            )
        if most is None:
            return np.arange(n_rows), None
        users = read_users(ids, n_rows)
        return sample_rows(users, most, ledger.row_coins().words(0, n_rows)), users

    def _fit(self, position: int, rows: NDArray[np.intp], part: tuple[Fraction, int]) -> Any:
        """Fit on the rows of all folds but one."""
        data = self.train_set
        n_rows = self.table.n_rows
        scores = None if data.init_score is None else np.asarray(data.init_score)
        if scores is not None and scores.ndim == 1 and len(scores) > n_rows > 0:
            scores = scores.reshape(-1, n_rows).T  # one class after the other
        own = {
            "sample_weight": self.weight,
            "init_score": scores,
            "user_ids": getattr(data, "user_ids", None),
        }
        given = {
            name: take_rows(np.asarray(value), rows)
            for name, value in own.items()
            if value is not None
        }
        if self.init_model is not None:
            given["init_model"] = self.init_model
        if self.public:
            given["eval_set"] = [
                (unpack(each), labels_for(self.estimator, each.label)) for each in self.public
            ]
            given["eval_sample_weight"] = [each.weight for each in self.public]
            given["eval_init_score"] = [each.init_score for each in self.public]
            given["eval_metric"] = [Feval(function) for function in self.feval]
        model = type(self.estimator)(**self.estimator.get_params())
        model._part = part
        if self.known_classes is not None:
            model._known_classes = tuple(self.known_classes)
        if self.privacy.claim is not None:
            model._claim = replace(self.privacy.claim, booked=position > 0)
        if model.noise_seed is not None:
            model.noise_seed += 1 + position
        lines: list[Any] = []
        self.lines.append(lines)

        def record(env: CallbackEnv) -> None:
            lines.append(env.evaluation_result_list)

        return model.fit(
            take_rows(self.rows, rows),
            take_rows(np.asarray(self.labels), rows),
            callbacks=[*self.before, record],
            feature_name=data.feature_name,
            categorical_feature=data.categorical_feature,
            **given,
        )

    def _paid_metrics(self) -> tuple[list[FoldMetric], list[tuple[str, bool]]]:
        """Return the private metrics, and the names of metrics that have no bound."""
        classifier = hasattr(self.estimator, "predict_proba")
        n_classes = len(Schema.coerce(self.estimator.schema).classes or ()) if classifier else 0
        asked = value_of(self.params, "metric")
        if isinstance(asked, str):
            asked = asked.split(",")
        if not asked and callable(self.estimator.objective):
            asked = []  # as in LightGBM: no metric belongs to a function
        elif not asked:
            asked = ["l2"]
            if classifier:
                asked = ["multi_logloss" if n_classes > 2 else "binary_logloss"]
        found, unpaid = divided(
            list(asked),
            [Feval(function) for function in self.feval],
            n_classes=n_classes,
            raw=classifier and callable(self.estimator.objective),
            quantile=value_of(self.params, "objective") == "quantile",
        )
        if unpaid:
            names = ", ".join(name for name, _ in unpaid)
            self.remarks.append(
                f"{names}: nan, as no bound is known of what they compute from private rows; give "
                "public rows in public_sets"
            )
        return found, unpaid

    def _history(
        self,
        models: list[Any],
        rows: NDArray[np.intp],
        fold: NDArray[np.int32],
        ledger: Ledger,
        judged: list[int],
        n_rounds: int,
    ) -> list[list[Any]]:
        """Return the metrics of every round, of which some are released."""
        unknown = [("valid", name, np.nan, best, np.nan) for name, best in self.unpaid]
        if not self.asked:
            return [list(unknown) for _ in range(n_rounds)]
        earlier = [model.booster_.current_iteration() - n_rounds for model in models]
        released = {}
        for position in judged:
            shown = models
            if position < n_rounds:
                shown = [
                    ModelAtRound(model, before + position)
                    for model, before in zip(models, earlier, strict=True)
                ]
            released[position] = self._release(shown, rows, fold, ledger, len(judged))
        if len(judged) < n_rounds:
            shown_rounds = ", ".join(map(str, judged))
            which = f"of rounds {shown_rounds}, and repeated until the next of these"
            if len(judged) == 1:
                which = f"of round {n_rounds} alone, and nan before it"
            self.remarks.append(
                f"metrics are released {which}; metric_rounds='all' releases each, with more noise"
            )
        return [[*lines, *unknown] for lines in repeated(released, n_rounds)]

    def _release(
        self,
        models: list[Any],
        rows: NDArray[np.intp],
        fold: NDArray[np.int32],
        ledger: Ledger,
        n_releases: int,
    ) -> list[Any]:
        """Release every metric of every fold, on the rows that its model was not trained on."""
        reports = [model.privacy_report_ for model in models]
        held = []
        for position in range(self.n_folds):
            own = rows[fold == position]
            held.append((take_rows(self.rows, own), take_rows(np.asarray(self.labels), own)))
        found = release_fold_metrics(
            self.asked,
            models,
            held,
            budget=self._capacity(ledger, reports) * METRIC_SHARE / n_releases,
            ledger=ledger,
            alike=self.privacy.rows_per_user or 1,
        )
        return [
            ("valid", name, float(np.mean(values)), better, float(np.std(values)))
            for name, values, better in found
        ]

    def _capacity(self, ledger: Ledger, fits: list[PrivacyReport]) -> PrivacyCost:
        """Return the total budget, given the delta of the fits."""
        inner = replace(self.privacy, part=None).accountant(self.recipe)
        return inner.capacity(ledger.epsilon, self._delta_left(ledger, fits))

    def _delta_left(self, ledger: Ledger, fits: list[PrivacyReport]) -> Fraction:
        """Return the remaining delta after the stability histograms of all fits."""
        each = replace(self.privacy, part=(Fraction(1), self.n_folds)).histogram_delta
        each = ledger.delta * DELTA_SHARE if each is None else each
        return ledger.delta - each * sum(map(_histograms, fits))

    def _report(self, ledger: Ledger, fits: list[PrivacyReport]) -> PrivacyReport:
        """Return the total for a row: all fits except the cheapest, and the metrics."""
        inner = replace(self.privacy, part=None).accountant(self.recipe)
        left = self._delta_left(ledger, fits)
        fact = (
            f"{self.n_folds} folds by secret random assignment; a row is in "
            f"{self.n_folds - 1} fits and in "
            f"{'one metric' if self.asked else 'no metric'}"
            f"{': those are of public rows' if self.public else ''}"
        )
        own = PrivacyReport.from_ledger(
            ledger,
            assumed_public=fits[0].assumed_public,
            facts={"cross-validation": fact, **self.privacy.facts},
            not_private=[why for why in fits[0].reasons if why not in ledger.reasons],
            rows_per_user=self.privacy.rows_per_user,
            budget=self.privacy.budget_record,
        )
        if own.accountant == "pure":
            own = replace(own, delta_spent=ledger.delta - left)
        records = [fit.accounting for fit in fits if fit.accounting is not None]
        return report_of_folds(
            own, fits[0], [fit.spent for fit in fits], records, ledger, inner, left
        )


def report_of_folds(
    own: PrivacyReport,
    first: PrivacyReport,
    costs: Sequence[PrivacyCost],
    records: Sequence[dict[str, Any]],
    ledger: Ledger,
    inner: Accountant,
    left: Fraction,
) -> PrivacyReport:
    """Return the report of a cross-validation: all fits except the cheapest, and the metrics.

    ``own`` and ``ledger`` are those of the metrics, ``first`` is the report of the first fit;
    ``costs`` and ``records`` are the charge of each fit and its releases, ``inner`` is the
    accountant of the total.
    """
    spent = sum(sorted(costs)[1:], ledger.spent)
    return replace(
        own,
        # A model that all fits continue was released once.
        kind=first.kind,
        earlier_epsilon=first.earlier_epsilon,
        earlier_delta=first.earlier_delta,
        capacity=inner.capacity(ledger.epsilon, left),
        spent=spent,
        # What is spent was never allowed to pass the capacity of the epsilon asked for.
        epsilon_spent=min(inner.epsilon(spent, left), float(ledger.epsilon)),
        releases=metric_lines(own),
        accounting=record_of_folds(records, own.accounting or {}, inner, left),
    )


def metric_lines(own: PrivacyReport) -> tuple[ReleaseSummary, ...]:
    """Return the lines of the metrics' report, with their shares of the whole budget."""
    return tuple(
        replace(line, share=line.share and line.share * METRIC_SHARE) for line in own.releases
    )


def _histograms(fit: PrivacyReport) -> int:
    """Return how many stability histograms a fit has released."""
    learned = str(fit.facts["learned"]).split(", ")
    return sum(name in learned for name in ("categories", "class labels"))


def _of_training(line: Any) -> tuple[Any, ...]:
    """Return a line of the training rows, which are not evaluated."""
    return ("train", line[1], np.nan, line[3], np.nan)


cv.__doc__ = with_effects(cv, effects=OF_CALLS)
