"""Cross-validation over parties: a fit for each fold and one evaluation, under one budget.

Each party deals its rows by secret coins of its own, once for all sessions. A row takes part in
all fits but that of its fold and is judged by the model of that one, so that of all sessions those
in which it takes part cost the budget, whatever its fold.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.cross_validation import METRIC_SHARE, CVResults
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.folds import FoldMetric, fold_metrics
from dpboost.federated.estimators import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.federated.evaluation import judge
from dpboost.federated.party.fold_book import FoldBook
from dpboost.federated.protocol.agreed_evaluation import EVALUATION, AgreedEvaluation
from dpboost.federated.protocol.agreed_folds import MOST_FOLDS, AgreedFolds
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.simulation import simulate
from dpboost.federated.training.boosting import check_agreement
from dpboost.federated.training.party_tables import party_arrays, party_columns, party_tables
from dpboost.federated.training.threat_model import facts
from dpboost.lightgbm.cv_callbacks import CVBooster, run_callbacks
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.report import PrivacyReport

_OWNER = "cv"


def cv_agreements(
    model: Any,
    n_parties: int,
    features: Sequence[str],
    identities: Sequence[str] = (),
    *,
    nfold: int = 5,
    weighted: bool = False,
    init_model: Any = None,
) -> tuple[Agreement, ...]:
    """Return the terms of the fits of a cross-validation, one for each fold.

    Parameters
    ----------
    model : FederatedBoostingClassifier or FederatedBoostingRegressor
        Its parameters, as for a fit; the budget is that of all fits and their evaluation.
    n_parties, features, identities, weighted, init_model
        As of its ``agreement``.
    nfold : int, default=5
        2 to 100.

    Returns
    -------
    tuple of Agreement
        The evaluation has an agreement of its own, once the models are there:
        `cv_evaluation_agreement`.

    Raises
    ------
    InvalidParameterError
        For bad parameters, and where a part of the budget is too small for a fit.

    Examples
    --------
    >>> from dpboost.federated import FederatedBoostingClassifier
    >>> schema = {"bounds": {"age": (0, 100)}, "classes": [0, 1]}
    >>> terms = cv_agreements(FederatedBoostingClassifier(schema=schema), 3, ["age"], nfold=4)
    >>> [agreement.folds.session for agreement in terms]
    ['fold-0', 'fold-1', 'fold-2', 'fold-3']
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
    name, seed = secrets.token_hex(16), whole.noise_seed
    terms = tuple(
        replace(
            whole,
            folds=AgreedFolds(name=name, n_folds=nfold, fold=fold),
            noise_seed=None if seed is None else seed + 1 + fold,
        )
        for fold in range(nfold)
    )
    check_agreement(terms[0])
    return terms


def cv_evaluation_agreement(
    fits: Sequence[Agreement], models: Sequence[Any], metrics: Sequence[str] | None = None
) -> Agreement:
    """Return the terms of the evaluation that ends a cross-validation.

    Parameters
    ----------
    fits : sequence of Agreement
        Of `cv_agreements`, in their order.
    models : sequence of estimator or Booster
        What these fits have released, in the same order.
    metrics : sequence of str, optional
        As of ``dpboost.evaluate``; all by default.

    Returns
    -------
    Agreement
        Whose groups are the folds: each row is judged by the model of its own.

    Raises
    ------
    InvalidParameterError
        For other agreements or models.

    Examples
    --------
    >>> from dpboost.federated import (
    ...     FederatedBoostingRegressor, FoldBook, LocalChannel, Party, evaluate_channel
    ... )
    >>> rows = [[x / 60] for x in range(60)], [x / 60 for x in range(60)]
    >>> books = [FoldBook(), FoldBook()]
    >>> def channel(terms):
    ...     parties = [Party(i, *rows, agreement=terms, folds=books[i]) for i in range(2)]
    ...     return LocalChannel(parties)
    >>> schema = {"bounds": {"age": (0, 1)}, "label_bounds": (0, 1)}
    >>> model = FederatedBoostingRegressor(epsilon=9, n_estimators=2, schema=schema, verbosity=0)
    >>> fits, models = cv_agreements(model, 2, ["age"], nfold=2), []
    >>> for terms in fits:
    ...     fitted = FederatedBoostingRegressor(verbosity=0).fit_channel(channel(terms), terms)
    ...     models.append(fitted)
    >>> judging = cv_evaluation_agreement(fits, models, ["rmse"])
    >>> sorted(evaluate_channel(channel(judging), judging).groups)
    [0, 1]
    """
    sessions = [each.folds for each in fits]
    first = sessions[0] if sessions else None
    whole = first is not None and sessions == [
        replace(first, fold=fold) for fold in range(first.n_folds)
    ]
    if first is None or not whole or len(models) != len(fits):
        raise InvalidParameterError(
            "The 'fits' of cv_evaluation_agreement must be all agreements of one cv_agreements in "
            "their order, and 'models' one model for each."
        )
    texts = tuple(getattr(model, "booster_", model).model_to_string() for model in models)
    one, seed = fits[0], fits[0].noise_seed
    agreement = replace(
        one,
        recipe=EVALUATION,
        schema=one.declared.to_dict(),
        objective={},
        weighted=False,
        init_model=None,
        folds=replace(first, fold=None),
        noise_seed=None if seed is None else seed - 1,
        hyper={"model": texts, "metrics": metrics, "groups": None},
    )
    names = AgreedEvaluation.of(agreement).metrics
    return replace(agreement, hyper=agreement.hyper | {"metrics": names})


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
    """Cross-validate with all parties in this process: a simulation.

    Parameters
    ----------
    model : FederatedBoostingClassifier or FederatedBoostingRegressor
        Its parameters, as for a fit; it is not fitted itself. Its budget is that of everything.
    parties : sequence of (X, y)
        Rows and labels of each of at least two parties; some may be empty arrays.
    nfold : int, default=5
        2 to 100.
    metrics : str or list of str, optional
        LightGBM's names, or those of ``dpboost.evaluate``, as of ``dpboost.cv``; all rows weigh
        the same.
    init_model : estimator, Booster, str or path, optional
        Model to go on from.
    return_cvbooster : bool, default=False
        Whether the result holds the models, as ``"cvbooster"``.
    sample_weight, user_ids : sequence of array-like, optional
        Of the rows of each party, as of the model's ``fit``.

    Returns
    -------
    CVResults
        As of ``dpboost.cv``: lists of one value named ``"valid l2-mean"`` and ``"valid l2-stdv"``,
        over the folds, ``privacy_report`` of all fits and metrics together, and ``party_reports``,
        those of the parties by their own ledgers.

    Raises
    ------
    InvalidParameterError
        For bad parameters, before anything is drawn or charged.

    Privacy
    -------
    Spends the model's ``epsilon`` once for everything. Each party deals its rows by coins of its
    own, which it tells nobody: of persons, all rows that one party has are in one fold.

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
    refuse_budget(_OWNER)
    tables = party_tables(parties, None, _OWNER)
    columns = party_columns(tables, _OWNER)
    weights = party_arrays("sample_weight", sample_weight, tables, _OWNER)
    users = party_arrays("user_ids", user_ids, tables, _OWNER)
    terms = cv_agreements(
        model,
        len(tables),
        columns,
        nfold=nfold,
        weighted=weights is not None,
        init_model=init_model,
    )
    asked = _metrics(metrics, terms[0])
    terms[0].warn()
    firsts = np.cumsum([0, *(len(y) for _, y in tables)]).tolist()
    books = [FoldBook(first_row=first) for first in firsts[:-1]]
    models, ledgers = [], []
    for agreed in terms:
        coordinator, held = simulate(agreed, tables, (), weights, users, books)
        fitted = clone(model)
        fitted._keep(coordinator)
        models.append(fitted)
        ledgers.append([coordinator.ledger, *(party.ledger for party in held)])
    figures = tuple(dict.fromkeys(each.figure for each in asked))
    judging = cv_evaluation_agreement(terms, models, figures)
    coordinator, held = simulate(judging, tables, user_ids=users, folds=books)
    found = judge(coordinator)
    ledgers.append([coordinator.ledger, *(party.ledger for party in held)])
    booster = CVBooster()
    booster.boosters = [each.booster_ for each in models]
    results = CVResults(run_callbacks(booster, [_history(asked, found)], callbacks=(), params={}))
    if return_cvbooster:
        results["cvbooster"] = booster
    fit = models[0].privacy_report_
    own, *others = (_report(judging, fit, each) for each in zip(*ledgers, strict=True))
    results.privacy_report, results.party_reports = own, tuple(others)
    return results


def _metrics(metrics: Any, terms: Agreement) -> list[FoldMetric]:
    """Return the metrics to be paid for, by default LightGBM's own one of the task."""
    classifier = terms.task != "regression"
    asked = metrics.split(",") if isinstance(metrics, str) else list(metrics or ())
    if not asked:
        several = classifier and len(terms.declared.classes or ()) > 2
        asked = ["multi_logloss" if several else "binary_logloss" if classifier else "l2"]
    quantile = terms.learns.name == "quantile"
    return fold_metrics(asked, classifier=classifier, quantile=quantile)


def _history(asked: Sequence[FoldMetric], found: Evaluation) -> list[tuple[Any, ...]]:
    """Return mean and deviation of each metric over the folds."""
    lines = []
    for each in asked:
        values = [each.of_figure(own[each.figure].value) for own in found.groups.values()]
        mean, deviation = float(np.mean(values)), float(np.std(values))
        lines.append(("valid", each.name, mean, each.higher_is_better, deviation))
    return lines


def _report(terms: Agreement, fit: PrivacyReport, ledgers: Sequence[Ledger]) -> PrivacyReport:
    """Add up what a row may have cost: all fits but the cheapest, and the evaluation.

    Parameters
    ----------
    terms : Agreement
        Of the evaluation.
    fit : PrivacyReport
        Of one fit: what it continues counts once.
    ledgers : sequence of Ledger
        Of the coordinator or of a party, that of the evaluation last.
    """
    *fits, own = ledgers
    assert terms.folds is not None
    n_folds = terms.folds.n_folds
    inner = replace(terms, folds=None).ledger()
    spent = sum(sorted(each.spent for each in fits)[1:], own.spent)
    fact = (
        f"{n_folds} folds by secret coins of each party; a row is in {n_folds - 1} fits and in one "
        "metric"
    )
    report = PrivacyReport.from_ledger(
        own,
        facts={"cross-validation": fact, **facts(terms, *ledgers)},
        not_private=[why for why in fit.reasons if why not in own.reasons],
        rows_per_user=terms.rows_of_user,
    )
    delta = inner.delta - own.delta_spent
    return replace(
        report,
        kind=fit.kind,
        earlier_epsilon=fit.earlier_epsilon,
        earlier_delta=fit.earlier_delta,
        capacity=inner.capacity,
        spent=spent,
        # What is spent was never allowed to pass the capacity of the epsilon asked for.
        epsilon_spent=min(inner.accountant.epsilon(spent, delta), float(own.epsilon)),
        releases=tuple(
            replace(line, share=line.share and line.share * METRIC_SHARE)
            for line in report.releases
        ),
    )
