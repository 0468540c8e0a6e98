"""Walks over released trees that lie one behind the other: down from the roots, and back up.

Nodes and leaves are counted through all trees. Whoever hangs on side 0 (left) or 1 (right) of node
v hangs at position ``2 v + side``; nothing here reads a row.
"""

from _types cimport row_t, sum_t, word_t

cdef enum:
    SET_WORDS = 4  # a set of bins is 256 bits

cdef extern from *:
    """
    #define dpboost_ones(word) __builtin_popcountll(word)
    """
    int ones_of "dpboost_ones"(word_t word) noexcept nogil


def order_nodes(
    const row_t[::1] node_start,
    const row_t[::1] leaf_start,
    const row_t[::1] left,
    const row_t[::1] right,
    row_t[::1] order,
    row_t[::1] node_position,
    row_t[::1] leaf_position,
):
    """Find an order in which every node comes before what is below it, and where all hang.

    Parameters
    ----------
    node_start, leaf_start : int32 arrays of shape (n_trees + 1,)
        Nodes and leaves of tree ``t`` begin there; a tree without nodes is its leaf 0.
    left, right : int32 arrays of shape (n_nodes,)
        Children: ``v >= 0`` is a node of the same tree, ``v < 0`` its leaf ``~v``.
    order : int32 array of shape (n_nodes,)
        Overwritten: the nodes, tree by tree, each tree level by level.
    node_place, leaf_place : int32 arrays of shape (n_nodes,) and (n_leaves,)
        Overwritten: where each hangs, -1 for roots.

    Returns
    -------
    bool
        Whether the children of each tree reach each of its nodes and leaves exactly once. If
        not, what was overwritten means nothing.
    """
    cdef Py_ssize_t t
    cdef bint whole = True
    node_position[:] = -1
    leaf_position[:] = -1
    with nogil:
        for t in range(node_start.shape[0] - 1):
            whole = whole and order_tree(
                left, right, node_start[t], node_start[t + 1] - node_start[t],
                leaf_start[t], leaf_start[t + 1] - leaf_start[t],
                order, node_position, leaf_position,
            )
    return whole


cdef bint order_tree(
    const row_t[::1] left, const row_t[::1] right, row_t first, row_t n_nodes, row_t first_leaf,
    row_t n_leaves, row_t[::1] order, row_t[::1] node_position, row_t[::1] leaf_position,
) noexcept nogil:
    cdef row_t n_ordered = 1, n_read = 0, n_found = 0
    cdef row_t node, child, side
    if n_nodes == 0:
        return n_leaves == 1
    order[first] = first
    while n_read < n_ordered:
        node = order[first + n_read]
        n_read += 1
        for side in range(2):
            child = right[node] if side else left[node]
            if child >= 0:
                # Nothing is above the root, and one position above every other node.
                if child == 0 or child >= n_nodes or node_position[first + child] >= 0:
                    return False
                node_position[first + child] = 2 * node + side
                order[first + n_ordered] = first + child
                n_ordered += 1
            else:
                child = -1 - child
                if child >= n_leaves or leaf_position[first_leaf + child] >= 0:
                    return False
                leaf_position[first_leaf + child] = 2 * node + side
                n_found += 1
    return n_ordered == n_nodes and n_found == n_leaves


def share_grid(
    const row_t[::1] order,
    const row_t[::1] node_position,
    const row_t[::1] feature,
    const word_t[:, ::1] left_bins,
    const row_t[::1] n_bins,
    word_t[:, ::1] reach,
    double[::1] share,
):
    """Find the share of the cells of the bin grid that every position gets.

    Parameters
    ----------
    order, node_place : int32 arrays of shape (n_nodes,)
        As `order_nodes` writes them.
    feature : int32 array of shape (n_nodes,)
    left_bins : uint64 array of shape (n_nodes, 4)
        Bins that go left, as bits.
    n_bins : int32 array of shape (n_features,)
        Value bins of each feature; bin ``n_bins[f]`` is the missing one.
    reach : uint64 array of shape (n_nodes, 4)
        Overwritten: of the bins of its feature those that reach each node.
    share : float64 array of shape (2 n_nodes,), or longer
        Overwritten: the shares, of 1 at every root.
    """
    cdef Py_ssize_t i
    cdef row_t node, up
    cdef int k, width, left_width
    cdef double own
    cdef word_t through
    for i in range(order.shape[0]):
        node = order[i]
        up = node_position[node]
        own = share[up] if up >= 0 else 1.0
        # Which bins reach the node is told by the nearest split above on the same feature.
        while up >= 0 and feature[up // 2] != feature[node]:
            up = node_position[up // 2]
        width = left_width = 0
        for k in range(SET_WORDS):
            if up >= 0:
                through = ~left_bins[up // 2, k] if up % 2 else left_bins[up // 2, k]
                reach[node, k] = reach[up // 2, k] & through
            else:
                reach[node, k] = first_bins(n_bins[feature[node]] + 1 - 64 * k)
            width += ones_of(reach[node, k])
            left_width += ones_of(reach[node, k] & left_bins[node, k])
        share[2 * node] = own * left_width / max(width, 1)
        share[2 * node + 1] = own * (width - left_width) / max(width, 1)


cdef inline word_t first_bins(int n) noexcept nogil:
    # A word whose lowest n bits are set.
    return ~(<word_t> 0) if n >= 64 else (<word_t> 1 << n) - 1 if n > 0 else 0


def add_up(
    const row_t[::1] order,
    const row_t[::1] node_position,
    const row_t[::1] leaf_position,
    const sum_t[::1] leaf_count,
    const double[::1] leaf_value,
    sum_t[::1] below_count,
    double[::1] below_value,
    sum_t[::1] node_count,
    double[::1] node_value,
):
    """Find the count and the count-weighted mean of the leaves below every node.

    Parameters
    ----------
    order, node_place, leaf_place : int32 arrays
        As `order_nodes` writes them.
    leaf_count, leaf_value : int64 and float64 arrays of shape (n_leaves,)
        Counts are positive.
    below_count, below_value : int64 and float64 arrays of shape (2 n_nodes,)
        Overwritten: of what hangs at each position.
    node_count, node_value : int64 and float64 arrays of shape (n_nodes,)
        Overwritten; a mean is infinite or NaN where sums overflow.
    """
    cdef Py_ssize_t i
    cdef row_t node, position
    cdef double weighted
    for i in range(leaf_position.shape[0]):
        position = leaf_position[i]
        if position >= 0:
            below_count[position], below_value[position] = leaf_count[i], leaf_value[i]
    with nogil:
        for i in range(order.shape[0] - 1, -1, -1):
            node = order[i]
            node_count[node] = below_count[2 * node] + below_count[2 * node + 1]
            weighted = (
                <double> below_count[2 * node] * below_value[2 * node]
                + <double> below_count[2 * node + 1] * below_value[2 * node + 1]
            )
            node_value[node] = weighted / <double> node_count[node]
            position = node_position[node]
            if position >= 0:
                below_count[position], below_value[position] = node_count[node], node_value[node]
