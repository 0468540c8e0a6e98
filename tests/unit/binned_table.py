"""A small table in bins, its layout, and ledgers."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.data.sparse import SparseBins
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.gradient_statistics import NodeStatistics
from dpboost.rows.node_rows import NodeRows
from dpboost.trees.bin_layout import Layout
from dpboost.trees.growing_tree import Splits
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.split_candidates import CATEGORY, MULTIWAY, THRESHOLD, Candidates
from dpboost.trees.tree import Tree
from tests.unit import ledgers

N_BINS = (4, 3, 2)
IS_CATEGORICAL = (0, 1, 0)
GRADIENT_ONE = 65536


@pytest.fixture
def layout():
    return Layout(
        cell_offsets=np.cumsum([0, *(n + 1 for n in N_BINS)]).astype(np.int32),
        candidate_offsets=np.cumsum([0, *N_BINS]).astype(np.int32),
        is_categorical=np.array(IS_CATEGORICAL, dtype=np.uint8),
    )


@pytest.fixture
def open_ledger():
    return partial(ledgers.open_ledger, seed=11)


@pytest.fixture
def rows():
    """Bins (missing ones included), gradients on their grid, and who passes the filter."""

    def build(n_rows=500, seed=0):
        random = np.random.default_rng(seed)
        bins = np.array(
            [random.integers(0, n + 1, n_rows) for n in N_BINS], dtype=np.uint8
        ).reshape(len(N_BINS), n_rows)
        gradients = random.integers(-GRADIENT_ONE, GRADIENT_ONE + 1, n_rows)
        kept = random.random(n_rows) < 0.9
        return bins, gradients, kept

    return build


@pytest.fixture
def statistics(layout):
    def build(bins, gradients, kept, neighbors=Neighbors.ADD_REMOVE, n_threads=1, kind=NodeRows):
        words = np.where(kept, (gradients << 32) + 1, 0).astype(np.int64)
        nodes = kind(bins, words, layout, n_threads)
        position = SimpleNamespace(nodes=nodes, split=nodes.split)
        return NodeStatistics(
            handle_of(position),
            layout,
            neighbors,
            whole=kind is not NodeRows,
            n_threads=n_threads,
        )

    return build


@pytest.fixture
def class_rows():
    """Bins, classes, and which rows take part, over the bins of this folder."""

    def build(n_rows=600, n_classes=3, seed=0):
        random = np.random.default_rng(seed)
        bins = np.array(
            [random.integers(0, n + 1, n_rows) for n in N_BINS], dtype=np.uint8
        ).reshape(len(N_BINS), n_rows)
        likely = (bins[0] + (bins[1] == 1)) % n_classes
        noise = random.integers(0, n_classes, n_rows)
        classes = np.where(random.random(n_rows) < 0.7, likely, noise).astype(np.uint8)
        return bins, classes, random.random(n_rows) < 0.9

    return build


@pytest.fixture
def candidates():
    """One feature of each kind by default."""

    def build(kinds=(THRESHOLD, CATEGORY, MULTIWAY)):
        return Candidates(
            n_bins=np.array(N_BINS, dtype=np.int32),
            is_categorical=np.array(IS_CATEGORICAL, dtype=np.uint8),
            kinds=np.array(kinds, dtype=np.uint8),
        )

    return build


@pytest.fixture
def class_statistics(candidates):
    def build(bins, classes, present, kinds=None, neighbors=Neighbors.ADD_REMOVE, n_classes=3):
        layout = candidates() if kinds is None else candidates(kinds)
        position = ClassRows(
            bins, classes, present, n_classes=n_classes, candidates=layout, threads=Threads(1)
        )
        return ClassStatistics(
            handle_of(position),
            n_classes=n_classes,
            candidates=layout,
            neighbors=neighbors,
            n_threads=1,
        )

    return build


@pytest.fixture
def splits():
    """Return a function that makes splits of some nodes."""

    def build(nodes, n_branches=2, feature=0, split_bin=0, priority=None):
        nodes = np.atleast_1d(np.asarray(nodes, dtype=np.int32))

        def column(value):
            return np.broadcast_to(np.asarray(value, dtype=np.int32), nodes.shape).copy()

        return Splits(
            node=nodes,
            feature=column(feature),
            split_bin=column(split_bin),
            n_branches=column(n_branches),
            priority=None if priority is None else np.atleast_1d(np.asarray(priority, float)),
        )

    return build


@pytest.fixture
def partitions():
    """Random partitions of three depths, and one by category."""
    grid = PartitionGrid(n_bins=np.array([9, 12], np.int32), is_nominal=np.array([0, 1], np.uint8))
    public = np.random.default_rng(3)
    both = np.array([1, 0], np.int32)
    return [*(grid.random(both, depth, public) for depth in (0, 1, 5)), grid.by_category(1)]


def leaves_below(partition, child):
    if child < 0:
        return [~child]
    sides = (partition.left[child], partition.right[child])
    return [leaf for side in sides for leaf in leaves_below(partition, int(side))]


def tree_of(partition, leaf_value, **more):
    """Give the leaves of a partition values."""
    nodes = {name: getattr(partition, name) for name in ("feature", "left_bins", "left", "right")}
    return Tree(**nodes, leaf_value=leaf_value, **more)


def sparse_bins(bins, fill):
    held = [np.flatnonzero(column != own) for column, own in zip(bins, fill, strict=True)]
    return SparseBins(
        n_rows=bins.shape[1],
        column_start=np.concatenate(([0], np.cumsum([len(rows) for rows in held]))).astype(np.intp),
        rows=np.concatenate(held).astype(np.int32),
        bins=np.concatenate([c[r] for c, r in zip(bins, held, strict=True)]).astype(np.uint8),
        fill=np.asarray(fill, dtype=np.uint8),
    )
