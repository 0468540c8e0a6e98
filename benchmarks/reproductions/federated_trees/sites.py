"""Trees over sites of rows in one process: what parties release, without their messages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.reproductions.read_once import Remembered, tree_request
from dpboost import NotPrivateWarning, Schema
from dpboost.audit.pooled_rows import Sites
from dpboost.data.labels import read_class_labels
from dpboost.data.table import read_table
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.queries import RowHandle, SumQuery, carry_out
from dpboost.recipes.recipe import Recipe
from dpboost.rows.raw_rows import RawRows
from dpboost.rows.site_queries import ImpurityBounds
from dpboost.training.fit import fit
from dpboost.training.fitted_model import FittedModel
from dpboost.training.request import Inputs


class _Pool(Sites):
    """Sites whose counts are taken from all rows at once: the same sums, sooner."""

    def __init__(self, rows: Sequence[RawRows], everything: RawRows) -> None:
        super().__init__(rows)
        self._everything: Any = everything

    def exact(self, query: SumQuery) -> NDArray[np.int64]:
        """Return the sum of the answers."""
        if isinstance(getattr(query, "joint", query), ImpurityBounds):
            return super().exact(query)
        return query.evaluate(self._everything)

    def apply(self, command: str, **given: Any) -> None:
        """Have a command carried out at every site."""
        super().apply(command, **given)
        self._everything = carry_out(self._everything, command, given)


class PooledRows:
    """Rows at several sites, read once for all trees that are fitted to them.

    Parameters
    ----------
    tables : sequence of (X, y)
        Arrays of numbers.
    schema : dict
        Everything is declared.
    """

    def __init__(self, tables: Sequence[tuple[Any, Any]], *, schema: dict[str, Any]) -> None:
        names = tuple(f"Column_{position}" for position in range(tables[0][0].shape[1]))
        self._schema = schema
        self._resolved = Schema.coerce(schema).resolve(names)
        self._sites = [self._read(X, y) for X, y in tables]
        self._everything = self._read(
            *(np.concatenate(parts) for parts in zip(*tables, strict=True))
        )

    def _read(self, X: Any, y: Any) -> RawRows:
        table = read_table(X, schema=self._resolved)
        return RawRows(table=Remembered(table), labels=read_class_labels(y))

    def fit(self, *, recipe: str | Recipe, epsilon: float, **settings: Any) -> FittedModel:
        """Fit a tree, with noise that is added once to each sum.

        Parameters
        ----------
        recipe : str or Recipe
        epsilon : float
        **settings
            Parameters of the recipe.
        """
        request = tree_request(
            "PooledRows.fit",
            recipe=recipe,
            epsilon=epsilon,
            schema=self._schema,
            assume_public=(),
            **settings,
        )
        inputs = Inputs(
            columns=self._everything.table.columns,
            schema=self._resolved,
            classes=self._resolved.classes,
        )
        ledger = request.privacy.ledger(PureAccountant())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotPrivateWarning)
            return fit(RowHandle(_Pool(self._sites, self._everything)), inputs, request, ledger)


class HeldOutRows:
    """Rows that trees are evaluated by, read once.

    Parameters
    ----------
    X, y : ndarray
    schema : dict
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, *, schema: dict[str, Any]) -> None:
        self._table = Remembered(read_table(X, schema=Schema.coerce(schema)))
        self._labels = y

    def accuracy(self, fitted: FittedModel) -> float:
        """Return the share of rows whose class a tree of two classes predicts."""
        raw = fitted.ensemble.predict_raw(self._table)
        return float(np.mean((np.ravel(raw) > 0) == self._labels))
