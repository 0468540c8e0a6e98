"""Brute force against every constant: never below what one row can do, never 5 % above it."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import clipped_leaf, counts, gain_score

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
BOTH = pytest.mark.parametrize("neighbors", [ADD, REPLACE])


def assert_tight(constant, truth):
    assert constant >= truth * (1 - 1e-12), "one row can do more"
    assert truth >= 0.95 * constant, "one row cannot do nearly as much"


def check(constant, truth):
    """The constant is tight, and a change of 10 % in either direction would be noticed."""
    assert_tight(constant, truth)
    for mutated in (0.9 * constant, 1.1 * constant):
        with pytest.raises(AssertionError):
            assert_tight(mutated, truth)


# -- gain ---------------------------------------------------------------------------------------

ROWS = [0, 1, 2, 3, 10, 1000, 10**6]


def states(n, points=41):
    """Sums of gradients that n rows with gradients in [-1, 1] can have."""
    return np.unique(
        np.concatenate([n * np.linspace(-1, 1, points), np.linspace(-1, 1, 9) * (n > 0)])
    )


def largest_range_of_an_addition(units, hessian, ridge):
    """Search all child sums, sizes and rows; floors err by up to a quarter in the worst way."""
    error = 0.25 - 1e-9
    worst = 0
    for x in np.linspace(-1, 1, 9):
        highest, lowest = -math.inf, math.inf
        for n in ROWS:
            sums = states(n)
            weight = hessian * n + ridge
            before = units * hessian * (sums**2 / weight if weight else np.zeros_like(sums))
            after = units * hessian * (sums + x) ** 2 / (weight + hessian)
            highest = max(highest, (np.floor(after + error) - np.floor(before - error)).max())
            lowest = min(lowest, (np.floor(after - error) - np.floor(before + error)).min())
        worst = max(worst, highest - lowest)
    return worst


@BOTH
@pytest.mark.parametrize("units", [16, 1000])
@pytest.mark.parametrize(("hessian", "ridge"), [(1.0, 0.0), (1.0, 0.1), (0.25, 1.0), (2.0, 5.0)])
def test_range_of_the_gain(neighbors, units, hessian, ridge):
    truth = largest_range_of_an_addition(units, hessian, ridge)
    # A replaced row can leave a node where it does its worst and enter another one likewise.
    check(gain_score(units, neighbors).constant, truth * (2 if neighbors is REPLACE else 1))


def test_interval_of_the_gain_has_the_ends_of_the_proof():
    n, ridge = 10**6, 0.1
    assert (n - 1) ** 2 / (n + 1 + ridge) - n**2 / (n + ridge) == pytest.approx(-3, abs=1e-5)
    assert (n + 1) ** 2 / (n + 1 + ridge) - n**2 / (n + ridge) == pytest.approx(1, abs=1e-5)


def exact_scores(table, units, ridge):
    """Scores of a table of (node, bit of feature 0, bit of feature 1, gradient): per node."""
    scores = []
    for node in (0, 1):
        rows = [row[1:] for row in table if row[0] == node]

        def score(*groups):
            return math.floor(
                units * sum((Fraction(sum(g)) ** 2 / (len(g) + ridge) for g in groups), Fraction(0))
            )

        gradients = [row[2] for row in rows]
        row_scores = [score(gradients)]  # do not split
        for feature in (0, 1):
            row_scores.append(
                score(*[[row[2] for row in rows if row[feature] == bit] for bit in (0, 1)])
            )
        scores.append(row_scores)
    return np.array(scores)


def range_between(first, second):
    change = second - first
    return int((change.max(axis=1) - change.min(axis=1)).sum())


def test_range_of_the_gain_on_all_small_tables():
    units, ridge = 100, Fraction(1, 10)
    kinds = [(node, a, b, g) for node, a, b in itertools.product((0, 1), repeat=3) for g in (-1, 1)]
    # By symmetry of nodes, features and signs the first row may be of one kind.
    tables = [
        (kinds[0], *rest)
        for size in (1, 2)
        for rest in itertools.combinations_with_replacement(kinds, size)
    ]
    for table in tables:
        before = exact_scores(table, units, ridge)
        added = [exact_scores((*table, row), units, ridge) for row in kinds]
        worst = max(range_between(before, after) for after in added)
        assert worst <= gain_score(units, ADD).constant
        worst = max(range_between(one, other) for one in added for other in added)
        assert worst <= gain_score(units, REPLACE).constant


def test_replacing_a_row_within_a_node_reaches_range_eight():
    """The row leaves an all-positive child and enters one: +3 and +1; elsewhere -1 and -3."""
    n, ridge = 10**5, 0.1

    def score(total, rows):
        return total**2 / (rows + ridge)

    first = score(n, n) - score(n - 1, n + 1) + score(n + 1, n + 1) - score(n, n)
    second = score(-n, n) - score(-n - 1, n + 1) + score(-n + 1, n + 1) - score(-n, n)
    assert_tight(8, first - second)


# -- leaves -------------------------------------------------------------------------------------


def largest_move_of_a_leaf(gradient, hessian, ridge, clip, unit):
    worst = 0
    for n in range(12):
        sums = gradient * states(n, 201)[:, None]
        x = gradient * np.linspace(-1, 1, 101)[None, :]
        weight = hessian * n + ridge
        before = -sums / weight if weight else np.zeros_like(sums)
        after = -(sums + x) / (weight + hessian)
        before, after = (np.rint(np.clip(v, -clip, clip) / unit) for v in (before, after))
        worst = max(worst, np.abs(after - before).max())
    return worst


@BOTH
@pytest.mark.parametrize(
    ("gradient", "hessian", "ridge", "clip"),
    [
        (1.0, 1.0, 0.1, math.inf),
        (1.0, 1.0, 0.1, 1.0),
        (1.0, 1.0, 0.1, 0.05),
        (1.0, 1.0, 0.1, 1.5 * 2.0**-12),  # halves round away from each other: the extra unit
        (0.5, 0.25, 1.0, math.inf),
        (2.0, 1.0, 0.0, math.inf),
    ],
)
def test_sensitivity_of_a_leaf(neighbors, gradient, hessian, ridge, clip):
    unit = 2.0**-12
    truth = largest_move_of_a_leaf(gradient, hessian, ridge, clip, unit)
    bound = clipped_leaf(gradient, hessian, ridge, clip, unit, neighbors)
    assert bound.kind == "l1"
    # A replaced row moves two leaves.
    leaves = 2 if neighbors is REPLACE else 1
    check(bound.constant, truth * leaves)
    assert bound.coordinates == leaves


def test_replacing_the_only_row_of_a_leaf_moves_it_twice_as_far():
    unit = 2.0**-12
    values = [-x / 1.1 / unit for x in (-1, 1)]
    assert_tight(clipped_leaf(1, 1, 0.1, math.inf, unit, REPLACE).constant, abs(np.diff(values))[0])


def test_leaf_parameters_are_checked():
    for wrong in (
        {"unit": 0},
        {"hessian": 0},
        {"clip": -1},
        {"reg_lambda": -1},
        {"unit": math.inf},
    ):
        parameters = {
            "gradient_bound": 1,
            "hessian": 1,
            "reg_lambda": 0,
            "clip": 1,
            "unit": 1,
        } | wrong
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            clipped_leaf(**parameters, neighbors=ADD)


# -- sums over groups ---------------------------------------------------------------------------


def largest_norms(summands, n_histograms, neighbors):
    """Search the groups (of two) and the summand of a row in each histogram."""

    def contribution(groups, summand):
        sums = np.zeros((n_histograms, 2))
        sums[np.arange(n_histograms), groups] = summand
        return sums.ravel()

    rows = [
        contribution(groups, summand)
        for groups in itertools.product((0, 1), repeat=n_histograms)
        for summand in summands
    ]
    changes = rows if neighbors is ADD else [one - other for one in rows for other in rows]
    l1 = max(np.abs(change).sum() for change in changes)
    return (
        l1,
        max(np.sqrt((change**2).sum()) for change in changes),
        max(np.count_nonzero(change) for change in changes),
    )


@BOTH
@pytest.mark.parametrize("n_histograms", [1, 2, 3])
def test_sensitivity_of_counts(neighbors, n_histograms):
    l1, l2, touched = largest_norms([1000], n_histograms, neighbors)
    bounds = counts(neighbors, units_per_row=1000, histograms=n_histograms)
    assert [bound.kind for bound in bounds] == ["l1", "l2"]
    check(bounds[0].constant, l1)
    check(bounds[1].constant, l2)
    assert [bound.coordinates for bound in bounds] == [touched, touched]


def test_integer_roundings_go_up():
    assert [bound.constant for bound in counts(ADD)] == [1, 1]
    assert [bound.constant for bound in counts(REPLACE)] == [2, 2]
    assert counts(REPLACE, 2**16)[1].constant == math.isqrt(2 * 2**32) + 1


def test_range_of_the_gain_of_rows_with_weights():
    """A row of weight w adds w x to the sum and w to the count."""
    random = np.random.default_rng(0)
    ridge = 0.1
    n = 200_000
    weight = np.where(random.random(n) < 0.3, 1.0, random.random(n))
    counted = np.concatenate([random.uniform(0, 3, n // 2), random.uniform(0, 1e4, n // 2)])
    total = counted * np.where(random.random(n) < 0.5, 1, random.uniform(-1, 1, n))
    gradient = np.where(random.random(n) < 0.5, -1.0, random.uniform(-1, 1, n))

    def score(s, m):
        return s**2 / (m + ridge)

    moved = score(total + weight * gradient, counted + weight) - score(total, counted)
    assert moved.min() >= -3
    assert moved.max() <= 1
    assert moved.min() < -2.9
    assert moved.max() > 0.85
