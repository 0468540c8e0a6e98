"""A small table in bins, its layout, and ledgers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.relation import Neighbours
from dpboost.random import Entropy
from dpboost.tree.layout import Layout
from dpboost.tree.statistics import NodeStatistics

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
    def build(epsilon=math.inf, neighbours=Neighbours.ADD_REMOVE):
        return Ledger(
            epsilon=epsilon,
            delta=0,
            neighbours=neighbours,
            accountant=PureAccountant(),
            entropy=Entropy.seeded(11),
        )

    return build


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
    def build(bins, gradients, kept, neighbours=Neighbours.ADD_REMOVE, n_threads=1):
        words = np.where(kept, (gradients << 32) + 1, 0).astype(np.int64)
        return NodeStatistics(bins, words, layout, neighbours, n_threads)

    return build
