"""The layout of trees one behind the other, and the trees that it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost._validation import InvalidParameterError
from dpboost.lightgbm import Booster
from dpboost.lightgbm.nodes import lay_out, set_sizes
from dpboost.tree.structure import Tree, pack_sets


@pytest.fixture(scope="module")
def trees(tools):
    return tools.ensemble(4, n_trees=12, n_leaves=20).trees


def test_places_of_children(trees):
    nodes = lay_out(trees)
    assert nodes.n_nodes == sum(tree.n_nodes for tree in trees)
    assert nodes.n_places == nodes.n_nodes + sum(tree.n_leaves for tree in trees)
    assert min(tree.n_nodes for tree in trees) == 0, "a tree of one leaf is among them"
    places = np.split(np.arange(nodes.n_nodes), nodes.node_start[1:-1])
    leaves = np.split(np.arange(nodes.n_nodes, nodes.n_places), nodes.leaf_start[1:-1])
    for tree, here, below in zip(trees, places, leaves, strict=True):
        for side, own in enumerate((tree.left, tree.right)):
            expected = [here[v] if v >= 0 else below[~v] for v in own]
            np.testing.assert_array_equal(nodes.children[side, here], expected)
        np.testing.assert_array_equal(nodes.feature[here], tree.feature)
        np.testing.assert_array_equal(nodes.left_bins[here], tree.left_bins)


def test_levels_hold_every_node_at_its_depth(trees):
    nodes = lay_out(trees)
    depth = np.full(nodes.n_nodes, -1)
    for level, places in enumerate(nodes.levels):
        assert (depth[places] == -1).all()
        depth[places] = level
    for start, tree in zip(nodes.node_start, trees, strict=False):
        if tree.n_nodes:
            assert depth[start] == 0
        for own in (tree.left, tree.right):
            inner = own >= 0
            np.testing.assert_array_equal(
                depth[start + own[inner]], depth[start + np.flatnonzero(inner)] + 1
            )
    assert depth.min() == 0


def test_nodes_may_be_numbered_in_any_order():
    nodes = lay_out([tree_of([2, -1, -2], [-3, -4, 1])])
    assert [level.tolist() for level in nodes.levels] == [[0], [2], [1]]


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
@pytest.mark.parametrize("place", [0, 1])
def test_malformed_trees_are_refused(tools, trees, left, right, place):
    some = list(trees[:2])
    some[place] = tree_of(left, right)
    with pytest.raises(InvalidParameterError, match="exactly once"):
        lay_out(some)
    with pytest.raises(InvalidParameterError, match="exactly once"):
        Booster.of_ensemble(tools.ensemble(4, trees=tuple(some)))


def test_set_sizes():
    flags = np.random.default_rng(0).random((20, 256)) < 0.3
    flags[0], flags[1] = True, False
    np.testing.assert_array_equal(set_sizes(pack_sets(flags)), flags.sum(axis=1))
