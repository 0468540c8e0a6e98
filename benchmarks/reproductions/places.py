"""Trees over places of rows in one process: what parties release, without their messages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost import NotPrivateWarning, Schema
from dpboost.data.labels import read_class_labels
from dpboost.data.table import read_table
from dpboost.federated.training.pooled_rows import Places
from dpboost.federated.training.single_tree import public_binner
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.queries import Command, SumQuery
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.recipes.tree_recipe import TreeHyperparameters, TreeRecipe
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.site_queries import ImpurityBounds
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.public_schema import CompletedSchema
from dpboost.training.tree_fit import FittedTree, public_classes, release_tree, rows_of_tree


class _Pool(Places):
    """Places whose counts are taken from all rows at once: the same sums, sooner."""

    def __init__(self, rows: Sequence[ClassRows], everything: ClassRows) -> None:
        super().__init__(rows)
        self._everything = everything

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum of the answers."""
        if isinstance(query, ImpurityBounds):
            return super().exact(query)
        return query.evaluate(self._everything)

    def apply(self, order: Command) -> None:
        """Have an order carried out at every place."""
        super().apply(order)
        self._everything = order.execute(self._everything)


def fit_places(
    tables: Sequence[tuple[Any, Any]],
    *,
    recipe: str | TreeRecipe,
    epsilon: float,
    schema: dict[str, Any],
    **settings: Any,
) -> FittedTree:
    """Fit a tree to rows at several places, with noise that is added once to each sum.

    Parameters
    ----------
    tables : sequence of (X, y)
        Arrays of numbers.
    recipe : str or TreeRecipe
    epsilon : float
    schema : dict
        Everything is declared.
    **settings
        Hyper-parameters.
    """
    algorithm = TREE_ALGORITHMS[recipe] if isinstance(recipe, str) else recipe
    hyper = TreeHyperparameters(**settings)
    names = tuple(f"Column_{place}" for place in range(tables[0][0].shape[1]))
    resolved = Schema.coerce(schema).resolve(names)
    binner = public_binner(resolved, hyper.max_bin or algorithm.max_bin)
    classes, candidates = public_classes(resolved), algorithm.candidates(binner)

    def place(X: Any, y: Any) -> ClassRows:
        table = read_table(X, schema=resolved)
        return rows_of_tree(table, read_class_labels(y), binner, classes, candidates, 1)

    everything = [np.concatenate(parts) for parts in zip(*tables, strict=True)]
    places = _Pool([place(X, y) for X, y in tables], place(*everything))
    privacy = PrivacyRequest.validated(
        "fit_places",
        epsilon=epsilon,
        delta=0.0,
        neighbours=Neighbours.ADD_REMOVE.value,
        schema=schema,
        assume_public=(),
        noise_seed=None,
    )
    ledger = privacy.ledger(PureAccountant())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return release_tree(
            places,
            recipe=algorithm,
            hyperparameters=hyper,
            binner=binner,
            completed=CompletedSchema(
                schema=resolved, assumed=(), learned=(), epsilon=ledger.epsilon
            ),
            privacy=privacy,
            ledger=ledger,
            n_threads=1,
        )


def accuracy_of(fitted: FittedTree, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows whose class a tree of two classes predicts."""
    table = read_table(X, schema=fitted.completed.schema)
    raw = fitted.ensemble.predict_raw(table)
    return float(np.mean((np.ravel(raw) > 0) == y))
