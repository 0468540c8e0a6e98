"""Custom losses for several classes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._kernels import lookup_trees, newton
from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError
from dpboost.losses.newton_loss import (
    GRADIENT_ONE,
    HESSIAN_UNIT,
    NewtonLoss,
    PassArrays,
    gradient_units,
)
from dpboost.losses.softmax import SoftmaxLoss
from dpboost.losses.squared import SquaredLoss
from dpboost.losses.tabulated import units_of
from dpboost.losses.user_function import NOT_ALONE, Objective, Pair, call
from dpboost.privacy.sensitivity.bound import ContributionBound

# Rows that the function gets at a time.
BLOCK = 1 << 16
# Public rows on which the function is tried, and how many of them one by one.
TRIED, TRIED_ALONE = 3000, 200
# How far what a function says of a row may depend on the rows beside it, in parts of the bounds or
# of what it says where that is more: the last bits of a product of matrices do.
DEVIATION = 1e-10
LARGEST = 1e140  # the sum of squares of such values is a finite number

_ALL_ROWS = np.empty(0, dtype=np.int32)
_HESSIAN_ONE = round(1 / HESSIAN_UNIT)


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomClassLoss(NewtonLoss):
    """Gradients and hessians of several classes from a user-defined function.

    A function of several scores cannot be tabulated before training, so it is called with the
    labels and raw scores of rows; scores are clipped to the score bounds. Its results are clipped
    to the bounds by the Euclidean norm of each row.

    Parameters
    ----------
    function : callable
        ``function(y_true, y_pred) -> grad, hess`` with ``y_pred`` and both results of shape
        (n, n_outputs).
    n_outputs : int
        Number of classes.
    largest_gradient, largest_hessian : float
        Bounds of the Euclidean norms of a row's gradients and of its hessians, none of which is
        negative: what is longer is scaled down.
    score_bounds : (float, float)
        Raw scores begin in their middle.
    unit : float
        Unit of the score grid, a power of two.
    units_per_one : int
        Score units in a step of one.

    Notes
    -----
    The bits of a row's integers do not depend on the rows beside it, although the last bits of the
    function's values may: they are rounded, and what lies next to the middle between two integers
    is asked for once more, of that row alone. A row of which the function says nothing, because it
    raises an error or has missing values there, has gradients and hessians of zero.

    Deviation: LightGBM calls the function once a round, with all rows. Here it is called with some
    of them at a time.

    Privacy
    -------
    Releases nothing. ``packed_newton`` is a row-wise map if the function is one: that is the user's
    promise, and `of` tries it on public rows. Whatever the function returns, the norms of a row's
    integers are at most ``gradient_reach`` and ``hessian_reach``.
    """

    function: Objective
    n_outputs: int
    largest_gradient: float
    largest_hessian: float
    score_bounds: tuple[float, float]
    unit: float
    units_per_one: int
    start_units: tuple[int, ...]

    name: ClassVar[str] = "custom, several classes"
    objective: ClassVar[str] = ""
    rules: ClassVar[dict[str, Any]] = {"gradient_clip": 1.0, "step_prior": 0.1, "reg_lambda": 30.0}
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = HESSIAN_UNIT

    @classmethod
    def of(
        cls,
        function: Objective,
        n_outputs: int,
        *,
        gradient_bound: float,
        hessian_bound: float,
        score_bounds: tuple[float, float],
    ) -> CustomClassLoss:
        """Try a function on public rows.

        Parameters
        ----------
        n_outputs : int
            At least 2.

        Raises
        ------
        InvalidParameterError
            If the function does not return two arrays of the right shape, has missing values, or
            returns other values for the same rows among others.
        """
        scale = SquaredLoss.from_label_bounds(
            *score_bounds, name="score_bounds", owner="a custom objective"
        )
        loss = cls(
            function=function,
            n_outputs=n_outputs,
            largest_gradient=gradient_bound,
            largest_hessian=hessian_bound,
            score_bounds=score_bounds,
            unit=scale.unit,
            units_per_one=max(units_of(gradient_bound / hessian_bound, scale.unit), 1),
            start_units=(scale.start_units,) * n_outputs,
        )
        loss._try()
        return loss

    @property
    def hessian_reach(self) -> ContributionBound:
        """How far the hessians of a row go, in units of 2^-16 of their bound."""
        return self._reach(_HESSIAN_ONE)

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradients of a row go, in units of 2^-16 of their bound."""
        return self._reach(max(gradient_units(gradient_limit), 1))

    def _reach(self, norm: int) -> ContributionBound:
        squares = norm * norm
        return ContributionBound(
            l1=math.isqrt(self.n_outputs * squares), squares=squares, entries=self.n_outputs
        )

    def packed_newton(
        self,
        scores: NDArray[np.int64],
        labels: NDArray[np.int64],
        rows: NDArray[np.int32],
        *,
        gradient_limit: float,
        n_threads: int = 1,
    ) -> NDArray[np.int64]:
        """Packed clipped gradients and hessians of some rows."""
        packed = np.empty((self.n_outputs, len(rows)), dtype=np.int64)
        limit = gradient_units(gradient_limit)
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            asked = labels[some].astype(np.float64), self._seen(scores[:, some])
            packed[:, start : start + BLOCK] = self._words(*asked, limit)
        return packed

    def pass_over(self, arrays: PassArrays, *, gradient_limit: float, n_threads: int) -> None:
        """Bring scores up to date, find leaves and sum; the function is called in between."""
        scores, labels, present, weights, pending, leaves = arrays[:6]
        bins, features, steps, table, sums = arrays[6:]
        for own, values in zip(scores, pending, strict=True):
            lookup_trees.add_leaves(_ALL_ROWS, leaves, values, own, n_threads)
        rows = np.arange(len(labels), dtype=np.int32)
        packed = self.packed_newton(
            scores, labels, rows, gradient_limit=gradient_limit, n_threads=n_threads
        )
        packed *= present
        if len(weights):
            newton.weighted(weights, rows, packed)
        lookup_trees.find_leaves(bins, _ALL_ROWS, features, steps, table, leaves, n_threads)
        for output, own in enumerate(packed):
            lookup_trees.leaf_sums(own, leaves, sums[0, output], sums[1, output], n_threads)

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Check that class indices are 0 to ``n_outputs - 1``, or raise."""
        return SoftmaxLoss(n_outputs=self.n_outputs).encode_labels(y)

    def _seen(self, scores: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return raw scores of shape (n_rows, n_outputs), clipped to their bounds."""
        return np.ascontiguousarray(np.clip(scores * self.unit, *self.score_bounds).T)

    def _words(
        self, labels: NDArray[np.float64], scores: NDArray[np.float64], limit: int
    ) -> NDArray[np.int64]:
        """Return packed words of rows, whatever stands beside them."""
        units = self._units(*self._said(labels, scores), limit)
        # The clip moves a vector no further than its entries were moved, or 1 + root k times a
        # deviation: twice that far from the middle between two integers nothing can change.
        near = 4 * (1 + math.sqrt(self.n_outputs)) * DEVIATION * GRADIENT_ONE
        from_middle = np.abs(units - np.floor(units) - 0.5)
        doubtful = np.flatnonzero((from_middle < near).any(axis=(0, 1)))
        for row in doubtful.tolist():
            alone = slice(row, row + 1)
            units[:, :, alone] = self._units(*self._alone(labels[alone], scores[alone]), limit)
        found: NDArray[np.int64] = to_integer_units(units[0], -limit, limit) << 32
        found += to_integer_units(units[1], 0, _HESSIAN_ONE)
        return found

    def _said(self, labels: NDArray[np.float64], scores: NDArray[np.float64]) -> Pair:
        """Return what the function says of rows; of each alone where it says nothing of some."""
        with _silence():
            try:
                return call(self.function, labels, scores)
            except Exception:  # what a function raises may name cells
                pass
        parts = [
            self._alone(labels[row : row + 1], scores[row : row + 1]) for row in range(len(labels))
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def _alone(self, label: NDArray[np.float64], score: NDArray[np.float64]) -> Pair:
        """Return what the function says of one row, zeros where it says nothing."""
        with _silence():
            try:
                return call(self.function, label, score)
            except Exception:  # as above
                return np.zeros_like(score), np.zeros_like(score)

    def _units(
        self, gradients: NDArray[np.float64], hessians: NDArray[np.float64], limit: int
    ) -> NDArray[np.float64]:
        """Return gradients and hessians in units of 2^-16, clipped but not yet rounded.

        Both are given in shape (n_rows, n_outputs) and returned in shape (2, n_outputs, n_rows).
        ``limit`` is the norm of gradients that is kept.
        """
        return np.stack(
            [
                _shortened(gradients.T / self.largest_gradient, limit),
                _shortened(np.maximum(hessians.T / self.largest_hessian, 0.0), _HESSIAN_ONE),
            ]
        )

    def _try(self) -> None:
        """Raise unless the function says the same of public rows in other company."""
        labels, scores, random = _public_rows(self.n_outputs, self.score_bounds)
        whole = self._tried(labels, scores)
        others = [np.arange(TRIED), random.permutation(TRIED)[: TRIED // 3]]
        others += [np.flatnonzero(labels == 0), np.argsort(scores[:, 0])[: TRIED // 10]]
        others += [np.array([row]) for row in random.permutation(TRIED)[:TRIED_ALONE].tolist()]
        for some in others:
            again = self._tried(labels[some], scores[some])
            allowed = DEVIATION * np.maximum(np.abs(whole[:, some]), 1.0)
            if (np.abs(again - whole[:, some]) > allowed).any():
                raise InvalidParameterError(NOT_ALONE)

    def _tried(
        self, labels: NDArray[np.float64], scores: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return gradients and hessians of public rows in parts of their bounds."""
        gradients, hessians = call(self.function, labels, scores)
        found = np.stack([gradients / self.largest_gradient, hessians / self.largest_hessian])
        return np.clip(found, -LARGEST, LARGEST)


def largest_norm(function: Objective, n_classes: int, score_bounds: tuple[float, float]) -> float:
    """Return the largest Euclidean norm of the gradients of public rows.

    Privacy
    -------
    Called with public numbers only. It need not be a bound on all rows: they are shortened to it.
    """
    labels, scores, _ = _public_rows(n_classes, score_bounds)
    gradients, _ = call(function, labels, scores)
    return float(np.linalg.norm(gradients, axis=1).max())


def _public_rows(
    n_classes: int, score_bounds: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], np.random.Generator]:
    """Return labels and scores on which a function is tried, and their source of randomness."""
    random = np.random.default_rng(0)
    scores = random.uniform(*score_bounds, (TRIED, n_classes))
    return (np.arange(TRIED) % n_classes).astype(np.float64), scores, random


def _shortened(values: NDArray[np.float64], norm: int) -> NDArray[np.float64]:
    """Scale columns down until their norm is at most this many units, also when they are rounded.

    Every step takes one row by itself. A rounded entry is off by half a unit at most, and a column
    of k of them by half the root of k.
    """
    longest = max(norm - 0.5 * math.sqrt(len(values)) - 1e-3, 0.0)
    units = np.clip(values, -LARGEST, LARGEST) * GRADIENT_ONE
    squares = np.zeros(units.shape[1])
    for entry in units:
        squares += entry * entry
    length = np.sqrt(squares)
    factor = longest / np.maximum(length, max(longest, 1.0))
    shortened: NDArray[np.float64] = units * factor
    return shortened


@contextmanager
def _silence() -> Iterator[None]:
    """Keep quiet: what a function says on the side may reveal rows."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
