"""Memory for the large private arrays of a fit, which is used again once no one holds it."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Smaller arrays come from the heap of the process, which keeps its memory anyway. To get fresh
# pages from the system for every level of every tree takes longer than to fill them.
_LARGE = 1 << 20


class _Lease:
    """What all views of a lent array keep alive."""

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
    """Lends arrays, and lends their memory again once the last view of an array is gone.

    Privacy
    -------
    What it lends holds whatever was there before: private numbers of the same fit. Anyone who takes
    an array writes all that anyone reads.
    """

    __slots__ = ("_lent",)

    def __init__(self) -> None:
        self._lent: list[tuple[NDArray[np.uint8], weakref.ref[_Lease]]] = []

    def empty(self, shape: tuple[int, ...], dtype: type = np.int64) -> NDArray[Any]:
        """Return an array as ``numpy.empty`` does.

        Parameters
        ----------
        dtype : type, default=np.int64
        """
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
