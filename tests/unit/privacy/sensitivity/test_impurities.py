"""Brute force against the constants of impurities: what one row does, and not 5 % more."""

import itertools
import math

import numpy as np
import pytest

from dpboost._kernels import impurity as kernel
from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.impurities import LEAST_ROWS, UNITS_PER_ROW, Impurity
from tests.unit.privacy.sensitivity.test_constants import check

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
EACH = pytest.mark.parametrize("measure", list(Impurity))
RELATIONS = pytest.mark.parametrize("neighbors", [ADD, REPLACE])


def assert_interval_of_a_row(bound, neighbors):
    """The proof's interval has a row's units and one for each rounding, for each row that moves."""
    row = UNITS_PER_ROW + 2
    assert bound.constant == neighbors.rows * row
    assert bound.added == (row if neighbors is REPLACE else None)


def scores(tables, measure, n_rows):
    """Scores of nodes by the kernel; shape (n_tables,)."""
    tables = np.ascontiguousarray(tables, dtype=np.int64)
    n, n_classes = tables.shape
    caps = np.full(n, impurities.cap(measure, n_rows))
    scales = np.full(n, impurities.scale(measure, n_rows, n_classes))
    out = np.empty(n, dtype=np.int64)
    kernel.node_scores(tables, int(measure), caps, scales, out)
    return out


def exact(table, measure, n_rows):
    """The impurity by its definition."""
    t = sum(table)
    if t == 0:
        return 0.0
    if measure is Impurity.ENTROPY:
        top = math.log2(n_rows + 1)
        return sum(c * min(math.log2(t / c), top) for c in table if c)
    if measure is Impurity.GINI:
        return t * (1 - sum((c / t) ** 2 for c in table))
    if measure is Impurity.ERRORS:
        return t - max(table)
    root = math.sqrt(n_rows)
    return sum(min(math.sqrt(c * (t - c)), root * min(c, t - c)) for c in table)


def all_tables(n_classes, most):
    """All class counts of at most so many rows, and pure and mixed nodes of many more."""
    small = [t for t in itertools.product(range(most + 1), repeat=n_classes) if sum(t) <= most]
    large = itertools.product([0, 1, 2, 63, 64, 65, 1000, 10**6], repeat=n_classes)
    return np.array([*small, *large])


def changes(measure, n_rows, n_classes, most):
    """What an added row of the first class does to the score of its node."""
    tables = all_tables(n_classes, most)
    added = tables.copy()
    added[:, 0] += 1
    return scores(added, measure, n_rows) - scores(tables, measure, n_rows)


@EACH
@pytest.mark.parametrize(("n_classes", "most"), [(2, 70), (3, 24)])
@pytest.mark.parametrize("n_rows", [LEAST_ROWS, 1000])
@RELATIONS
def test_range_of_the_scores(measure, n_classes, most, n_rows, neighbors):
    moved = changes(measure, n_rows, n_classes, most)
    # The interval of the proof: no score rises by more than the rounding.
    assert moved.max() <= 1
    assert moved.min() >= -UNITS_PER_ROW - 1
    truth = moved.max() - moved.min()
    # A replaced row leaves one node, where it does its worst, and enters another one likewise.
    bound = impurities.split_score(neighbors)
    assert bound.kind == "range"
    check(bound.constant, truth * neighbors.rows)
    assert_interval_of_a_row(bound, neighbors)


@EACH
@pytest.mark.parametrize("n_classes", [2, 3, 5, 40])
@pytest.mark.parametrize("n_rows", [64, 5000, 2**20])
def test_the_change_of_a_row_in_rows(measure, n_classes, n_rows):
    """In the unit of the impurity itself, on the tables that attain it and on random ones."""
    random = np.random.default_rng(1)
    pure = np.zeros((6, n_classes), dtype=np.int64)
    pure[:, 1] = [1, n_rows - 1, n_rows, n_rows + 1, 10 * n_rows, 20 * n_rows]
    mixed = random.geometric(1e-3, size=(300, n_classes)) * random.integers(0, 2, (300, n_classes))
    tables = np.concatenate([pure, mixed])
    worst = -math.inf
    for table in tables.tolist():
        grown = [table[0] + 1, *table[1:]]
        change = exact(grown, measure, n_rows) - exact(table, measure, n_rows)
        assert change >= -1e-6
        worst = max(worst, change)
    constant = impurities.most_change(measure, n_rows, n_classes)
    assert constant >= worst * (1 - 1e-6)
    # With many classes and few rows the bound of root-Gini is a little loose.
    if measure is not Impurity.ROOT_GINI or n_classes <= 3 or n_rows >= 5000:
        assert worst >= 0.93 * constant


@EACH
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [LEAST_ROWS, 1000])
def test_a_row_of_a_smaller_weight_does_no_more(measure, n_classes, n_rows):
    """Counts in units of 2^-16 rows, as rows with weights are counted."""
    one = 2**16
    random = np.random.default_rng(5)
    tables = np.concatenate(
        [
            one * all_tables(n_classes, 20),
            random.integers(0, 70 * one, (3000, n_classes)),
            random.integers(0, 40, (3000, n_classes)),
        ]
    )
    caps = np.full(len(tables), impurities.cap(measure, n_rows))
    scales = np.full(len(tables), impurities.scale(measure, n_rows, n_classes) / one)

    def weighted(of):
        out = np.empty(len(of), dtype=np.int64)
        kernel.node_scores(np.ascontiguousarray(of), int(measure), caps, scales, out)
        return out

    assert np.array_equal(weighted(one * (tables // one)), scores(tables // one, measure, n_rows))
    before, worst = weighted(tables), 0
    for weight in (1, 100, one // 3, one):
        added = tables.copy()
        added[:, 0] += weight
        moved = weighted(added) - before
        assert moved.max() <= 1
        assert moved.min() >= -UNITS_PER_ROW - 1
        worst = max(worst, -int(moved.min()))
    assert worst >= 0.9 * UNITS_PER_ROW


@EACH
def test_scores_are_the_floors_of_the_impurity(measure):
    tables = all_tables(3, 12)
    n_rows = 100
    scale = impurities.scale(measure, n_rows, 3)
    expected = [-exact(table, measure, n_rows) * scale for table in tables.tolist()]
    found = scores(tables, measure, n_rows)
    assert (np.abs(found - np.floor(expected)) <= 1).all()
    assert (np.abs(found - expected) <= 1.25).all()


@EACH
def test_nothing_is_clipped_up_to_the_public_number_of_rows(measure):
    for table in [(1, 64), (2, 62), (30, 35), (64, 0)]:
        assert exact(table, measure, 64) == pytest.approx(exact(table, measure, 10**9), rel=1e-12)


@EACH
@RELATIONS
def test_sensitivity_of_a_gain(measure, neighbors):
    """The gain of a fixed split moves by at most its constant, and by nearly as much."""
    most, n_rows = 16, LEAST_ROWS
    tables = [t for t in itertools.product(range(most + 1), repeat=4) if sum(t) <= most]
    # The pure node with a row alone in its branch, at the public number of rows.
    tables += [(n, 0, 0, 0) for n in (62, 63, 64, 65, 1000)]
    tables += [(0, n, 0, 0) for n in (62, 63, 64, 65, 1000)]
    left = np.array(tables)[:, :2]
    right = np.array(tables)[:, 2:]

    def gains(left, right):
        parent = scores(left + right, measure, n_rows)
        return scores(left, measure, n_rows) + scores(right, measure, n_rows) - parent

    before = gains(left, right)
    worst = 0
    for branch, column in itertools.product((0, 1), (0, 1)):
        grown = [left.copy(), right.copy()]
        grown[branch][:, column] += 1
        worst = max(worst, int(np.abs(gains(*grown) - before).max()))
    # Replaced, the row leaves one node and enters another one: both gains move.
    bound = impurities.split_gain(neighbors)
    assert bound.kind == "l1"
    check(bound.constant, worst * neighbors.rows)
    assert bound.coordinates == neighbors.rows
    assert_interval_of_a_row(bound, neighbors)


def test_the_bound_of_the_paper_on_root_gini_is_false():
    """Lemma 20 of Wang, Dick and Balcan claims 10 / m for the normalized gain."""
    m = 100

    def gini(a, b):
        return 2 * math.sqrt(a * b) / m

    # A pure node of which one row changes its class, in a branch of its own.
    assert abs(gini(m - 1, 1) - gini(m, 0)) == pytest.approx(0.199, abs=1e-3)
    assert 10 / m < 0.199
    assert impurities.most_change(Impurity.ROOT_GINI, m, 2) / m >= 0.199


def test_the_constants_of_the_papers():
    assert impurities.most_change(Impurity.ENTROPY, 60 + 4, 2) == math.log2(65) + 1 / math.log(2)
    assert impurities.most_change(Impurity.GINI, 64, 2) == 2
    assert impurities.most_change(Impurity.ERRORS, 64, 2) == 1
    root_gini = [impurities.most_change(Impurity.ROOT_GINI, 64, classes) for classes in (1, 2, 10)]
    assert root_gini == [16, 16, 18]


@pytest.mark.parametrize("n_rows", [0, 63, 2**31 + 1, 64.5])
def test_a_number_of_rows_that_the_kernel_cannot_bear_is_refused(n_rows):
    with pytest.raises(InvalidParameterError, match="n_rows"):
        impurities.most_change(Impurity.ENTROPY, n_rows, 2)


@pytest.mark.parametrize("n_features", [1, 10])
@RELATIONS
def test_sensitivity_of_the_least_impurities_of_all_features(n_features, neighbors):
    """Split by the worst table of each feature: the row joins them all at once."""
    most = 40
    tables = [t for t in itertools.product(range(most + 1), repeat=2) if sum(t) <= most]
    tables += [(0, n) for n in (100, 1000, 10**6)]
    counts = np.array(tables)

    def bounds(counts):
        out = np.empty(len(counts), dtype=np.int64)
        ones = np.ones(len(counts))
        counts = np.ascontiguousarray(counts, dtype=np.int64)
        kernel.node_scores(counts, 1, np.inf * ones, impurities.BOUND_SCALE * ones, out)
        return -out

    exact_bounds = counts.prod(axis=1) / np.maximum(counts.sum(axis=1), 1)
    found = bounds(counts) * impurities.BOUND_UNIT
    assert np.abs(found - exact_bounds).max() <= impurities.BOUND_UNIT * (1 + 1e-6)
    moved = bounds(counts + [1, 0]) - bounds(counts)
    assert moved.min() >= -1
    worst = int(moved.max()) * n_features
    # A replaced row leaves one node and enters another one: the bounds of both move.
    bound = impurities.split_bounds(n_features, neighbors)
    assert bound.kind == "l1"
    check(bound.constant, worst * neighbors.rows)
    # The constant of Lemma 3.2 of Gubler is looser, and his Algorithm 6 takes it for all features.
    assert impurities.split_bounds(1, ADD).constant * impurities.BOUND_UNIT < 5 / 4
