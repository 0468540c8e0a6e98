"""Metrics of a released model on private rows, with one charge on a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpboost._utils.parameter_effects import OF_CALLS, with_effects
from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.budgeting.budget import Budget, DisjointTable
from dpboost.budgeting.claim import claim
from dpboost.budgeting.windows import Window
from dpboost.data.declared_rows import Declaration
from dpboost.data.users import read_users, sample_rows
from dpboost.evaluating.class_figures import CLASS_METRICS
from dpboost.evaluating.evaluated_rows import (
    Groups,
    is_classifier,
    predicted_rows,
    read_rows,
    scored_rows,
)
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.gate import Gate, accountant_of, request_of
from dpboost.evaluating.number_figures import NUMBER_METRICS
from dpboost.evaluating.released_figures import Found, of_classes, of_numbers
from dpboost.privacy.queries import handle_of
from dpboost.privacy.recording import note
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.evaluation_queries import PredictedRows, ScoredRows
from dpboost.transcripts.call import TableForm
from dpboost.transcripts.recorded import by_declaration, recorded
from dpboost.transcripts.transcript import Transcript


def keep_evaluation(found: Any, transcript: Transcript) -> Any:
    """Return an evaluation, or released histograms, with their transcript."""
    return replace(found, transcript=transcript)


def _declaration_of(model: Any) -> tuple[Declaration | None, str]:
    """Return what a data dictionary declared at the fit of a model, and the task."""
    task = "classification" if is_classifier(model) else "regression"
    return vars(model).get("_declaration"), task


def _no_line(model: Any, line: str) -> None:
    """Say nothing of columns that are left out: the fit has said it."""


@by_declaration(_declaration_of, _no_line)
@recorded(keep_evaluation)
def evaluate(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    budget: Budget | DisjointTable | Window | None = None,
    fraction: Any = None,
    metrics: Sequence[str] | None = None,
    groups: Any = None,
    user_ids: Any = None,
    num_iteration: int | None = None,
) -> Evaluation:
    """Evaluate a released model on private rows, under a budget.

    Parameters
    ----------
    model : estimator
        Fitted estimator of this library. Its prediction for a row depends only on that row.
    X : table of shape (n_rows, n_features), optional
        Private rows in memory. None for the rows that ``model.fit(..., holdout=...)`` held out
        under the same budget.
    y : array-like of shape (n_rows,), optional
        Labels. Rows with classes that the model does not know are left out; numbers are clipped to
        its label bounds.
    budget : Budget, optional
        Budget whose ledger records it. Inside ``with Budget(...)`` that budget by default.
    fraction : float or Fraction
        Fraction of the budget, in (0, 1].
    metrics : sequence of str, optional
        For a classifier ``accuracy``, ``log_loss``, ``brier``, ``auc`` and ``calibration_error``;
        for a regressor ``rmse``, ``mae``, ``r2`` and ``quantile_loss``. All by default;
        ``quantile_loss`` needs a model of ``objective="quantile"``.
    groups : str or int, or (column or array-like of shape (n_rows,), names), optional
        Groups of rows that are also evaluated separately: a column of X whose values the schema
        of the model or ``names`` lists. At most 1,000 values.
    user_ids : array-like of shape (n_rows,), optional
        User of each row; needed if the budget protects users.
    num_iteration : int, optional
        Number of first rounds of the model to evaluate; all by default. Evaluations of several
        numbers of rounds give a learning curve; each of them has a separate charge.

    Returns
    -------
    Evaluation
        Metrics with intervals, curves, ``plot()`` and a privacy report.

    Raises
    ------
    InvalidParameterError
        For invalid arguments, before anything is drawn or charged, and without a budget.
    BudgetExceededError
        If too little of the budget remains; nothing is drawn or charged.

    Privacy
    -------
    Records its fraction once, for any number of metrics. Rows that trained the model may be used:
    the charge then adds to that of the fit. Held-out rows took part in no release of the fit, so
    the larger of the two sums of charges counts.

    For a classifier it releases the positions of its scores (7.5 % of the charge; labels are not
    used) and one histogram of rows by group, score bin and label. For a regressor it releases the
    magnitudes of the errors (a twentieth of the charge) and sums of errors, clipped to these
    magnitudes. Everything else is computed from these releases. The model is assumed to be
    released: its report states the guarantee of its training.

    Notes
    -----
    Log-odds are clipped to 8 in absolute value, so the log loss of a row is at most 8. Bins of
    scores contain about the same number of rows, fewer near even odds. Inside a bin, rows follow
    the histogram of scores.
    Intervals assume a normal distribution. Their variance is the known variance of the noise plus
    the sampling variance, estimated from counts. If users are protected, all rows of a user are
    assumed to be equal, so intervals are conservative.
    ``calibration_error`` is the root mean square over bins, minus the average contribution of
    noise and sample. Several classes: ``auc`` is the mean
    over classes against the rest, ``brier`` the sum over classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import Budget, DPBoostClassifier, evaluate
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> budget = Budget(epsilon=2, delta=1e-6)
    >>> model = DPBoostClassifier(schema=dict(bounds={0: (-4, 4), 1: (-4, 4)}, classes=[0, 1]))
    >>> model = model.fit(X, y, budget=budget, fraction=0.8, holdout=0.3)
    >>> found = evaluate(model, budget=budget, fraction=0.8)
    >>> found["auc"].low <= found["auc"].value <= found["auc"].high
    True
    """
    classifier = is_classifier(model)
    _check_one_number(model)
    rounds = _rounds(model, num_iteration)
    taken = claim(budget, fraction, what="evaluate", rows=X, call="evaluate", carrier=model)
    if taken is None:
        raise InvalidParameterError(
            "evaluate needs a budget, because it releases metrics of private rows: pass "
            "budget=dpboost.Budget(...) and fraction=..., or open a budget by `with "
            "Budget(...)`."
        )
    held = X is None and y is None
    if held:
        if user_ids is not None:
            raise refuse("user_ids", "evaluate", "None without X and y", "an array")
        rows, part = taken.budget.held_out(model)
        taken = replace(taken, part=part)
        X, y, user_ids = rows.X, rows.y, rows.users
        users_too = user_ids is not None
        note("held", {"table": TableForm.of(X), "users": users_too, "part": part})
    elif X is None or y is None:
        raise InvalidParameterError("evaluate needs both X and y, or neither of them.")
    names = metric_names(model, metrics)
    if classifier:
        note("classes", tuple(model.classes_.tolist()))
    X, n_rows = read_rows(X, "evaluate")
    of_group = Groups.read(groups, X, n_rows, model, held=held)
    most = taken.budget.rows_per_user
    if (user_ids is None) != (most is None):
        raise InvalidParameterError(
            "evaluate needs a budget with rows_per_user and user_ids=... together to protect "
            "users: pass both or neither."
        )
    users = None if user_ids is None else read_users(user_ids, n_rows)
    request = request_of(taken)
    own: ScoredRows | PredictedRows
    # A warning about an odd cell would tell that there is one.
    with np.errstate(all="ignore"):
        if classifier:
            own, known = scored_rows(model, X, y, n_rows, of_group.codes, **rounds)
        else:
            own = predicted_rows(model, X, y, n_rows, of_group.codes, **rounds)
            known = np.ones(n_rows, dtype=bool)
    ledger = request.ledger(accountant_of(request))
    chosen = np.arange(n_rows)
    if users is not None and most is not None:
        chosen = sample_rows(users, most, ledger.row_coins().words(0, n_rows))
    gate = Gate(handle_of(own.take(chosen[known[chosen]])), ledger)
    metrics_found, by_group, curves, notes = release_figures(
        model, gate, of_group, names, alike=most or 1
    )
    report = PrivacyReport.from_ledger(
        ledger,
        facts={
            "evaluated": type(model).__name__,
            "metrics": ", ".join(names),
            **rounds,
            **request.facts,
        },
        rows_per_user=most,
        budget=request.budget_record,
    )
    found = Evaluation(
        metrics=metrics_found,
        groups=by_group,
        curves=curves,
        report=report,
        notes=notes,
        held_out=held,
    )
    if held:
        # For the page of the model. What is released of its rows stays released.
        model.held_out_scores_ = found
    return found


def release_figures(
    model: Any, gate: Gate, groups: Groups, names: Sequence[str], *, alike: int
) -> Found:
    """Release the metrics of a model with the whole budget of a gate.

    Classes, or label bounds and level, of the model are looked at; it predicts nothing here. The
    gate is that to the rows that it has predicted, of which ``alike`` may be one and the same.
    """
    terms: dict[str, Any] = {"budget": gate.ledger.capacity, "alike": alike}
    with gate.ledger.sequential("evaluation"):
        if is_classifier(model):
            return of_classes(model.classes_.tolist(), gate, groups, names, **terms)
        bounds = model.schema_.label_bounds
        return of_numbers(bounds, quantile_level(model), gate, groups, names, **terms)


def _number_metrics(model: Any) -> tuple[str, ...]:
    """Return the metrics of a regressor: the quantile loss needs a level."""
    return NUMBER_METRICS if quantile_level(model) is not None else NUMBER_METRICS[:-1]


def quantile_level(model: Any) -> float | None:
    """Return the level of a model of a quantile."""
    objective = str(model.ensemble_.objective)
    if objective.split(" ")[0] != "quantile":
        return None
    level = getattr(model, "alpha", None)
    return 0.9 if level is None else float(level)


def _rounds(model: Any, num_iteration: Any) -> dict[str, int]:
    """Return the arguments of ``predict`` for the number of rounds: none if all are evaluated."""
    if num_iteration is None:
        return {}
    if not hasattr(model, "booster_"):
        raise refuse("num_iteration", "evaluate", "None for a model without rounds", num_iteration)
    most = int(model.booster_.current_iteration())
    return {
        "num_iteration": check_integer("num_iteration", "evaluate", num_iteration, low=1, high=most)
    }


def _check_one_number(model: Any) -> None:
    """Raise for a model of several quantiles."""
    ensemble = getattr(model, "ensemble_", None)
    if ensemble is not None and ensemble.n_outputs > 1 and not is_classifier(model):
        raise InvalidParameterError(
            "The 'model' parameter of evaluate must predict one number, but this one predicts "
            "several quantiles: fit a model with one alpha and evaluate it."
        )


def metric_names(model: Any, metrics: Any) -> tuple[str, ...]:
    """Return the requested metrics of a model, each once; all of them for None."""
    known = CLASS_METRICS if is_classifier(model) else _number_metrics(model)
    if metrics is None:
        return known
    asked = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    if not asked or not all(name in known for name in asked):
        raise refuse("metrics", "evaluate", f"among {', '.join(known)}", asked)
    return tuple(dict.fromkeys(asked))


evaluate.__doc__ = with_effects(evaluate, effects=OF_CALLS)
