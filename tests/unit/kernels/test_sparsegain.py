"""Runs of scores from sparse columns: the scores of the gain kernel from dense histograms."""

import numpy as np
import pytest

from dpboost._kernels import gain, sparsegain
from dpboost.privacy.score_runs import ScoreRuns

LIMIT = 2**49
SETTINGS = (0.25, 0.1, 2.0**-16)


def table(random, n_rows, sizes, density):
    """Bins by column, mostly at each column's fill."""
    fill = np.array([random.integers(0, size + 1) for size in sizes], dtype=np.uint8)
    bins = np.repeat(fill[:, np.newaxis], n_rows, axis=1)
    for column, size in zip(bins, sizes, strict=True):
        hit = random.random(n_rows) < density * random.integers(0, 3)
        column[hit] = random.integers(0, size + 1, hit.sum())
    return fill, bins


def stored(fill, bins):
    held = [np.flatnonzero(column != own) for column, own in zip(bins, fill, strict=True)]
    start = np.concatenate(([0], np.cumsum([len(rows) for rows in held]))).astype(np.intp)
    cells = [column[rows] for column, rows in zip(bins, held, strict=True)]
    return start, np.concatenate(held).astype(np.int32), np.concatenate(cells).astype(np.uint8)


def dense_scores(bins, node, words, n_nodes, sizes, nominal):
    offsets = np.concatenate(([0], np.cumsum(np.array(sizes) + 1))).astype(np.int32)
    sums, counts = np.zeros((2, n_nodes, offsets[-1]), dtype=np.int64)
    for f, column in enumerate(bins):
        cell = int(offsets[f]) + column.astype(np.intp)  # numpy 1 would add in bytes
        np.add.at(sums, (node, cell), words >> 32)
        np.add.at(counts, (node, cell), words & 1)
    candidates = (offsets - np.arange(len(offsets))).astype(np.int32)
    scores = np.empty((n_nodes, candidates[-1]), dtype=np.int64)
    gain.gradient_gain(sums, counts, offsets, candidates, nominal, *SETTINGS, LIMIT, scores, 1)
    return offsets, candidates, scores


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("density", [0.0, 0.02, 0.4])
@pytest.mark.parametrize("n_rows", [0, 1, 60, 2_000])
def test_runs_are_the_scores_of_dense_histograms(n_rows, density, n_threads):
    random = np.random.default_rng(n_rows)
    sizes = [int(size) for size in random.choice([1, 2, 7, 64, 65, 200, 255], 60)]
    nominal = (random.random(60) < 0.4).astype(np.uint8)
    fill, bins = table(random, n_rows, sizes, density)
    n_nodes = 5
    node = random.integers(0, n_nodes - 1, n_rows).astype(np.int32)  # the last one is empty
    words = random.integers(-65536, 65537, n_rows) * 2**32 + 1
    words *= random.random(n_rows) < 0.9
    offsets, candidates, expected = dense_scores(bins, node, words, n_nodes, sizes, nominal)
    totals = np.zeros((2, n_nodes), dtype=np.int64)
    np.add.at(totals[0], node, words >> 32)
    np.add.at(totals[1], node, words & 1)
    scores, starts, node_start = sparsegain.runs(
        *stored(fill, bins),
        fill,
        node,
        words,
        totals[0],
        totals[1],
        offsets,
        candidates,
        nominal,
        *SETTINGS,
        LIMIT,
        n_threads,
    )
    found = ScoreRuns(
        scores=scores, starts=starts, node_start=node_start, n_candidates=int(candidates[-1])
    )
    np.testing.assert_array_equal(found.written_out(), expected)
    assert (found.lengths() > 0).all()
    n_stored = len(stored(fill, bins)[1])
    assert len(scores) <= n_nodes + 4 * n_stored
