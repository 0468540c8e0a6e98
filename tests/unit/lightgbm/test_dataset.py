"""A Dataset keeps rows and never bins them."""

from pathlib import Path

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


@pytest.mark.parametrize("library", [lightgbm, dpboost])
def test_a_subset_is_sorted(library):
    labels = np.arange(100.0)
    data = library.Dataset(X, labels, weight=labels + 1, init_score=-labels, free_raw_data=False)
    part = data.construct().subset([9, 3, 5]).construct()
    np.testing.assert_array_equal(part.get_label(), [3, 5, 9])
    np.testing.assert_array_equal(part.get_weight(), [4, 6, 10])
    np.testing.assert_array_equal(part.get_init_score(), [-3, -5, -9])
    np.testing.assert_array_equal(part.get_data(), X[[3, 5, 9]])


@pytest.mark.parametrize("path", ["rows.csv", b"rows.csv", Path("rows.csv")])
def test_a_path_is_refused_by_name(path):
    with pytest.raises(InvalidParameterError, match=r"rows\.csv.*read_csv"):
        Dataset(path, Y)
    with pytest.raises(InvalidParameterError, match=r"rows\.csv.*read_csv"):
        Dataset(X, Y).create_valid(path)


@pytest.mark.parametrize("table", [None, 3, 3.5, {}, ["rows.csv"], [Path("rows.csv")], np.zeros(3)])
def test_what_is_no_table_is_refused(table):
    for call in (lambda: Dataset(table).construct(), lambda: Dataset(table).num_feature()):
        with pytest.raises(InvalidParameterError, match="2D array"):
            call()


@pytest.mark.parametrize("library", [lightgbm, dpboost])
@pytest.mark.parametrize(
    ("wrap", "shape"),
    [
        (list, (100,)),
        (pd.Series, (100,)),
        (lambda y: y[:, np.newaxis], (100,)),
        (lambda y: pd.DataFrame({"score": y}), (100,)),
        (lambda y: pd.DataFrame({"a": y, "b": -y}), (100, 2)),
    ],
)
def test_initial_scores_are_an_array_when_constructed(library, wrap, shape):
    data = library.Dataset(X, Y, init_score=wrap(Y)).construct()
    for found in (data.init_score, data.get_init_score()):
        assert isinstance(found, np.ndarray)
        assert found.shape == shape
        np.testing.assert_array_equal(found.reshape(100, -1)[:, 0], Y)


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
    params = {"schema": {"bounds": {"a": (-1, 1)}, "label_bounds": (-1, 1)}, "verbose": 0}
    with pytest.warns(dpboost.UndeclaredWarning):
        booster = dpboost.train(params, data, 2)
    assert booster.feature_name() == ["a", "b", "c"]
    assert booster.params["max_depth"] == 2


BOTH = pytest.mark.parametrize("library", [lightgbm, dpboost])
QUIET = {"verbosity": -1, "min_data_in_leaf": 1}


def constructed(library, table=X, **options):
    return library.Dataset(table, Y, params=QUIET, free_raw_data=False, **options).construct()


@BOTH
def test_a_constructed_one_has_fields(library):
    data = constructed(library, weight=Y + 2, init_score=Y)
    for name, dtype, values in (
        ("label", np.float32, Y),
        ("weight", np.float32, Y + 2),
        ("init_score", np.float64, Y),
    ):
        found = data.get_field(name)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, values.astype(dtype))
        np.testing.assert_array_equal(getattr(data, f"get_{name}")(), found)
    assert data.get_field("group") is None
    assert (data.num_data(), data.num_feature()) == (100, 3)
    assert data.construct() is data


@BOTH
def test_fields_are_set(library):
    data = constructed(library)
    assert data.get_weight() is data.get_init_score() is None
    data.set_field("label", -Y).set_field("weight", [2.0] * 100)
    data.set_field("init_score", np.column_stack([Y, 2 * Y]))
    np.testing.assert_array_equal(data.get_field("label"), -Y.astype(np.float32))
    assert data.get_weight().tolist() == [2.0] * 100
    np.testing.assert_array_equal(data.get_init_score(), np.column_stack([Y, 2 * Y]))
    data.set_field("init_score", None)
    assert data.get_field("init_score") is None
    data.set_label(Y).set_weight(Y + 2).set_init_score(Y)
    np.testing.assert_array_equal(data.label, data.get_field("label"))
    np.testing.assert_array_equal(data.get_field("weight"), (Y + 2).astype(np.float32))


@BOTH
def test_fields_need_to_be_constructed_and_to_fit(library):
    with pytest.raises(Exception, match="Cannot get label before construct"):
        library.Dataset(X, Y).get_field("label")
    with pytest.raises(Exception, match="Cannot set label before construct"):
        library.Dataset(X, Y).set_field("label", Y)
    with pytest.raises(lightgbm.basic.LightGBMError, match="before construct"):
        library.Dataset(X, Y).get_feature_name()
    with pytest.raises(lightgbm.basic.LightGBMError, match=r"(?i)length of (labels|label)"):
        library.Dataset(X, Y[:50], params=QUIET).construct()
    with pytest.raises(lightgbm.basic.LightGBMError):
        constructed(library).set_field("weight", Y[:50])


@BOTH
@pytest.mark.parametrize(
    ("table", "given", "names"),
    [
        (X, "auto", ["Column_0", "Column_1", "Column_2"]),
        (X, ["a", "b c", "d"], ["a", "b_c", "d"]),
        (pd.DataFrame(X, columns=["x", "y", "z"]), "auto", ["x", "y", "z"]),
    ],
)
def test_names_are_known_when_constructed(library, table, given, names):
    data = constructed(library, table, feature_name=given)
    assert data.get_feature_name() == names
    assert [name.replace(" ", "_") for name in data.feature_name] == names
    data.set_feature_name(["k", "l", "m"])
    assert data.get_feature_name() == ["k", "l", "m"]
    with pytest.raises(ValueError, match=r"feature_name\(2\) and num_feature\(3\) don't match"):
        data.set_feature_name(["k", "l"])


@BOTH
def test_a_set_for_evaluation_takes_over_parameters(library):
    data = library.Dataset(X, Y, params={**QUIET, "max_bin": 7}, free_raw_data=False)
    valid = data.create_valid(X[:10], Y[:10], params={"verbosity": -1})
    assert valid.get_params() == {}
    assert valid.construct().get_params() == {"max_bin": 7}
    assert valid.get_label().dtype == np.float32


@BOTH
@pytest.mark.parametrize("left", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("right", [np.asarray, scipy.sparse.csr_matrix, pd.DataFrame])
def test_columns_of_another_one_are_added(library, left, right):
    data, more = constructed(library, left(X)), constructed(library, right(X[:, :2] * 2))
    assert data.add_features_from(more) is data
    assert data.num_feature() == len(data.get_feature_name()) == 5
    whole = data.get_data()
    assert isinstance(whole, type(left(X)))
    dense = whole.toarray() if scipy.sparse.issparse(whole) else np.asarray(whole)
    np.testing.assert_array_equal(dense, np.hstack([X, X[:, :2] * 2]))
    with pytest.raises(ValueError, match="must be constructed"):
        data.add_features_from(library.Dataset(X, Y))


def test_a_constructed_one_trains_the_same_model():
    schema = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-1, 1)}
    params = {"schema": schema, "max_depth": 2, "verbosity": -1, "noise_seed": 1}
    with pytest.warns(dpboost.NotPrivateWarning):
        texts = [
            dpboost.train(params, data, 2).model_to_string()
            for data in (
                Dataset(X, Y, feature_name=["a", "b", "c"]),
                Dataset(X, Y, feature_name=["a", "b", "c"]).construct(),
            )
        ]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("construct", [False, True])
def test_lightgbm_refuses_to_train_on_it(construct):
    # A call that reached LightGBM's library with no handle would end the process.
    data = Dataset(X, Y)
    if construct:
        data.construct()
    own = lightgbm.Dataset(X, Y, params=QUIET, free_raw_data=False)
    for call in (
        lambda: lightgbm.train(QUIET, data, 1),
        lambda: lightgbm.Booster(QUIET, data),
        lambda: lightgbm.Booster(QUIET, own).add_valid(data, "rows"),
        lambda: lightgbm.Booster(QUIET, own).update(data),
        lambda: lightgbm.train(QUIET, own, 1, valid_sets=[data]),
    ):
        with pytest.raises(Exception, match=r"never binned|same predictor"):
            call()


@pytest.mark.parametrize(
    "call",
    [
        lambda data: data.set_group([100]),
        lambda data: data.set_position(np.zeros(100)),
        lambda data: data.set_field("group", [100]),
        lambda data: data._dump_text("rows.txt"),
        lambda data: data.add_features_from(Dataset(X[:5], Y[:5]).construct()),
    ],
)
def test_what_has_no_meaning_is_refused(call):
    with pytest.raises(lightgbm.basic.LightGBMError):
        call(Dataset(X, Y).construct())


def test_rows_that_are_given_once_are_left_for_the_fit():
    data = Dataset(iter([X[:50], X[50:]]), Y).construct()
    with pytest.raises(lightgbm.basic.LightGBMError, match="before construct"):
        data.get_field("label")
    edges = {position: [-0.5, 0.0, 0.5] for position in range(3)}
    schema = {"edges": edges, "label_bounds": (-1, 1)}
    assert dpboost.train({"schema": schema, "verbosity": -1}, data, 2).num_trees() == 2
    assert Dataset([X[:50], X[50:]], Y).construct().get_label().shape == (100,)
