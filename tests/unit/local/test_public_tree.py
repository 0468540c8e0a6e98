import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, EdgeBins, uniform_bins
from dpboost.local.public_rows import PublicRows
from dpboost.local.public_tree import grow_public, public_tree


def grow(values, y, features, rule, depth, leaf=1, choosing=None):
    """Return the tree, and the cell of every row."""
    binner = Binner(features=features, feature_names=[f"x{k}" for k in range(len(features))])
    values = np.asarray(values, dtype=float)
    bins = np.vstack([binner.bin_values(f, values[:, f]) for f in range(values.shape[1])])
    targets = np.asarray(y, dtype=float).reshape(len(values), -1)
    rows = PublicRows(
        bins, targets, binner, np.ones(len(values), bool) if choosing is None else choosing
    )
    growing = grow_public(rows, rule, max_depth=depth, min_samples_leaf=leaf)
    return public_tree(growing, binner), np.searchsorted(growing.leaves, rows.node)


def test_max_edge_halves_the_longest_edges():
    random = np.random.default_rng(0)
    X = random.uniform(size=(400, 2))
    tree, cell = grow(X, X[:, 1], [uniform_bins(0, 1, 8)] * 2, "max_edge", 2)
    # The label depends on the second feature, so that one is halved first, then the other.
    assert tree.feature.tolist() == [1, 0, 0]
    expected = 2 * (X[:, 1] > 0.5) + (X[:, 0] > 0.5)
    pairs = set(zip(expected.tolist(), cell.tolist(), strict=True))
    assert len(pairs) == 4


def test_max_edge_prunes_a_split_that_leaves_too_few():
    X = np.linspace(0, 0.6, 100)[:, np.newaxis]
    wide = [uniform_bins(0, 1, 128)]
    assert grow(X, X, wide, "max_edge", 1, leaf=18)[0].n_leaves == 1  # 17 rows beyond 0.5
    tree, cell = grow(X, X, wide, "max_edge", 3, leaf=17)
    assert tree.n_leaves == 5
    assert np.bincount(cell).min() >= 17


def test_max_edge_stops_where_bins_end():
    X = np.linspace(0, 1, 64)[:, np.newaxis]
    assert grow(X, X, [uniform_bins(0, 1, 4)], "max_edge", 10)[0].n_leaves == 4


def test_variance_finds_what_scikit_learn_finds():
    random = np.random.default_rng(1)
    X = random.integers(0, 9, size=(300, 3)).astype(float)
    y = X[:, 0] * X[:, 1] + random.normal(size=300)
    edges = [EdgeBins(edges=tuple(np.arange(8) + 0.5))] * 3
    tree, cell = grow(X, y, edges, "variance", 4, leaf=7)
    twin = DecisionTreeRegressor(max_depth=4, min_samples_leaf=7).fit(X, y)
    means = np.bincount(cell, weights=y) / np.bincount(cell)
    assert means[cell] == pytest.approx(twin.predict(X))


@pytest.mark.parametrize("rule", ["max_edge", "variance"])
def test_categories_are_split_off_one_at_a_time(rule):
    X = np.repeat(np.arange(4.0), 25)[:, np.newaxis]
    y = (X[:, 0] == 2) * 5.0 + X[:, 0] / 10
    tree, cell = grow(X, y, [CategoryBins(codes=(0, 1, 2, 3))], rule, 1)
    assert tree.n_leaves == 2
    assert set(X[cell == 0, 0]) == {2.0}
    assert grow(X, y, [CategoryBins(codes=(0, 1, 2, 3))], rule, 8)[0].n_leaves == 4


def test_only_choosing_rows_choose():
    X = np.linspace(0, 1, 100)[:, np.newaxis]
    choosing = np.arange(100) < 50
    edges = [EdgeBins(edges=tuple(np.linspace(0.01, 0.99, 60)))]
    one, cell = grow(X, np.where(choosing, X[:, 0] > 0.2, 0), edges, "variance", 1, 1, choosing)
    other, _ = grow(X, np.where(choosing, X[:, 0] > 0.2, 99), edges, "variance", 1, 1, choosing)
    assert one.left_bins.tolist() == other.left_bins.tolist()
    assert np.bincount(cell[choosing]).min() < np.bincount(cell).min() + 50


def test_classes_are_split_by_gini():
    X = np.arange(90.0)[:, np.newaxis]
    classes = np.repeat(np.eye(3), 30, axis=0)
    edges = [EdgeBins(edges=tuple(np.arange(0.5, 89, 1)))]
    tree, cell = grow(X, classes, edges, "variance", 2)
    assert sorted(np.bincount(cell).tolist()) == [30, 30, 30]
