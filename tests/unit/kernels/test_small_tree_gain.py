"""Trees with few rows: runs that are the scores of the gain kernel from whole histograms."""

import numpy as np
import pytest

from dpboost._kernels import gain, partition, small_tree_gain
from dpboost.privacy.score_runs import ScoreRuns

LIMIT = 2**49
SETTINGS = (0.25, 0.1, 2.0**-16)
SIZES = (1, 2, 7, 64, 65, 200, 255, 255, 128, 3)


def table(seed, n_rows, n_features, spread=1.0):
    """Bins whose lower ``spread`` part is used, words, and where cells and candidates lie."""
    random = np.random.default_rng(seed)
    sizes = np.array(SIZES[:n_features])
    bins = np.empty((n_features, n_rows), dtype=np.uint8)
    for column, size in zip(bins, sizes, strict=True):
        column[:] = random.integers(0, int(size * spread) + 1, n_rows)
        column[random.random(n_rows) < 0.1] = size
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    words *= random.random(n_rows) < 0.9
    cells = np.concatenate(([0], np.cumsum(sizes + 1))).astype(np.int32)
    candidates = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    return bins, words, cells, candidates, (random.random(n_features) < 0.4).astype(np.uint8)


def sums_of(bins, words, node, n_nodes, cells):
    sums, counts = np.zeros((2, n_nodes, cells[-1]), dtype=np.int64)
    for f, column in enumerate(bins):
        cell = int(cells[f]) + column.astype(np.intp)  # numpy 1 would add in bytes
        np.add.at(sums, (node, cell), words >> 32)
        np.add.at(counts, (node, cell), words & 1)
    return sums, counts


def scores_of(bins, words, node, n_nodes, cells, candidates, nominal):
    sums, counts = sums_of(bins, words, node, n_nodes, cells)
    scores = np.empty((n_nodes, candidates[-1]), dtype=np.int64)
    gain.gradient_gain(sums, counts, cells, candidates, nominal, *SETTINGS, LIMIT, scores, 1)
    return scores


def random_splits(random, n_nodes, candidates):
    chosen = random.integers(0, candidates[-1], n_nodes)
    feature = np.searchsorted(candidates, chosen, side="right") - 1
    return feature.astype(np.int32), (chosen - candidates[feature]).astype(np.uint8)


def sent_on(bins, node, feature, split_bin, nominal):
    own = bins[feature[node], np.arange(len(node))]
    left = np.where(nominal[feature[node]] == 1, own == split_bin[node], own <= split_bin[node])
    return 2 * node + ~left


def runs(rows, room):
    """Scores, starts and nodes of the runs of a level."""
    scores, starts = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int32)
    node_start = rows.runs(*SETTINGS, LIMIT, scores, starts)
    return scores[: node_start[-1]], starts[: node_start[-1]], node_start


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_features", [1, 4, 6, 10])
@pytest.mark.parametrize("n_rows", [0, 1, 60, 3_000])
def test_every_level_has_the_scores_of_whole_histograms(n_rows, n_features, n_threads):
    bins, words, cells, candidates, nominal = table(n_rows + n_features, n_rows, n_features)
    random = np.random.default_rng(1)
    rows = small_tree_gain.FewRows(bins, words, cells, candidates, nominal, n_threads)
    node, n_nodes = np.zeros(n_rows, dtype=np.int64), 1
    for _level in range(7):
        scores, starts, node_start = runs(rows, n_nodes * candidates[-1])
        found = ScoreRuns(
            scores=scores, starts=starts, node_start=node_start, n_candidates=int(candidates[-1])
        )
        expected = scores_of(bins, words, node, n_nodes, cells, candidates, nominal)
        np.testing.assert_array_equal(found.written_out(), expected)
        assert (found.lengths() > 0).all()
        totals = np.zeros((2, n_nodes), dtype=np.int64)
        np.add.at(totals[0], node, words >> 32)
        np.add.at(totals[1], node, words & 1)
        np.testing.assert_array_equal(rows.totals(), totals)
        feature, split_bin = random_splits(random, n_nodes, candidates)
        rows.split(feature, split_bin)
        node, n_nodes = sent_on(bins, node, feature, split_bin, nominal), 2 * n_nodes


@pytest.mark.parametrize("n_rows", [50, 400])
def test_cells_without_rows_are_no_runs(n_rows):
    bins, words, cells, candidates, nominal = table(3, n_rows, 8, spread=0.05)
    rows = small_tree_gain.FewRows(bins, words, cells, candidates, nominal, 1)
    n_used = sum(len(np.unique(column)) for column in bins)
    scores, starts, _ = runs(rows, candidates[-1])
    assert len(scores) == len(starts) <= 2 * n_used + 8 < candidates[-1]


def test_the_largest_sums_stay_in_their_fields():
    n_rows = small_tree_gain.MOST_ROWS
    bins, _, cells, candidates, nominal = table(0, n_rows, 5)
    node = np.zeros(n_rows, dtype=np.int64)
    for gradient in (65536, -65536):
        words = np.full(n_rows, (gradient << 32) + 1)
        rows = small_tree_gain.FewRows(bins, words, cells, candidates, nominal, 1)
        scores, starts, node_start = runs(rows, candidates[-1])
        found = ScoreRuns(
            scores=scores, starts=starts, node_start=node_start, n_candidates=int(candidates[-1])
        )
        expected = scores_of(bins, words, node, 1, cells, candidates, nominal)
        np.testing.assert_array_equal(found.written_out(), expected)
        assert rows.totals().tolist() == [[gradient * n_rows], [n_rows]]


def test_more_rows_are_refused():
    bins, words, *layout = table(0, small_tree_gain.MOST_ROWS + 1, 1)
    with pytest.raises(ValueError, match="32767 rows"):
        small_tree_gain.FewRows(bins, words, *layout, 1)


def test_rows_go_where_the_partition_kernel_sends_them():
    bins, words, cells, candidates, nominal = table(9, 500, 6)
    rows = small_tree_gain.FewRows(bins, np.arange(500), cells, candidates, nominal, 1)
    random = np.random.default_rng(2)
    order, starts = np.arange(500, dtype=np.int32), np.array([0, 500], dtype=np.int32)
    for _level in range(5):
        feature, split_bin = random_splits(random, len(starts) - 1, candidates)
        rows.split(feature, split_bin)
        order_out, starts_out = np.empty_like(order), np.empty(2 * len(starts) - 1, dtype=np.int32)
        partition.split_rows(
            bins, order, starts, feature, split_bin, nominal, order_out, starts_out, 1
        )
        order, starts = order_out, starts_out
        # Words are row numbers here: their sums tell nodes apart.
        sums = [part.sum() for part in np.split(order, starts[1:-1])]
        assert rows.totals()[1].tolist() == sums
