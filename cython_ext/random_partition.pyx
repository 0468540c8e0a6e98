"""Random partitions of a few binned features: a public tree and its table of leaves.

A node splits a random one of the tree's features at random, among the bins that can still reach
it, so that no split is void on the public grid. Bins of a feature that no node tells apart share
a cell, and the table holds one leaf for each combination of cells: it is small enough for the
first cache. Nothing here reads a row: the random words come from public randomness.

Sets are bits by position: the positions of a feature whose categories are ordered are those of its
order, else they are its bins, and the missing bin has the last one. A threshold is then a run of
positions, whatever it cuts.
"""

import numpy as np

from libc.string cimport memcpy, memset

from _types cimport bin_t, row_t, word_t

cdef enum:
    MAX_FEATURES = 3
    SET_WORDS = 4          # a set of bins is 256 bits
    BINS = 256
    MAX_LEAVES = 4096
    WORDS_PER_NODE = 8     # random words that a node may use
    NUMBER = 0
    ONE_CATEGORY = 1
    SUBSETS = 2
    ORDERED = 3

cdef struct Axis:
    # A feature of the tree, the positions where thresholds have cut it, and its cells.
    int feature
    int kind
    int missing            # the position of the missing bin, after all others
    const bin_t* order
    word_t cuts[SET_WORDS]
    int n_cells
    int cell[BINS]         # of each position
    int size[BINS]         # positions in each cell
    word_t firsts[SET_WORDS]  # the first position of each cell
    int stride             # from a cell to the next one in the table

cdef struct Box:
    # Positions of each feature that reach a leaf, and where the leaf hangs.
    word_t reach[MAX_FEATURES][SET_WORDS]
    row_t parent
    row_t side


def grow(
    const row_t[::1] features,
    const row_t[::1] n_bins,
    const bin_t[::1] is_nominal,
    const bin_t[:, ::1] orders,
    const row_t[::1] line,
    int depth,
    const word_t[::1] words,
):
    """Grow a random tree level by level and write the leaf of every combination of bins.

    Parameters
    ----------
    features : int32 array of shape (k,)
        Features of the tree, k at most 3.
    n_bins : int32 array of shape (n_features,)
        Value bins of each feature; bin ``n_bins[f]`` is the missing one.
    is_nominal : uint8 array of shape (n_features,)
        0 for numbers: a split is a threshold, and the missing bin takes a random side. Else
        categories, whose missing bin always goes right, as in LightGBM: at 1 a split takes one
        bin, at 2 half of the splits take a random subset instead, at 3 a split cuts the order.
    orders : uint8 array of shape (n_lines, 256)
        Bins in the order in which thresholds cut them.
    line : int32 array of shape (n_features,)
        Line of ``orders`` that belongs to a feature with 3; without meaning for others.
    depth : int
        At most 12.
    words : uint64 array of shape (8 * 2**depth,)
        Public random words.

    Returns
    -------
    feature, left, right : int32 arrays of shape (n_nodes,)
        Feature of each node and its children, ``~leaf`` for a leaf; there is one leaf more.
    left_bins : uint64 array of shape (n_nodes, 4)
        The bins that go left, as bits.
    steps : int32 array of shape (3, 256)
        The leaf of a row is ``table[sum(steps[i, bin of features[i]])]``; zeros beyond k.
    table : uint16 array
        One entry for each combination of cells.
    """
    cdef Box boxes[MAX_LEAVES]
    cdef Axis axes[MAX_FEATURES]
    cdef int k = features.shape[0]
    cdef int n_leaves = 1
    cdef int n_nodes = 0
    cdef int _level, leaf, at_level, n_entries
    cdef const word_t* draw = &words[0]
    nodes_out = np.empty((3, max((1 << depth) - 1, 1)), dtype=np.int32)
    sets_out = np.empty((nodes_out.shape[1], SET_WORDS), dtype=np.uint64)
    steps_out = np.zeros((MAX_FEATURES, BINS), dtype=np.int32)
    cdef row_t[:, ::1] nodes = nodes_out
    cdef word_t[:, ::1] sets = sets_out
    cdef row_t[:, ::1] steps = steps_out
    cdef row_t* left = &nodes[1, 0]
    cdef row_t* right = &nodes[2, 0]
    with nogil:
        _open_axes(axes, features, n_bins, is_nominal, orders, line)
        _whole(&boxes[0], axes, k)
        for _level in range(depth):
            at_level = n_leaves
            for leaf in range(at_level):
                if _split(
                    &boxes[leaf], &boxes[n_leaves], axes, k, draw + n_nodes * WORDS_PER_NODE,
                    &nodes[0, n_nodes], &sets[n_nodes, 0],
                ):
                    _hang(&boxes[leaf], n_nodes, left, right)
                    boxes[leaf].parent = n_nodes
                    boxes[leaf].side = 0
                    boxes[n_leaves].parent = n_nodes
                    boxes[n_leaves].side = 1
                    n_nodes += 1
                    n_leaves += 1
        n_entries = _write_steps(axes, k, steps)
    table_out = np.empty(n_entries, dtype=np.uint16)
    cdef unsigned short[::1] table = table_out
    with nogil:
        for leaf in range(n_leaves):
            _hang(&boxes[leaf], ~leaf, left, right)
            _fill(&boxes[leaf], leaf, axes, k, &table[0])
    feature, left_out, right_out = nodes_out[:, :n_nodes]
    return feature, left_out, right_out, sets_out[:n_nodes], steps_out, table_out


cdef extern from *:
    """
    #define dpboost_count_bits(word) __builtin_popcountll(word)
    #define dpboost_lowest_bit(word) __builtin_ctzll(word)
    """
    int _count_bits "dpboost_count_bits"(word_t word) noexcept nogil
    int _lowest_bit "dpboost_lowest_bit"(word_t word) noexcept nogil


cdef inline bint _holds(const word_t* bits, int position) noexcept nogil:
    return (bits[position >> 6] >> (position & 63)) & 1


cdef inline void _add(word_t* bits, int position) noexcept nogil:
    bits[position >> 6] |= <word_t> 1 << (position & 63)


cdef inline int _below(word_t word, int n) noexcept nogil:
    # Public randomness: a multiply by the upper half is even enough.
    return <int> (((word >> 32) * <word_t> n) >> 32)


cdef inline int _list_positions(const word_t* bits, int* positions) noexcept nogil:
    """List the positions of a set in rising order."""
    cdef int i, n = 0
    cdef word_t rest
    for i in range(SET_WORDS):
        rest = bits[i]
        while rest:
            positions[n] = 64 * i + _lowest_bit(rest)
            n += 1
            rest &= rest - 1
    return n


cdef void _open_axes(
    Axis* axes, const row_t[::1] features, const row_t[::1] n_bins, const bin_t[::1] is_nominal,
    const bin_t[:, ::1] orders, const row_t[::1] line,
) noexcept nogil:
    cdef int a, f
    for a in range(<int> features.shape[0]):
        f = features[a]
        memset(&axes[a], 0, sizeof(Axis))
        axes[a].feature = f
        axes[a].kind = is_nominal[f]
        axes[a].missing = n_bins[f]
        axes[a].order = &orders[line[f], 0] if is_nominal[f] == ORDERED else NULL
        axes[a].n_cells = 1
        axes[a].size[0] = n_bins[f] + 1


cdef void _whole(Box* box, const Axis* axes, int k) noexcept nogil:
    cdef int a
    memset(box, 0, sizeof(Box))
    box.parent = -1
    for a in range(k):
        _up_to(axes[a].missing, box.reach[a])


cdef inline void _up_to(int last, word_t* bits) noexcept nogil:
    """Set all positions up to the last one."""
    cdef int i
    for i in range(last >> 6):
        bits[i] = ~<word_t> 0
    bits[last >> 6] = ~<word_t> 0 >> (63 - (last & 63))


cdef void _hang(const Box* box, row_t child, row_t* left, row_t* right) noexcept nogil:
    if box.parent >= 0:
        if box.side == 0:
            left[box.parent] = child
        else:
            right[box.parent] = child


cdef inline int _n_reached(const word_t* bits, int missing) noexcept nogil:
    """Count the value bins that reach a node; the missing one comes after them."""
    cdef int i, n = -<int> _holds(bits, missing)
    for i in range(SET_WORDS):
        n += _count_bits(bits[i])
    return n


cdef bint _split(
    Box* box, Box* other, Axis* axes, int k, const word_t* words, row_t* feature,
    word_t* left_bins,
) noexcept nogil:
    """Split a box; False where no feature has two bins left in it."""
    cdef int able[MAX_FEATURES]
    cdef int n_reached[MAX_FEATURES]
    cdef int n_able = 0
    cdef int a, i
    cdef Axis* axis
    for a in range(k):
        n_reached[a] = _n_reached(box.reach[a], axes[a].missing)
        if n_reached[a] > 1:
            able[n_able] = a
            n_able += 1
    if n_able == 0:
        return False
    a = able[_below(words[0], n_able)]
    axis = &axes[a]
    feature[0] = axis.feature
    memset(left_bins, 0, SET_WORDS * sizeof(word_t))
    if axis.kind == NUMBER or axis.kind == ORDERED:
        _threshold(box.reach[a], n_reached[a], axis, words, left_bins)
    else:
        _nominal(box.reach[a], n_reached[a], axis, words, left_bins)
    memcpy(other, box, sizeof(Box))
    for i in range(SET_WORDS):
        box.reach[a][i] &= left_bins[i]
        other.reach[a][i] &= ~left_bins[i]
    if axis.kind == ORDERED:
        _in_bins(axis.order, left_bins)
    return True


cdef void _threshold(
    const word_t* reach, int n, Axis* axis, const word_t* words, word_t* left
) noexcept nogil:
    """Cut the positions at a random one; the missing bin of a number takes a random side."""
    cdef int i = 0
    cdef int before = _below(words[1], n - 1)
    cdef word_t rest
    while before >= _count_bits(reach[i]):
        before -= _count_bits(reach[i])
        i += 1
    rest = reach[i]
    while before:
        rest &= rest - 1
        before -= 1
    i = 64 * i + _lowest_bit(rest)
    # All positions up to the cut, reached or not: on a number they have to be a threshold.
    _up_to(i, left)
    _add(axis.cuts, i)
    if axis.kind == NUMBER and words[2] & 1 and _holds(reach, axis.missing):
        _add(left, axis.missing)


cdef void _nominal(
    const word_t* reach, int n, Axis* axis, const word_t* words, word_t* left
) noexcept nogil:
    """Take one bin, or a random subset that is neither empty nor full."""
    cdef int reached[BINS]
    cdef int i, n_left = 0
    _list_positions(reach, reached)
    if axis.kind == SUBSETS and words[1] & 1:
        for i in range(n):
            if (words[3 + (i >> 6)] >> (i & 63)) & 1:
                _add(left, reached[i])
                n_left += 1
    if n_left == 0 or n_left == n:
        memset(left, 0, SET_WORDS * sizeof(word_t))
        _add(left, reached[_below(words[2], n)])
    _divide_cells(axis, left)


cdef void _divide_cells(Axis* axis, const word_t* left) noexcept nogil:
    """Move the positions that go left into cells of their own, where a cell has both kinds."""
    cdef int positions[BINS]
    cdef int n_left[BINS]
    cdef int moved_to[BINS]
    cdef int n = _list_positions(left, positions)
    cdef int i, cell
    for cell in range(axis.n_cells):
        n_left[cell] = 0
        moved_to[cell] = -1
    for i in range(n):
        n_left[axis.cell[positions[i]]] += 1
    for i in range(n):
        cell = axis.cell[positions[i]]
        if moved_to[cell] < 0:
            if n_left[cell] == axis.size[cell]:
                continue
            moved_to[cell] = axis.n_cells
            axis.size[axis.n_cells] = n_left[cell]
            axis.size[cell] -= n_left[cell]
            axis.n_cells += 1
        axis.cell[positions[i]] = moved_to[cell]


cdef void _in_bins(const bin_t* order, word_t* left) noexcept nogil:
    """Turn a set of positions into one of bins; the missing bin is not in it."""
    cdef int positions[BINS]
    cdef int n = _list_positions(left, positions)
    cdef int i
    memset(left, 0, SET_WORDS * sizeof(word_t))
    for i in range(n):
        _add(left, order[positions[i]])


cdef int _write_steps(Axis* axes, int k, row_t[:, ::1] steps) noexcept nogil:
    """Give cells their strides; return the number of their combinations."""
    cdef word_t seen[SET_WORDS]
    cdef int a, position, at
    cdef int stride = 1
    cdef Axis* axis
    for a in range(k - 1, -1, -1):
        axis = &axes[a]
        if axis.kind == NUMBER or axis.kind == ORDERED:
            _number_runs(axis)
        axis.stride = stride
        memset(seen, 0, sizeof(seen))
        for position in range(axis.missing + 1):
            at = position
            if axis.kind == ORDERED and position < axis.missing:
                at = axis.order[position]
            steps[a, at] = axis.cell[position] * stride
            if not _holds(seen, axis.cell[position]):
                _add(seen, axis.cell[position])
                _add(axis.firsts, position)
        stride *= axis.n_cells
    return stride


cdef void _number_runs(Axis* axis) noexcept nogil:
    """Number the cells between the cuts; the missing bin of a number has one of its own."""
    cdef int position
    cdef int cell = 0
    for position in range(axis.missing):
        axis.cell[position] = cell
        cell += _holds(axis.cuts, position)
    if axis.kind == NUMBER and cell > 0:
        cell += 1
    axis.cell[axis.missing] = cell
    axis.n_cells = cell + 1


cdef void _fill(
    const Box* box, int leaf, const Axis* axes, int k, unsigned short* table
) noexcept nogil:
    """Write the leaf into every combination of cells that reaches it."""
    cdef int own[MAX_FEATURES][BINS]
    cdef int n[MAX_FEATURES]
    cdef int a, b, c, i
    cdef unsigned short* run
    cdef word_t firsts[SET_WORDS]
    for a in range(MAX_FEATURES):
        n[a] = 1
        own[a][0] = 0
    for a in range(k):
        for i in range(SET_WORDS):
            firsts[i] = box.reach[a][i] & axes[a].firsts[i]
        n[a] = _list_positions(firsts, own[a])
        for i in range(n[a]):
            own[a][i] = axes[a].cell[own[a][i]] * axes[a].stride
    for a in range(n[0]):
        for b in range(n[1]):
            run = table + own[0][a] + own[1][b]
            for c in range(n[2]):
                run[own[2][c]] = leaf
