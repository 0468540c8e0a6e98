"""Gains written for LightGBM's importances."""

from dataclasses import replace

import lightgbm
import numpy as np
import pytest

from dpboost.lightgbm.model_text.trees import LARGEST_GAIN, LEAST_GAIN, lay_out, split_gains
from dpboost.lightgbm.model_text.writer import model_text


def with_gains(tools, seed, draw):
    """Return an ensemble whose splits have gains by ``draw(feature)``."""
    ensemble = tools.ensemble(seed, n_trees=20)
    return replace(
        ensemble,
        trees=tuple(replace(tree, split_gain=draw(tree.feature)) for tree in ensemble.trees),
    )


def sums(ensemble, values):
    feature = np.concatenate([tree.feature for tree in ensemble.trees])
    return np.bincount(feature, weights=values, minlength=ensemble.binner.n_features)


@pytest.mark.parametrize("seed", range(3))
def test_positive_gains_of_a_feature_add_up_to_all_of_them(tools, seed):
    rng = np.random.default_rng(seed)
    ensemble = with_gains(tools, seed, lambda feature: rng.normal(feature - 2.0, 3.0))
    shown = np.concatenate([tree.split_gain for tree in ensemble.trees])
    gains = split_gains(ensemble.trees, lay_out(ensemble.trees))
    assert gains.min() == LEAST_GAIN
    assert (gains[shown <= 0] == LEAST_GAIN).all()
    np.testing.assert_allclose(
        sums(ensemble, gains), np.maximum(sums(ensemble, shown), 0), atol=1e-30
    )


def test_lightgbm_adds_them_up_and_counts_every_split(tools):
    rng = np.random.default_rng(5)
    ensemble = with_gains(tools, 5, lambda feature: rng.normal(0.0, 1.0, len(feature)))
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    gains = split_gains(ensemble.trees, lay_out(ensemble.trees))
    found = booster.feature_importance("gain")
    np.testing.assert_allclose(found, sums(ensemble, gains), rtol=1e-4, atol=1e-30)
    assert (found >= 0).all()
    splits = sums(ensemble, np.ones(len(gains)))
    np.testing.assert_array_equal(booster.feature_importance("split"), splits)


def test_huge_gains_stay_in_single_precision(tools):
    ensemble = with_gains(tools, 1, lambda feature: np.where(feature % 2, 1e300, -1e300))
    gains = split_gains(ensemble.trees, lay_out(ensemble.trees))
    assert set(gains) == {LEAST_GAIN, LARGEST_GAIN}
    booster = lightgbm.Booster(model_str=model_text(ensemble))
    assert np.isfinite(booster.feature_importance("gain")).all()


def test_trees_without_gains_have_one_for_each_split(tools):
    ensemble = tools.ensemble(2)
    assert set(split_gains(ensemble.trees, lay_out(ensemble.trees))) == {1.0}


def test_trees_of_one_leaf_have_none(tools):
    ensemble = tools.ensemble(2, n_trees=2, n_leaves=1)
    assert len(split_gains(ensemble.trees, lay_out(ensemble.trees))) == 0
