import json
import pickle
import warnings
from decimal import Context, Decimal, localcontext

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.batches import Batches
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import AffineBins, CategoryBins, EdgeBins, uniform_bins
from dpboost.data.read_once import binned_table
from dpboost.data.table import BatchedTable, Reading, read_table
from dpboost.schema import Schema
from tests.tables import dense_bins

ZERO = float(np.float32(1e-35))


def one(bins):
    return Binner(features=[bins], feature_names=["x"])


def run_table(n_cells, n_bins, seed):
    starts = np.sort(np.random.default_rng(seed).permutation(n_cells - 1)[: n_bins - 1]) + 1
    return np.searchsorted(starts, np.arange(n_cells), side="right")


NUMERIC = {
    "unit": uniform_bins(0.0, 1.0, 64),
    "around zero": uniform_bins(-1.0, 1.0, 255),
    "odd width": uniform_bins(-0.1, 0.7, 7),
    "large offset": uniform_bins(1e15, 1e15 + 3, 255),
    "denormal": uniform_bins(0.0, 5e-324, 4),
    "tiny": uniform_bins(-1e-35, 1e-35, 64),
    "tiny positive": uniform_bins(1e-300, 3e-300, 8),
    "whole line": uniform_bins(-1.7e308, 1.7e308, 255),
    "one-sided": uniform_bins(0.0, 1.7976931348623157e308, 16),
    "constant": uniform_bins(3.0, 3.0, 64),
    "one bin": uniform_bins(0.0, 1.0, 1),
    "merged": AffineBins(lower=-3.0, upper=5.0, n_cells=4096, table=run_table(4096, 100, 1)),
    "merged, fine": AffineBins(lower=0.0, upper=0.3, n_cells=65536, table=run_table(65536, 255, 2)),
    "edges": EdgeBins(edges=(-1.5, 0.0, 0.1, 2.5)),
    "edges at zero": EdgeBins(edges=(-ZERO, -1e-36, 0.0, 5e-324, 1e-36, ZERO)),
    "no edges": EdgeBins(edges=()),
    "extreme edges": EdgeBins(edges=(-1.7976931348623157e308, 1.7976931348623157e308)),
    "float32 edges": EdgeBins(edges=(np.float32(0.1), np.float32(0.3))),
    "arcsinh": EdgeBins.arcsinh(64),
    "arcsinh, odd": EdgeBins.arcsinh(255, scale=1e-3),
}


def witnesses(thresholds, seed=0):
    finite = thresholds[np.isfinite(thresholds)]
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    special = [0.0, -0.0, 5e-324, -5e-324, ZERO, -ZERO, 1e-36, -1e-36, np.inf, -np.inf]
    special += [1.7976931348623157e308, -1.7976931348623157e308]
    points = np.concatenate([finite, special, rng.normal(size=2000), rng.random(2000)])
    with np.errstate(over="ignore"):
        above, below = np.nextafter(points, np.inf), np.nextafter(points, -np.inf)
    points = np.concatenate([points, above, below, bits])
    return points[~np.isnan(points)]


@pytest.mark.parametrize("name", NUMERIC)
def test_threshold_rule_is_the_bin_rule(name):
    binner = one(NUMERIC[name])
    thresholds = binner.thresholds(0)
    n_bins = binner.n_bins[0]
    assert thresholds.shape == (n_bins,)
    assert thresholds[-1] == np.inf
    assert not np.isnan(thresholds).any()
    assert (thresholds[1:] >= thresholds[:-1]).all()
    assert not ((thresholds >= -ZERO) & (thresholds < ZERO)).any()
    points = witnesses(thresholds)
    with np.errstate(over="ignore"):
        for values in (points, points.astype(np.float32)):
            bins = binner.bin_values(0, values)
            assert bins.max() < n_bins
            for b in range(n_bins):
                np.testing.assert_array_equal(bins <= b, values.astype(np.float64) <= thresholds[b])


@pytest.mark.parametrize("name", NUMERIC)
def test_missing_values_have_the_last_bin(name):
    binner = one(NUMERIC[name])
    nans = np.array([np.nan, -np.nan, np.uint64(0xFFF0000000000001).view(np.float64)])
    np.testing.assert_array_equal(binner.bin_values(0, nans), binner.n_bins[0])
    np.testing.assert_array_equal(binner.bin_values(0, np.float32(nans[:2])), binner.n_bins[0])


def test_uniform_bins_clip():
    binner = one(uniform_bins(0.0, 4.0, 4))
    bins = binner.bin_values(0, np.array([-np.inf, -5, 0, 0.5, 1, 3.99, 4, 9, np.inf]))
    np.testing.assert_array_equal(bins, [0, 0, 0, 0, 1, 3, 3, 3, 3])
    np.testing.assert_array_equal(binner.thresholds(0)[:3], np.nextafter([1.0, 2.0, 3.0], 0))


def test_edges_include_their_upper_border():
    binner = one(EdgeBins(edges=(1.0, 2.0)))
    bins = binner.bin_values(0, np.array([0.0, 1.0, np.nextafter(1.0, 2), 2.0, 3.0]))
    np.testing.assert_array_equal(bins, [0, 0, 1, 1, 2])
    np.testing.assert_array_equal(binner.thresholds(0), [1.0, 2.0, np.inf])


def test_categories_truncate_and_share_one_other_bin():
    binner = one(CategoryBins(codes=(7, 0, 40000)))
    values = np.array(
        [7, 7.9, 0, -0.9, 0.9, 1e-40, 40000, 1, 8, -1, -7, 40001, 1e300, np.inf, -np.inf, np.nan]
    )
    expected = [0, 0, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    np.testing.assert_array_equal(binner.bin_values(0, values), expected)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(binner.bin_values(0, values.astype("f4")), expected)
    np.testing.assert_array_equal(binner.category_codes(0), [7, 0, 40000])
    assert binner.feature_infos()[0] == "-1:7:0:40000"


def test_arcsinh_grid_covers_the_line_and_is_symmetric():
    for n_bins in (2, 3, 64, 255):
        bins = EdgeBins.arcsinh(n_bins, scale=2.0)
        edges = np.array(bins.edges)
        assert bins.n_bins == n_bins
        np.testing.assert_array_equal(edges, -edges[::-1])
        assert edges[-1] < 2.0 * 1e9
    assert EdgeBins.arcsinh(255).edges[-1] > 1e8


def test_arcsinh_grid_is_correctly_rounded():
    with localcontext(Context(prec=80)):
        for n_bins in (2, 7, 255):
            steps = [Decimal(2 * k - n_bins) / n_bins for k in range(1, n_bins)]
            powers = [Decimal(2 * 10**9) ** step for step in steps]
            edges = tuple(float((power - 1 / power) / 2) for power in powers)
            assert EdgeBins.arcsinh(n_bins).edges == edges


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AffineBins(lower=1.0, upper=0.0, n_cells=3), "at least lower"),
        (lambda: AffineBins(lower=0.0, upper=np.inf, n_cells=3), "finite"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=256), "1 to 255"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=70000), "at most 65536"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=3, table=[0, 1]), "3 bins"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=3, table=[1, 1, 2]), "start at 0"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=3, table=[0, 2, 2]), "go up by 0 or 1"),
        (lambda: AffineBins(lower=0.0, upper=1.0, n_cells=256, table=range(256)), "1 to 255"),
        (lambda: EdgeBins(edges=(1.0, 1.0)), "strictly increasing"),
        (lambda: EdgeBins(edges=(1.0, np.nan)), "finite"),
        (lambda: EdgeBins(edges=range(255)), "1 to 255"),
        (lambda: EdgeBins.arcsinh(1), "at least 2"),
        (lambda: EdgeBins.arcsinh(8, scale=0.0), r"\(0.0"),
        (lambda: CategoryBins(codes=()), "1 to 255"),
        (lambda: CategoryBins(codes=range(256)), "1 to 255"),
        (lambda: CategoryBins(codes=(1, 1)), "distinct"),
        (lambda: CategoryBins(codes=(65536,)), "at most 65535"),
        (lambda: CategoryBins(codes=(-1,)), "at least 0"),
        (lambda: uniform_bins(0.0, 1.0, 256), "at most 255"),
        (lambda: Binner(features=[], feature_names=[]), "at least 1"),
        (lambda: Binner(features=[EdgeBins(edges=())], feature_names=[]), "same length"),
        (lambda: one("edges"), "AffineBins, EdgeBins or CategoryBins"),
        (lambda: one(CategoryBins(codes=(1,))).thresholds(0), "numeric feature"),
        (lambda: one(EdgeBins(edges=())).category_codes(0), "nominal feature"),
    ],
)
def test_bad_bins_are_refused(make, message):
    with pytest.raises(InvalidParameterError, match=message):
        make()


def five_kinds():
    schema = Schema(
        bounds={"age": (17, 90), "zip": (3, 3)},
        edges={"hours": [20, 30, 45]},
        categories={"job": ["clerk", "nurse"]},
    )
    names = ["age", "job", "hours", "zip", "wage", "size"]
    return Binner.from_schema(
        schema.resolve(names), n_bins=16, categorical={1: ["clerk", "nurse"], 5: [4, 2, 9]}
    )


def test_layout_of_cells_and_candidates():
    binner = five_kinds()
    assert binner.n_features == 6
    assert binner.n_bins.tolist() == [16, 2, 4, 1, 16, 3]
    assert binner.n_bins.dtype == binner.cell_offsets.dtype == np.int32
    assert binner.candidate_offsets.dtype == np.int32
    assert binner.cell_offsets.tolist() == [0, 17, 20, 25, 27, 44, 48]
    assert binner.candidate_offsets.tolist() == [0, 16, 18, 22, 23, 39, 42]
    assert binner.is_categorical.dtype == np.uint8
    assert binner.is_categorical.tolist() == [0, 1, 0, 0, 0, 1]
    infos = binner.feature_infos()
    assert infos == [
        "[17.0:90.0]",
        "-1:0:1",
        "[-inf:inf]",
        "[3.0:3.0]",
        "[-inf:inf]",
        "-1:0:1:2",
    ]
    assert binner.pandas_categories() == [["clerk", "nurse"], [4, 2, 9]]
    assert one(CategoryBins(codes=(1,))).pandas_categories() is None
    with pytest.raises(ValueError, match="read-only"):
        binner.n_bins[0] = 3


def test_a_binner_survives_pickle_and_json():
    merged = AffineBins(lower=0.0, upper=1.0, n_cells=100, table=run_table(100, 9, 3))
    for binner in (five_kinds(), one(merged)):
        for other in (
            pickle.loads(pickle.dumps(binner)),
            Binner.from_dict(json.loads(json.dumps(binner.to_dict()))),
        ):
            assert other == binner
            assert other.to_dict() == binner.to_dict()
    assert one(merged) != one(uniform_bins(0.0, 1.0, 9))


def test_released_bounds_fill_what_is_not_declared():
    resolved = Schema(bounds={0: (0, 1)}).resolve(["a", "b"])
    binner = Binner.from_schema(resolved, n_bins=8, bounds={0: (5, 6), 1: (-4.0, 4.0)})
    assert binner.features == (uniform_bins(0.0, 1.0, 8), uniform_bins(-4.0, 4.0, 8))


def test_declared_integers_are_codes():
    binner = Binner.from_schema(Schema(categories={0: [5, 1, 9]}).resolve(["a"]))
    assert binner.features == (CategoryBins(codes=(5, 1, 9)),)
    assert binner.labels == {}
    table = read_table([[1], [9], [5], [0], [np.nan]], schema=Schema(categories={0: [5, 1, 9]}))
    np.testing.assert_array_equal(table.bins(binner), [[1, 2, 0, 3, 3]])


def test_ordered_categories_are_numbers():
    frame = pd.DataFrame({"size": pd.Categorical(["S", "L", None], ["S", "M", "L"], ordered=True)})
    table = read_table(frame)
    resolved = Schema().resolve(table.feature_names)
    binner = Binner.from_schema(resolved, categorical=table.categorical, ordered=table.ordered)
    assert binner.is_categorical.tolist() == [0]
    assert binner.pandas_categories() == [["S", "M", "L"]]
    np.testing.assert_array_equal(table.bins(binner), [[0, 2, 3]])
    np.testing.assert_array_equal(binner.thresholds(0), [0.0 + ZERO, 1.0, np.inf])
    many = Binner.from_schema(resolved, categorical={0: list(range(1000))}, ordered={0})
    assert many.n_bins.tolist() == [255]
    assert len(many.pandas_categories()[0]) == 1000


def test_categories_beyond_255_are_other_with_one_warning():
    names = ["a", "b", "c"]
    resolved = Schema(categories={0: range(300), 1: [f"v{i}" for i in range(256)]}).resolve(names)
    with pytest.warns(UserWarning, match="most frequent ones first") as caught:
        binner = Binner.from_schema(resolved, categorical={1: [f"v{i}" for i in range(256)]})
    assert len(caught) == 1
    assert "'a', 'b'" in str(caught[0].message)
    assert binner.n_bins.tolist() == [255, 255, 64]
    assert len(binner.pandas_categories()[0]) == 255
    np.testing.assert_array_equal(
        binner.bin_values(0, np.array([254.0, 255.0, 299.0])), [254, 255, 255]
    )
    frame = pd.DataFrame({"a": [3, 280], "b": ["v254", "v255"], "c": [0.0, 0.0]})
    bins = read_table(frame, schema=resolved).bins(binner)
    np.testing.assert_array_equal(bins[:2], [[3, 255], [254, 255]])


def test_tables_of_every_kind_give_the_same_bins():
    binner = Binner(
        features=[uniform_bins(-3.0, 3.0, 32), EdgeBins.arcsinh(16), CategoryBins(codes=(1, 0, 4))],
        feature_names=["a", "b", "c"],
    )
    rng = np.random.default_rng(5)
    X = rng.integers(-4, 5, (400, 3)) * (rng.random((400, 3)) < 0.5)
    expected = read_table(X.astype(np.float64)).bins(binner)
    kinds = [X, X.astype("f4"), X.astype("f2"), X.astype("i1"), X.astype(object), X.tolist()]
    kinds += [np.asfortranarray(X), scipy.sparse.csr_matrix(X), scipy.sparse.coo_array(X)]
    kinds += [pd.DataFrame(X), pd.DataFrame(X).astype("Int16"), pd.DataFrame(X).astype("f4")]
    kinds += [
        pd.DataFrame(X).astype({0: "f4", 2: "Float64"}),
        pd.DataFrame(X.astype("f8"), copy=False),
    ]
    kinds += [pd.DataFrame(X).astype(pd.SparseDtype("float64", 0.0))]
    for n_threads, kind in enumerate(kinds, start=1):
        bins = dense_bins(binner, read_table(kind), 1 + n_threads % 3)
        np.testing.assert_array_equal(bins, expected)


def test_extreme_tables_are_no_errors():
    binner = one(uniform_bins(0.0, 1.0, 4))
    huge = [[10**400], [-(10**400)], [None], [2**70]]
    np.testing.assert_array_equal(read_table(huge).bins(binner), [[3, 0, 4, 3]])
    np.testing.assert_array_equal(read_table([[np.nan]] * 3).bins(binner), [[4, 4, 4]])
    empty = scipy.sparse.csr_matrix((5, 1))
    np.testing.assert_array_equal(dense_bins(binner, read_table(empty)), [[0] * 5])


def test_a_table_that_does_not_fit_is_refused():
    with pytest.raises(InvalidParameterError, match="X has 2 features, but Binner is expecting 1"):
        read_table([[1, 2]]).bins(one(uniform_bins(0.0, 1.0, 4)))
    frame = pd.DataFrame({"x": pd.Categorical(["a", "b"])})
    with pytest.raises(InvalidParameterError, match="categories of column 'x' differ"):
        read_table(frame).bins(one(CategoryBins(codes=(0, 1))))


def test_transform_of_seen_categories_warns_of_nothing():
    binner = five_kinds()
    frame = pd.DataFrame(
        {
            "age": [20, 99],
            "job": ["nurse", "unseen"],
            "hours": [31.0, None],
            "zip": [1, 2],
            "wage": [0.0, np.inf],
            "size": pd.Categorical([9, None], categories=[4, 2, 9]),
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(frame, schema=Schema(categories={"job": ["clerk", "nurse"]}))
        bins = dense_bins(binner, table)
    np.testing.assert_array_equal(bins.T, [[0, 1, 2, 0, 7, 2], [15, 2, 4, 0, 15, 3]])


@pytest.mark.parametrize("listed", [["c", "a", "b"], ["a", "b", "c"], ["b"]])
@pytest.mark.parametrize("ordered", [False, True])
def test_categories_of_a_frame_have_the_bins_of_their_codes(listed, ordered):
    cells = np.random.default_rng(1).choice(["a", "b", "c", "d", None], 300)
    column = pd.Categorical(cells, categories=["a", "b", "c", "d"], ordered=ordered)
    codes = [listed.index(cell) if cell in listed else np.nan for cell in cells]
    schema = Schema(categories={"x": listed})
    bins = EdgeBins(edges=(0.5,)) if ordered else CategoryBins(codes=(0, 2, 1)[: len(listed)])
    binner = Binner(features=[bins], feature_names=["x"], labels={0: listed})
    expected = read_table(np.array(codes)[:, np.newaxis]).bins(one(bins))
    for x in (column, pd.Series(cells, dtype=object)):
        table = read_table(pd.DataFrame({"x": x}), schema=schema)
        np.testing.assert_array_equal(table.bins(binner), expected)


@pytest.mark.parametrize("n_rows", [5, 7, 2])
def test_batches_with_other_rows_than_were_counted_are_refused(n_rows):
    features = [uniform_bins(0.0, 1.0, 4)] * 4
    binner = Binner(features=features, feature_names=list("abcd"))
    table = BatchedTable(Batches([np.zeros((3, 4))] * 2), Schema(), Reading())
    table.n_rows = n_rows
    with pytest.raises(InvalidParameterError, match=r"the number of rows that len\(X\) states"):
        table.bins(binner, 1)
    table.n_rows = 6
    assert table.bins(binner, 1).shape == (4, 6)


def test_rows_that_were_read_into_bins_have_no_others():
    binner = Binner(features=[uniform_bins(0.0, 1.0, 4)], feature_names=["a"])
    other = Binner(features=[uniform_bins(0.0, 2.0, 4)], feature_names=["a"])
    table = read_table(np.zeros((3, 1)), feature_names=["a"])
    read = binned_table(table, binner, table.bins(binner))
    assert read.bins(binner) is read.bins(binner)
    with pytest.raises(InvalidParameterError, match="asks for others: pass X as a table"):
        read.bins(other)


def test_a_frame_in_batches_has_the_bins_of_the_whole():
    frame = pd.DataFrame(
        {
            "x": pd.Categorical(["a", "b", None, "b", "a"], categories=["b", "a"]),
            "y": [0.5, 3.0, np.nan, 1.0, 2.0],
        }
    )
    features = [CategoryBins(codes=(0, 1)), uniform_bins(0.0, 4.0, 4)]
    binner = Binner(features=features, feature_names=["x", "y"], labels={0: ["b", "a"]})
    batches = Batches([frame.iloc[:2], frame.iloc[2:3], frame.iloc[3:]])
    table = BatchedTable(batches, Schema(), Reading())
    table.check()
    expected = read_table(frame).bins(binner)
    np.testing.assert_array_equal(expected, [[1, 0, 2, 0, 1], [0, 3, 4, 1, 2]])
    np.testing.assert_array_equal(table.bins(binner, 1), expected)


def zero_as_missing(bins):
    return Binner(features=[bins], feature_names=["x"], zero_as_missing=True)


@pytest.mark.parametrize(
    "bins",
    [
        uniform_bins(-1.0, 1.0, 8),
        AffineBins(lower=0.0, upper=1.0, n_cells=100, table=np.arange(100) // 10),
        EdgeBins(edges=(-0.5, 0.0, 0.5)),
        uniform_bins(0.0, 0.0, 4),
    ],
)
def test_zeros_may_count_as_missing(bins):
    binner, plain = zero_as_missing(bins), one(bins)
    zero = float(np.float32(1e-35))
    values = np.array([[0.0, -0.0, 1e-36, -1e-40, zero, -zero, np.nan]]).T
    for X in (values, values.astype(np.float32), scipy.sparse.csr_matrix(values)):
        bins_of_zeros = dense_bins(binner, read_table(X))
        np.testing.assert_array_equal(bins_of_zeros, np.full((1, 7), binner.n_bins[0]))
    others = np.array([[np.nextafter(zero, 1), -1e-34, 0.3, -0.7, np.inf, -np.inf]]).T
    np.testing.assert_array_equal(
        dense_bins(binner, read_table(others)), dense_bins(plain, read_table(others))
    )
    np.testing.assert_array_equal(binner.thresholds(0), plain.thresholds(0))


def test_category_zero_is_never_missing():
    codes = CategoryBins(codes=(3, 0))
    X = [[0], [3], [-1], [np.nan]]
    for rows in (X, scipy.sparse.csc_matrix(X)):
        found = dense_bins(zero_as_missing(codes), read_table(rows))
        np.testing.assert_array_equal(found, [[1, 0, 2, 2]])


def test_a_binner_remembers_that_zeros_are_missing():
    binner = zero_as_missing(uniform_bins(-1.0, 1.0, 8))
    for same in (pickle.loads(pickle.dumps(binner)), Binner.from_dict(binner.to_dict())):
        assert same == binner
        assert same.zero_as_missing
    assert binner != one(uniform_bins(-1.0, 1.0, 8))
    schema = Schema(bounds={0: (0, 1)}).resolve(["x"])
    assert Binner.from_schema(schema, zero_as_missing=True).zero_as_missing
    # Models written before there was the choice say nothing of it.
    old = binner.to_dict()
    del old["zero_as_missing"]
    assert not Binner.from_dict(old).zero_as_missing


# -- whole numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "n_bins", "values"),
    [
        ((0, 1), 64, (0, 1)),
        ((0.5, 3.5), 64, (1, 2, 3)),
        ((-3, 20), 64, range(-3, 21)),
        ((0.2, 0.8), 64, (0, 1)),  # none lies between: the nearest ones
        ((7, 7), 64, (7,)),
    ],
)
def test_every_whole_number_between_the_bounds_has_a_bin_where_there_is_room(
    bounds, n_bins, values
):
    schema = Schema(bounds={0: bounds}, integer=[0]).resolve(["x"])
    binner = Binner.from_schema(schema, n_bins=n_bins)
    assert binner.n_bins[0] == len(values)
    assert binner.bin_values(0, np.array(values, dtype=float)).tolist() == [*range(len(values))]
    inner = binner.thresholds(0)[:-1]
    np.testing.assert_allclose(inner, np.array(values[:-1]) + 0.5, atol=1e-9)
    beyond = np.array([-1e9, 1e9, np.nan])
    assert binner.bin_values(0, beyond).tolist() == [0, len(values) - 1, len(values)]
    assert Binner.from_dict(binner.to_dict()) == binner


@pytest.mark.parametrize("n_values", [65, 73, 1000, 1024, 1025, 99_999, 10**6, 2**40])
@pytest.mark.parametrize("first", [0, -17])
def test_bins_of_many_whole_numbers_end_half_way_between_them(n_values, first):
    schema = Schema(bounds={0: (first, first + n_values - 1)}, integer=[0]).resolve(["x"])
    binner = Binner.from_schema(schema, n_bins=64)
    assert binner.n_bins[0] == 64
    ends = binner.thresholds(0)[:-1]
    np.testing.assert_allclose(ends - np.floor(ends), 0.5, atol=1e-3)
    below, above = np.floor(ends), np.ceil(ends)
    assert binner.bin_values(0, below).tolist() == [*range(63)]
    assert binner.bin_values(0, above).tolist() == [*range(1, 64)]
    sizes = np.diff([first - 0.5, *ends, first + n_values - 0.5])
    width = -(-n_values // 1024)
    assert sizes.max() - sizes.min() <= 2 * width + 1 or sizes.max() <= 1.1 * sizes.min()


@pytest.mark.parametrize("bounds", [(-1e30, 1e30), (0, 1e30), (-1e18, 1e18)])
def test_bounds_of_any_size_give_bins_of_whole_numbers(bounds):
    schema = Schema(bounds={0: bounds}, integer=[0]).resolve(["x"])
    binner = Binner.from_schema(schema, n_bins=32)
    assert binner.n_bins[0] == 32
    positions = binner.bin_values(0, np.linspace(bounds[0] / 2, bounds[1] / 2, 50) * 2)
    assert (positions[0], positions[-1]) == (0, 31)
    assert (np.diff(positions.astype(int)) >= 0).all()


def test_fractions_keep_equal_bins():
    schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, integer=[1]).resolve(["x", "flag"])
    assert Binner.from_schema(schema, n_bins=16).n_bins.tolist() == [16, 2]


def test_equal_bins_of_many_columns_are_made_once():
    assert uniform_bins(0.0, 5.0, 9) is uniform_bins(0.0, 5.0, 9)
    assert uniform_bins(0, 5, 9).lower == 0.0
