"""Which trees share rows: ensembles of ensembles and its two limits.

Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

# Chances of rows to take part are multiples of one over this.
_COIN_UNITS = 2**16


@dataclass(frozen=True, kw_only=True)
class EnsemblePlan:
    """Trees that are grown side by side on disjoint rows.

    Parameters
    ----------
    n_trees : int
        Trees of the ensemble.
    shares : tuple of Fraction, or None
        Probability that a row belongs to each tree; together at most one. None means that the
        single tree takes every row.
    """

    n_trees: int
    shares: tuple[Fraction, ...] | None


class Schedule(Protocol):
    """A public rule that turns a number of trees into ensembles."""

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan the ensembles; their numbers of trees add up to ``n_estimators``."""


def geometric_shares(n_trees: int, learning_rate: float) -> tuple[Fraction, ...]:
    """Shares proportional to ``(1 - learning_rate)**t`` that sum to exactly one.

    Algorithm 2, line 8, of Li, Wu, Wen and He (AAAI 2020), with ``t`` counted from 0 inside the
    ensemble.

    Deviation: the paper's ``t mod T_e`` is 0 for the *last* tree of an ensemble, which would
    give that tree the largest share although its leaves are clipped most.
    """
    weights = [Fraction((1.0 - learning_rate) ** index) for index in range(n_trees)]
    total = sum(weights)
    return tuple(weight / total for weight in weights)


@dataclass(frozen=True, kw_only=True)
class EnsembleOfEnsembles:
    """Ensembles in sequence; inside one, trees on disjoint rows in geometric shares.

    Algorithm 2 of Li, Wu, Wen and He (AAAI 2020). A last ensemble with fewer trees divides all
    rows among those it has.

    Parameters
    ----------
    trees_per_ensemble : int
        ``T_e`` of the paper.
    learning_rate : float
        Shrinkage, which also sets the shares.
    part : Fraction
        Chance of a row to take part in an ensemble at all.

    Privacy
    -------
    Deviation: every row draws its tree by an independent secret draw. Subsets of fixed size
    depend on the number of rows, and adding a row would displace others from theirs.
    """

    trees_per_ensemble: int
    learning_rate: float
    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan ``ceil(n_estimators / trees_per_ensemble)`` ensembles."""
        full, rest = divmod(n_estimators, self.trees_per_ensemble)
        sizes = [self.trees_per_ensemble] * full + ([rest] if rest else [])
        return tuple(
            EnsemblePlan(
                n_trees=size, shares=_parts(geometric_shares(size, self.learning_rate), self.part)
            )
            for size in sizes
        )


@dataclass(frozen=True, kw_only=True)
class HalfOfTheUnused:
    """One ensemble in which each tree takes half of the rows that no tree has used.

    The schedule of Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining
    with Differential Privacy" (INFOCOM 2018), the baseline PARA.

    Parameters
    ----------
    part : Fraction
        Chance of a row to take part at all.
    """

    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan one ensemble; a share of ``2**-n_estimators`` of its rows stays unused."""
        # Halving what is left is one draw for each row beforehand, with the chances 1/2, 1/4, ...:
        # no round has to know which rows an earlier one has used.
        shares = tuple(Fraction(1, 2 ** (index + 1)) for index in range(n_estimators))
        return (EnsemblePlan(n_trees=n_estimators, shares=_parts(shares, self.part)),)


@dataclass(frozen=True, kw_only=True)
class Sequential:
    """Every tree on all rows, one after the other: the baseline SEQ (Liu et al. 2018).

    Parameters
    ----------
    part : Fraction
        Chance of a row to take part in a round.

    Privacy
    -------
    Every round is charged to every row, whether its coin has left it out or not.
    """

    part: Fraction = Fraction(1)

    def plan(self, n_estimators: int) -> tuple[EnsemblePlan, ...]:
        """Plan one ensemble of one tree for each estimator."""
        shares = None if self.part == 1 else (self.part,)
        return (EnsemblePlan(n_trees=1, shares=shares),) * n_estimators


def bagged(fraction: float | None) -> Fraction:
    """Return the chance of a row to take part, as a fraction that coins can draw."""
    if fraction is None:
        return Fraction(1)
    return Fraction(max(1, round(fraction * _COIN_UNITS)), _COIN_UNITS)


def _parts(shares: tuple[Fraction, ...], part: Fraction) -> tuple[Fraction, ...]:
    """Return shares of a part of the rows."""
    return tuple(share * part for share in shares)
