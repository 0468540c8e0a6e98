"""What boosting tells rows: rounds, released trees and leaf values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.randomness import RowCoins
from dpboost.rows.boosting_state import BoostingState
from dpboost.trees.tree import Tree


@dataclass(frozen=True, kw_only=True, eq=False)
class AssignRows:
    """Every row goes to one round of an ensemble by a secret coin of its own.

    Parameters
    ----------
    shares : tuple of Fraction, or None
        Public chance of each round; None where all rows are in every round.
    coins : RowCoins or None
        The secret coins. They stay on the private side.
    """

    shares: tuple[Fraction, ...] | None
    coins: RowCoins | None

    def execute(self, rows: BoostingState) -> BoostingState:
        """Deal the rows of one place."""
        rows.deal(self.shares, self.coins)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectRound:
    """The rows of a round come next, with their scores up to date.

    Parameters
    ----------
    index : int
        Position of the round in its ensemble.
    """

    index: int

    def execute(self, rows: BoostingState) -> BoostingState:
        """Go over to the round at one place."""
        rows.take(self.index)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class EnterNodes:
    """The rows of the round go into the root of a tree.

    Parameters
    ----------
    gradient_bound : float
        Rows with a larger absolute gradient are dropped (gradient-based data filtering).
    whole : bool, default=False
        Whether all rows of the fit are at this one place.
    features : ndarray of int32, optional
        Features that the tree may split; all by default.
    """

    gradient_bound: float
    whole: bool = False
    features: NDArray[np.int32] | None = None

    def execute(self, rows: BoostingState) -> BoostingState:
        """Put the rows of one site into the root."""
        rows.enter_nodes(self.gradient_bound, whole=self.whole, features=self.features)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class AddValues:
    """The released leaf values of the last partition are added to scores.

    Parameters
    ----------
    values : ndarray of shape (n_outputs, n_leaves), int64
        In score units.
    """

    values: NDArray[np.int64]

    def execute(self, rows: BoostingState) -> BoostingState:
        """Add them at one place."""
        rows.add(self.values)
        return rows


@dataclass(frozen=True, kw_only=True, eq=False)
class AppendTrees:
    """The released trees of a round, one for each output."""

    trees: tuple[Tree, ...]

    def execute(self, rows: BoostingState) -> BoostingState:
        """Take note of them at one place."""
        rows.append(self.trees)
        return rows
