import numpy as np
import pytest

from dpboost._kernels import partition


def split(bins, order, starts, feature, split_bin, categorical, n_threads=1):
    order_out = np.full(len(order), -9, dtype=np.int32)
    starts_out = np.full(2 * len(feature) + 1, -9, dtype=np.int32)
    partition.split_rows(
        bins,
        order,
        starts,
        np.array(feature, dtype=np.int32),
        np.array(split_bin, dtype=np.uint8),
        np.array(categorical, dtype=np.uint8),
        order_out,
        starts_out,
        n_threads,
    )
    return order_out, starts_out


def reference(bins, order, starts, feature, split_bin, categorical):
    parts = []
    for k, f in enumerate(feature):
        rows = order[starts[k] : starts[k + 1]]
        if f < 0:
            left = np.ones(len(rows), dtype=bool)
        elif categorical[f]:
            left = bins[f, rows] == split_bin[k]
        else:
            left = bins[f, rows] <= split_bin[k]
        parts += [rows[left], rows[~left]]
    sizes = [len(part) for part in parts]
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(sizes)])


@pytest.mark.parametrize("n_threads", [1, 2, 3, 4])
@pytest.mark.parametrize(
    ("n_rows", "n_nodes"),
    [
        (0, 1),
        (0, 3),
        (1, 1),
        (50, 1),
        (50, 40),
        (8191, 1),
        (8192, 1),
        (8193, 1),
        (30_000, 1),
        (60_000, 5),
    ],
)
def test_split_agrees_with_numpy(n_rows, n_nodes, n_threads):
    rng = np.random.default_rng(n_rows + n_nodes)
    bins = rng.integers(0, 256, (4, n_rows), dtype=np.uint8)
    categorical = np.array([0, 1, 0, 1])
    node = rng.integers(0, n_nodes, n_rows)
    node[node == 1] = 0  # an empty node in the middle
    shuffled = rng.permutation(n_rows)
    order = shuffled[np.argsort(node[shuffled], kind="stable")].astype(np.int32)
    starts = np.searchsorted(node[order], np.arange(n_nodes + 1)).astype(np.int32)
    feature = rng.integers(-1, 4, n_nodes)
    split_bin = rng.integers(0, 256, n_nodes)
    given = (bins, order, starts, feature, split_bin, categorical)
    for got, expected in zip(split(*given, n_threads=n_threads), reference(*given), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("split_bin", [0, 1, 127, 128, 254, 255])
@pytest.mark.parametrize("categorical", [0, 1])
def test_every_bin_goes_its_way(split_bin, categorical):
    bins = np.arange(256, dtype=np.uint8)[None, :].copy()
    order = np.arange(256, dtype=np.int32)
    starts = np.array([0, 256], dtype=np.int32)
    given = (bins, order, starts, [0], [split_bin], [categorical])
    for got, expected in zip(split(*given), reference(*given), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_node_without_split_sends_its_rows_left():
    bins = np.zeros((1, 5), dtype=np.uint8)
    order = np.array([4, 2, 0, 1, 3], dtype=np.int32)
    starts = np.array([0, 3, 5], dtype=np.int32)
    got, borders = split(bins, order, starts, [-1, -1], [0, 0], [0])
    assert got.tolist() == order.tolist()
    assert borders.tolist() == [0, 3, 3, 5, 5]
