import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, EdgeBins, uniform_bins
from dpboost.trees.bin_layout import Layout

FEATURES = [
    uniform_bins(0.0, 1.0, 5),
    CategoryBins(codes=(3, 1, 7)),
    EdgeBins(edges=()),
    EdgeBins(edges=(0.0, 2.0)),
]


@pytest.fixture
def layout():
    names = [f"Column_{position}" for position in range(len(FEATURES))]
    return Layout.of(Binner(features=FEATURES, feature_names=names))


def test_every_bin_has_a_cell_and_every_bin_but_the_missing_one_a_candidate(layout):
    n_bins = [5, 3, 1, 3]
    assert np.diff(layout.cell_offsets).tolist() == [n + 1 for n in n_bins]
    assert np.diff(layout.candidate_offsets).tolist() == n_bins
    assert layout.n_cells == sum(n_bins) + len(n_bins)
    assert layout.n_candidates == sum(n_bins)
    assert layout.is_categorical.tolist() == [0, 1, 0, 0]


def test_splits_count_the_candidates_through(layout):
    expected = [
        (feature, split_bin)
        for feature, n_bins in enumerate([5, 3, 1, 3])
        for split_bin in range(n_bins)
    ]
    feature, split_bin = layout.splits(np.arange(layout.n_candidates, dtype=np.int32))
    assert list(zip(feature.tolist(), split_bin.tolist(), strict=True)) == expected
    assert feature.dtype == np.int32
    assert split_bin.dtype == np.uint8


def test_splits_keep_the_order_of_the_nodes(layout):
    feature, split_bin = layout.splits(np.array([11, 0, 8, 11], dtype=np.int32))
    assert feature.tolist() == [3, 0, 2, 3]
    assert split_bin.tolist() == [2, 0, 0, 2]
