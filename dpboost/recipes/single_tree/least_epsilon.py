"""The minimum epsilon of a classification tree, from the parts of its budget."""

from __future__ import annotations

from collections.abc import Callable

from dpboost.recipes.recipe import Given, Terms
from dpboost.rows.row_attributes import WEIGHT_ONE

# Units of a split score that a row moves, and one more for each floor.
_SCORE_UNITS = 1026.0


def least_of_parts(
    parts: Callable[[Given, int], float], *, histograms: bool = True
) -> Callable[[Given, Terms], float]:
    """Return the rule for the least epsilon for which every release can be drawn exactly.

    The samplers take 32-bit rationals, a score has 2^10 units and two, and a tenth of the budget
    may go elsewhere. A row with a weight counts up to 2^16 units. ``parts(given, n_features)`` says
    into how many parts the smallest release divides the budget at most, in units of a split score;
    ``histograms``, whether counts of all features may be released from one such part.
    """

    def least_epsilon(given: Given, terms: Terms) -> float:
        divided = parts(given, terms.n_features)
        if terms.weighted:
            each = 2 * terms.n_features if histograms else 1
            leaf_share: float = given.get("leaf_share", 0.2)
            divided = max(divided * each, 1.1 / leaf_share) * WEIGHT_ONE / _SCORE_UNITS
        return 1.2 * _SCORE_UNITS * terms.neighbors.rows * divided / 2.0**32

    return least_epsilon
