r"""Sensitivity of the impurity of a node.

The impurity of a set of ``t`` rows, of which ``t_c`` are of class ``c``, is not divided by ``t``:
information gain, Gini and max of Friedman and Schuster, *Data Mining with Differential Privacy*
(KDD 2010), and root-Gini of Wang, Dick and Balcan, *Scalable and Provably Accurate Algorithms for
Differentially Private Distributed Decision Tree Learning* (2020), there for two classes. Scores
of splits are minus the sum of the impurities of the branches.

All four are *monotone*: a row that joins a set moves its impurity by an amount in ``[0, R]``, and
no other branch. So an addition moves every candidate of a node by an amount in ``[-R, 0]`` and
the range of the changes, which the exponential mechanism divides by, is ``R`` instead of the
``2 R`` of the papers. Replacing a row is a removal followed by an addition, perhaps of another
node: ``2 R``.

Entropy and root-Gini have no finite ``R`` for tables of any size. Their impurities are clipped by
a public number of rows ``N``: up to ``N`` rows nothing is clipped, beyond them the bound still
holds. ``N`` is a plain parameter, not a promise about the table.
"""

from __future__ import annotations

import math
from enum import IntEnum

from dpboost._utils.validation import check_integer
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity

#: Scores are counted in units of R / UNITS_PER_ROW.
UNITS_PER_ROW = 2**10

#: Units of the least impurities that the splits of a feature leave, for each row of n p (1 - p).
BOUND_UNITS_PER_ROW = 2**6
BOUND_UNIT = 1.0 / BOUND_UNITS_PER_ROW

#: Units per unit of Gini, which is twice n p (1 - p), a little rounded down.
BOUND_SCALE = BOUND_UNITS_PER_ROW / 2 * (1 - 2.0**-50)

#: Least and greatest ``N``; the rounding of the kernel is proved in between.
LEAST_ROWS, MOST_ROWS = 2**6, 2**31


class Impurity(IntEnum):
    """An impurity measure of the classes of a node, by its number in the kernel."""

    ENTROPY = 0
    GINI = 1
    ERRORS = 2
    ROOT_GINI = 3


def cap(impurity: Impurity, n_rows: int) -> float:
    """Return the clip of an impurity for a public number of rows; infinite where none is needed."""
    rows = check_integer("n_rows", "cap", n_rows, low=LEAST_ROWS, high=MOST_ROWS)
    if impurity is Impurity.ENTROPY:
        return math.log2(rows + 1)
    if impurity is Impurity.ROOT_GINI:
        return math.sqrt(rows)
    return math.inf


def most_change(impurity: Impurity, n_rows: int, n_classes: int) -> float:
    r"""Return ``R``: what one added row adds to the impurity of its node at most, and not less.

    Parameters
    ----------
    n_rows : int
        The public ``N`` of the clip.

    Returns
    -------
    float
        Entropy :math:`\log_2(N + 1) + 1 / \ln 2`, Gini 2, errors 1, root-Gini
        :math:`2 \sqrt N + \sqrt{(K - 2) / 2}` for :math:`K` classes.

    Notes
    -----
    Proof: docs/proofs/impurity-choice.md.

    *Weights.* A row of weight :math:`w \le 1` adds :math:`w` to its class. Nothing above asks for
    whole counts, and the impurity grows with :math:`w` because it is superadditive: a row of
    weight :math:`w` adds no more than one of weight 1.

    Deviation: Lemma 20 of Wang, Dick and Balcan bounds the change of the normalized root-Gini
    gain by :math:`10 / m`; a pure node of 100 rows of which one changes its class moves it by
    .199. The true order is :math:`2 / \sqrt m`, which is the constant here.
    """
    classes = check_integer("n_classes", "most_change", n_classes, low=1)
    limit = cap(impurity, n_rows)
    if impurity is Impurity.ENTROPY:
        return limit + 1 / math.log(2)
    if impurity is Impurity.GINI:
        return 2.0
    if impurity is Impurity.ERRORS:
        return 1.0
    return 2 * limit + math.sqrt(max(classes - 2, 0) / 2)


def scale(impurity: Impurity, n_rows: int, n_classes: int) -> float:
    """Return units per unit of impurity, so that one row is worth at most ``UNITS_PER_ROW``."""
    exact = UNITS_PER_ROW / most_change(impurity, n_rows, n_classes)
    # A little less than exact: the last digit may have been rounded up.
    return exact * (1 - 2.0**-50)


def split_score(neighbors: Neighbors) -> Sensitivity:
    """Range of the split scores of a node, in units of its own scale.

    Returns
    -------
    Sensitivity
        Kind ``"range"``: ``UNITS_PER_ROW + 2`` for add/remove, twice that for replace.

    Notes
    -----
    Proof: docs/proofs/impurity-choice.md.

    Deviation: the exponential mechanism of Friedman and Schuster divides by twice the
    sensitivity; with monotone scores once is enough.
    """
    return Sensitivity(
        "range",
        neighbors.rows * (UNITS_PER_ROW + 2),
        "an added row lowers each score by at most its range",
        added=UNITS_PER_ROW + 2 if neighbors is Neighbors.REPLACE else None,
    )


def split_gain(neighbors: Neighbors) -> Sensitivity:
    """L1 sensitivity of the gains of chosen candidates, one a node, in units of its scale.

    Returns
    -------
    Sensitivity
        Kind ``"l1"``: ``UNITS_PER_ROW + 2`` for add/remove, twice that for replace.

    Notes
    -----
    The gain is the impurity of the node less those of its branches. Proof:
    docs/proofs/split-gain.md.

    Deviation: Wang, Dick and Balcan take the noisy maximum of all gains for this number, which is
    private for no budget near the one that they state: the noise of all candidates enters it.
    """
    return Sensitivity(
        "l1",
        neighbors.rows * (UNITS_PER_ROW + 2),
        "an added row moves one gain by at most its range",
        neighbors.rows,
        UNITS_PER_ROW + 2 if neighbors is Neighbors.REPLACE else None,
    )


def split_bounds(n_features: int, neighbors: Neighbors) -> Sensitivity:
    r"""L1 sensitivity of the least impurities that the splits of each feature leave in a node.

    Parameters
    ----------
    n_features : int
        Features :math:`p`, each with a bound from the same rows.

    Returns
    -------
    Sensitivity
        Kind ``"l1"``: :math:`p (B + 1)` for add/remove with
        :math:`B` = ``BOUND_UNITS_PER_ROW``, twice that for replace.

    Notes
    -----
    Proof: docs/proofs/impurity-bounds.md.

    Deviation: Lemma 3.2 of Gubler (2023) has 5/4 for each feature. Algorithm 6 takes this for
    the sensitivity of all of them together, and spends ``p`` times the budget that it states.
    """
    features = check_integer("n_features", "split_bounds", n_features, low=1)
    moved = neighbors.rows * features
    return Sensitivity(
        "l1",
        moved * (BOUND_UNITS_PER_ROW + 1),
        "a row moves the bound of each feature by at most one",
        moved,
    )


# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DP-TopDown | Lemma 11 | corrected | the score without normalization has a bound of its
#   own, so that no private size is in the noise | unit/privacy/sensitivity/test_impurities.py
# Numbered: DP-TopDown | Lemma 12 | not used | quantiles of the shipped noise are exact | -
# Numbered: DP-TopDown | Lemma 17 | not used | the bounds that are shipped are proved without it |
#   -
# Numbered: DP-TopDown | Lemma 18 | corrected | a bound on the unnormalized score |
#   unit/privacy/sensitivity/test_impurities.py
# Numbered: DP-TopDown | Lemma 19 | not used | the bounds that are shipped are proved without it |
#   -
# Numbered: DP-TopDown | Lemma 20 | corrected | false as printed: the order is 2 / sqrt(m); a
#   proved bound on the unnormalized score | unit/privacy/sensitivity/test_impurities.py
# Numbered: Friedman and Schuster | Claim 1 | as printed | a step of the bound of information gain
#   | unit/privacy/sensitivity/test_impurities.py
# Numbered: Gubler | Theorem 7 | as printed | the impurity of a split is at least the sum of the
#   parties' own best ones | unit/privacy/sensitivity/test_impurities.py
# Numbered: Gubler | Lemma 3.2 | corrected | 1 for the printed 5/4, but for each feature: p
#   features cost p times that | unit/privacy/sensitivity/test_impurities.py
