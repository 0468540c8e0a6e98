import pickle

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.data.table import read_table
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.tree import Tree, threshold_sets

UNIT = 2.0**-20


def ensemble(objective="regression", start=0.5, n_trees=2):
    """Two stumps: age <= 40 or not, job is 7 or not."""
    binner = Binner(
        features=[uniform_bins(0.0, 80.0, 8), CategoryBins(codes=(7, 3))],
        feature_names=["age", "job"],
    )
    trees = tuple(
        Tree(
            feature=np.array([feature], np.int32),
            left_bins=threshold_sets(np.array([split_bin], np.uint8), np.array([feature == 1])),
            left=np.array([~0], np.int32),
            right=np.array([~1], np.int32),
            leaf_value=np.array(values, np.int64),
        )
        for feature, split_bin, values in ((0, 3, (1 << 20, -(1 << 19))), (1, 0, (3, 5)))
    )
    return Ensemble(
        trees=trees[:n_trees], binner=binner, start=(start,), unit=UNIT, objective=objective
    )


ROWS = np.array([[10.0, 7.0], [50.0, 7.0], [10.0, 3.0], [np.nan, 9.0], [40.0, np.nan]])
# 40 is the lower edge of the fifth bin; a missing age is not "at most", a missing job is "other".
EXPECTED = np.array([1.0, -0.5, 1.0, -0.5, -0.5]) + np.array([3, 3, 5, 5, 5]) * UNIT


@pytest.mark.parametrize("start", [0.0, 0.5, -3.0])
def test_raw_scores_are_the_start_plus_one_leaf_of_each_tree(start):
    raw = ensemble(start=start).predict_raw(read_table(ROWS))
    assert np.array_equal(raw, start + EXPECTED)


def test_regression_predicts_the_raw_score():
    assert np.array_equal(ensemble().predict(read_table(ROWS)), 0.5 + EXPECTED)


def test_binary_predicts_the_probability_of_the_second_class():
    model = ensemble(objective="binary sigmoid:1", start=0.0)
    probability = model.predict(read_table(ROWS))
    assert np.allclose(probability, 1 / (1 + np.exp(-EXPECTED)), rtol=1e-12)
    assert ((probability > 0.5) == (EXPECTED > 0)).all()


def test_an_ensemble_without_trees_predicts_its_start():
    assert ensemble(n_trees=0).predict(read_table(ROWS)).tolist() == [0.5] * len(ROWS)


def test_what_a_prediction_keeps_for_the_next_one_is_in_no_pickle():
    model = ensemble()
    before = pickle.dumps(model)
    first = model.predict_raw(read_table(ROWS))
    assert pickle.dumps(model) == before
    for again in (model, pickle.loads(before)):
        assert np.array_equal(again.predict_raw(read_table(ROWS)), first)
