import json
import pickle

import numpy as np
import pandas as pd
import pytest

from dpboost import InvalidParameterError, LPDTPartition

FIXED = {"max_depth": 2, "min_samples_leaf": 5, "n_levels": 2}


def test_it_survives_json_and_pickle(partition, rows):
    X, _ = rows(3)
    for copy in (
        LPDTPartition.from_json(partition.to_json()),
        pickle.loads(pickle.dumps(partition)),
    ):
        assert copy.to_json() == partition.to_json()
        assert np.array_equal(copy.cells(copy.read(X)), partition.cells(partition.read(X)))


def test_the_cell_of_a_row_depends_on_that_row_alone(partition, rows):
    X, _ = rows(3)
    together = partition.cells(partition.read(X))
    alone = [int(partition.cells(partition.read(row[np.newaxis]))[0]) for row in X[:50]]
    assert together[:50].tolist() == alone
    assert set(together.tolist()) == set(range(partition.n_cells))


def test_rows_out_of_bounds_and_missing_have_cells(partition):
    X = np.array([[np.nan, np.nan], [-1e300, np.inf], [1e300, -np.inf]])
    assert (partition.cells(partition.read(X)) < partition.n_cells).all()


def test_columns_of_a_frame(rows):
    X, y = rows(0)
    frame = pd.DataFrame({"a b": X[:, 0], "job": np.where(X[:, 1] > 0.5, "nurse", "clerk")})
    partition = LPDTPartition.from_public(frame, y + (X[:, 1] > 0.5) * 5, rule="variance", **FIXED)
    assert partition.binner.feature_names == ("a_b", "job")
    copy = LPDTPartition.from_json(partition.to_json())
    cells = copy.cells(copy.read(frame))
    assert len(set(cells[X[:, 1] > 0.5]) & set(cells[X[:, 1] <= 0.5])) == 0
    report = copy.encode(frame.iloc[:1], 1.0, epsilon=1.0)
    assert len(report) == len(copy.encode(frame.iloc[5:6], 3.0, epsilon=1.0))
    unseen = frame.assign(job="spy")
    assert (copy.cells(copy.read(unseen)) < copy.n_cells).all()


def test_other_columns_of_a_frame_are_refused(rows):
    X, y = rows(0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    partition = LPDTPartition.from_public(frame, y, **FIXED)
    assert np.array_equal(
        partition.cells(partition.read(X)), partition.cells(partition.read(frame))
    )
    for wrong in (frame[["b", "a"]], frame.rename(columns={"a": "c"})):
        with pytest.raises(InvalidParameterError, match=r"public rows had \['a', 'b'\]"):
            partition.read(wrong)
    unnamed = LPDTPartition.from_public(X, y, **FIXED)
    assert unnamed.read(frame).n_features == 2


def test_a_categorical_column_keeps_its_list(rows):
    X, y = rows(0)
    public = pd.DataFrame({"job": pd.Categorical(np.where(X[:, 0] > 0.5, "b", "a"))})
    partition = LPDTPartition.from_public(public, y, rule="variance", **FIXED)
    other = pd.DataFrame({"job": pd.Categorical(["b", "a"], categories=["b", "a"])})
    plain = pd.DataFrame({"job": ["b", "a"]})
    cells = partition.cells(partition.read(public))
    expected = [cells[X[:, 0] > 0.5][0], cells[X[:, 0] <= 0.5][0]]
    assert partition.cells(partition.read(other)).tolist() == expected
    assert partition.cells(partition.read(plain)).tolist() == expected


def test_what_is_declared_is_kept(rows):
    X, y = rows(0)
    schema = {"bounds": {0: (-3, 5)}, "label_bounds": (-7, 9)}
    partition = LPDTPartition.from_public(X, y, rule="max_edge", schema=schema, **FIXED)
    assert (partition.labels.lower, partition.labels.upper) == (-7, 9)
    declared, public = partition.binner.feature_infos()[:2]
    assert declared == "[-3.0:5.0]"
    assert public == f"[{float(X[:, 1].min())}:{float(X[:, 1].max())}]"


def test_the_range_of_public_labels_is_the_default(rows):
    X, y = rows(0)
    labels = LPDTPartition.from_public(X, y, **FIXED).labels
    assert (labels.lower, labels.upper) == (y.min(), y.max())
    with pytest.raises(InvalidParameterError, match="label_bounds"):
        LPDTPartition.from_public(X, np.ones(len(y)), **FIXED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "random"}, "'rule'"),
        ({"max_depth": 13}, "'max_depth'"),
        ({"min_samples_leaf": 0}, "'min_samples_leaf'"),
        ({"mechanism": "none"}, "'mechanism'"),
        ({"max_depth": None}, "'epsilon' and 'n_reports'"),
        ({"label_bounds": 3}, "'label_bounds'"),
        ({"classes": [1]}, "classes"),
        ({"schema": {"bounds": {9: (0, 1)}}}, "column 9"),
    ],
)
def test_bad_parameters_are_refused(rows, options, message):
    X, y = rows(0)
    with pytest.raises(InvalidParameterError, match=message):
        LPDTPartition.from_public(X, y, **FIXED | options)


def test_lengths_must_agree(rows):
    X, y = rows(0)
    with pytest.raises(InvalidParameterError, match="same length"):
        LPDTPartition.from_public(X, y[1:], **FIXED)


DAMAGE = [
    ("format", 2),
    ("left", [0, 0, 0]),
    ("right", [1, -2]),
    ("feature", [0, 7, 0]),
    ("feature", "no"),
    ("left_bins", ["0"] * 3),
    ("labels", {"label_bounds": [3, 1], "n_levels": 2}),
    ("binner", {}),
    ("categories", ["00"]),
    ("categories", [[7, [0, 1]]]),
    ("categories", [[-1, [0, 1]]]),
]


@pytest.mark.parametrize(("key", "value"), DAMAGE)
def test_a_damaged_partition_is_refused(partition, key, value):
    mapping = partition.to_dict() | {key: value}
    with pytest.raises(InvalidParameterError):
        LPDTPartition.from_json(json.dumps(mapping))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}"])
def test_what_is_no_partition_is_refused(text):
    with pytest.raises(InvalidParameterError):
        LPDTPartition.from_json(text)


@pytest.mark.parametrize("names", [["x0", []], ["x0", "a[b]"], ["x", "x"], ["", "x"]])
def test_names_that_no_model_can_have_are_refused_before_any_report(partition, names):
    plain = partition.to_dict()
    plain["binner"] = plain["binner"] | {"feature_names": names}
    with pytest.raises(InvalidParameterError):
        LPDTPartition.from_dict(plain)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.1], 1.0, "features"),
        ([0.1, 0.2, 0.3], 1.0, "features"),
        ([0.1, 0.2], float("nan"), "NaN"),
        ([0.1, 0.2], "high", "numbers"),
        ([0.1, "x"], 1.0, "number"),
    ],
)
def test_a_bad_record_is_refused(partition, x, y, message):
    with pytest.raises(InvalidParameterError, match=message):
        partition.encode(x, y, epsilon=1.0)
