"""Metrics of a released model on the rows of parties, who do not show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.evaluating.evaluate import metric_names, release_figures
from dpboost.evaluating.evaluated_rows import is_classifier
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.gate import Gate
from dpboost.evaluating.saved_model import saved_model
from dpboost.federated.party.evaluation_admission import JudgeRows
from dpboost.federated.protocol.agreed_evaluation import EVALUATION, AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.federated.protocol.coordinator import Coordinator
from dpboost.federated.protocol.transport import Channel
from dpboost.federated.simulation import simulate
from dpboost.federated.training.party_row_store import PartyRowStore
from dpboost.federated.training.party_tables import party_arrays, party_columns, party_tables
from dpboost.federated.training.threat_model import facts
from dpboost.lightgbm.booster import Booster
from dpboost.privacy.exact_arithmetic import as_budget, as_fraction
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.privacy.report import PrivacyReport
from dpboost.schema import Schema, lightgbm_name

_OWNER = "evaluate"


def evaluation_agreement(
    model: Any,
    n_parties: int,
    *,
    epsilon: float,
    delta: float = 0.0,
    metrics: Sequence[str] | None = None,
    groups: Any = None,
    features: Sequence[str] | None = None,
    schema: Any = None,
    **terms: Any,
) -> Agreement:
    """Return the terms of an evaluation, for all data holders to read.

    Parameters
    ----------
    model : estimator or Booster
        Fitted; of this library, over parties or not. Its text is a part of the terms.
    n_parties : int
    epsilon, delta : float
        Budget of the evaluation, of every party's own ledger as well. Rows that trained the model
        may be used: what the fit has spent then adds to it.
    metrics, groups
        As of ``dpboost.evaluate``; groups are a column, or ``(column, names)``.
    features : sequence of str, optional
        Names of the parties' columns, in the order of the model's; its own names by default.
    schema : Schema, dict or path, optional
        That of the fit, where the model is a Booster: it has the classes or the label bounds.
    **terms
        ``neighbours``, ``colluding``, ``dropouts``, ``threshold``, ``identities``,
        ``rows_per_user``, ``parties_per_user`` and ``noise_seed``, as of `Agreement`.

    Returns
    -------
    Agreement

    Raises
    ------
    InvalidParameterError
        For a model that cannot be evaluated, and for bad terms.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import DPBoostRegressor
    >>> X = np.random.default_rng(0).uniform(size=(300, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=5, verbosity=-1).fit(X, X[:, 0])
    >>> terms = evaluation_agreement(model, 3, epsilon=1)
    >>> terms.recipe, terms.n_parties
    ('evaluation', 3)
    """
    known = {"neighbours", "colluding", "dropouts", "threshold", "identities", "noise_seed"}
    for name in terms.keys() - known - {"rows_per_user", "parties_per_user"}:
        raise InvalidParameterError(
            f"The {name!r} parameter is none of evaluation_agreement: it takes the terms of an "
            "Agreement that do not follow from the model."
        )
    if isinstance(model, Booster):
        model = saved_model(model, Schema.coerce(schema), "the labels")
    elif schema is not None:
        raise refuse("schema", _OWNER, "None: an estimator has its own", "a schema")
    names = metric_names(model, metrics)
    own = list(model.ensemble_.binner.feature_names)
    columns = own if features is None else [str(name) for name in features]
    if [lightgbm_name(name) for name in columns] != own:
        raise refuse("features", _OWNER, "the columns of the model, in its order", columns[:10])
    agreement = Agreement(
        n_parties=n_parties,
        features=tuple(columns),
        schema=_schema(model, columns),
        task="classification" if is_classifier(model) else "regression",
        recipe=EVALUATION,
        epsilon=as_budget("epsilon", _OWNER, epsilon),
        delta=as_fraction("delta", _OWNER, delta),
        accountant="GDP" if delta > 0 else "pure",
        hyper={
            "model": model.booster_.model_to_string(),
            "metrics": names,
            "groups": _groups(groups, columns, model),
        },
        **terms,
    )
    AgreedEvaluation.of(agreement)
    return agreement


@one_warning
def evaluate(
    model: Any,
    parties: Sequence[tuple[Any, Any]],
    *,
    epsilon: float,
    delta: float = 0.0,
    metrics: Sequence[str] | None = None,
    groups: Any = None,
    user_ids: Sequence[Any] | None = None,
    budget: None = None,
    fraction: None = None,
    **terms: Any,
) -> Evaluation:
    """Evaluate a released model with all parties in this process: a simulation.

    Parameters
    ----------
    model : estimator or Booster
        Fitted; of this library, over parties or not.
    parties : sequence of (X, y)
        Rows and labels of each of at least two parties; some may be empty arrays.
    epsilon, delta : float
        Budget of the evaluation, of every party's own ledger as well.
    metrics, groups
        As of ``dpboost.evaluate``; groups are a column, or ``(column, names)``.
    user_ids : sequence of array-like, optional
        Whose row each one is, for each party, where ``rows_per_user`` protects persons.
    budget, fraction : None
        Refused: a budget has no records at parties.
    **terms
        As of `evaluation_agreement`.

    Returns
    -------
    Evaluation
        As of ``dpboost.evaluate``; intervals count the noise of the shares that arrived.

    Raises
    ------
    InvalidParameterError
        For bad parameters or input, before anything is drawn or charged.

    Privacy
    -------
    The releases of ``dpboost.evaluate`` as secure sums: each party charges its own ledger and adds
    its share of the noise before its answer leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import DPBoostRegressor, federated
    >>> X = np.random.default_rng(0).uniform(size=(3000, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=30, verbosity=-1).fit(X, X[:, 0])
    >>> tables = [(X[part::3], X[part::3, 0]) for part in range(3)]
    >>> found = federated.evaluate(model, tables, epsilon=2)
    >>> found["rmse"].low <= found["rmse"].value <= found["rmse"].high
    True
    """
    refuse_budget(_OWNER, budget, fraction)
    tables = party_tables(parties, None, _OWNER)
    users = party_arrays("user_ids", user_ids, tables, _OWNER)
    named = any(hasattr(X, "columns") for X, _ in tables)
    agreement = evaluation_agreement(
        model,
        len(tables),
        epsilon=epsilon,
        delta=delta,
        metrics=metrics,
        groups=groups,
        features=party_columns(tables, _OWNER) if named else None,
        **terms,
    )
    agreement.warn()
    coordinator, _ = simulate(agreement, tables, user_ids=users)
    return judge(coordinator)


@one_warning
def evaluate_channel(channel: Channel, agreement: Agreement) -> Evaluation:
    """Evaluate a released model with parties that a channel reaches.

    Parameters
    ----------
    channel : Channel
    agreement : Agreement
        Of `evaluation_agreement`; all parties have the same.

    Returns
    -------
    Evaluation

    Raises
    ------
    InvalidParameterError
        If the agreement is on something else.
    PartyLostError, RefusedError
        If a party drops out or refuses. What was charged stays charged.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import DPBoostRegressor
    >>> from dpboost.federated import LocalChannel, Party
    >>> X = np.random.default_rng(0).uniform(size=(3000, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=30, verbosity=-1).fit(X, X[:, 0])
    >>> terms = evaluation_agreement(model, 2, epsilon=2)
    >>> tables = [(X[part::2], X[part::2, 0]) for part in range(2)]
    >>> parties = [Party(index, *rows, agreement=terms) for index, rows in enumerate(tables)]
    >>> found = evaluate_channel(LocalChannel(parties), terms)
    >>> [party.ledger.spent == 2 for party in parties]
    [True, True]
    """
    refuse_budget(_OWNER)
    AgreedEvaluation.of(agreement)
    agreement.warn()
    return judge(Coordinator(agreement, channel))


def judge(coordinator: Coordinator) -> Evaluation:
    """Evaluate the model of an agreement in an open session.

    Parameters
    ----------
    coordinator : Coordinator

    Returns
    -------
    Evaluation
    """
    agreement = coordinator.agreement
    store = PartyRowStore(coordinator)
    store.apply(JudgeRows())
    found = evaluate_agreed(store, agreement, coordinator.ledger)
    more = facts(agreement, coordinator.ledger) | coordinator.losses
    report = PrivacyReport.from_ledger(
        coordinator.ledger, facts=found.report.facts | more, rows_per_user=agreement.rows_of_user
    )
    return replace(found, report=report)


def evaluate_agreed(source: RowStore, agreement: Agreement, ledger: Ledger) -> Evaluation:
    """Evaluate by the terms of an agreement, wherever the rows are.

    Parameters
    ----------
    source : RowStore
        Of predicted rows: parties, or, to compare with them, one process that has all rows.
    agreement : Agreement
        The terms.
    ledger : Ledger
        The gate, with the whole budget.

    Returns
    -------
    Evaluation
    """
    agreed = AgreedEvaluation.of(agreement)
    most = agreement.rows_of_user
    metrics, groups, curves, notes = release_figures(
        agreed.model, Gate(source, ledger), agreed.groups, agreed.metrics, alike=most or 1
    )
    told = {"evaluated": "a model text", "metrics": ", ".join(agreed.metrics)}
    report = PrivacyReport.from_ledger(ledger, facts=told, rows_per_user=most)
    return Evaluation(metrics=metrics, groups=groups, curves=curves, report=report, notes=notes)


def _schema(model: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return what the model's schema says of labels, and of columns of categories."""
    known = model.schema_
    plain: dict[str, Any] = {
        "categories": {columns[at]: list(own) for at, own in known.categories.items()}
    }
    if is_classifier(model):
        return plain | {"classes": list(model.classes_.tolist())}
    return plain | {"label_bounds": list(known.label_bounds)}


def _groups(groups: Any, columns: Sequence[str], model: Any) -> Any:
    """Return the column of groups by name, and their names."""
    if groups is None:
        return None
    pair = isinstance(groups, tuple) and len(groups) == 2
    column, names = groups if pair else (groups, None)
    if isinstance(column, int) and 0 <= column < len(columns):
        column = columns[column]
    if column not in columns:
        raise refuse("groups", _OWNER, "a column of the model, or (column, names)", column)
    if names is None:
        names = model.schema_.categories.get(columns.index(column))
    if names is None:
        raise InvalidParameterError(
            f"The 'groups' argument of {_OWNER} names the column {column!r}, whose values nobody "
            "has listed: give groups=(column, names)."
        )
    return (column, tuple(names))
