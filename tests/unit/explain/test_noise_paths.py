"""Simulated noise: against noise that was drawn."""

from dataclasses import replace

import numpy as np

from dpboost import DPBoostRegressor
from dpboost.data.table import read_table
from dpboost.explain.masses import feature_shares
from dpboost.explain.noise_paths import _row_weights, draw_bins, noise_paths
from dpboost.trees.leaf_index import leaf_index
from tests.unit.explain.conftest import fitted, table


def spread(ensemble, bins, paths):
    moved = sum(
        deviation[leaf_index(tree, bins)]
        for tree, deviation in zip(paths.trees, paths.deviations, strict=True)
    )
    return ensemble.unit * moved.std(axis=1)


def test_the_first_tree_has_the_noise_of_its_release(model):
    ensemble = model.ensemble_
    first = ensemble.trees[0]
    paths = noise_paths(replace(ensemble, trees=(first,)), 4000)
    expected = first.noise.stddev(first.leaf_count)
    np.testing.assert_allclose(paths.deviations[0].std(axis=1), expected, rtol=0.06)


def test_spreads_are_those_of_refits():
    X, _ = table(200, seed=9)
    scores = []
    for seed in range(12):
        # As many trees as the rule has: with few of them it matters which features they cut.
        model = fitted(noise_seed=seed, n_estimators=400)
        scores.append(model.ensemble_.predict_raw(read_table(X, schema=model.schema_)))
    ensemble = model.ensemble_
    bins = read_table(X, schema=model.schema_).bins(ensemble.binner, 1)
    found = spread(ensemble, bins, noise_paths(ensemble))
    refits = np.std(scores, axis=0, ddof=1)
    ratio = np.sqrt((found**2).mean() / (refits**2).mean())
    assert 0.8 < ratio < 1.2


def test_the_same_model_has_the_same_paths(model):
    one, two = noise_paths(model.ensemble_, 5), noise_paths(model.ensemble_, 5)
    assert all(np.array_equal(a, b) for a, b in zip(one.deviations, two.deviations, strict=True))


def test_no_noise_no_deviation():
    exact = fitted(epsilon=float("inf"), n_estimators=10)
    paths = noise_paths(exact.ensemble_, 5)
    assert all((deviation == 0).all() for deviation in paths.deviations)


def test_other_recipes_say_nothing_of_leaves():
    model = fitted(recipe="dpboost", epsilon=20, n_estimators=3)
    assert noise_paths(model.ensemble_) is None


def test_drawn_rows_are_weighted_to_where_rows_are():
    X = np.random.default_rng(0).uniform(size=(20_000, 2))
    X[:, 1] = np.clip(X[:, 0] + 0.05 * (X[:, 1] - 0.5), 0, 1)
    model = DPBoostRegressor(
        epsilon=8.0,
        schema={"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (-1, 2)},
        n_estimators=100,
        verbosity=0,
        random_state=0,
        n_jobs=1,
    ).fit(X, X[:, 0])
    ensemble = model.ensemble_
    bins = draw_bins(feature_shares(ensemble), 2000, np.random.default_rng(1))
    leaves = [leaf_index(tree, bins) for tree in ensemble.trees]
    weights = _row_weights(ensemble.trees, leaves)
    apart = np.abs(bins[0] / ensemble.binner.n_bins[0] - bins[1] / ensemble.binner.n_bins[1])
    assert weights @ apart < 0.4 * apart.mean()
