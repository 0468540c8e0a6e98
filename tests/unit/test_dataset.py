"""A Dataset keeps rows and never bins them."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dpboost
from dpboost import Dataset, InvalidParameterError

X = np.random.default_rng(0).uniform(-1, 1, (100, 3))
Y = X[:, 0]


def test_it_is_one_of_lightgbms_and_holds_what_it_was_given():
    weight, ids = np.ones(100), np.arange(100)
    data = Dataset(X, Y, weight=weight, init_score=Y, params={"max_bin": 7}, user_ids=ids)
    assert isinstance(data, lightgbm.Dataset)
    assert data.get_data() is X
    assert data.get_label() is Y
    assert data.get_weight() is weight
    assert data.get_init_score() is Y
    assert data.get_group() is None
    assert data.user_ids is ids
    assert (data.num_data(), data.num_feature()) == (100, 3)
    assert data.construct()._handle is None


@pytest.mark.parametrize(
    "wrap", [np.asarray, pd.DataFrame, scipy.sparse.csr_matrix, lambda rows: rows.tolist()]
)
def test_a_subset_has_its_own_labels_and_ids(wrap):
    data = Dataset(wrap(X), Y, weight=Y + 2, user_ids=np.arange(100))
    part = data.subset([3, 5])
    dense = part.data.toarray() if scipy.sparse.issparse(part.data) else np.asarray(part.data)
    np.testing.assert_array_equal(dense, X[[3, 5]])
    np.testing.assert_array_equal(part.label, Y[[3, 5]])
    np.testing.assert_array_equal(part.weight, Y[[3, 5]] + 2)
    assert part.user_ids.tolist() == [3, 5]
    assert part.num_data() == 2
    assert part.num_feature() == 3


def test_a_set_for_evaluation_refers_to_it():
    data = Dataset(X, Y)
    valid = data.create_valid(X[:10], Y[:10])
    assert isinstance(valid, Dataset)
    assert valid.reference is data
    assert Dataset(X).set_reference(data).reference is data


def test_what_bins_or_ranks_is_refused():
    for refused in (
        lambda: Dataset(X, Y, group=[100]),
        lambda: Dataset(X, Y, position=np.zeros(100)),
        lambda: Dataset(X, Y).feature_num_bin(0),
        lambda: Dataset(X, Y).save_binary("rows.bin"),
    ):
        with pytest.raises(InvalidParameterError):
            refused()


@pytest.mark.parametrize("kind", [Dataset, lightgbm.Dataset])
def test_names_and_parameters_reach_training(kind):
    data = kind(X, Y, feature_name=["a", "b", "c"], params={"max_depth": 2}, free_raw_data=False)
    params = {"schema": {"bounds": {"a": (-1, 1)}, "label_bounds": (-1, 1)}, "verbose": -1}
    with pytest.warns(dpboost.UndeclaredWarning):
        booster = dpboost.train(params, data, 2)
    assert booster.feature_name() == ["a", "b", "c"]
    assert booster.params["max_depth"] == 2
