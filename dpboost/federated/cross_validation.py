"""Cross-validation over parties: a fit for each fold and one evaluation, under one budget.

Each party assigns its rows to folds by a secret random draw. A row takes part in all fits except
that of its fold, and the model of that fold is evaluated on it, so every row uses the same budget.
All fits and the evaluation are one session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.estimators.cv_callbacks import CVBooster, run_callbacks
from dpboost.evaluating.evaluation import Evaluation
from dpboost.federated.estimators import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    estimator_of,
    simulate_tables,
)
from dpboost.federated.protocol.agreement import MOST_FOLDS, AgreedFolds, Agreement
from dpboost.federated.training.agreed_fit import facts, shares
from dpboost.federated.training.session_run import Result, asked_metrics, check
from dpboost.model_selection.cross_validation import CVResults, metric_lines
from dpboost.model_selection.fold_metrics import FoldMetric
from dpboost.reporting.privacy_report import PrivacyReport

_OWNER = "cv"


def cv_agreement(
    model: Any,
    n_parties: int,
    features: Sequence[str],
    identities: Sequence[str] = (),
    *,
    nfold: int = 5,
    metrics: Any = None,
    weighted: bool = False,
    init_model: Any = None,
) -> Agreement:
    """Return the terms of a cross-validation in one session, for review by all data holders.

    Parameters
    ----------
    model : FederatedBoostingClassifier or FederatedBoostingRegressor
        Parameters as for a fit; the budget is that of all fits and their evaluation.
    n_parties, features, identities, weighted, init_model
        As in its ``agreement``.
    nfold : int, default=5
        2 to 100.
    metrics : str or list of str, optional
        As of `cv`.

    Returns
    -------
    Agreement

    Raises
    ------
    InvalidParameterError
        If parameters are invalid, or a part of the budget is too small for a fit.

    Examples
    --------
    >>> from dpboost.federated import FederatedBoostingClassifier
    >>> schema = {"bounds": {"age": (0, 100)}, "classes": [0, 1]}
    >>> terms = cv_agreement(FederatedBoostingClassifier(schema=schema), 3, ["age"], nfold=4)
    >>> terms.folds.n_folds
    4
    """
    kinds = (FederatedBoostingClassifier, FederatedBoostingRegressor)
    if not isinstance(model, kinds):
        must = "a FederatedBoostingClassifier or FederatedBoostingRegressor"
        raise refuse("model", _OWNER, must, type(model).__name__)
    check_integer("nfold", _OWNER, nfold, low=2, high=MOST_FOLDS)
    if np.ndim(model.alpha):
        raise InvalidParameterError(
            "The 'alpha' parameter of cv must be one number: metrics are of one prediction a row. "
            "Cross-validate each quantile by itself."
        )
    whole = model.agreement(
        n_parties, features, identities, weighted=weighted, init_model=init_model
    )
    asked = tuple(metrics.split(",") if isinstance(metrics, str) else metrics or ())
    terms = replace(whole, folds=AgreedFolds(n_folds=nfold, metrics=asked))
    check(terms)
    return terms


@one_warning
def cv(
    model: Any,
    parties: Sequence[tuple[Any, Any]],
    nfold: int = 5,
    metrics: Any = None,
    init_model: Any = None,
    return_cvbooster: bool = False,
    *,
    sample_weight: Sequence[Any] | None = None,
    user_ids: Sequence[Any] | None = None,
) -> CVResults:
    """Simulate a cross-validation with all parties in this process.

    Parameters
    ----------
    model : FederatedBoostingClassifier or FederatedBoostingRegressor
        Parameters as for a fit; not fitted itself. Its budget is that of all fits and metrics.
    parties : sequence of (X, y)
        Rows and labels of each of at least two parties; some may be empty arrays.
    nfold : int, default=5
        2 to 100.
    metrics : str or list of str, optional
        LightGBM's names, or those of ``dpboost.evaluate``, as of ``dpboost.cv``; all rows weigh
        the same.
    init_model : estimator, Booster, str or path, optional
        Model to continue.
    return_cvbooster : bool, default=False
        Whether the result contains the models, as ``"cvbooster"``.
    sample_weight, user_ids : sequence of array-like, optional
        Of the rows of each party, as of the model's ``fit``.

    Returns
    -------
    CVResults
        As in ``dpboost.cv``: lists of one value named ``"valid l2-mean"`` and ``"valid l2-stdv"``,
        over the folds, ``privacy_report`` of all fits and metrics together, and ``party_reports``
        of the parties, from their ledgers.

    Raises
    ------
    InvalidParameterError
        For invalid parameters, before anything is drawn or charged.

    Privacy
    -------
    Uses the model's ``epsilon`` once for all fits and metrics. Each party assigns its rows to folds
    by a secret random draw; all rows of an individual at one party are in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost.federated import FederatedBoostingRegressor
    >>> X = np.random.default_rng(0).uniform(size=(600, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> model = FederatedBoostingRegressor(epsilon=4, n_estimators=5, schema=schema, verbosity=0)
    >>> result = cv(model, [(X[part::2], X[part::2, 0]) for part in range(2)], nfold=3)
    >>> sorted(result)
    ['valid l2-mean', 'valid l2-stdv']
    >>> result.privacy_report.epsilon_spent <= 4
    True
    """
    refuse_budget(_OWNER, carrier=model)
    terms = {"nfold": nfold, "metrics": metrics, "init_model": init_model}
    agree = partial(cv_agreement, model, weighted=sample_weight is not None, **terms)
    found = simulate_tables(_OWNER, parties, agree, sample_weight=sample_weight, user_ids=user_ids)
    results = results_of(found.coordinator, model, return_cvbooster=return_cvbooster)
    results.party_reports = tuple(_report(one) for one in found.parties)
    return results


def results_of(found: Result, model: Any = None, *, return_cvbooster: bool = False) -> CVResults:
    """Return the metrics of a session in LightGBM's form.

    The session has an agreement of `cv_agreement`. ``model`` has the parameters of the fitted ones;
    it is that of the agreement's task by default. The result has no ``party_reports``.
    """
    terms = found.agreement
    if model is None:
        model = estimator_of(terms)
    booster = CVBooster()
    for fold in range(len(found.fits)):
        fitted = clone(model)
        fitted._keep(found, fold)
        booster.boosters.append(fitted.booster_)
    assert terms.folds is not None
    history = _history(asked_metrics(terms, terms.folds.metrics), found.evaluation)
    results = CVResults(run_callbacks(booster, [history], callbacks=(), params={}))
    if return_cvbooster:
        results["cvbooster"] = booster
    results.privacy_report = _report(found)
    return results


def _history(asked: Sequence[FoldMetric], found: Evaluation) -> list[tuple[Any, ...]]:
    """Return mean and deviation of each metric over the folds."""
    lines = []
    for each in asked:
        values = [each.of_figure(own[each.figure].value) for own in found.groups.values()]
        mean, deviation = float(np.mean(values)), float(np.std(values))
        lines.append(("valid", each.name, mean, each.higher_is_better, deviation))
    return lines


def _report(found: Result) -> PrivacyReport:
    """Return the report of the largest charge of a row: all fits but one, and the evaluation."""
    terms, fit, ledger = found.agreement, found.fits[0].report, found.ledger
    assert terms.folds is not None
    n_folds = terms.folds.n_folds
    fact = (
        f"{n_folds} folds by a secret random assignment of each party; a row is in "
        f"{n_folds - 1} fits and in one metric"
    )
    report = PrivacyReport.from_ledger(
        ledger,
        facts={"cross-validation": fact, **facts(terms, ledger)},
        not_private=[why for why in fit.reasons if why not in ledger.reasons],
        rows_per_user=terms.rows_of_user,
        parties=shares(terms),
    )
    return replace(
        report,
        # A model that all fits continue was released once.
        kind=fit.kind,
        earlier_epsilon=fit.earlier_epsilon,
        earlier_delta=fit.earlier_delta,
        releases=metric_lines(found.evaluation.report),
    )
