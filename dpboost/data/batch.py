"""Some of the rows of a source that comes in batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Batch:
    """Some rows: a table of a usual kind, and what came with it.

    Parameters
    ----------
    X : array or DataFrame of shape (n, n_features)
    label, weight : ndarray of shape (n,) or None
    """

    X: Any
    label: NDArray[Any] | None = None
    weight: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows; private."""
        return int(self.X.shape[0])
