"""Scores of rows under released trees, and the link to probabilities.

Leaf values are integers, so that scores are exact sums in any order of trees and threads.
Trees lie one behind the other in flat arrays; node numbers count from their own tree's start.

A row walks down a tree, node by node. Neighboring rows go together where a tree is small and each
of its sets is a run of bins, as of a threshold or of one category: every node is asked for all of
them, from the last one up to the root, and takes the leaf of its left or of its right child. That
is ten times as many nodes, and a tenth of the time: bytes side by side fill the registers, and no
step waits for the one before.

Where a tree reads few features, as random partitions do, nobody walks: each bin of a feature has
the set of the leaves that it leaves possible, and the sets of a row's bins have one in common.
"""

from cython.parallel cimport prange
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from _leaf_sets cimport (
    AT_ONCE, MOST_SETS, SET_WORDS, SIDE_BY_SIDE, LeafSets, Nodes, find_leaf_sets, look_up_leaves
)
from _sets cimport highest_bit, lowest_bit, n_bits
from _types cimport bin_t, row_t, sum_t, word_t

cdef extern from *:
    """
    #include <math.h>
    #ifdef _WIN32
    /* That of UCRT, as LightGBM has it there: what MinGW links differs in the last bit. */
    extern double (*__imp_exp)(double);
    #define dpboost_exp (*__imp_exp)
    #else
    #define dpboost_exp exp
    #endif
    """
    double exp "dpboost_exp" (double x) noexcept nogil

cdef enum:
    CHUNK = 512  # rows whose leaves are looked up before their scores are touched
    BLOCK = 16384  # rows that pass through one tree before the next tree's nodes are touched
    VERY_FEW = 16  # rows that go through a tree one by one
    MANY = 1024  # rows for which they are where neighboring rows could walk together as well
    MOST_LANES = 127  # nodes of a tree that neighboring rows walk through together
    FEW_NODES = 31  # of a tree that they walk through sooner than sets of leaves are looked up

cdef struct Leaves:
    Py_ssize_t n_outputs
    Py_ssize_t n_leaves
    Py_ssize_t n_rows
    const sum_t* values
    sum_t* scores

cdef struct Lanes:
    # Bins that go left at each node: ``low`` to ``low + width``. Leaves of neighboring rows below
    # each node, and below a child that is a leaf itself.
    bin_t low[MOST_LANES]
    bin_t width[MOST_LANES]
    bin_t leaf[MOST_LANES][SIDE_BY_SIDE]
    bin_t alone[SIDE_BY_SIDE]

cdef struct Scratch:
    Lanes lanes
    LeafSets sets


def add_trees(
    const bin_t[:, ::1] bins,
    const row_t[::1] rows,
    const row_t[::1] first_tree,
    int last_tree,
    const row_t[::1] node_start,
    const row_t[::1] leaf_start,
    const row_t[::1] feature,
    const word_t[:, ::1] left_bins,
    const row_t[::1] left,
    const row_t[::1] right,
    const sum_t[:, ::1] leaf_value,
    sum_t[:, ::1] scores,
    int n_threads,
    bint compact=False,
):
    """Add the leaf values of trees ``first_tree[row] <= t < last_tree`` to rows' scores.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column.
    rows : int32 array of shape (n_selected,)
        Rows to bring up to date, each at most once.
    first_tree : int32 array of shape (n_rows,)
        First tree that a row has not seen yet.
    last_tree : int
        One behind the last tree to add.
    node_start, leaf_start : int32 arrays of shape (n_trees + 1,)
        Nodes and leaves of tree ``t`` begin there; a tree without nodes is its leaf 0.
    feature : int32 array of shape (n_nodes,)
    left_bins : uint64 array of shape (n_nodes, 4)
        Bins that go left, as bits.
    left, right : int32 arrays of shape (n_nodes,)
        Children: ``v >= 0`` is a node of the same tree, ``v < 0`` its leaf ``~v``.
    leaf_value : int64 array of shape (n_outputs, n_leaves)
        Of the outputs that share the trees.
    scores : int64 array of shape (n_outputs, n_rows)
        Added to.
    n_threads : int
    compact : bool
        Whether ``bins`` has a column for each of the selected rows alone, in their order.

    Raises
    ------
    MemoryError
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t size = min(<Py_ssize_t> BLOCK, max(<Py_ssize_t> CHUNK, -(-n // n_threads)))
    cdef Py_ssize_t n_blocks = (n + size - 1) // size
    cdef Py_ssize_t block
    cdef Nodes trees
    cdef Leaves leaves
    cdef int failed = 0
    if n == 0 or last_tree <= 0:
        return
    trees = _nodes(bins, feature, left_bins, left, right)
    leaves.n_outputs, leaves.n_leaves = leaf_value.shape[0], leaf_value.shape[1]
    leaves.n_rows = scores.shape[1]
    leaves.values, leaves.scores = &leaf_value[0, 0], &scores[0, 0]
    for block in prange(
        n_blocks, nogil=True, num_threads=n_threads, schedule="dynamic", use_threads_if=n_blocks > 1
    ):
        failed += _add_block(
            &trees, &leaves, &rows[block * size], min(n - block * size, size),
            block * size if compact else -1, &first_tree[0], last_tree, &node_start[0],
            &leaf_start[0],
        )
    if failed:
        raise MemoryError("The tables of the trees do not fit into memory.")


def leaf_indices(
    const bin_t[:, ::1] bins,
    const row_t[::1] rows,
    int tree,
    const row_t[::1] node_start,
    const row_t[::1] feature,
    const word_t[:, ::1] left_bins,
    const row_t[::1] left,
    const row_t[::1] right,
    row_t[::1] leaves,
    int n_threads,
):
    """Write the leaf of one tree that each row falls into.

    Parameters
    ----------
    bins, rows, node_start, feature, left_bins, left, right
        As in ``add_trees``.
    tree : int
        Number of the tree.
    leaves : int32 array of shape (n_selected,)
        Overwritten; leaves count from the tree's own start.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef bint is_leaf = node_start[tree] == node_start[tree + 1]
    cdef Nodes trees = _nodes(bins, feature, left_bins, left, right)
    trees = _tree_at(&trees, node_start[tree])
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > CHUNK
    ):
        leaves[i] = 0 if is_leaf else _leaf_of_row(trees, rows[i])


def logistic(const double[::1] raw, double[::1] out):
    """Write ``1 / (1 + exp(-raw))``, by the C library's ``exp`` as LightGBM does.

    Parameters
    ----------
    raw : float64 array of shape (n,)
    out : float64 array of shape (n,)
        Overwritten; may be ``raw``.
    """
    cdef Py_ssize_t n = raw.shape[0]
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            out[i] = 1.0 / (1.0 + exp(-raw[i]))


def exponential(const double[::1] raw, double[::1] out):
    """Write ``exp(raw)``, by the C library's ``exp`` as LightGBM does.

    Parameters
    ----------
    raw : float64 array of shape (n,)
    out : float64 array of shape (n,)
        Overwritten; may be ``raw``.
    """
    cdef Py_ssize_t n = raw.shape[0]
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            out[i] = exp(raw[i])


def softmax(double[:, ::1] raw):
    """Turn raw scores of all classes into probabilities, in place and in LightGBM's order.

    Parameters
    ----------
    raw : float64 array of shape (n, n_classes)
        Overwritten.
    """
    cdef Py_ssize_t n = raw.shape[0]
    cdef Py_ssize_t n_classes = raw.shape[1]
    cdef Py_ssize_t i, k
    cdef double top, total
    with nogil:
        for i in range(n):
            top = raw[i, 0]
            total = 0.0
            for k in range(1, n_classes):
                top = max(top, raw[i, k])
            for k in range(n_classes):
                raw[i, k] = exp(raw[i, k] - top)
                total += raw[i, k]
            for k in range(n_classes):
                raw[i, k] /= total


cdef inline row_t _leaf_of_row(Nodes tree, Py_ssize_t row) noexcept nogil:
    # No branch on the row's bin: it would be mispredicted at every other node.
    cdef row_t node = 0
    cdef row_t goes_left
    cdef bin_t b
    while node >= 0:
        b = tree.bins[tree.feature[node] * tree.n_rows + row]
        goes_left = (tree.left_bins[node * SET_WORDS + (b >> 6)] >> (b & 63)) & 1
        node = tree.right[node] ^ ((tree.left[node] ^ tree.right[node]) & -goes_left)
    return ~node


cdef int _add_block(
    const Nodes* trees,
    const Leaves* leaves,
    const row_t* rows,
    Py_ssize_t n,
    Py_ssize_t first_column,
    const row_t* first_tree,
    int last_tree,
    const row_t* node_start,
    const row_t* leaf_start,
) noexcept nogil:
    """Pass rows through one tree after the other; return 1 where memory lacks.

    Their bins are in neighboring columns from the first one on, or, where that is negative, in
    the columns of their numbers.
    """
    cdef Nodes tree
    cdef Scratch* scratch = <Scratch*> malloc(sizeof(Scratch))
    cdef LeafSets* sets
    cdef sum_t* gained = <sum_t*> calloc(n * leaves.n_outputs, sizeof(sum_t))
    cdef sum_t* scores
    cdef Py_ssize_t i, k, chunk, start, width, n_nodes
    cdef bint neighbors, together, by_sets
    cdef int t, earliest = last_tree, latest = 0
    if scratch == NULL or gained == NULL:
        free(scratch)
        free(gained)
        return 1
    sets = &scratch.sets
    if first_column < 0 and _are_neighbors(rows, n):
        first_column = rows[0]
    for i in range(n):
        earliest = min(earliest, first_tree[rows[i]])
        latest = max(latest, first_tree[rows[i]])
    for t in range(earliest, last_tree):
        tree = _tree_at(trees, node_start[t])
        n_nodes = node_start[t + 1] - node_start[t]
        neighbors = first_column >= 0 and VERY_FEW < n and 0 < n_nodes
        together = (
            neighbors and n_nodes <= MOST_LANES and _find_runs(&tree, n_nodes, &scratch.lanes)
        )
        if together:
            by_sets = MANY < n and FEW_NODES < n_nodes
            by_sets = by_sets and find_leaf_sets(&tree, n_nodes, AT_ONCE, sets)
        else:
            # Writing a node costs about as much as the walk of one row.
            by_sets = neighbors and n_nodes < n
            by_sets = by_sets and find_leaf_sets(&tree, n_nodes, MOST_SETS, sets)
        if by_sets or together:
            for chunk in range((n + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE):
                start = chunk * SIDE_BY_SIDE
                width = min(n - start, <Py_ssize_t> SIDE_BY_SIDE)
                if by_sets:
                    look_up_leaves(
                        sets, tree.bins + first_column + start, width, scratch.lanes.leaf[0]
                    )
                else:
                    _go_side_by_side(
                        &tree, n_nodes, &scratch.lanes, first_column + start, width
                    )
                _add_leaves(
                    scratch.lanes.leaf[0], leaves, leaf_start[t], width, gained + start, n,
                    rows + start, first_tree, t, latest <= t,
                )
            continue
        for chunk in range((n + CHUNK - 1) // CHUNK):
            start = chunk * CHUNK
            _add_chunk(
                &tree, n_nodes, leaves, rows + start, min(n - start, <Py_ssize_t> CHUNK),
                first_column + start if first_column >= 0 else -1, first_tree, t, leaf_start[t],
            )
    for k in range(leaves.n_outputs):
        scores = leaves.scores + k * leaves.n_rows
        for i in range(n):
            scores[rows[i]] += gained[k * n + i]
    free(scratch)
    free(gained)
    return 0


cdef bint _are_neighbors(const row_t* rows, Py_ssize_t n) noexcept nogil:
    cdef row_t gaps = 0
    cdef Py_ssize_t i
    for i in range(1, n):
        gaps |= rows[i] - rows[i - 1] - 1
    return gaps == 0


cdef bint _find_runs(const Nodes* tree, Py_ssize_t n_nodes, Lanes* lanes) noexcept nogil:
    """Write the runs of bins that go left; return whether there are no other sets.

    Children must stand behind their parents, as they do in all trees that are grown here.
    """
    cdef const word_t* words
    cdef Py_ssize_t node, word, first, last, n_bins
    for node in range(n_nodes):
        words = tree.left_bins + node * SET_WORDS
        first = 0
        while first < SET_WORDS and words[first] == 0:
            first += 1
        if first == SET_WORDS or 0 <= tree.left[node] <= node or 0 <= tree.right[node] <= node:
            return False
        last = SET_WORDS - 1
        while words[last] == 0:
            last -= 1
        n_bins = 0
        for word in range(first, last + 1):
            n_bins += n_bits(words[word])
        first = 64 * first + lowest_bit(words[first])
        last = 64 * last + highest_bit(words[last])
        if n_bins <= last - first:
            return False
        lanes.low[node] = <bin_t> first
        lanes.width[node] = <bin_t> (last - first)
    return True


cdef void _go_side_by_side(
    const Nodes* tree, Py_ssize_t n_nodes, Lanes* lanes, Py_ssize_t first_column, Py_ssize_t n
) noexcept nogil:
    """Write the leaves of neighboring columns."""
    cdef Py_ssize_t node
    cdef const bin_t* column
    for node in range(n_nodes - 1, -1, -1):
        column = tree.bins + tree.feature[node] * tree.n_rows + first_column
        if tree.left[node] < 0 and tree.right[node] < 0:
            _choose_leaf(
                column, lanes.low[node], lanes.width[node], ~tree.left[node], ~tree.right[node],
                n, lanes.leaf[node],
            )
        else:
            _choose(
                column, lanes.low[node], lanes.width[node],
                _leaves_below(lanes, tree.left[node], n),
                _leaves_below(lanes, tree.right[node], n), n, lanes.leaf[node],
            )


cdef void _add_leaves(
    const bin_t* leaf,
    const Leaves* leaves,
    Py_ssize_t leaf_start,
    Py_ssize_t n,
    sum_t* gained,
    Py_ssize_t next_output,
    const row_t* rows,
    const row_t* first_tree,
    int t,
    bint nobody_has_it,
) noexcept nogil:
    """Add one tree to what neighboring columns gain, if their rows miss it."""
    cdef Py_ssize_t i, k
    cdef const sum_t* values
    for k in range(leaves.n_outputs):
        values = leaves.values + k * leaves.n_leaves + leaf_start
        if nobody_has_it:
            for i in range(n):
                gained[i] += values[leaf[i]]
        else:
            for i in range(n):
                gained[i] += values[leaf[i]] & -<sum_t> (first_tree[rows[i]] <= t)
        gained += next_output


cdef inline const bin_t* _leaves_below(Lanes* lanes, row_t child, Py_ssize_t n) noexcept nogil:
    if child >= 0:
        return lanes.leaf[child]
    memset(lanes.alone, ~child, n)
    return lanes.alone


cdef void _choose_leaf(
    const bin_t* column, bin_t low, bin_t width, bin_t left, bin_t right, Py_ssize_t n, bin_t* out
) noexcept nogil:
    cdef Py_ssize_t i
    cdef bin_t goes_left
    for i in range(n):
        goes_left = -<bin_t> (<bin_t> (column[i] - low) <= width)
        out[i] = right ^ ((left ^ right) & goes_left)


cdef void _choose(
    const bin_t* column, bin_t low, bin_t width, const bin_t* left, const bin_t* right,
    Py_ssize_t n, bin_t* out
) noexcept nogil:
    cdef Py_ssize_t i
    cdef bin_t goes_left
    for i in range(n):
        goes_left = -<bin_t> (<bin_t> (column[i] - low) <= width)
        out[i] = right[i] ^ ((left[i] ^ right[i]) & goes_left)


cdef void _add_chunk(
    const Nodes* tree,
    Py_ssize_t n_nodes,
    const Leaves* leaves,
    const row_t* rows,
    Py_ssize_t n,
    Py_ssize_t first_column,
    const row_t* first_tree,
    int t,
    Py_ssize_t leaf_start,
) noexcept nogil:
    """Add one tree to the scores of the rows that miss it."""
    cdef row_t missing[CHUNK]
    cdef row_t column[CHUNK]
    cdef row_t leaf[CHUNK]
    cdef const sum_t* values
    cdef sum_t* scores
    cdef Py_ssize_t i, k
    cdef Py_ssize_t n_missing = 0
    for i in range(n):
        missing[n_missing] = rows[i]
        column[n_missing] = <row_t> (first_column + i) if first_column >= 0 else rows[i]
        n_missing += first_tree[rows[i]] <= t
    if n_nodes == 0:
        for i in range(n_missing):
            leaf[i] = 0
    else:
        for i in range(n_missing):
            leaf[i] = _leaf_of_row(tree[0], column[i])
    for k in range(leaves.n_outputs):
        values = leaves.values + k * leaves.n_leaves + leaf_start
        scores = leaves.scores + k * leaves.n_rows
        for i in range(n_missing):
            scores[missing[i]] += values[leaf[i]]


cdef inline Nodes _tree_at(const Nodes* trees, Py_ssize_t begin) noexcept nogil:
    cdef Nodes tree = trees[0]
    tree.feature = trees.feature + begin
    tree.left_bins = trees.left_bins + begin * SET_WORDS
    tree.left = trees.left + begin
    tree.right = trees.right + begin
    return tree


cdef Nodes _nodes(
    const bin_t[:, ::1] bins,
    const row_t[::1] feature,
    const word_t[:, ::1] left_bins,
    const row_t[::1] left,
    const row_t[::1] right,
) noexcept nogil:
    cdef Nodes trees
    memset(&trees, 0, sizeof(trees))
    trees.n_rows = bins.shape[1]
    if feature.shape[0] > 0:  # otherwise no tree has a node, and no pointer is followed
        trees.bins = &bins[0, 0]
        trees.feature = &feature[0]
        trees.left_bins = &left_bins[0, 0]
        trees.left = &left[0]
        trees.right = &right[0]
    return trees
