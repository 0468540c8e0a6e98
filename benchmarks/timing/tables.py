"""The tables whose fits are timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.problems import PROBLEMS

if TYPE_CHECKING:
    import dpboost

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class TimedTable:
    """A table with two classes, and what is declared of it.

    Attributes
    ----------
    X : ndarray, scipy sparse matrix or DataFrame
    y : ndarray of shape (n_rows,)
    schema : Schema
        All of it is declared, so that nothing has to be learned.
    """

    X: Any
    y: np.ndarray
    schema: dpboost.Schema

    @property
    def n_bytes(self) -> int:
        """Size of ``X`` in memory."""
        if hasattr(self.X, "indptr"):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        if hasattr(self.X, "memory_usage"):
            return int(self.X.memory_usage(index=False).sum())
        return int(self.X.nbytes)


def dense(n_rows: int, n_features: int) -> TimedTable:
    """Make uniform numbers in single precision; a product and a step decide the class."""
    random = np.random.default_rng(0)
    X = random.random((n_rows, n_features), dtype=np.float32)
    y = np.empty(n_rows, dtype=np.int64)
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        part = X[first : first + _ROWS_AT_ONCE]
        signal = part[:, 0] * part[:, 1 % n_features] + (part[:, 2 % n_features] > 0.6)
        y[first : first + _ROWS_AT_ONCE] = (
            signal + random.normal(0.0, 0.3, len(part)).astype(np.float32) > 0.65
        )
    return TimedTable(X=X, y=y, schema=_schema(n_features))


def sparse(n_rows: int, n_features: int, density: float) -> TimedTable:
    """Make uniform numbers in few cells; the sum of some columns decides the class."""
    from scipy.sparse import csr_matrix

    random = np.random.default_rng(0)
    counts = random.binomial(n_features, density, n_rows)
    start = np.concatenate(([0], np.cumsum(counts)))
    columns = np.empty(start[-1], dtype=np.int32)
    for row in range(n_rows):
        drawn = random.choice(n_features, counts[row], replace=False, shuffle=False)
        columns[start[row] : start[row + 1]] = np.sort(drawn)
    values = random.random(start[-1], dtype=np.float32)
    X = csr_matrix((values, columns, start.astype(np.int32)), shape=(n_rows, n_features))
    sums = np.asarray(X[:, : n_features // 100].sum(axis=1)).ravel()
    y = (sums + random.normal(0.0, 0.1, n_rows) > 0.3).astype(np.int64)
    return TimedTable(X=X, y=y, schema=_schema(n_features))


def real(name: str) -> TimedTable:
    """Read a published table, with its data dictionary."""
    problem = PROBLEMS[name]
    X, y = problem.load()
    return TimedTable(X=X, y=y, schema=problem.dictionary.schema())


def _schema(n_features: int) -> dpboost.Schema:
    from dpboost import Schema

    return Schema(bounds=dict.fromkeys(range(n_features), (0.0, 1.0)), classes=[0, 1])


MAKERS: Mapping[str, Callable[..., TimedTable]] = MappingProxyType(
    {"dense": dense, "sparse": sparse, "real": real}
)
