"""Trees over sites of rows in one process: what parties release, without their messages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost import NotPrivateWarning, Schema
from dpboost.data.column_types import ColumnFacts
from dpboost.data.labels import read_class_labels
from dpboost.data.table import read_table
from dpboost.federated.training.pooled_rows import Sites
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import Command, SumQuery
from dpboost.recipes.recipe import Recipe
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.site_queries import ImpurityBounds
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.request import FitRequest, Inputs


class _Pool(Sites):
    """Sites whose counts are taken from all rows at once: the same sums, sooner."""

    def __init__(self, rows: Sequence[RawRows], everything: RawRows) -> None:
        super().__init__(rows)
        self._everything: Any = everything

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum of the answers."""
        if isinstance(query, ImpurityBounds):
            return super().exact(query)
        return query.evaluate(self._everything)

    def apply(self, order: Command) -> None:
        """Have an order carried out at every site."""
        super().apply(order)
        self._everything = order.execute(self._everything)


def fit_sites(
    tables: Sequence[tuple[Any, Any]],
    *,
    recipe: str | Recipe,
    epsilon: float,
    schema: dict[str, Any],
    **settings: Any,
) -> FittedModel:
    """Fit a tree to rows at several sites, with noise that is added once to each sum.

    Parameters
    ----------
    tables : sequence of (X, y)
        Arrays of numbers.
    recipe : str or Recipe
    epsilon : float
    schema : dict
        Everything is declared.
    **settings
        Parameters of the recipe.
    """
    request = FitRequest(
        task="classification",
        recipe=TREE_ALGORITHMS.find(recipe, "fit_places"),
        given=settings,
        privacy=PrivacyRequest.validated(
            "fit_places",
            epsilon=epsilon,
            delta=0.0,
            neighbours=Neighbours.ADD_REMOVE.value,
            schema=schema,
            assume_public=(),
            noise_seed=None,
        ),
        objective=ObjectiveRequest(task="classification"),
        public=np.random.default_rng(0),
        owner="fit_places",
        n_jobs=1,
    )
    names = tuple(f"Column_{position}" for position in range(tables[0][0].shape[1]))
    resolved = Schema.coerce(schema).resolve(names)

    def position(X: Any, y: Any) -> RawRows:
        return RawRows(table=read_table(X, schema=resolved), labels=read_class_labels(y))

    everything = position(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
    positions = _Pool([position(X, y) for X, y in tables], everything)
    inputs = Inputs(
        columns=ColumnFacts.of(everything.table), schema=resolved, classes=resolved.classes
    )
    ledger = request.privacy.ledger(PureAccountant())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return fit(positions, inputs, request, ledger)


def accuracy_of(fitted: FittedModel, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows whose class a tree of two classes predicts."""
    table = read_table(X, schema=fitted.completed.schema)
    raw = fitted.ensemble.predict_raw(table)
    return float(np.mean((np.ravel(raw) > 0) == y))
