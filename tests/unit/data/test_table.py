import copy
import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dpboost.data.table
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.table import read_table
from dpboost.schema import Schema

NAN = np.nan


def columns(table):
    return np.column_stack([table.column(f) for f in range(table.n_features)])


def from_pieces(table):
    values = np.full((table.n_rows, table.n_features), -99.0)
    for first_row, first, piece in table.pieces():
        assert piece.dtype in (np.float32, np.float64)
        rows = slice(first_row, first_row + piece.shape[0])
        part = values[rows, first : first + piece.shape[1]]
        assert (part == -99.0).all()
        part[:] = piece
    for feature in table.categorical if table.stored is None else ():
        codes, positions = table.coded(feature)
        assert (values[:, feature] == -99.0).all()
        values[:, feature] = positions[codes]
    return values


DTYPES = ["f2", "f4", "f8", "g", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_types_and_orders(dtype, order):
    X = np.array([[0, 1], [1, 1], [0, 0]], dtype=dtype, order=order)
    table = read_table(X)
    assert (table.n_rows, table.n_features) == (3, 2)
    assert table.feature_names == ("Column_0", "Column_1")
    assert table.column(0).dtype == np.float64
    np.testing.assert_array_equal(columns(table), X.astype(np.float64))
    np.testing.assert_array_equal(from_pieces(table), X.astype(np.float64))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_float_arrays_are_not_copied(dtype):
    wide = np.zeros((6, 8), dtype=dtype)
    wide.setflags(write=False)
    X = wide[::2, ::3]
    pieces = list(read_table(X).pieces())
    assert len(pieces) == 1
    assert np.shares_memory(pieces[0][2], wide)


@pytest.mark.parametrize("at_once", [1, 100, 250, 1000])
def test_other_tables_are_converted_in_parts(at_once, monkeypatch):
    monkeypatch.setattr(dpboost.data.table, "_CONVERTED_AT_ONCE", at_once)
    X = np.arange(700).reshape(100, 7)
    table = read_table(X)
    sizes = [piece.size for _, _, piece in table.pieces()]
    assert max(sizes) <= max(at_once, 7)
    assert len(sizes) == 1 or at_once < X.size
    np.testing.assert_array_equal(from_pieces(table), X)


def test_frames_are_read_column_by_column_without_copies():
    X = np.asfortranarray(np.arange(700.0).reshape(100, 7))
    frame = pd.DataFrame(X)
    frame[3] = frame[3].astype("Int64")
    pieces = list(read_table(frame).pieces())
    assert [piece.shape for _, _, piece in pieces] == [(100, 1)] * 7
    assert all(
        np.shares_memory(piece, frame[first].to_numpy()) for _, first, piece in pieces if first != 3
    )
    np.testing.assert_array_equal(from_pieces(read_table(frame)), X)


def test_integers_keep_all_digits_of_a_double():
    X = np.array([[2**24 + 1], [2**53 - 1], [-(2**31) - 1]])
    np.testing.assert_array_equal(columns(read_table(X)), X.astype(np.float64))
    X = np.array([[2**64 - 1]], dtype=np.uint64)
    assert columns(read_table(X))[0, 0] == 2.0**64


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([[1, 2.5], [3, 4]], [[1, 2.5], [3, 4]]),
        ([[None, 1]], [[NAN, 1]]),
        ([[pd.NA, np.float32(2)]], [[NAN, 2]]),
        ([[10**30, -(10**400)]], [[1e30, -np.inf]]),
        (np.array([[True, 2.5, None]], dtype=object), [[1, 2.5, NAN]]),
        (np.ma.masked_equal([[1, 2], [3, 1]], 1), [[NAN, 2], [3, NAN]]),
        ([[NAN, np.inf], [NAN, -np.inf]], [[NAN, np.inf], [NAN, -np.inf]]),
        (np.matrix([[1, 2]]), [[1, 2]]),
        ([[7.0]], [[7.0]]),
    ],
)
def test_unusual_cells_are_no_errors(X, expected):
    np.testing.assert_array_equal(columns(read_table(X)), expected)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u1", "?"])
def test_sparse_layouts(layout, dtype):
    X = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1]], dtype=dtype)
    table = read_table(scipy.sparse.coo_matrix(X).asformat(layout))
    np.testing.assert_array_equal(columns(table), X.astype(np.float64))
    assert table.stored.values.dtype in (np.float32, np.float64)
    assert len(table.stored.values) == np.count_nonzero(X)


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_sparse_unsorted_and_repeated_entries(make):
    data = np.array([200, 100, 100, 5], dtype=np.uint8)
    X = make((data, np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    table = read_table(X)
    np.testing.assert_array_equal(columns(table), [[200, 0, 200], [0, 5, 0]])
    assert X.nnz == 4
    np.testing.assert_array_equal(X.indices, [2, 0, 0, 1])
    X = scipy.sparse.csc_matrix((np.ones(3), np.array([1, 0, 1]), np.array([0, 3])), shape=(2, 1))
    np.testing.assert_array_equal(columns(read_table(X)), [[1], [2]])
    np.testing.assert_array_equal(X.indices, [1, 0, 1])


def test_damaged_sparse_matrix_is_refused():
    X = scipy.sparse.csr_matrix(np.eye(3))
    X.indices[1] = 71717
    with pytest.raises(InvalidParameterError, match="X is invalid") as caught:
        read_table(X)
    assert "71717" not in str(caught.value)


def mixed_frame():
    return pd.DataFrame(
        {
            "age in years": np.array([30, 40, 50], dtype="i8"),
            "wage": np.array([1.5, NAN, np.inf], dtype="f4"),
            "kids": pd.array([1, None, 3], dtype="Int64"),
            "tall": pd.array([True, None, False], dtype="boolean"),
            "male": [True, False, True],
            "rare": pd.arrays.SparseArray([0.0, 0.0, 2.0]),
            "job": ["nurse", None, "pilot"],
            "size": pd.Categorical(["S", None, "L"], categories=["S", "M", "L"]),
            "grade": pd.Categorical([2, 1, 9], categories=[9, 1, 2], ordered=True),
            "nothing": [NAN, NAN, NAN],
        }
    )


def test_frame_columns():
    schema = Schema(categories={"job": ["clerk", "nurse"]}, bounds={"age in years": (0, 99)})
    table = read_table(mixed_frame(), schema=schema)
    assert table.feature_names[:2] == ("age_in_years", "wage")
    assert table.categorical == {6: ["clerk", "nurse"], 7: ["S", "M", "L"], 8: [9, 1, 2]}
    assert table.ordered == {8}
    expected = [
        [30, 40, 50],
        [1.5, NAN, np.inf],
        [1, NAN, 3],
        [1, NAN, 0],
        [1, 0, 1],
        [0, 0, 2],
        [1, NAN, NAN],
        [0, NAN, 2],
        [2, 1, 0],
        [NAN, NAN, NAN],
    ]
    np.testing.assert_array_equal(columns(table).T, expected)
    np.testing.assert_array_equal(from_pieces(table).T, expected)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", "a", "z", None], dtype=object),
        pd.Series(["b", "a", "z", None], dtype="string"),
        pd.Series(["b", "a", "z", None]),
        pd.Series(pd.Categorical(["b", "a", "z", None])),
        pd.Series(pd.Categorical(["b", "a", "z", None], ordered=True)),
    ],
)
def test_declared_list_decides_the_code(column):
    schema = Schema(categories={"x": ["c", "b", "a"]})
    table = read_table(pd.DataFrame({"x": column}), schema=schema)
    np.testing.assert_array_equal(table.column(0), [1, 2, NAN, NAN])
    assert table.categorical == {0: ["c", "b", "a"]}
    assert table.ordered == frozenset()


def test_declared_integers_stay_in_columns_of_numbers():
    schema = Schema(categories={0: [5, 1]})
    for X in (np.array([[5, 1, 7]]).T, pd.DataFrame({"x": [5, 1, 7]})):
        table = read_table(X, schema=schema)
        np.testing.assert_array_equal(table.column(0), [5, 1, 7])
        assert table.categorical == {}
    mixed = pd.DataFrame({"x": pd.Series([5, 1, 7], dtype=object)})
    np.testing.assert_array_equal(read_table(mixed, schema=schema).column(0), [0, 1, NAN])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_frame_over_a_row_ordered_array_is_read_as_one_block(dtype):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    table = read_table(pd.DataFrame(X, copy=False))
    pieces = list(table.pieces())
    assert len(pieces) == 1
    assert np.shares_memory(pieces[0][2], X)
    assert table.feature_names == ("0", "1", "2")
    np.testing.assert_array_equal(columns(table), X)
    table = read_table(pd.DataFrame(np.asfortranarray(X)))
    np.testing.assert_array_equal(columns(table), X)


def test_frame_with_one_row_and_odd_index():
    frame = pd.DataFrame({"a": [1.0], "b": [2]}, index=["z"])
    np.testing.assert_array_equal(columns(read_table(frame)), [[1, 2]])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), "Expected 2D array, got 1D array instead.*Reshape your data"),
        ([1, 2], "Expected 2D array, got 1D array instead"),
        (pd.Series([1, 2]), "Expected 2D array, got 1D array instead"),
        (3.0, "Expected 2D array, got scalar array instead"),
        (None, "Expected 2D array, got scalar array instead"),
        (np.zeros((2, 2, 2)), "Found array with dim 3"),
        (np.zeros((0, 3)), r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
        (np.zeros((4, 0)), r"0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required"),
        (scipy.sparse.csr_matrix((0, 3)), r"0 sample\(s\)"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
        (pd.DataFrame(index=[1, 2]), r"0 feature\(s\)"),
        (np.array([[1j]]), "Complex data not supported"),
        ([[1j, 2]], "Complex data not supported"),
        (scipy.sparse.csr_matrix([[1j]]), "Complex data not supported"),
        (pd.DataFrame({"a": [1j]}), "Complex data not supported"),
        ([[1, 2], [3]], "rows of equal length"),
        ([["a", "b"]], "argument must be .* string.* number"),
        (np.array([["1", 2]], dtype=object), "argument must be .* string.* number"),
        (np.array([[{}, 2]], dtype=object), "argument must be .* string.* number"),
        (np.array([[1j, "a"]], dtype=object), "argument must be .* string.* number"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "argument must be .* string.* number"),
        (
            pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
            r"column 'day' .* datetime64.*Schema\(bounds=\{'day': ",
        ),
        (pd.DataFrame({"job": ["a"]}), r"column 'job'.*Schema\(categories=\{'job': \[...\]\}\)"),
        (pd.DataFrame({"job": pd.Series([1], dtype=object)}), "column 'job'.*object"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "'a' appears more than once"),
        (pd.DataFrame([[1, 2]], columns=["a b", "a_b"]), "'a_b' appears more than once"),
        (pd.DataFrame({"a:b": [1]}), "is not allowed in a LightGBM model"),
        (pd.DataFrame({"a": pd.cut([1.0, 2.0], 2)}), "categories of column 'a' must be text"),
    ],
)
def test_what_is_no_table_is_refused(X, message):
    with pytest.raises(InvalidParameterError, match=message):
        read_table(X)


@pytest.mark.parametrize(
    ("X", "parts", "message"),
    [
        ([[1, 2]], {"categories": {1: ["a", "b"]}}, "'Column_1' must be integers"),
        ([[1, 2]], {"categories": {1: [0.5, 1]}}, "must be integers from 0 to 65535"),
        ([[1, 2]], {"categories": {1: [0, 65536]}}, "Encode the column"),
        ([[1, 2]], {"categories": {1: [-1, 1]}}, "Encode the column"),
        (scipy.sparse.eye(2).tocsr(), {"categories": {1: ["a", "b"]}}, "must be integers"),
        (pd.DataFrame({"x": [1]}), {"categories": {"x": ["a", "b"]}}, "'x' must be integers"),
        (pd.DataFrame({"x": ["a"]}), {"bounds": {"x": (0, 1)}}, "column 'x'"),
        (pd.DataFrame({"x": pd.Categorical([1])}), {"bounds": {"x": (0, 1)}}, "is categorical"),
        (pd.DataFrame({"x": pd.Categorical([1])}), {"edges": {0: (0, 1)}}, "is categorical"),
    ],
)
def test_declarations_that_do_not_fit(X, parts, message):
    with pytest.raises(InvalidParameterError, match=message):
        read_table(X, schema=Schema(**parts))


def test_given_names():
    table = read_table([[1, 2]], feature_names=["a b", "c"])
    assert table.feature_names == ("a_b", "c")
    with pytest.raises(InvalidParameterError, match="one name for each of the 2"):
        read_table([[1, 2]], feature_names=["a"])
    resolved = Schema().resolve(["a"])
    with pytest.raises(InvalidParameterError, match="resolved for 1"):
        read_table([[1, 2]], schema=resolved)


@pytest.mark.parametrize(
    "X",
    [
        np.array([["71717", 1]], dtype=object),
        np.array([[71717, {}]], dtype=object),
        [["71717", "b"]],
        [[71717, 2], [3]],
        np.full(71717, 71717.0),
        [[1.0]] * 71717 + [[{"71717": 3}]],
        pd.DataFrame({"x": pd.Series([["71717"]])}),
    ],
)
def test_messages_and_causes_hold_no_cell_or_count(X):
    with pytest.raises(InvalidParameterError) as caught:
        read_table(X)
    assert "71717" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_cells_that_cannot_be_looked_up_are_not_shown():
    table = read_table(
        pd.DataFrame({"x": pd.Series([["71717"], "a"])}), schema={"categories": {"x": ["a"]}}
    )
    with pytest.raises(InvalidParameterError, match="column 'x'") as caught:
        table.column(0)
    assert "71717" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_table_shows_and_exports_nothing():
    table = read_table(np.full((71717, 2), 3.25))
    assert repr(table) == str(table) == "<Table with 2 features>"
    for use in (
        len,
        bool,
        iter,
        np.asarray,
        pickle.dumps,
        copy.copy,
        copy.deepcopy,
    ):
        with pytest.raises(TypeError):
            use(table)


def test_zeros_may_count_as_missing():
    X = np.array([[0, 5, 0], [1, 0, 1e-36], [0, 0, 0], [np.nan, 2, 0]])
    numbers = np.where(np.abs(X) < 1e-35, np.nan, X)
    schema = Schema(categories={1: [0, 2, 5]})
    frame = pd.DataFrame(X)
    kinds = [X, scipy.sparse.csr_matrix(X), frame, frame.astype(pd.SparseDtype("f8", 0.0))]
    for kind in kinds:
        table = read_table(kind, zero_as_missing=True)
        np.testing.assert_array_equal(columns(table), numbers)
        np.testing.assert_array_equal(table.largest(range(3)), [5, 1, NAN, 2])
        table = read_table(kind, schema=schema, zero_as_missing=True)
        np.testing.assert_array_equal(table.column(1), X[:, 1])
        assert not read_table(kind).zero_as_missing


def test_codes_of_categories_are_no_zeros():
    frame = pd.DataFrame({"size": pd.Categorical(["S", "L"], categories=["S", "L"])})
    table = read_table(frame, zero_as_missing=True)
    np.testing.assert_array_equal(table.column(0), [0, 1])


def sparse_frame():
    return pd.DataFrame(
        {
            "words": pd.arrays.SparseArray([0, 0, 3, 0], fill_value=0),
            "score": pd.arrays.SparseArray([NAN, 0.5, NAN, NAN]),
            "price": pd.arrays.SparseArray([7.0, 7.0, NAN, 0.0], fill_value=7.0),
            "seen": pd.arrays.SparseArray([False, True, False, False], fill_value=False),
            "size": pd.Categorical(["S", "L", None, "S"], categories=["S", "L"]),
            "age": np.array([1, 2, 3, 4], dtype="i4"),
        }
    )


def test_sparse_columns_of_a_frame_stay_sparse():
    frame = sparse_frame()
    table = read_table(frame)
    assert np.diff(table.stored.column_start).tolist() == [1, 1, 2, 1, 4, 4]
    dense = frame.copy()
    for name in ("words", "score", "price", "seen"):
        dense[name] = np.asarray(frame[name])
    expected = read_table(dense)
    assert expected.stored is None
    np.testing.assert_array_equal(columns(table), columns(expected))
    assert table.categorical == expected.categorical
    assert read_table(frame[["words", "size", "age"]]).stored is None


# -- types of columns -----------------------------------------------------------------------------


def kinds(X):
    table = read_table(X)
    return sorted(table.integer), sorted(table.boolean)


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_matrix, scipy.sparse.csc_array])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u1", "i8", "?"])
def test_an_array_is_of_one_type(wrap, dtype):
    found = kinds(wrap(np.ones((3, 2), dtype=dtype)))
    assert found == ([0, 1] if dtype not in ("f4", "f8") else [], [0, 1] if dtype == "?" else [])


def test_lists_and_objects_have_no_type():
    # The type that numpy finds depends on the cells: a single fraction changes it.
    for cells in ([[1, 2], [3, 4]], [[True, False]], [[1, 2], [3, 4.5]]):
        assert kinds(cells) == ([], [])
        assert kinds(np.array(cells, dtype=object)) == ([], [])


def test_a_list_of_whole_numbers_stays_without_a_type_where_rows_are_taken():
    from dpboost.data.users import take_rows

    assert kinds(take_rows([[1, 2], [3, 4]], np.array([1]))) == ([], [])
    assert kinds(take_rows(np.array([[1, 2], [3, 4]]), np.array([1]))) == ([0, 1], [])


@pytest.mark.parametrize("given", [np.array, list])
def test_a_sequence_has_the_type_of_the_arrays_that_it_gives(given):
    import lightgbm

    class Rows(lightgbm.Sequence):
        def __getitem__(self, position):
            return given([[1, 2], [3, 4]][position])

        def __len__(self):
            return 2

    assert kinds(Rows()) == ([0, 1] if given is np.array else [], [])


def test_columns_of_a_frame_have_their_own_types():
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame(
        {
            "float": [1.0, 2.0],
            "int": [1, 2],
            "bool": [True, False],
            "Int": pd.array([1, None], dtype="Int8"),
            "Bool": pd.array([True, None], dtype="boolean"),
            "Float": pd.array([1, None], dtype="Float64"),
            "arrow": pd.array([1, 2], dtype=pd.ArrowDtype(pa.uint16())),
            "flag": pd.array([True, None], dtype=pd.ArrowDtype(pa.bool_())),
            "sparse": pd.arrays.SparseArray([0, 1]),
            "kind": pd.Categorical(["a", "b"]),
        }
    )
    assert kinds(frame) == ([1, 2, 3, 4, 6, 7, 8], [2, 4, 7])
    arrow = pa.table({"x": [1, None], "y": [True, None], "z": [0.5, 1.0]})
    assert kinds(arrow) == ([0, 1], [1])


def test_one_error_names_every_column_that_cannot_be_read():
    X = pd.DataFrame(
        {
            "age": [1.0],
            "job": ["nurse"],
            "day": pd.to_datetime(["2020-01-01"]),
            "size": pd.cut([1.0], 2),
            "code": [3],
            "kind": pd.Categorical([1]),
        }
    )
    schema = {"categories": {"code": ["a", "b"]}, "bounds": {"kind": (0, 1)}}
    with pytest.raises(InvalidParameterError, match="X has columns that cannot be read:") as caught:
        read_table(X, schema=schema)
    lines = str(caught.value).splitlines()[1:]
    assert [line.split("'")[1] for line in lines] == ["job", "day", "size", "code", "kind"]
    assert all(line.startswith("* ") for line in lines)
    assert "nurse" not in str(caught.value)
    assert "2020" not in str(caught.value).replace("'2024-01-01'", "")


DAYS = ["2020-01-01", None, "2020-03-01 12:00"]


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series(pd.to_datetime(DAYS, format="mixed").as_unit(unit)) for unit in ("s", "ns")),
        pd.Series(pd.to_datetime(DAYS, format="mixed")).dt.tz_localize("UTC"),
        # Noon in UTC is one o'clock in Paris.
        pd.Series(pd.to_datetime(["2020-01-01 01:00", None, "2020-03-01 13:00"])).dt.tz_localize(
            "Europe/Paris"
        ),
    ],
    ids=["s", "ns", "UTC", "Paris"],
)
def test_dates_are_read_in_days(column):
    schema = {"bounds": {"day": ("2019-12-31", np.datetime64("2020-12-31"))}}
    table = read_table(pd.DataFrame({"day": column}), schema=schema)
    expected = [18262.0, NAN, 18322.5]
    np.testing.assert_array_equal(table.column(0), expected)
    assert not table.integer
    number = read_table(pd.DataFrame({"day": expected}), schema=schema)
    np.testing.assert_array_equal(number.column(0), expected)


def test_durations_are_read_in_days():
    stay = pd.to_timedelta(["36h", None])
    schema = {"bounds": {"stay": (datetime.timedelta(0), datetime.timedelta(weeks=2))}}
    table = read_table(pd.DataFrame({"stay": stay}), schema=schema)
    np.testing.assert_array_equal(table.column(0), [1.5, NAN])
    with pytest.raises(InvalidParameterError, match="'stay' .*two durations"):
        read_table(pd.DataFrame({"stay": stay}))
