"""Pairs of neighboring tables with aligned rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.run_trace import Steering
from dpboost.privacy.sensitivity.bound import Neighbors


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two neighboring tables.

    Parameters
    ----------
    X, y : table and labels
        The first table.
    X_other, y_other : table and labels
        The second one.
    ids, other_ids : sequence of int
        Who the rows are, so that each keeps its coin.
    steering : Steering
        Outcomes to force while the first table is recorded.
    coin : float or None
        Where to put the coin of every row, in [0, 1); None tosses coins.
    """

    X: Any
    y: Any
    X_other: Any
    y_other: Any
    ids: NDArray[np.int64]
    other_ids: NDArray[np.int64]
    steering: Steering
    coin: float | None = None

    @property
    def swapped(self) -> Pair:
        """The same two tables, the other one first."""
        first = {"X": self.X_other, "y": self.y_other, "ids": self.other_ids}
        return replace(self, **first, X_other=self.X, y_other=self.y, other_ids=self.ids)


def pair_of(
    X: Any,
    y: NDArray[Any],
    row: Any,
    label: Any,
    neighbors: Neighbors,
    *,
    instead: tuple[Any, Any] | None = None,
    first: bool = False,
    steering: Steering | None = None,
    coin: float | None = None,
) -> Pair:
    """Put a row beside a table, or instead of another one.

    Parameters
    ----------
    X, y : table and labels
        The rows that the neighbors share.
    row, label
        The row that the second table has.
    neighbors : Neighbors
        For ``REPLACE`` the first table has another row in its place.
    instead : (row, label), optional
        That other row; the same row with the negative or the other label by default.
    first : bool
        Whether the row stands before the shared ones.
    """
    position = 0 if first else len(y)
    with_row = _inserted(X, row, position), np.insert(y, position, label)
    ids = np.insert(np.arange(len(y)), position, len(y))
    without: tuple[Any, Any] = X, y
    without_ids = np.arange(len(y))
    if neighbors is Neighbors.REPLACE:
        other = (row, opposite(label, y)) if instead is None else instead
        without = _inserted(X, other[0], position), np.insert(y, position, other[1])
        without_ids = ids
    return Pair(
        X=without[0],
        y=without[1],
        X_other=with_row[0],
        y_other=with_row[1],
        ids=without_ids,
        other_ids=ids,
        steering=steering or {},
        coin=coin,
    )


def _inserted(X: Any, row: Any, position: int) -> Any:
    if isinstance(X, np.ndarray):
        return np.insert(X, position, row, axis=0)
    import pandas as pd

    added = pd.DataFrame([row], columns=X.columns).astype(X.dtypes.to_dict())
    parts = [X.iloc[:position], added, X.iloc[position:]]
    return pd.concat(parts, ignore_index=True).astype(X.dtypes.to_dict())


def opposite(label: Any, y: NDArray[Any]) -> Any:
    """Return the negative label of a regression, or the other one of two classes."""
    return 1 - label if np.issubdtype(y.dtype, np.integer) else -label
