"""The effect of one or two features on a table of their bins, and its monotone projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpboost._kernels import isotonic

# Turns of a projection that goes from one side of a table to the other.
_TURNS = 3
# Turns of the division of what is left over between the two sides of a table.
_DIVISIONS = 6
# Turns of all parts.
_SWEEPS = 4


@dataclass(kw_only=True, eq=False)
class ShapePart:
    """The effect of one or two features on a table of their bins; missing bins are last.

    Proof: docs/proofs/constraints.md.
    """

    features: tuple[int, ...]
    #: Direction of each of them: -1, 0 or 1.
    signs: tuple[int, ...]
    #: Of shape (n_bins + 1,) or (n_bins_first + 1, n_bins_second + 1). What has been released of
    #: them.
    aim: NDArray[np.float64]
    #: Of the same shape. About the share of the rows in each cell; greater than zero.
    mass: NDArray[np.float64]
    #: Of the same shape. What was last projected.
    found: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.found = self.aim.copy()

    @property
    def mean_left(self) -> float:
        """Mean of what the projection has left over."""
        return float(((self.aim - self.found) * self.mass).sum() / self.mass.sum())

    def left_over(self) -> dict[int, NDArray[np.float64]]:
        """Return what the projection has left over along each feature with a direction.

        It is the mean at each bin of the feature. If both have a direction, it is the two lines
        whose sum is nearest to what is left over, so that nothing of it is handed on twice.
        """
        left = self.aim - self.found
        if left.ndim == 1:
            return {self.features[0]: left}
        axes = np.flatnonzero(self.signs).tolist()
        if len(axes) == 1:
            return {self.features[axes[0]]: self._mean_along(axes[0], left)}
        first, second = (np.zeros(size) for size in left.shape)
        for _ in range(_DIVISIONS):
            first = self._mean_along(0, left - second)
            second = self._mean_along(1, left - first[:, np.newaxis])
        return {self.features[0]: first, self.features[1]: second}

    def project(self, wanted: NDArray[np.float64]) -> None:
        """Find the nearest table whose lines are in order along each feature with a direction.

        Along one feature this is exact. If both have a direction, projections along one and the
        other take turns, each with what the last one along the same feature took away (Dykstra
        1983), and a running maximum along both ends them.
        """
        axes = np.flatnonzero(self.signs).tolist()
        table = wanted.copy()
        taken = {axis: np.zeros_like(table) for axis in axes}
        for axis in axes if len(axes) == 1 else axes * _TURNS:
            start = table + taken[axis]
            table = self._ascending(start, axis)
            taken[axis] = start - table
        if len(axes) > 1:
            for axis in axes:
                sign = float(self.signs[axis])
                lines = np.moveaxis(table, axis, 0)
                lines[:-1] = sign * np.maximum.accumulate(sign * lines[:-1], axis=0)
        self.found = table

    def _ascending(self, table: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        """Return the nearest table that is in order along one side, missing bins apart."""
        sign = float(self.signs[axis])
        found = table.copy()
        lines = np.moveaxis(found, axis, -1)
        ascending = _lines(sign * lines)
        isotonic.ascend(
            ascending,
            _lines(np.moveaxis(self.mass, axis, -1)),
            np.empty((3, ascending.shape[1])),
        )
        lines[..., :-1] = (sign * ascending).reshape(lines[..., :-1].shape)
        return found

    def _mean_along(self, axis: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of a table at each bin of one of its two sides."""
        mean = (table * self.mass).sum(axis=1 - axis) / self.mass.sum(axis=1 - axis)
        return np.asarray(mean)


def _lines(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lines of a table along its last side without their missing bins."""
    known = table[..., :-1]
    return np.ascontiguousarray(known.reshape(-1, known.shape[-1]))


def settle(parts: Sequence[ShapePart]) -> None:
    """Project one part after the other, with what the others have left over.

    Their sum keeps its mean: what rounding and running maxima take from it comes back to the first
    one.
    """
    left = {(f, part.features): line for part in parts for f, line in part.left_over().items()}
    pairs_first = sorted(parts, key=lambda part: -len(part.features))
    for _ in range(_SWEEPS):
        for part in pairs_first:
            wanted = part.aim
            for axis, feature in enumerate(part.features):
                for (own, features), line in left.items():
                    if own == feature and features != part.features:
                        side = line[:, np.newaxis] if wanted.ndim > 1 and axis == 0 else line
                        wanted = wanted + side
            part.project(wanted)
            for feature, line in part.left_over().items():
                left[feature, part.features] = line
    parts[0].found = parts[0].found + sum(part.mean_left for part in parts)
