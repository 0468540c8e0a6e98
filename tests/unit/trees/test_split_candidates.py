import numpy as np

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.trees.split_candidates import CATEGORY, MULTIWAY, THRESHOLD, Candidates

BINNER = Binner(
    features=[uniform_bins(0.0, 1.0, 4), CategoryBins(codes=(3, 5, 8))],
    feature_names=["number", "kind"],
)


def test_kinds_of_splits():
    for options, kinds in [
        ({}, [THRESHOLD, CATEGORY]),
        ({"multiway": True}, [THRESHOLD, MULTIWAY]),
        ({"multiway": True, "thresholds": False}, [MULTIWAY, MULTIWAY]),
    ]:
        assert Candidates.of(BINNER, **options).kinds.tolist() == kinds


def test_positions_of_cells_and_candidates(candidates):
    found = candidates()
    assert found.cell_offsets.tolist() == [0, 5, 9, 12]
    assert found.candidate_offsets.tolist() == [0, 4, 7, 8]
    assert (found.n_cells, found.n_candidates, found.n_features) == (12, 8, 3)
    flat = np.arange(8)
    assert found.features_of(flat).tolist() == [0, 0, 0, 0, 1, 1, 1, 2]
    assert found.split_bins(flat).tolist() == [0, 1, 2, 3, 0, 1, 2, 0]
    flags = np.array([[True, False, True]])
    assert found.spread(flags).tolist() == [[True] * 4 + [False] * 3 + [True]]


def test_branches_of_every_kind(candidates):
    found = candidates()
    feature, split_bin = np.array([0, 1, 2], dtype=np.int32), np.array([1, 1, 0], dtype=np.int32)
    assert found.n_branches(feature).tolist() == [2, 2, 3]
    branches = found.branches(feature, split_bin)
    assert branches[0, :5].tolist() == [0, 0, 1, 1, 1]
    assert branches[1, :4].tolist() == [1, 0, 1, 1]
    assert branches[2, :3].tolist() == [0, 1, 2]
    # The bins agree with those of the binner: one more for missing values.
    of_binner = Candidates.of(BINNER)
    assert np.array_equal(of_binner.cell_offsets, BINNER.cell_offsets)
    assert np.array_equal(of_binner.candidate_offsets, BINNER.candidate_offsets)
