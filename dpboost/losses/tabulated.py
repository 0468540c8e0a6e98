"""Losses of one output with public integer tables of gradient and hessian."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost.losses import newton_loss
from dpboost.losses.link_table import TABLE_BITS
from dpboost.losses.newton_loss import HESSIAN_UNIT, NewtonLoss
from dpboost.privacy.sensitivity.bound import ContributionBound

# No node of a table is larger, so that nothing overflows between two of them.
LARGEST_NODE = 1 << 45


@dataclass(frozen=True, kw_only=True)
class Surface:
    """Gradient and hessian over scores and labels, at public nodes; linear between them."""

    #: Of shape (n_labels, n_scores). In units of their bounds.
    gradients: NDArray[np.float64]
    hessians: NDArray[np.float64]
    #: Score of the first node in score units, or score less label.
    origin: int
    #: Score units between two nodes, as a power of two of at most 13.
    shift: int
    #: Label units between two nodes, as a power of two of at most 16.
    label_shift: int = 16
    #: Whether the tables are over the score less the label; then there is one label node.
    residual: bool = False
    #: Bounds of gradients; the larger one is 1 in size.
    low: float = -1.0
    high: float = 1.0
    #: Whether a smaller clip of gradients keeps the proportion of both sides.
    in_proportion: bool = False

    def tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return both tables in units of 2^-30, their last line and column twice."""
        whole = []
        for table in (self.gradients, self.hessians):
            units = to_integer_units(table * 2.0**TABLE_BITS, -LARGEST_NODE, LARGEST_NODE)
            padded = np.pad(units, ((0, 1), (0, 1)), mode="edge")
            padded.setflags(write=False)
            whole.append(padded)
        return whole[0], whole[1]

    def limits(self, gradient_limit: float) -> tuple[int, int]:
        """Return the least and the largest gradient under a clip, in units of 2^-16."""
        clip = newton_loss.gradient_units(gradient_limit)
        if self.in_proportion:
            return -math.floor(-self.low * clip), math.floor(self.high * clip)
        low, high = (math.ceil(side * newton_loss.GRADIENT_ONE) for side in (-self.low, self.high))
        return -min(low, clip), min(high, clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class TabulatedLoss(NewtonLoss):
    """A loss of one output, any function of a row's score and label.

    Its tables are in units of public bounds of the gradient and the hessian, which the subclasses
    state. Larger values are clipped.

    Parameters
    ----------
    objective : str
        LightGBM's name of the loss, as its model text has it.
    surface : Surface
        The tables.
    unit : float
        Unit of the score grid, a power of two.
    units_per_one : int
        Score units in a step of one: a step is a gradient sum in units of the gradient's bound
        over a hessian sum in units of the hessian's.
    start_units : int
        Start value in units.
    rules : dict
        Hyper-parameters that suit the loss, where the recipe's own rules do not.

    Privacy
    -------
    Releases nothing. ``packed_newton`` is a row-wise map that uses public numbers only: gradients
    are clipped to ``gradient_reach`` and hessians to ``hessian_reach`` after all rounding, so that
    both hold for every row, whatever the tables say.
    """

    name: str
    objective: str
    surface: Surface
    unit: float
    units_per_one: int
    start_units: int
    rules: dict[str, Any] = field(default_factory=dict)

    kernel: ClassVar[str] = "surface"
    n_outputs: ClassVar[int] = 1
    gradient_bound: ClassVar[float] = 1.0
    hessian_unit: ClassVar[float] = HESSIAN_UNIT
    hessian_reach: ClassVar[ContributionBound] = ContributionBound.single(round(1 / HESSIAN_UNIT))

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tables", self.surface.tables())

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to their public bounds and round them to the label grid."""
        raise NotImplementedError

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels whose mean decides on the start, within [-1, 1]."""
        raise NotImplementedError

    def starting_at(self, mean: float) -> TabulatedLoss:
        """Return this loss with a start value from a released mean of ``scaled_labels``."""
        raise NotImplementedError

    def gradient_reach(self, gradient_limit: float) -> ContributionBound:
        """Return how far the clipped gradient of a row goes, in units of 2^-16."""
        low, high = self.surface.limits(gradient_limit)
        bound = max(-low, high)
        return ContributionBound(l1=bound, squares=bound * bound, difference=(high - low) ** 2)

    def kernel_numbers(self, gradient_limit: float) -> tuple[Any, ...]:
        """Return tables and numbers that the kernels take, in their order."""
        surface = self.surface
        gradients, hessians = self._tables
        return (
            gradients,
            hessians,
            surface.origin,
            surface.shift,
            surface.label_shift,
            surface.residual,
            *surface.limits(gradient_limit),
        )


def units_of(value: float, unit: float) -> int:
    """Return a number in units, rounded."""
    return round(Fraction(value) / Fraction(unit))
