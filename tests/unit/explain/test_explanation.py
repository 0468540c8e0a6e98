"""Shapes: what they add up to, and what they know."""

import itertools
import json

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.explain.effects import EffectSums
from dpboost.explain.explanation import Explanation
from dpboost.explain.masses import feature_shares
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.tree import Tree


@pytest.fixture(scope="module")
def explanation(model):
    return model.explain()


def test_effects_are_those_of_all_rows():
    # Brute force over every row of a small grid, weighted by products of shares.
    rng = np.random.default_rng(0)
    n_bins = np.array([4, 3, 5], dtype=np.int32)
    grid = PartitionGrid(n_bins=n_bins, is_nominal=np.zeros(3, dtype=np.uint8))
    shares = [rng.dirichlet(np.ones(n + 1)) for n in n_bins]
    trees, vectors = [], []
    for features in ([0, 1, 2], [1, 2], [0]):
        p = grid.random(np.array(features, np.int32), 3, rng)
        value = rng.integers(-50, 50, p.n_leaves)
        trees.append(
            Tree(
                feature=p.feature,
                left_bins=p.left_bins,
                left=p.left,
                right=p.right,
                leaf_value=value,
            )
        )
        vectors.append(value[:, np.newaxis])
    sums = EffectSums(trees, vectors, shares, n_bins)
    axes = [np.arange(n + 1) for n in n_bins]
    rows = np.array(list(itertools.product(*axes)), dtype=np.uint8)
    score = sum(tree.leaf_value[leaf_index(tree, rows.T)] for tree in trees)
    score = score.reshape([len(axis) for axis in axes]).astype(float)
    mean = np.einsum("ijk,i,j,k", score, *shares)
    np.testing.assert_allclose(sums.mean(), mean, rtol=1e-4)
    main = np.einsum("ijk,j,k->i", score, shares[1], shares[2]) - mean
    other = np.einsum("ijk,i,k->j", score, shares[0], shares[2]) - mean
    np.testing.assert_allclose(sums.mains()[0][:, 0], main, atol=1e-4)
    pair = np.einsum("ijk,k->ij", score, shares[2]) - mean - main[:, np.newaxis] - other
    np.testing.assert_allclose(sums.pair(0, 1)[0], pair, atol=1e-4)
    assert sums.pairs == [(0, 1), (0, 2), (1, 2)]


def test_shapes_have_mean_zero_and_the_right_slope(explanation):
    assert {shape.name for shape in explanation.shapes} == {"age", "pay", "idle", "town"}
    for shape in explanation.shapes:
        assert abs(shape.share.sum() - 1) < 1e-9
        assert abs(float(shape.effect[0] @ shape.share)) < 1e-5
        assert (shape.error[0] > 0).all()
    age = explanation.shape("age")
    middle = (age.edges[1:] + age.edges[:-1]) / 2
    truth = 2 * (middle - 0.5)
    # By row: a bin beside zero may hold hardly any.
    assert np.average(np.abs(age.effect[0, :-1] - truth), weights=age.share[:-1]) < 0.2
    assert explanation.shape(0) is age
    town = explanation.shape("town")
    assert town.labels == ("north", "south", "west")
    assert town.effect[0, 0] > town.effect[0, 1]


def test_shares_of_categories_come_from_released_leaves(model):
    shares = feature_shares(model.ensemble_)
    np.testing.assert_allclose(shares[3][:3], [0.6, 0.3, 0.1], atol=0.1)
    assert shares[0][-1] == 0.0


def test_importances_and_pairs_find_what_matters(explanation):
    names = [name for name, _, _ in explanation.importances()]
    assert names[0] == "age"
    assert names[-1] == "idle"
    assert all(error > 0 for _, _, error in explanation.importances())
    first = explanation.pairs[0]
    assert {first.first.name, first.second.name} == {"age", "pay"}
    assert first.effect.shape == first.error.shape
    assert (first.error > 0).all()
    assert len(explanation.pairs) == 6


def test_a_background_for_other_tools(explanation):
    rows = explanation.background(500)
    assert rows.shape == (500, 4)
    assert np.array_equal(rows, explanation.background(500), equal_nan=True)
    assert ((rows[:, :3] >= 0) & (rows[:, :3] <= 1)).all()
    assert set(rows[~np.isnan(rows[:, 3]), 3]) == {0.0, 1.0, 2.0}


def test_it_is_plain_numbers(explanation):
    plain = explanation.to_dict()
    assert json.loads(json.dumps(plain)) == plain


def test_several_classes_have_shapes_each(of_three):
    found = of_three.explain(pairs=1)
    assert found.intercept.shape == (3,)
    assert found.shape("age").effect.shape[0] == 3
    age = found.shape("age")
    assert age.effect[0, 0] > age.effect[0, -2]
    assert age.effect[2, 0] < age.effect[2, -2]


def test_bands_widen_with_the_level(explanation):
    shape = explanation.shapes[0]
    narrow, wide = shape.band(0.5), shape.band(0.95)
    assert (wide[0] < narrow[0]).all()
    assert (wide[1] > narrow[1]).all()


def test_unknown_features_are_refused(explanation):
    with pytest.raises(InvalidParameterError, match="one that the model splits"):
        explanation.shape("wages")


def test_without_trees_there_are_no_shapes(model):
    from dataclasses import replace

    found = Explanation.of(replace(model.ensemble_, trees=()))
    assert found.shapes == ()
    assert found.pairs == ()
