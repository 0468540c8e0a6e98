"""The layout of trees one behind the other, and the trees that it refuses."""

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm import Booster
from dpboost.lightgbm.model_text.trees import lay_out
from dpboost.trees.tree import Tree


@pytest.fixture(scope="module")
def trees(tools):
    return tools.ensemble(4, n_trees=12, n_leaves=20).trees


def test_positions_of_children(trees):
    nodes = lay_out(trees)
    assert nodes.n_nodes == sum(tree.n_nodes for tree in trees)
    assert nodes.n_leaves == sum(tree.n_leaves for tree in trees)
    assert min(tree.n_nodes for tree in trees) == 0, "a tree of one leaf is among them"
    starts = zip(nodes.node_start, nodes.leaf_start, strict=True)
    for tree, (node, leaf) in zip(trees, starts, strict=False):
        own_nodes = slice(node, node + tree.n_nodes)
        own_leaves = slice(leaf, leaf + tree.n_leaves)
        root = nodes.node_position[own_nodes] if tree.n_nodes else nodes.leaf_position[own_leaves]
        assert root[0] == -1
        for side, children in enumerate((tree.left, tree.right)):
            for parent, child in enumerate(children.tolist()):
                hangs = nodes.node_position[node:] if child >= 0 else nodes.leaf_position[leaf:]
                assert hangs[child if child >= 0 else ~child] == 2 * (node + parent) + side
        np.testing.assert_array_equal(nodes.feature[own_nodes], tree.feature)
        np.testing.assert_array_equal(nodes.left_bins[own_nodes], tree.left_bins)
        np.testing.assert_array_equal(nodes.left[own_nodes], tree.left)
        np.testing.assert_array_equal(nodes.right[own_nodes], tree.right)


def test_every_node_comes_after_the_one_above(trees):
    nodes = lay_out(trees)
    assert sorted(nodes.order.tolist()) == [*range(nodes.n_nodes)]
    rank = np.argsort(nodes.order)
    below = np.flatnonzero(nodes.node_position >= 0)
    assert (rank[nodes.node_position[below] // 2] < rank[below]).all()
    tree_of_rank = np.searchsorted(nodes.node_start, nodes.order, side="right")
    assert (np.diff(tree_of_rank) >= 0).all()


def test_nodes_may_be_numbered_in_any_order():
    nodes = lay_out([tree_of([2, -1, -2], [-3, -4, 1])])
    assert nodes.order.tolist() == [0, 2, 1]


def tree_of(left, right):
    return Tree(
        feature=np.zeros(len(left), dtype=np.int32),
        left_bins=np.ones((len(left), 4), dtype=np.uint64),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        leaf_value=np.zeros(len(left) + 1, dtype=np.int64),
    )


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, -1, -2], [2, -3, 3]),  # no such node
        ([1, -1, -2], [2, -3, -5]),  # no such leaf
        ([1, -1, -1], [2, -3, -4]),  # a leaf twice
        ([1, -1, 0], [2, -3, -4]),  # the root
        ([1, -1, -2], [1, -3, -4]),  # a node twice
        ([-1, 2, 1], [-2, -3, -4]),  # a cycle apart from the root
        ([0, -1, -2], [2, -3, -4]),  # a node below itself
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_malformed_trees_are_refused(tools, trees, left, right, position):
    some = list(trees[:2])
    some[position] = tree_of(left, right)
    with pytest.raises(InvalidParameterError, match="exactly once"):
        lay_out(some)
    with pytest.raises(InvalidParameterError, match="exactly once"):
        Booster.of_ensemble(tools.ensemble(4, trees=tuple(some)))
