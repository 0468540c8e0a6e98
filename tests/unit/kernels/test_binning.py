import numpy as np
import pytest

from dpboost._kernels import binning
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import AffineBins, CategoryBins, EdgeBins, uniform_bins
from dpboost.data.table import read_table
from tests.tables import dense_bins

ZERO = float(np.float32(1e-35))


def mixed_binner():
    features = [
        uniform_bins(-2.0, 2.0, 255),
        AffineBins(lower=-3.0, upper=3.0, n_cells=1000, table=np.arange(1000) // 50),
        EdgeBins(edges=(-1.0, 0.0, 0.25, 1.5)),
        CategoryBins(codes=(7, 0, 3)),
        uniform_bins(1.0, 1.0, 16),
    ]
    return Binner(features=features, feature_names=[f"f{i}" for i in range(5)])


def rows(n, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    table = rng.normal(0.0, 2.0, (n, 5))
    table[:, 3] = rng.integers(-2, 10, n)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-36, -1e-36, ZERO, 5e-324, 1e300, -1e300]
    hit = rng.random((n, 5)) < 0.3
    table[hit] = rng.choice(special, hit.sum())
    with np.errstate(over="ignore"):
        return table.astype(dtype)


def reference(binner, values):
    """Bins by plain Python arithmetic, one value at a time."""
    out = np.empty(values.shape[::-1], dtype=np.uint8)
    for f, bins in enumerate(binner.features):
        for i, x in enumerate(values[:, f].astype(np.float64).tolist()):
            x = 0.0 if abs(x) <= ZERO else x
            if np.isnan(x):
                out[f, i] = bins.n_bins
            elif isinstance(bins, EdgeBins):
                out[f, i] = sum(edge < x for edge in bins.edges)
            elif isinstance(bins, CategoryBins):
                code = int(x) if abs(x) < 1e9 else -1
                out[f, i] = bins.codes.index(code) if code in bins.codes else bins.n_bins
            else:
                cell = int(min(max((x - bins.lower) * bins.scale, 0.0), bins.n_cells - 1.0))
                out[f, i] = cell if bins.table is None else bins.table[cell]
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 255, 256, 257, 1000])
def test_bins_match_plain_arithmetic(dtype, n):
    binner = mixed_binner()
    values = rows(n, dtype=dtype)
    bins = read_table(values).bins(binner)
    assert bins.dtype == np.uint8
    assert bins.flags.c_contiguous
    np.testing.assert_array_equal(bins, reference(binner, values))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_has_the_same_bins_wherever_it_stands(dtype):
    binner = mixed_binner()
    values = rows(700, dtype=dtype)
    whole = read_table(values).bins(binner)
    alone = [read_table(values[i : i + 1]).bins(binner)[:, 0] for i in range(0, 700, 7)]
    np.testing.assert_array_equal(whole[:, ::7], np.transpose(alone))
    shifted = read_table(values[1:]).bins(binner)
    np.testing.assert_array_equal(whole[:, 1:], shifted)
    for n_threads in (2, 3, 4):
        np.testing.assert_array_equal(whole, read_table(values).bins(binner, n_threads))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_layout_does_not_matter(dtype):
    binner = mixed_binner()
    values = rows(600, dtype=dtype)
    expected = read_table(values).bins(binner)
    wide = np.zeros((1200, 15), dtype=dtype)
    wide[::2, ::3] = values
    frozen = values.copy()
    frozen.setflags(write=False)
    packed = np.zeros(600, dtype=[("pad", "u1"), ("values", dtype, (5,))])
    packed["values"] = values
    views = {
        "fortran": np.asfortranarray(values),
        "strided": wide[::2, ::3],
        "reversed": values[::-1].copy()[::-1],
        "read-only": frozen,
        "unaligned": packed["values"],
        "other byte order": values.astype(values.dtype.newbyteorder()),
    }
    assert not views["unaligned"].flags.aligned
    for name, view in views.items():
        np.testing.assert_array_equal(read_table(view).bins(binner, 2), expected, err_msg=name)


@pytest.mark.parametrize("n_stored", [0, 1, 3, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_columns_have_the_bins_of_dense_ones(n_stored, dtype):
    import scipy.sparse

    binner = mixed_binner()
    rng = np.random.default_rng(3)
    values = np.zeros((1000, 5), dtype=dtype)
    for f in range(5):
        values[rng.permutation(1000)[:n_stored], f] = rows(1000, dtype=dtype)[:n_stored, f]
    matrix = scipy.sparse.csc_matrix(values)
    expected = read_table(values).bins(binner)
    for n_threads in (1, 3):
        np.testing.assert_array_equal(dense_bins(binner, read_table(matrix), n_threads), expected)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    np.testing.assert_array_equal(dense_bins(binner, read_table(matrix)), expected)


@pytest.mark.parametrize("n_edges", [0, 1, 2, 3, 4, 7, 8, 100, 127, 128, 254])
def test_every_number_of_borders(n_edges):
    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.normal(size=n_edges))
    binner = Binner(features=[EdgeBins(edges=edges)], feature_names=["x"])
    values = np.concatenate([edges, np.nextafter(edges, np.inf), rng.normal(size=500)])
    expected = np.searchsorted(edges, values, side="left")
    np.testing.assert_array_equal(binner.bin_values(0, values), expected)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 40])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 255, 700])
def test_cells_are_counted_as_rows_are_binned(n_rows, dtype, order, n_threads):
    random = np.random.default_rng(n_rows)
    values = np.asarray(random.normal(size=(n_rows, 100)) * 3, dtype=dtype, order=order)
    values[random.random(values.shape) < 0.1] = np.nan
    values[random.random(values.shape) < 0.1] = 0
    columns = np.flatnonzero(random.random(100) < 0.7).astype(np.int32)
    zero = random.choice([0.0, np.nan], size=len(columns))
    lower = random.normal(size=len(columns)) - 2
    scale = np.full(len(columns), 4.0)
    counts = np.ones((len(columns), 21), dtype=np.intp)
    binning.count_cells(values, columns, lower, scale, zero, counts, n_threads)
    for k, column in enumerate(columns):
        x = values[:, column].astype(np.float64)
        x[x == 0] = zero[k]
        cells = np.clip((x - lower[k]) * scale[k], 0, 19)
        cells[np.isnan(x)] = 20
        expected = np.bincount(cells.astype(int), minlength=21) + 1
        np.testing.assert_array_equal(counts[k], expected)


@pytest.mark.parametrize("first_row", [-1, 4, 7, 2**62])
def test_rows_that_do_not_fit_are_refused(first_row):
    binner = mixed_binner()
    out = np.full((5, 10), 99, dtype=np.uint8)
    maps = binner._maps.arguments(0, 5)
    with pytest.raises(ValueError, match="room"):
        binning.bin_dense(rows(7), **maps, out=out, first_row=first_row, n_threads=1)
    assert (out == 99).all()
    binning.bin_dense(rows(7), **maps, out=out, first_row=3, n_threads=1)
    assert (out[:, 3:] != 99).all()


@pytest.mark.parametrize("n_columns", [4, 6])
def test_columns_that_do_not_fit_are_refused(n_columns):
    values = np.zeros((300, n_columns))
    out = np.empty((5, 300), dtype=np.uint8)
    maps = mixed_binner()._maps.arguments(0, 5)
    with pytest.raises(ValueError, match="room"):
        binning.bin_dense(values, **maps, out=out, first_row=0, n_threads=1)


@pytest.mark.parametrize(
    ("columns", "n_counted"), [([0, 5], 2), ([-1, 0], 2), ([0, 1], 1), ([2**31 - 1], 1)]
)
def test_columns_that_cannot_be_counted_are_refused(columns, n_counted):
    lower, zero = np.zeros(len(columns)), np.zeros(len(columns))
    counts = np.zeros((n_counted, 9), dtype=np.intp)
    with pytest.raises(ValueError, match="columns"):
        binning.count_cells(
            rows(7), np.array(columns, dtype=np.int32), lower, lower + 1.0, zero, counts, 1
        )
    assert not counts.any()


@pytest.mark.parametrize(
    "starts", [[0, 2, 4, 6, 8], [0, 2, 4, 6, 8, 11], [-1, 2, 4, 6, 8, 10], [0, 9, 4, 6, 8, 10]]
)
def test_stored_values_that_are_not_there_are_refused(starts):
    out = np.full(10, 99, dtype=np.uint8)
    maps = mixed_binner()._maps.arguments(0, 5)
    with pytest.raises(ValueError, match="stored values"):
        binning.bin_stored(np.zeros(10), np.array(starts, np.intp), **maps, out=out, n_threads=1)
    assert (out == 99).all()
