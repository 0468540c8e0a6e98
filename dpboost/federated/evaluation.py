"""Private metrics of a released model on the rows of several parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost._utils.warnings import one_warning
from dpboost.budgeting.open_budgets import refuse_budget
from dpboost.evaluating.evaluate import metric_names
from dpboost.evaluating.evaluated_rows import is_classifier
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.saved_model import saved_model
from dpboost.federated.estimators import simulate_tables
from dpboost.federated.protocol.agreed_evaluation import EVALUATION, AgreedEvaluation
from dpboost.federated.protocol.agreement import Agreement
from dpboost.lightgbm.booster import Booster
from dpboost.privacy.exact_arithmetic import as_budget, as_fraction
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
        ``neighbors``, ``colluding``, ``dropouts``, ``rolled_back``, ``threshold``,
        ``identities``, ``rows_per_user``, ``parties_per_user`` and ``noise_seed``, as of
        `Agreement`.

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
    known = {"neighbors", "colluding", "dropouts", "rolled_back", "threshold", "identities"}
    for name in terms.keys() - known - {"rows_per_user", "parties_per_user", "noise_seed"}:
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
        Whose row each one is, for each party, where ``rows_per_user`` protects individuals.
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
        For invalid parameters or input, before anything is drawn or charged.

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
    refuse_budget(_OWNER, budget, fraction, model)

    def agree(n_parties: int, columns: Sequence[str]) -> Agreement:
        named = any(hasattr(X, "columns") for X, _ in parties)
        return evaluation_agreement(
            model,
            n_parties,
            epsilon=epsilon,
            delta=delta,
            metrics=metrics,
            groups=groups,
            features=columns if named else None,
            **terms,
        )

    return simulate_tables(_OWNER, parties, agree, user_ids=user_ids).coordinator.evaluation


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
            f"The 'groups' argument of {_OWNER} names the column {column!r}, whose values are "
            "not declared: pass groups=(column, names)."
        )
    return (column, tuple(names))
