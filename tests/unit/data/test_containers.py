import datetime

import lightgbm
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost import DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.conform import conform
from dpboost.data.feature_bins import uniform_bins
from dpboost.data.table import read_table

NAN = np.nan


def columns(table):
    return np.column_stack([table.column(f) for f in range(table.n_features)])


def rows(n_rows=20):
    return np.random.default_rng(0).normal(size=(n_rows, 3))


class Batches(lightgbm.Sequence):
    def __init__(self, values, batch_size=7):
        self.values = values
        self.batch_size = batch_size

    def __getitem__(self, position):
        return self.values[position]

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize("batch_size", [1, 7, 20, 100, None])
def test_sequences_are_read_by_batches(batch_size):
    X = rows()
    np.testing.assert_array_equal(columns(read_table(Batches(X, batch_size))), X)
    both = read_table([Batches(X, batch_size), Batches(X.astype(np.float32))])
    np.testing.assert_array_equal(columns(both), np.vstack([X, X.astype(np.float32)]))


def test_a_list_of_arrays_is_one_table():
    X = rows()
    integers = np.arange(6).reshape(2, 3)
    table = read_table([X, integers, X.astype(np.float32)])
    np.testing.assert_array_equal(columns(table), np.vstack([X, integers, X.astype(np.float32)]))
    np.testing.assert_array_equal(columns(read_table((X,))), X)


@pytest.mark.parametrize(
    "X",
    [
        [rows(), rows()[:, :2]],
        [Batches(rows()), Batches(rows()[:, :1])],
        Batches(rows()[:, 0]),
    ],
)
def test_parts_that_do_not_fit_are_refused(X):
    with pytest.raises(InvalidParameterError, match="same number of columns"):
        read_table(X)


def test_an_empty_sequence_has_no_rows():
    with pytest.raises(InvalidParameterError, match=r"0 sample\(s\)"):
        read_table(Batches(rows()[:0]))


FRAME = pd.DataFrame({"x y": [1.0, NAN, 3.0], "city": pd.Categorical(["a", "b", "a"])})


@pytest.mark.parametrize("constructed", [False, True])
@pytest.mark.parametrize(
    "data",
    [rows(), scipy.sparse.csr_matrix(rows()), [rows(), rows()], Batches(rows())],
    ids=["array", "sparse", "arrays", "sequence"],
)
def test_a_dataset_gives_its_raw_rows(data, constructed):
    dataset = lightgbm.Dataset(
        data, feature_name=["a b", "c", "d"], free_raw_data=False, params={"verbosity": -1}
    )
    if constructed:
        dataset.construct()
    table = read_table(dataset)
    assert table.feature_names == ("a_b", "c", "d")
    np.testing.assert_array_equal(columns(table), columns(read_table(data)))


def test_a_dataset_over_a_frame_keeps_names_and_types():
    for names in ("auto", ["u", "v"]):
        table = read_table(lightgbm.Dataset(FRAME, feature_name=names))
        assert table.feature_names == (("x_y", "city") if names == "auto" else ("u", "v"))
        assert table.categorical == {1: ["a", "b"]}


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csc_matrix, pd.DataFrame])
def test_a_subset_reads_its_own_rows(kind):
    X = rows()
    whole = lightgbm.Dataset(kind(X), free_raw_data=False, params={"verbosity": -1}).construct()
    table = read_table(whole.subset([5, 1, 3]))
    np.testing.assert_array_equal(columns(table), X[[1, 3, 5]])


def test_a_dataset_without_raw_rows_says_what_to_do():
    freed = lightgbm.Dataset(rows(), params={"verbosity": -1}).construct()
    for dataset in (freed, lightgbm.Dataset(rows(), params={"verbosity": -1}).subset([1])):
        if dataset is not freed:
            dataset.reference = freed
        with pytest.raises(InvalidParameterError, match="free_raw_data=False"):
            read_table(dataset)
    with pytest.raises(InvalidParameterError, match="names a file"):
        read_table(lightgbm.Dataset("rows.csv"))


def test_a_dataset_is_not_predicted():
    binner = Binner(features=[uniform_bins(0.0, 1.0, 4)], feature_names=["x"])
    with pytest.raises(InvalidParameterError, match="cannot be predicted"):
        conform(lightgbm.Dataset(rows()), binner)


def mixed(pa):
    return pa.table(
        {
            "whole": pa.array([1, None, 3], pa.int64()),
            "single": pa.array([1.5, NAN, None], pa.float32()),
            "flag": [True, None, False],
            "nothing": pa.nulls(3),
            "half": pa.array(np.array([1, 2, 3], np.float16)),
            "money": pa.array([1, 2, None], pa.decimal128(5, 2)),
            "huge": pa.array([2**64 - 1, 0, 1], pa.uint64()),
        }
    )


MIXED = [
    [1, NAN, 3],
    [1.5, NAN, NAN],
    [1, NAN, 0],
    [NAN, NAN, NAN],
    [1, 2, 3],
    [1, 2, NAN],
    [2.0**64, 0, 1],
]


def test_arrow_tables_of_numbers():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for X in (mixed(pa), mixed(pa).to_batches()[0], pa.concat_tables([mixed(pa)] * 2)[:3]):
        table = read_table(X)
        assert table.feature_names[:2] == ("whole", "single")
        np.testing.assert_array_equal(columns(table).T, MIXED)


def test_arrow_text_needs_declared_categories():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values = ["x", "y", None]
    kinds = {"text": pa.string(), "large": pa.large_string()}
    if hasattr(pa, "string_view"):  # from pyarrow 16 on
        kinds["view"] = pa.string_view()
    X = pa.table({name: pa.array(values, kind) for name, kind in kinds.items()})
    for name in X.column_names:
        with pytest.raises(InvalidParameterError, match=rf"Schema\(categories=\{{'{name}'"):
            read_table(X.select([name]))
    table = read_table(X, schema={"categories": dict.fromkeys(X.column_names, ["y", "x"])})
    expected = np.repeat([[1], [0], [NAN]], len(kinds), axis=1)
    np.testing.assert_array_equal(columns(table), expected)


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (["y", "x", None], ["x", "y"]),
        ([7, 3, None], [3, 7]),
        ([2.5, 1.0, NAN], [1.0, 2.5]),
        ([True, False, None], [False, True]),
    ],
    ids=["text", "int", "float", "bool"],
)
@pytest.mark.parametrize("kind", ["table", "chunks", "pandas"])
def test_arrow_dictionaries_are_categorical_columns(values, listed, kind):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    encoded = pa.array(values, from_pandas=True).dictionary_encode()
    expected = [listed.index(values[0]), listed.index(values[1]), NAN]
    X = pa.table({"k": encoded})
    if kind == "chunks":
        # A dictionary of its own in every chunk.
        X = pa.concat_tables([X, pa.table({"k": pa.array(values[1:2]).dictionary_encode()})])
        expected.append(expected[1])
    if kind == "pandas":
        X = X.to_pandas(types_mapper=pd.ArrowDtype)
    table = read_table(X)
    assert table.categorical == {0: listed}
    np.testing.assert_array_equal(table.column(0), expected)
    declared = read_table(X, schema={"categories": {"k": listed[::-1]}})
    np.testing.assert_array_equal(declared.column(0), 1 - np.array(expected))


def test_arrow_types_that_are_no_table_of_numbers_are_refused():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    for X, message in (
        (pa.table({"day": pa.array([1], pa.timestamp("s"))}), "'day' .* timestamp.*Schema"),
        (
            pa.table({"at": pa.array([1], pa.time32("s")), "a": [[1]]}),
            "X has col[\\s\\S]*'a'",
        ),
        (pa.table({"a": [[1]]}), "'a' .* list"),
        (pa.table({"a": [{"b": 1}]}), "'a' .* struct"),
        (pa.array([1]), "Expected 2D array, got 1D"),
        (pa.chunked_array([[1]]), "Expected 2D array, got 1D"),
        (pa.table({"a": [1]}).schema, "pass a pyarrow.Table"),
        (pa.table({}), r"0 sample\(s\)"),
        (pa.table({"a": pa.array([], pa.int8())}), r"0 sample\(s\)"),
        (twice, "'a' appears more than once"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            read_table(X)


def test_polars_frames():
    pl = pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    sizes = pl.Series(["S", None, "L"], dtype=pl.Enum(["L", "M", "S"]))
    frame = pl.DataFrame({"a": [1, None, 3], "b": [1.5, NAN, None], "size": sizes})
    table = read_table(frame)
    assert table.categorical == {2: ["L", "M", "S"]}
    np.testing.assert_array_equal(columns(table), [[1, 1.5, 2], [NAN] * 3, [3, NAN, 0]])
    text = {"t": ["x", "y"], "c": pl.Series(["x", "y"], dtype=pl.Categorical)}
    lists = {"t": ["y", "x"], "c": ["x", "y"]}
    table = read_table(pl.DataFrame(text), schema={"categories": lists})
    np.testing.assert_array_equal(columns(table), [[1, 0], [0, 1]])
    assert read_table(pl.DataFrame({"c": text["c"]})).categorical == {0: ["x", "y"]}
    strange = pl.Series([object()], dtype=pl.Object)
    for X, message in (
        (pl.DataFrame({"t": text["t"]}), r"Schema\(categories=\{'t'"),
        (frame.lazy(), "collect"),
        (frame["a"], "Expected 2D array, got 1D"),
        (pl.DataFrame({"o": strange}), "'o' .* Object"),
        (pl.DataFrame({"o": [[1]]}), "'o' .* large_list"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            read_table(X)


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.parametrize("room", ["pyarrow", "polars", "pandas"])
def test_arrow_tables_train_and_predict_like_frames(room):
    module = pytest.importorskip(room, reason=f"{room} is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    random = np.random.default_rng(0)
    x, city = random.normal(size=200), random.choice(["a", "b", "c"], 200)
    frame = pd.DataFrame({"x": x, "city": city})
    table = (module.table if room == "pyarrow" else module.DataFrame)({"x": x, "city": list(city)})
    if room == "pandas":
        table = table.convert_dtypes(dtype_backend="pyarrow")
    schema = {
        "bounds": {"x": (-3, 3)},
        "categories": {"city": ["a", "b", "c"]},
        "label_bounds": (-4, 4),
    }
    options = {"recipe": "best", "schema": schema, "n_estimators": 8, "verbosity": 0}
    model = DPBoostRegressor(noise_seed=1, **options).fit(table, x + (city == "a"))
    same = DPBoostRegressor(noise_seed=1, **options).fit(frame, x + (city == "a"))
    assert model.booster_.model_to_string() == same.booster_.model_to_string()
    assert len(np.unique(same.predict(frame))) > 10
    for trained in (model, same):
        for rows_to_predict in (table, frame):
            np.testing.assert_array_equal(trained.predict(rows_to_predict), same.predict(frame))


class Spoken:
    """A table of a library that is known by Arrow's PyCapsule interface alone."""

    def __init__(self, table, one=False):
        self.table = table
        name = "__arrow_c_array__" if one else "__arrow_c_stream__"
        setattr(type(self), name, lambda own, *a, **k: getattr(own.table, name)(*a, **k))


@pytest.mark.parametrize("one", [False, True], ids=["stream", "array"])
def test_any_table_that_speaks_arrow_is_read(one):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    kind = type("Spoken", (Spoken,), {})
    columns_of = {"a": [1, None, 3], "t": ["x", "y", None]}
    table = pa.table(columns_of)
    X = kind(table.to_batches()[0] if one else table, one)
    schema = {"categories": {"t": ["y", "x"]}}
    found, expected = read_table(X, schema=schema), read_table(table, schema=schema)
    assert found.feature_names == ("a", "t")
    assert found.integer == expected.integer
    np.testing.assert_array_equal(columns(found), columns(expected))
    with pytest.raises(InvalidParameterError, match="not export a table"):
        read_table(kind(pa.array([1, 2]), one))


def test_frames_of_narwhals_are_those_that_they_wrap():
    nw = pytest.importorskip("narwhals", reason="narwhals is not installed")
    frame = pd.DataFrame({"a": [1.0, 2.0], "k": pd.Categorical(["x", "y"])})
    table = read_table(nw.from_native(frame))
    assert table.categorical == {1: ["x", "y"]}
    np.testing.assert_array_equal(columns(table), [[1, 0], [2, 1]])


@pytest.mark.parametrize("room", ["pyarrow", "polars"])
def test_dates_of_other_libraries_are_read_in_days(room):
    module = pytest.importorskip(room, reason=f"{room} is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    noon = datetime.datetime(2020, 3, 1, 12, tzinfo=datetime.timezone.utc)
    cells = {
        "day": [datetime.date(2020, 1, 1), None],
        "at": [noon, None],
        "stay": [datetime.timedelta(hours=36), None],
    }
    table = (module.table if room == "pyarrow" else module.DataFrame)(cells)
    bounds = {"day": ("2020-01-01", "2021-01-01"), "at": (0, 20000), "stay": (0, 9)}
    found = columns(read_table(table, schema={"bounds": bounds}))
    np.testing.assert_array_equal(found, [[18262.0, 18322.5, 1.5], [NAN] * 3])
