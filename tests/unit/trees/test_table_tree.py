"""Tables as trees: every row finds its value."""

import numpy as np
import pytest

from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, uniform_bins
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.table_tree import table_tree

BINNER = Binner(
    features=[uniform_bins(0, 1, 6), uniform_bins(0, 1, 1), CategoryBins(codes=tuple(range(5)))],
    feature_names=["a", "b", "c"],
)


@pytest.mark.parametrize("features", [(0,), (2,), (0, 1), (0, 2), (1, 2), (2, 0)])
@pytest.mark.parametrize("n_values", [1, 2, 50])
def test_every_row_finds_its_value(features, n_values):
    rng = np.random.default_rng(0)
    shape = tuple(int(BINNER.n_bins[f]) + 1 for f in features)
    values = rng.integers(0, n_values, shape)
    shares = [np.full(n, 1 / n) for n in shape]
    tree = table_tree(features, values, BINNER, shares)
    rows = np.zeros((3, values.size), dtype=np.uint8)
    for feature, bins in zip(features, np.indices(shape), strict=True):
        rows[feature] = bins.ravel()
    np.testing.assert_array_equal(tree.leaf_value[leaf_index(tree, rows)], values.ravel())
    assert set(tree.feature.tolist()) <= set(features)
    # Parents come before their children, and the weights are those of the shares.
    for position, children in enumerate(zip(tree.left, tree.right, strict=True)):
        assert all(child < 0 or child > position for child in children)
    assert tree.leaf_count.sum() == pytest.approx(2**20, abs=tree.n_leaves)


def test_missing_values_of_categories_go_right():
    values = np.arange(6)
    tree = table_tree((2,), values, BINNER, [np.full(6, 1 / 6)])
    assert not (tree.left_bins[:, 0] >> np.uint64(5) & np.uint64(1)).any()
