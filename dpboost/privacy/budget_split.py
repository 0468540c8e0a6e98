"""How the budget of a fit is split: exact parts that add up to the whole.

Budgets are in the unit of the accountant. A part of infinity is infinity. Proof that parts add up:
docs/proofs/composition.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpboost._utils.validation import check_integer, refuse
from dpboost.privacy.exact_arithmetic import NO_COST, PrivacyCost

#: Part of the budget that goes to whatever public knowledge has to be learned instead.
PREPARATION_SHARE = Fraction(1, 10)

#: Part of a tree's budget that goes to its leaves (Li et al., AAAI 2020, Algorithm 1).
LEAF_SHARE = Fraction(1, 2)

#: What a stability histogram may take of delta.
DELTA_SHARE = Fraction(1, 10)


def divide(total: PrivacyCost, weights: Sequence[int | Fraction]) -> tuple[PrivacyCost, ...]:
    """Split a budget in proportion to weights, without a remainder.

    Parameters
    ----------
    total : Fraction or inf
        The budget.
    weights : sequence of int or Fraction
        Not negative, with a positive sum.

    Returns
    -------
    tuple of Fraction or inf
        A part of weight 0 is 0.

    Raises
    ------
    InvalidParameterError
        If the weights are not of this form.
    """
    whole = Fraction(sum(weights))
    if whole <= 0 or min(weights) < 0:
        raise refuse("weights", "divide", "not negative, with a positive sum", weights)
    # Many trees mostly have one weight, and a division of fractions is slow.
    parts = {weight: total * (weight / whole) if weight else NO_COST for weight in set(weights)}
    return tuple(parts[weight] for weight in weights)


@dataclass(frozen=True, kw_only=True)
class FitBudget:
    """The budget of a fit, by stage.

    Parameters
    ----------
    preparation : dict
        Budget of each thing that is learned before training, by name; empty when nothing is.
    training : Fraction or inf
        What is left for the trees.
    """

    preparation: dict[str, PrivacyCost]
    training: PrivacyCost


def split_fit(
    total: PrivacyCost, learned: Sequence[str], share: Fraction = PREPARATION_SHARE
) -> FitBudget:
    """Set the preparation's share aside, in equal parts, when something has to be learned.

    Parameters
    ----------
    total : Fraction or inf
        The budget of the fit.
    learned : sequence of str
        What public knowledge does not declare: a public list of different names.
    share : Fraction, default=1/10
        The preparation's share, in (0, 1).

    Returns
    -------
    FitBudget
        Its parts add up to ``total``.

    Raises
    ------
    InvalidParameterError
        If the share is not in (0, 1) or a name occurs twice.
    """
    if not 0 < share < 1:
        raise refuse("share", "split_fit", "in (0, 1)", share)
    if len(set(learned)) < len(learned):
        raise refuse("learned", "split_fit", "a list of different names", learned)
    if not learned:
        return FitBudget(preparation={}, training=total)
    preparation, training = divide(total, (Fraction(share), 1 - Fraction(share)))
    parts = divide(preparation, [1] * len(learned))
    return FitBudget(preparation=dict(zip(learned, parts, strict=True)), training=training)


@dataclass(frozen=True, kw_only=True)
class TreeBudget:
    """The budget of a tree.

    Parameters
    ----------
    levels : tuple of Fraction or inf
        For the splits of each level, from the root down.
    leaves : Fraction or inf
        For the values of all leaves.
    """

    levels: tuple[PrivacyCost, ...]
    leaves: PrivacyCost


@lru_cache(maxsize=64)
def split_tree(total: PrivacyCost, depth: int, leaf_share: Fraction = LEAF_SHARE) -> TreeBudget:
    """Split a tree's budget: a share for the leaves, the rest equally over the levels.

    A row is in one node of each level and in one leaf, so levels and leaves add up while the
    nodes of a level do not (Li et al., AAAI 2020, Algorithm 1, with one half for the leaves).

    Parameters
    ----------
    total : Fraction or inf
        The tree's budget.
    depth : int
        Levels of splits; a tree of depth 0 gives everything to its leaf.
    leaf_share : Fraction, default=1/2
        The share of the leaves, in (0, 1); 1 where splits cost nothing.

    Returns
    -------
    TreeBudget
        Its parts add up to ``total``.

    Raises
    ------
    InvalidParameterError
        If the share is not in (0, 1].
    """
    levels = check_integer("depth", "split_tree", depth, low=0)
    share = Fraction(leaf_share)
    if not 0 < share <= 1:
        raise refuse("leaf_share", "split_tree", "in (0, 1]", leaf_share)
    if levels == 0:
        return TreeBudget(levels=(), leaves=total)
    leaves, *rest = divide(total, [share] + [(1 - share) / levels] * levels)
    return TreeBudget(levels=tuple(rest), leaves=leaves)
