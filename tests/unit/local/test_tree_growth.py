from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, EdgeBins, uniform_bins
from dpboost.local.tree_growth import Growth


def grow(values, y, features, rule, depth, leaf=1, choosing=None):
    binner = Binner(features=features, feature_names=[f"x{k}" for k in range(len(features))])
    values = np.asarray(values, dtype=float)
    bins = np.vstack([binner.bin_values(f, values[:, f]) for f in range(values.shape[1])])
    growth = Growth(
        bins=bins,
        targets=np.asarray(y, dtype=float).reshape(len(values), -1),
        choosing=np.ones(len(values), bool) if choosing is None else choosing,
        binner=binner,
        rule=rule,
        min_samples_leaf=leaf,
    )
    for _ in range(depth):
        growth.split_level()
    return growth


def test_max_edge_halves_the_longest_edges():
    random = np.random.default_rng(0)
    X = random.uniform(size=(400, 2))
    growth = grow(X, X[:, 1], [uniform_bins(0, 1, 8)] * 2, "max_edge", 2)
    # The label depends on the second feature, so that one is halved first, then the other.
    assert growth.tree().feature.tolist() == [1, 0, 0]
    expected = 2 * (X[:, 1] > 0.5) + (X[:, 0] > 0.5)
    pairs = set(zip(expected.tolist(), growth.cell.tolist(), strict=True))
    assert len(pairs) == 4


def test_max_edge_prunes_a_split_that_leaves_too_few():
    X = np.linspace(0, 0.6, 100)[:, np.newaxis]
    wide = [uniform_bins(0, 1, 128)]
    assert grow(X, X, wide, "max_edge", 1, leaf=18).n_cells == 1  # 17 rows beyond 0.5
    growth = grow(X, X, wide, "max_edge", 3, leaf=17)
    assert growth.n_cells == 5
    assert np.bincount(growth.cell).min() >= 17


def test_max_edge_stops_where_bins_end():
    X = np.linspace(0, 1, 64)[:, np.newaxis]
    assert grow(X, X, [uniform_bins(0, 1, 4)], "max_edge", 10).n_cells == 4


def test_variance_finds_what_scikit_learn_finds():
    random = np.random.default_rng(1)
    X = random.integers(0, 9, size=(300, 3)).astype(float)
    y = X[:, 0] * X[:, 1] + random.normal(size=300)
    edges = [EdgeBins(edges=tuple(np.arange(8) + 0.5))] * 3
    growth = grow(X, y, edges, "variance", 4, leaf=7)
    twin = DecisionTreeRegressor(max_depth=4, min_samples_leaf=7).fit(X, y)
    means = np.bincount(growth.cell, weights=y) / np.bincount(growth.cell)
    assert means[growth.cell] == pytest.approx(twin.predict(X))


@pytest.mark.parametrize("rule", ["max_edge", "variance"])
def test_categories_are_split_off_one_at_a_time(rule):
    X = np.repeat(np.arange(4.0), 25)[:, np.newaxis]
    y = (X[:, 0] == 2) * 5.0 + X[:, 0] / 10
    growth = grow(X, y, [CategoryBins(codes=(0, 1, 2, 3))], rule, 1)
    assert growth.n_cells == 2
    assert set(X[growth.cell == 0, 0]) == {2.0}
    assert grow(X, y, [CategoryBins(codes=(0, 1, 2, 3))], rule, 8).n_cells == 4


def test_only_choosing_rows_choose():
    X = np.linspace(0, 1, 100)[:, np.newaxis]
    choosing = np.arange(100) < 50
    edges = [EdgeBins(edges=tuple(np.linspace(0.01, 0.99, 60)))]
    one = grow(X, np.where(choosing, X[:, 0] > 0.2, 0), edges, "variance", 1, 1, choosing)
    other = grow(X, np.where(choosing, X[:, 0] > 0.2, 99), edges, "variance", 1, 1, choosing)
    assert one.tree().left_bins.tolist() == other.tree().left_bins.tolist()
    assert np.bincount(one.cell[choosing]).min() < np.bincount(one.cell).min() + 50


def test_classes_are_split_by_gini():
    X = np.arange(90.0)[:, np.newaxis]
    classes = np.repeat(np.eye(3), 30, axis=0)
    edges = [EdgeBins(edges=tuple(np.arange(0.5, 89, 1)))]
    growth = grow(X, classes, edges, "variance", 2)
    assert sorted(np.bincount(growth.cell).tolist()) == [30, 30, 30]
