import numpy as np
import pytest

from dpboost._kernels import histogram

ONE = 65536  # gradient 1 on the grid
BLOCK = 32767  # rows that a packed accumulator takes
THREADS = [1, 2, 3, 4]


def pack(gradients):
    return (np.asarray(gradients, dtype=np.int64) << 32) + 1


def problem(seed, n_rows, n_bins, n_nodes):
    rng = np.random.default_rng(seed)
    bins = np.array([rng.integers(0, n + 1, n_rows) for n in n_bins], dtype=np.uint8)
    words = pack(rng.integers(-ONE, ONE + 1, n_rows))
    words[rng.random(n_rows) < 0.1] = 0
    node = rng.integers(0, n_nodes, n_rows)
    order = np.argsort(node, kind="stable").astype(np.int32)
    starts = np.searchsorted(node[order], np.arange(n_nodes + 1)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(np.asarray(n_bins) + 1)]).astype(np.int32)
    return bins.reshape(len(n_bins), n_rows), order, starts, words, offsets


def reference(bins, order, starts, words, offsets):
    shape = (len(starts) - 1, offsets[-1])
    sums, counts = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for k in range(shape[0]):
        rows = order[starts[k] : starts[k + 1]]
        for f, column in enumerate(bins):
            cells = offsets[f] + column[rows].astype(np.int64)
            np.add.at(sums[k], cells, words[rows] >> 32)
            np.add.at(counts[k], cells, words[rows] & 0xFFFFFFFF)
    return sums, counts


def build(bins, order, starts, words, offsets, nodes=None, n_threads=1):
    listed = np.arange(len(starts) - 1, dtype=np.int32) if nodes is None else nodes
    shape = (len(listed), offsets[-1])
    # Nothing of this may be left.
    sums, counts = np.full(shape, 77, np.int64), np.full(shape, 77, np.int64)
    histogram.build(bins, order, starts, listed, words, offsets, sums, counts, n_threads)
    return sums, counts


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize(
    ("n_rows", "n_bins", "n_nodes"),
    [
        (0, [3, 2], 2),
        (1, [1], 1),
        (500, [255, 1, 7], 1),
        (700, [255, 12, 3, 1, 200], 9),
        (3000, [16] * 23, 5),
        (40, [4] * 8, 64),
        (20_000, [60, 5], 3),
    ],
)
def test_build_agrees_with_brute_force(n_rows, n_bins, n_nodes, n_threads):
    given = problem(n_rows, n_rows, n_bins, n_nodes)
    for got, expected in zip(build(*given, n_threads=n_threads), reference(*given), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("n_features", [1, 2, 4, 9])
def test_build_writes_listed_nodes_only(n_features):
    given = problem(1, 300, [5] * n_features, 6)
    nodes = np.array([4, 1], dtype=np.int32)
    expected = reference(*given)
    got = build(*given, nodes=nodes, n_threads=2)
    for values, wanted in zip(got, expected, strict=True):
        np.testing.assert_array_equal(values, wanted[nodes])


@pytest.mark.parametrize("n_features", [1, 4, 5])
@pytest.mark.parametrize("n_rows", [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
@pytest.mark.parametrize("signs", ["up", "down", "halves", "alternating"])
def test_extreme_gradients_in_one_cell_do_not_overflow(signs, n_rows, n_features):
    sign = {
        "up": np.ones(n_rows),
        "down": -np.ones(n_rows),
        "halves": np.where(np.arange(n_rows) < n_rows // 2, -1, 1),
        "alternating": np.where(np.arange(n_rows) % 2, 1, -1),
    }[signs].astype(np.int64)
    words = pack(sign * ONE)
    bins = np.full((n_features, n_rows), 2, dtype=np.uint8)
    order = np.arange(n_rows, dtype=np.int32)
    starts = np.array([0, n_rows], dtype=np.int32)
    offsets = np.arange(n_features + 1, dtype=np.int32) * 4
    for n_threads in (1, 3):
        sums, counts = build(bins, order, starts, words, offsets, n_threads=n_threads)
        expected = np.tile([0, 0, sign.sum() * ONE, 0], n_features)
        np.testing.assert_array_equal(sums[0], expected)
        np.testing.assert_array_equal(counts[0], np.tile([0, 0, n_rows, 0], n_features))
        total, count = np.full(1, 9), np.full(1, 9)
        histogram.node_totals(order, starts, words, total, count, n_threads)
        assert (total[0], count[0]) == (sign.sum() * ONE, n_rows)


def test_small_negative_sums_keep_sign_and_count():
    words = pack([-1, -1, 0, 1])
    bins = np.array([[0, 0, 1, 2]], dtype=np.uint8)
    order = np.arange(4, dtype=np.int32)
    starts = np.array([0, 4], dtype=np.int32)
    sums, counts = build(bins, order, starts, words, np.array([0, 3], dtype=np.int32))
    assert sums.tolist() == [[-2, 0, 1]]
    assert counts.tolist() == [[2, 1, 1]]


@pytest.mark.parametrize("n_threads", THREADS)
def test_subtraction_equals_building_from_scratch(n_threads):
    bins, order, starts, words, offsets = problem(5, 9000, [30, 4, 255] * 20, 8)
    expected = reference(bins, order, starts, words, offsets)
    parents = reference(bins, order, starts[::2].copy(), words, offsets)
    nodes = np.arange(0, 8, 2, dtype=np.int32)
    left = build(bins, order, starts, words, offsets, nodes=nodes)
    for parent, own, wanted in zip(parents, left, expected, strict=True):
        out = np.full_like(wanted, 77)
        histogram.children(parent, own, out, n_threads)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("n_threads", THREADS)
@pytest.mark.parametrize("n_nodes", [1, 7, 64])
def test_node_totals_agree_with_brute_force(n_nodes, n_threads):
    _, order, starts, words, _ = problem(n_nodes, 40_000, [3], n_nodes)
    sums, counts = np.full(n_nodes, 5), np.full(n_nodes, 5)
    histogram.node_totals(order, starts, words, sums, counts, n_threads)
    for k in range(n_nodes):
        rows = order[starts[k] : starts[k + 1]]
        assert sums[k] == (words[rows] >> 32).sum()
        assert counts[k] == (words[rows] & 0xFFFFFFFF).sum()


def stored_columns(bins, fill):
    """Split a dense matrix of bins into what differs from ``fill`` and where."""
    rows = [np.flatnonzero(column != bin) for column, bin in zip(bins, fill, strict=True)]
    starts = np.concatenate(([0], np.cumsum([len(positions) for positions in rows])))
    held = [column[positions] for column, positions in zip(bins, rows, strict=True)]
    return (
        starts.astype(np.intp),
        np.concatenate(rows).astype(np.int32),
        np.concatenate(held).astype(np.uint8),
    )


def test_stored_cells_of_some_rows_are_gathered_in_their_new_positions():
    bins, *_ = problem(1, 300, [3, 9, 1], 1)
    fill = np.zeros(3, np.uint8)
    starts, rows, held = stored_columns(bins, fill)
    chosen = np.random.default_rng(2).permutation(300)[:120]
    position = np.full(300, -1, np.int32)
    position[chosen] = np.arange(120)
    kept = int((position[rows] >= 0).sum())
    out = np.empty(4, np.intp), np.empty(kept, np.int32), np.empty(kept, np.uint8)
    histogram.gather_stored(starts, rows, held, position, *out)
    found = np.zeros((3, 120), np.uint8)
    for f in range(3):
        part = slice(out[0][f], out[0][f + 1])
        found[f, out[1][part]] = out[2][part]
    np.testing.assert_array_equal(found, bins[:, chosen])
