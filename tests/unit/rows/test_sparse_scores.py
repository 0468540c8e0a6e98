"""Sparse columns are another way to hold the same bins: scores and trees do not know of it."""

import math

import numpy as np
import pytest

from dpboost.growing.selectors import PrivateArgmax
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.rows.boosting_queries import NodeTotals
from dpboost.rows.node_rows import whole_rows
from dpboost.trees.gain import GradientGain
from tests.unit.binned_table import sparse_bins

ONE = 65536


def criterion():
    return GradientGain(hessian=0.25, reg_lambda=0.1, gradient_limit=ONE)


@pytest.fixture
def seen(monkeypatch):
    """Values of all releases, which the ledger alone may see."""
    values = []
    original = Ledger._draw

    def draw(self, entry, value):
        values.append(value.written_out() if isinstance(value, ScoreRuns) else value.copy())
        return original(self, entry, value)

    monkeypatch.setattr(Ledger, "_draw", draw)
    return values


def grown(data, ledger, depth):
    """Splits of some levels, chosen through the gate."""
    selector = PrivateArgmax(criterion=criterion())
    splits = []
    for _ in range(depth):
        feature, split_bin = selector.choose(data, epsilon=math.inf, ledger=ledger)
        data.split(feature, split_bin)
        splits.append((feature.tolist(), split_bin.tolist()))
    return splits


def thin(bins, fill, seed=3):
    """Leave most cells at the value of their column's fill, and one column at nothing else."""
    random = np.random.default_rng(seed)
    bins = np.where(random.random(bins.shape) < 0.8, np.array(fill)[:, np.newaxis], bins)
    bins[1] = fill[1]
    return bins.astype(np.uint8)


@pytest.mark.parametrize("fill", [(0, 1, 2), (4, 3, 0)])
def test_scores_of_every_level_are_those_of_dense_bins(rows, statistics, open_ledger, seen, fill):
    bins, gradients, kept = rows()
    bins = thin(bins, fill)
    expected = grown(statistics(bins, gradients, kept), open_ledger(), 4)
    dense = [value.ravel() for value in seen]
    seen.clear()
    found = grown(
        statistics(sparse_bins(bins, fill), gradients, kept, kind=whole_rows), open_ledger(), 4
    )
    assert found == expected
    np.testing.assert_array_equal(
        np.concatenate([value.ravel() for value in seen]), np.concatenate(dense)
    )


def test_leaves_are_those_of_dense_bins(rows, statistics):
    bins, gradients, kept = rows()
    fill = (0, 0, 0)
    data = [
        statistics(bins, gradients, kept),
        statistics(sparse_bins(bins, fill), gradients, kept, kind=whole_rows),
    ]
    for one in data:
        one.split(np.array([1], np.int32), np.array([2], np.uint8))
        one.split(np.array([0, 0], np.int32), np.array([1, 3], np.uint8))
    (dense, other) = [one._row_store.exact(NodeTotals(n_nodes=4)) for one in data]
    np.testing.assert_array_equal(dense, other)
