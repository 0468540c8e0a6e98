"""Sparse columns are another way to hold the same bins: scores and trees do not know of it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost.data.sparse import SparseBins
from dpboost.privacy.ledger import Ledger
from dpboost.tree import sparse_scores
from dpboost.tree.criteria import GradientGain
from dpboost.tree.node_questions import NodeTotals
from dpboost.tree.selectors import SELECTIONS, PrivateArgmax

ONE = 65536


def criterion():
    return GradientGain(hessian=0.25, reg_lambda=0.1, gradient_limit=ONE)


def sparse(bins, fill):
    held = [np.flatnonzero(column != own) for column, own in zip(bins, fill, strict=True)]
    return SparseBins(
        n_rows=bins.shape[1],
        column_start=np.concatenate(([0], np.cumsum([len(rows) for rows in held]))).astype(np.intp),
        rows=np.concatenate(held).astype(np.int32),
        bins=np.concatenate([c[r] for c, r in zip(bins, held, strict=True)]).astype(np.uint8),
        fill=np.asarray(fill, dtype=np.uint8),
    )


@pytest.fixture
def seen(monkeypatch):
    """Values of all releases, which the ledger alone may see."""
    values = []
    original = Ledger._draw

    def draw(self, entry, value):
        values.append(value.copy())
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


@pytest.mark.parametrize("cells_at_once", [1, 7, 1 << 17])
@pytest.mark.parametrize("scores_at_once", [1, 30, 1 << 24])
@pytest.mark.parametrize("fill", [(0, 1, 2), (4, 3, 0)])
def test_scores_of_every_level_are_those_of_dense_bins(
    rows, statistics, open_ledger, seen, monkeypatch, fill, scores_at_once, cells_at_once
):
    monkeypatch.setattr(sparse_scores, "_SCORES_AT_ONCE", scores_at_once)
    monkeypatch.setattr(sparse_scores, "_CELLS_AT_ONCE", cells_at_once)
    bins, gradients, kept = rows()
    bins = thin(bins, fill)
    expected = grown(statistics(bins, gradients, kept), open_ledger(), 4)
    dense = [value.ravel() for value in seen]
    seen.clear()
    found = grown(statistics(sparse(bins, fill), gradients, kept), open_ledger(), 4)
    assert found == expected
    np.testing.assert_array_equal(
        np.concatenate([value.ravel() for value in seen]), np.concatenate(dense)
    )


def test_leaves_are_those_of_dense_bins(rows, statistics):
    bins, gradients, kept = rows()
    fill = (0, 0, 0)
    data = [statistics(b, gradients, kept) for b in (bins, sparse(bins, fill))]
    for one in data:
        one.split(np.array([1], np.int32), np.array([2], np.uint8))
        one.split(np.array([0, 0], np.int32), np.array([1, 3], np.uint8))
    (dense, other) = [one._source.exact(NodeTotals(n_nodes=4)) for one in data]
    np.testing.assert_array_equal(dense, other)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_groups_of_a_level_are_charged_side_by_side(
    rows, statistics, open_ledger, monkeypatch, selection
):
    monkeypatch.setattr(sparse_scores, "_SCORES_AT_ONCE", 20)
    bins, gradients, kept = rows()
    data = statistics(sparse(bins, (0, 0, 0)), gradients, kept)
    ledger = open_ledger(1)
    selector = PrivateArgmax(criterion=criterion(), selection=selection)
    for level in range(3):
        assert [(part.start, part.stop) for part in data.groups()] == [
            (first, min(first + 2, 2**level)) for first in range(0, 2**level, 2)
        ]
        data.split(*selector.choose(data, epsilon=Fraction(1, 4), ledger=ledger))
        assert ledger.spent == Fraction(level + 1, 4)
    assert len(ledger.entries) == 1 + 1 + 2


def test_groups_are_a_function_of_public_numbers(rows, statistics, monkeypatch):
    monkeypatch.setattr(sparse_scores, "_SCORES_AT_ONCE", 20)
    bins, gradients, kept = rows()
    nobody = statistics(sparse(bins[:, :0], (0, 0, 0)), gradients[:0], kept[:0])
    many = statistics(sparse(bins, (0, 0, 0)), gradients, kept)
    for data in (nobody, many):
        for _ in range(3):
            n_nodes = data.n_nodes
            data.split(np.zeros(n_nodes, np.int32), np.zeros(n_nodes, np.uint8))
    assert nobody.groups() == many.groups()
    assert len(many.groups()) == 4
    assert len(statistics(bins, gradients, kept).groups()) == 1
