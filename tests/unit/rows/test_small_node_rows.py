"""Rows that are all in one place: the same scores and totals, however few or many there are."""

import gc
import weakref

import numpy as np
import pytest

from dpboost.growing.clipped_leaves import ClippedLeaf
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.score_runs import ScoreRuns
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows import node_rows
from dpboost.rows.node_rows import FewRows, NodeRows, whole_rows
from dpboost.trees.gain import GradientGain

ONE = 65536
CRITERION = GradientGain(hessian=0.25, reg_lambda=0.1, gradient_limit=ONE)
LEAF = ClippedLeaf(hessian=1.0, reg_lambda=0.5, gradient_bound=1.0, clip=1.0)
SPLITS = [([0], [1]), ([1, 2], [0, 1]), ([2, 0, 1, 1], [0, 3, 2, 1])]


def shown(sensitive):
    """The value behind the gate."""
    value = sensitive._value
    return value.written_out() if isinstance(value, ScoreRuns) else value.copy()


def levels(data):
    """Scores and leaf values of every level."""
    found = []
    for feature, split_bin in SPLITS:
        found += [shown(data.split_scores(CRITERION)), shown(data.leaf_values(LEAF))]
        data.split(np.array(feature, np.int32), np.array(split_bin, np.uint8))
    return [*found, shown(data.split_scores(CRITERION)), shown(data.leaf_values(LEAF))]


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 500])
@pytest.mark.parametrize("few", [0, 1000])
def test_one_position_finds_what_several_add_up(
    rows, statistics, monkeypatch, n_rows, n_threads, few
):
    monkeypatch.setattr(node_rows, "MOST_ROWS", few)
    bins, gradients, kept = rows(n_rows)
    expected = levels(statistics(bins, gradients, kept))
    data = statistics(bins, gradients, kept, kind=whole_rows, n_threads=n_threads)
    for found, wanted in zip(levels(data), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_many_rows_keep_histograms_and_few_do_not(layout, monkeypatch):
    monkeypatch.setattr(node_rows, "MOST_ROWS", 5)
    for n_rows, kind in [(5, FewRows), (6, NodeRows)]:
        bins, words = np.zeros((3, n_rows), np.uint8), np.ones(n_rows, np.int64)
        assert type(whole_rows(bins, words, layout, 1)) is kind


@pytest.mark.parametrize("neighbors", Neighbors)
def test_what_comes_out_is_sensitive_with_the_bound_of_the_relation(rows, statistics, neighbors):
    data = statistics(*rows(), neighbors=neighbors, kind=whole_rows)
    assert data.split_scores(CRITERION).bounds == (CRITERION.bound(neighbors),)


def test_rows_that_are_all_in_one_position_show_none_of_them(layout):
    few = FewRows(np.zeros((3, 4), np.uint8), np.ones(4, np.int64), layout, 1)
    public = {name for name in dir(few) if not name.startswith("_")}
    assert public == {"scores", "totals", "split"}
    assert not hasattr(few, "__dict__")
    assert Ledger.__name__ not in repr(few)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("kind", [NodeRows, whole_rows])
def test_rows_are_freed_with_their_tree(rows, statistics, monkeypatch, kind, few):
    """By their last reference: private rows do not wait for a collection of cycles."""
    monkeypatch.setattr(node_rows, "MOST_ROWS", few)
    bins, gradients, kept = rows()
    data = statistics(bins, gradients, kept, kind=kind)
    levels(data)
    freed = weakref.ref(bins)
    gc.disable()
    try:
        del bins, data
        assert freed() is None
    finally:
        gc.enable()
