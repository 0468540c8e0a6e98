import numpy as np
import pytest

from dpboost._utils.threads import Threads
from dpboost.growing.split_finders import SplitTables
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.class_node_rows import ClassRows
from dpboost.trees.split_candidates import CATEGORY, THRESHOLD, Candidates

LAYOUT = Candidates(
    n_bins=np.array([4, 3, 2], dtype=np.int32),
    is_categorical=np.array([0, 1, 0], dtype=np.uint8),
    kinds=np.array([THRESHOLD, CATEGORY, THRESHOLD], dtype=np.uint8),
)


@pytest.mark.parametrize(
    "chosen",
    [
        [[0, 1, 3, 3]],  # one feature, three thresholds
        [[4, 5, 6, 4]],  # all categories of a feature
        [[2, 6, 8, 7]],  # three features
        [[3, 3, 3, 3]],
    ],
)
def test_tables_of_the_chosen_splits_are_those_of_the_rows(chosen):
    random = np.random.default_rng(0)
    bins = np.array([random.integers(0, n + 1, 300) for n in LAYOUT.n_bins], dtype=np.uint8)
    classes = random.integers(0, 2, 300).astype(np.uint8)
    rows = ClassRows(
        bins, classes, np.ones(300, bool), n_classes=2, candidates=LAYOUT, threads=Threads(1)
    )
    chosen = np.array(chosen, dtype=np.int32)
    tables = SplitTables.of(np.zeros(1, dtype=np.int32), chosen, LAYOUT, 2)
    left, right = tables.branches(tables.query.evaluate(rows))
    for position, candidate in enumerate(chosen[0]):
        (feature,) = LAYOUT.features_of(np.array([candidate]))
        (own,) = LAYOUT.split_bins(np.array([candidate]))
        first = bins[feature] <= own if feature != 1 else bins[feature] == own
        for branch, there in ((left, first), (right, ~first)):
            expected = np.bincount(classes[there], minlength=2)
            assert np.array_equal(branch[0, position], expected)


def test_splits_of_one_feature_cost_what_one_split_costs():
    """A row is in one cell of each feature; nodes with fewer features count in larger units."""
    nodes = np.arange(2, dtype=np.int32) + 1
    chosen = np.array([[0, 1, 2, 3], [0, 4, 8, 5]], dtype=np.int32)
    query = SplitTables.of(nodes, chosen, LAYOUT, 2).query
    (l1, _) = query.bounds(Neighbors.ADD_REMOVE)
    assert query.unit_value.tolist() == [512, 170]
    assert l1.constant == 512
    single = SplitTables.of(nodes, chosen[:, :1], LAYOUT, 2).query
    assert single.unit_value.tolist() == [1, 1]
    assert single.bounds(Neighbors.REPLACE)[0].constant == 2
