r"""How far one row can move the impurity of a node, with the proofs.

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
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity.bound import Sensitivity

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
    """A measure of how mixed the classes of a node are, by its number in the kernel."""

    ENTROPY = 0
    GINI = 1
    ERRORS = 2
    ROOT_GINI = 3


def cap(impurity: Impurity, n_rows: int) -> float:
    """Return the clip of an impurity for a public number of rows; infinite where none is needed.

    Parameters
    ----------
    impurity : Impurity
    n_rows : int
        The public ``N``.
    """
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
    impurity : Impurity
    n_rows : int
        The public ``N`` of the clip.
    n_classes : int

    Returns
    -------
    float
        Entropy :math:`\log_2(N + 1) + 1 / \ln 2`, Gini 2, errors 1, root-Gini
        :math:`2 \sqrt N + \sqrt{(K - 2) / 2}` for :math:`K` classes.

    Notes
    -----
    Each clipped impurity is a concave function of the counts and homogeneous of degree one, as
    minima and sums of such functions are. So it is superadditive, and 0 for one row: an addition
    never lowers it.

    *Entropy*, :math:`\sum_c t_c \min(\log_2 (t / t_c), L)` with :math:`L = \log_2(N + 1)`. The
    term of the row's own class is concave in :math:`t_c` with the other classes fixed and 0 at 0,
    so it grows by at most its value at :math:`t_c = 1`, which is :math:`L` at most. Each other
    term grows by at most :math:`t_c \log_2((t + 1) / t)`, together by at most
    :math:`t \log_2(1 + 1 / t) < 1 / \ln 2`. For at most :math:`N` rows plus the new one nothing
    is clipped, since :math:`t / t_c \le N + 1`, and this is the bound of the paper's Claim 1.

    *Gini*, :math:`t - \sum_c t_c^2 / t`. A row of class :math:`c` changes :math:`\sum t_c^2 / t`
    by at least :math:`-1` (the square mean of the others shrinks from at most :math:`t` to
    :math:`t^2 / (t + 1)`), so the impurity grows by less than 2; all rows of one class and one
    of another attain :math:`2 t / (t + 1)`.

    *Errors*, :math:`t - \max_c t_c`: 0 or 1.

    *Root-Gini*, :math:`\sum_c \min(\sqrt{t_c (t - t_c)}, \sqrt N \min(t_c, t - t_c))`, which for
    two classes is :math:`2 \sqrt{t_1 t_2}`. As a function of one of the two parts each term is
    concave and grows by at most its value when that part is one, which is :math:`\sqrt N`: the
    term of the row's class by that, and so does the term of a class that has more than half of
    the rows. Every other class has no more rows than all the rest, and its term grows by at most
    :math:`\tfrac12 \sqrt{t_c / (t - t_c)} \le \tfrac12 \sqrt{2 t_c / t}`; the sum over
    :math:`K - 2` of them is at most :math:`\sqrt{(K - 2) / 2}` by Cauchy and Schwarz. Without a
    majority there are :math:`K - 1` such terms and one :math:`\sqrt N \ge 8` less.

    Deviation: Lemma 20 of Wang, Dick and Balcan bounds the change of the normalised root-Gini
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


def split_score(neighbours: Neighbours) -> Sensitivity:
    """Range of the split scores of a node, in units of its own scale.

    Parameters
    ----------
    neighbours : Neighbours
        The relation.

    Returns
    -------
    Sensitivity
        Kind ``"range"``: ``UNITS_PER_ROW + 2`` for add/remove, twice that for replace.

    Notes
    -----
    A row is in one branch of a candidate. Its score before the floor moves by an amount in
    ``[-K, 0]`` with ``K = UNITS_PER_ROW``, and the kernel errs by less than a quarter of a unit
    on either side: after the floor it moves by at most one unit more in either direction.

    Deviation: the exponential mechanism of Friedman and Schuster divides by twice the
    sensitivity; with monotone scores once is enough.
    """
    return Sensitivity(
        "range",
        neighbours.rows * (UNITS_PER_ROW + 2),
        "an added row lowers each score by at most its range",
    )


def split_gain(neighbours: Neighbours) -> Sensitivity:
    """L1 sensitivity of the gains of chosen candidates, one a node, in units of its scale.

    Parameters
    ----------
    neighbours : Neighbours
        The relation.

    Returns
    -------
    Sensitivity
        Kind ``"l1"``: ``UNITS_PER_ROW + 2`` for add/remove, twice that for replace.

    Notes
    -----
    The gain is the impurity of the node less those of its branches. Both grow with a row, each by
    an amount in ``[0, K]``, so that their difference moves by at most ``K``, and by at most two
    units more after the two floors.

    Deviation: Wang, Dick and Balcan take the noisy maximum of all gains for this number, which is
    private for no budget near the one that they state: the noise of all candidates enters it.
    """
    return Sensitivity(
        "l1",
        neighbours.rows * (UNITS_PER_ROW + 2),
        "an added row moves one gain by at most its range",
        neighbours.rows,
    )


def split_bounds(n_features: int, neighbours: Neighbours) -> Sensitivity:
    r"""L1 sensitivity of the least impurities that the splits of each feature leave in a node.

    Parameters
    ----------
    n_features : int
        Features :math:`p`, each with a bound from the same rows.
    neighbours : Neighbours
        The relation.

    Returns
    -------
    Sensitivity
        Kind ``"l1"``: :math:`p (B + 1)` for add/remove with
        :math:`B` = ``BOUND_UNITS_PER_ROW``, twice that for replace.

    Notes
    -----
    A row that joins one of two branches with :math:`a` rows of one class and :math:`b` of the
    other raises :math:`n p (1 - p) = a b / (a + b)` by
    :math:`b^2 / ((a + b) (a + b + 1)) \in [0, 1)`, and the least value over the splits of a
    feature by an amount in the same interval. In units this is in :math:`[0, B)`, and at most one
    unit more after the floors of both tables. The bounds of all features come from the same rows,
    so that their changes add up, and the sum over places moves by what one place's moves.

    Deviation: Lemma 3.2 of Gubler (2023) has 5/4 for each feature. Algorithm 6 takes this for
    the sensitivity of all of them together, and spends ``p`` times the budget that it states.
    """
    features = check_integer("n_features", "split_bounds", n_features, low=1)
    moved = neighbours.rows * features
    return Sensitivity(
        "l1",
        moved * (BOUND_UNITS_PER_ROW + 1),
        "a row moves the bound of each feature by at most one",
        moved,
    )
