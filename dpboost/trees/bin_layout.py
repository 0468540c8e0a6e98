"""The layout of cells and candidates in flat arrays, and reusable memory."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """Flat positions of histogram cells and split candidates.

    The set of candidates is public and complete: constant features, empty bins and the split
    "missing against the rest" are candidates like any other. At a threshold, missing values go
    right, so that no candidate is spent on their side; where it matters, the private choice
    takes "missing against the rest", a numeric feature's last candidate. (Random partitions
    send them to a random side, and the released leaves below make up for it.)
    """

    #: Of shape (n_features + 1,). Cells of feature ``f`` are
    #: ``cell_offsets[f]:cell_offsets[f + 1]``, its missing bin last.
    cell_offsets: NDArray[np.int32]
    #: Of shape (n_features + 1,). Candidates of feature ``f``: one for each bin but the missing
    #: one.
    candidate_offsets: NDArray[np.int32]
    #: Of shape (n_features,). Whether a candidate is one category against the rest instead of a
    #: threshold.
    is_categorical: NDArray[np.uint8]

    @classmethod
    def of(cls, binner: Binner) -> Layout:
        """Lay out the bins of ``binner``."""
        return cls(
            cell_offsets=binner.cell_offsets,
            candidate_offsets=binner.candidate_offsets,
            is_categorical=binner.is_categorical,
        )

    def of_features(self, features: NDArray[np.int32]) -> Layout:
        """Lay out some of the features, in this order."""
        sizes = np.diff(self.cell_offsets)[features]
        return Layout(
            cell_offsets=np.append(0, np.cumsum(sizes)).astype(np.int32),
            candidate_offsets=np.append(0, np.cumsum(sizes - 1)).astype(np.int32),
            is_categorical=self.is_categorical[features],
        )

    @property
    def n_cells(self) -> int:
        """Cells of one node."""
        return int(self.cell_offsets[-1])

    @property
    def n_candidates(self) -> int:
        """Candidates of one node."""
        return int(self.candidate_offsets[-1])

    def splits(
        self, candidates: NDArray[np.integer]
    ) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Turn flat candidate numbers into features and bins."""
        feature = self.candidate_offsets[1:].searchsorted(candidates, side="right")
        split_bin = candidates - self.candidate_offsets.take(feature)
        return feature.astype(np.int32), split_bin.astype(np.uint8)


# Smaller arrays come from the heap of the process, which keeps its memory anyway. To get fresh
# pages from the system for every level of every tree takes longer than to fill them.
_LARGE = 1 << 20


class _Lease:
    """The owner of a lent array, which its views keep alive."""

    __slots__ = ("__array_interface__", "__weakref__", "buffer")

    def __init__(
        self, buffer: NDArray[np.uint8], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "data": (buffer.ctypes.data, False),
            "shape": shape,
            "typestr": dtype.str,
        }


class Workspace:
    """Lend arrays, and reuse the memory of an array without views.

    Privacy
    -------
    What it lends holds whatever was there before: private numbers of the same fit. Anyone who takes
    an array writes all that anyone reads.
    """

    __slots__ = ("_lent",)

    def __init__(self) -> None:
        self._lent: list[tuple[NDArray[np.uint8], weakref.ref[_Lease]]] = []

    def empty(self, shape: tuple[int, ...], dtype: type = np.int64) -> NDArray[Any]:
        """Return an array as ``numpy.empty`` does."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < _LARGE:
            return np.empty(shape, dtype=kind)
        lease = _Lease(self._free(size), shape, kind)
        self._lent.append((lease.buffer, weakref.ref(lease)))
        return np.asarray(lease)

    def _free(self, size: int) -> NDArray[np.uint8]:
        """Take out the smallest free memory that is large enough, or replace the largest one."""
        free = [position for position, (_, lease) in enumerate(self._lent) if lease() is None]
        free.sort(key=lambda position: len(self._lent[position][0]))
        for position in free:
            if len(self._lent[position][0]) >= size:
                return self._lent.pop(position)[0]
        if free:
            del self._lent[free[-1]]
        return np.empty(size, dtype=np.uint8)

    def __reduce__(self) -> tuple[type[Workspace], tuple[()]]:
        """Travel without memory: what is there means nothing elsewhere."""
        return (Workspace, ())
