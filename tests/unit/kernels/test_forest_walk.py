"""Walks over random trees, against recursion over one tree at a time."""

import numpy as np
import pytest

from dpboost._kernels import forest_walk


def random_children(rng, n_nodes):
    """Return the children of a random tree whose nodes are numbered at random but for the root."""
    left, right = np.zeros((2, n_nodes), dtype=np.int32)
    number = np.concatenate([[0], 1 + rng.permutation(max(n_nodes - 1, 0))])[:n_nodes]
    leaf_number = rng.permutation(n_nodes + 1)
    slots = [None]
    for node in number.tolist():
        position = slots.pop(int(rng.integers(len(slots))))
        if position is not None:
            (left, right)[position[1]][position[0]] = node
        slots += [(node, 0), (node, 1)]
    for (parent, side), leaf in zip(filter(None, slots), leaf_number, strict=False):
        (left, right)[side][parent] = ~leaf
    return left, right


@pytest.fixture(params=range(5))
def forest(request):
    """Trees of 0 to 60 nodes, with where they begin and the arrays that the walk fills."""
    rng = np.random.default_rng(request.param)
    sizes = [0, 1, *rng.integers(0, 60, 6).tolist(), 0]
    trees = [random_children(rng, size) for size in sizes]
    node_start = np.cumsum([0, *sizes], dtype=np.int32)
    leaf_start = node_start + np.arange(len(sizes) + 1, dtype=np.int32)
    left, right = (np.concatenate([tree[side] for tree in trees]) for side in (0, 1))
    return rng, trees, node_start, leaf_start, left, right


def walk(node_start, leaf_start, left, right):
    order, node_position = np.full((2, node_start[-1]), 99, dtype=np.int32)
    leaf_position = np.full(leaf_start[-1], 99, dtype=np.int32)
    whole = forest_walk.order_nodes(
        node_start, leaf_start, left, right, order, node_position, leaf_position
    )
    return whole, order, node_position, leaf_position


def test_the_order_goes_level_by_level(forest):
    _, trees, node_start, leaf_start, left, right = forest
    whole, order, _, leaf_position = walk(node_start, leaf_start, left, right)
    assert whole
    for (own_left, own_right), start in zip(trees, node_start.tolist(), strict=False):
        level, expected = [0] if len(own_left) else [], []
        while level:
            expected += level
            below = [int(side[node]) for node in level for side in (own_left, own_right)]
            level = [node for node in below if node >= 0]
        assert (order[start : start + len(own_left)] - start).tolist() == expected
    assert (leaf_position[leaf_start[:-1][np.diff(node_start) == 0]] == -1).all()


def test_any_other_child_is_found_wrong(forest):
    rng, _, node_start, leaf_start, left, right = forest
    for node in rng.permutation(node_start[-1])[:20].tolist():
        tree = np.searchsorted(node_start, node, side="right") - 1
        n_nodes = int(node_start[tree + 1] - node_start[tree])
        changed = left.copy()
        for child in range(-n_nodes - 3, n_nodes + 2):
            changed[node] = child
            whole = walk(node_start, leaf_start, changed, right)[0]
            assert whole == (child == left[node])


def test_sums_and_means_of_what_is_below(forest):
    rng, trees, node_start, leaf_start, left, right = forest
    _, order, node_position, leaf_position = walk(node_start, leaf_start, left, right)
    n_nodes, n_leaves = int(node_start[-1]), int(leaf_start[-1])
    counts, values = rng.integers(1, 10**6, n_leaves), rng.normal(size=n_leaves)
    node_counts, node_values = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes)
    below = np.empty(2 * n_nodes, dtype=np.int64), np.empty(2 * n_nodes)
    forest_walk.add_up(
        order, node_position, leaf_position, counts, values, *below, node_counts, node_values
    )

    def expected(tree, leaves, child):
        if child < 0:
            return counts[leaves + ~child], values[leaves + ~child]
        (n, mean), (m, other) = (expected(tree, leaves, int(side[child])) for side in tree)
        return n + m, (n * mean + m * other) / (n + m)

    for tree, node, leaf in zip(trees, node_start.tolist(), leaf_start.tolist(), strict=False):
        for own in range(len(tree[0])):
            found = node_counts[node + own], node_values[node + own]
            assert found == expected(tree, leaf, own)


def test_shares_of_the_grid(forest):
    rng, trees, node_start, leaf_start, left, right = forest
    _, order, node_position, leaf_position = walk(node_start, leaf_start, left, right)
    n_bins = np.array([1, 63, 64, 127, 255], dtype=np.int32)
    n_nodes = int(node_start[-1])
    feature = rng.integers(0, 5, n_nodes, dtype=np.int32)
    sets = rng.random((n_nodes, 256)) < 0.5
    left_bins = np.packbits(sets, axis=1, bitorder="little").view("<u8").astype(np.uint64)
    reach, share = np.empty((n_nodes, 4), dtype=np.uint64), np.ones(2 * n_nodes)
    forest_walk.share_grid(order, node_position, feature, left_bins, n_bins, reach, share)

    def check(tree, start, leaves, child, own, reaching):
        if child < 0:
            assert (
                leaf_position[leaves + ~child] < 0 or share[leaf_position[leaves + ~child]] == own
            )
            return
        node = start + child
        f, bins = feature[node], reaching[feature[node]]
        flags = np.unpackbits(reach[node : node + 1].view(np.uint8), bitorder="little")
        assert set(np.flatnonzero(flags).tolist()) == bins
        for side, position in zip(tree, (2 * node, 2 * node + 1), strict=True):
            part = {b for b in bins if sets[node, b] != position % 2}
            assert share[position] == own * len(part) / max(len(bins), 1)
            below = {**reaching, f: part}
            check(tree, start, leaves, int(side[child]), share[position], below)

    whole = {f: set(range(n + 1)) for f, n in enumerate(n_bins.tolist())}
    for tree, start, leaf in zip(trees, node_start.tolist(), leaf_start.tolist(), strict=False):
        check(tree, start, leaf, 0 if len(tree[0]) else -1, 1.0, whole)
