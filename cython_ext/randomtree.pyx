"""Random partitions of a few binned features: a public tree and its table of leaves.

A node splits a random one of the tree's features at random, among the bins that can still reach
it, so that no split is void on the public grid. Bins of a feature that no node tells apart share
a cell, and the table holds one leaf for each combination of cells: it is small enough for the
first cache. Nothing here reads a row: the random words come from public randomness.
"""

from libc.string cimport memcpy, memset

from _types cimport bin_t, row_t, word_t

cdef enum:
    MAX_FEATURES = 3
    SET_WORDS = 4          # a set of bins is 256 bits
    BINS = 256
    WORDS_PER_NODE = 8     # random words that a node may use

cdef struct Box:
    # Bins of each feature that reach a leaf, and where the leaf hangs.
    word_t reach[MAX_FEATURES][SET_WORDS]
    row_t parent
    row_t side

cdef struct Cells:
    # Number of cells of each feature, the cell of each bin, and one bin of each cell.
    int n[MAX_FEATURES]
    int of_bin[MAX_FEATURES][BINS]
    int a_bin[MAX_FEATURES][BINS]


def grow(
    const row_t[::1] n_bins,
    const bin_t[::1] is_nominal,
    const bin_t[:, ::1] order,
    int depth,
    const word_t[::1] words,
    row_t[::1] feature,
    word_t[:, ::1] left_bins,
    row_t[::1] left,
    row_t[::1] right,
    row_t[:, ::1] steps,
    unsigned short[::1] table,
):
    """Grow a random tree level by level and write the leaf of every combination of bins.

    Parameters
    ----------
    n_bins : int32 array of shape (k,)
        Value bins of each feature, k at most 3; bin ``n_bins[f]`` is the missing one.
    is_nominal : uint8 array of shape (k,)
        0 for numbers: a split is a threshold, and the missing bin takes a random side. Else
        categories, whose missing bin always goes right, as in LightGBM: at 1 a split takes one
        bin, at 2 half of the splits take a random subset instead, at 3 a split cuts the order.
    order : uint8 array of shape (k, 256)
        Bins of each feature in the order in which thresholds cut them.
    depth : int
        At most 12.
    words : uint64 array of shape (8 * 2**depth,)
        Public random words.
    feature : int32 array of shape (2**depth - 1,)
        Overwritten: position of each node's feature in 0..k-1.
    left_bins : uint64 array of shape (2**depth - 1, 4)
        Overwritten: the bins that go left, as bits.
    left, right : int32 arrays of shape (2**depth - 1,)
        Overwritten: children, ``~leaf`` for a leaf.
    steps : int32 array of shape (3, 256)
        Overwritten: the leaf of a row is ``table[sum(steps[f, bin of f])]``; zeros beyond k.
    table : uint16 array of shape (prod(n_bins + 1),)
        Its first entries are overwritten, one for each combination of cells.

    Returns
    -------
    n_leaves : int
        There is one node less.
    n_entries : int
        Entries of the table that are used.
    """
    cdef Box boxes[4096]
    cdef int k = n_bins.shape[0]
    cdef int n_leaves = 1
    cdef int n_nodes = 0
    cdef int _level, leaf, at_level, n_entries
    cdef Cells cells
    cdef const word_t* draw = &words[0]
    with nogil:
        _whole(&boxes[0], n_bins, k)
        for _level in range(depth):
            at_level = n_leaves
            for leaf in range(at_level):
                if _split(
                    &boxes[leaf], &boxes[n_leaves], n_bins, is_nominal, order, k,
                    draw + n_nodes * WORDS_PER_NODE, &feature[n_nodes], &left_bins[n_nodes, 0],
                ):
                    _hang(&boxes[leaf], n_nodes, left, right)
                    boxes[leaf].parent = n_nodes
                    boxes[leaf].side = 0
                    boxes[n_leaves].parent = n_nodes
                    boxes[n_leaves].side = 1
                    n_nodes += 1
                    n_leaves += 1
        _find_cells(n_bins, k, &feature[0], &left_bins[0, 0], n_nodes, &cells)
        n_entries = cells.n[0] * cells.n[1] * cells.n[2]
        _write_steps(&cells, n_bins, k, steps)
        for leaf in range(n_leaves):
            _hang(&boxes[leaf], ~leaf, left, right)
            _fill(&boxes[leaf], leaf, &cells, k, &table[0])
    return n_leaves, n_entries


def order_leaves(
    const row_t[::1] left,
    const row_t[::1] right,
    row_t[::1] first,
    row_t[::1] middle,
    row_t[::1] last,
    row_t[::1] leaves,
):
    """Put the leaves of a tree from left to right: those below a node are then neighbours.

    Parameters
    ----------
    left, right : int32 arrays of shape (n_nodes,)
        Children, ``~leaf`` for a leaf; an internal child has a larger number than its parent.
    first, middle, last : int32 arrays of shape (n_nodes,)
        Overwritten: places ``first:middle`` belong to a node's left child, ``middle:last`` to its
        right one.
    leaves : int32 array of shape (n_nodes + 1,)
        Overwritten: the leaf at each place.
    """
    cdef int n_nodes = left.shape[0]
    cdef int node
    with nogil:
        leaves[0] = 0
        for node in range(n_nodes - 1, -1, -1):
            # Numbers of leaves, until the places are known.
            middle[node] = middle[left[node]] + last[left[node]] if left[node] >= 0 else 1
            last[node] = middle[right[node]] + last[right[node]] if right[node] >= 0 else 1
        for node in range(n_nodes):
            if node == 0:
                first[node] = 0
            middle[node] += first[node]
            last[node] += middle[node]
            if left[node] >= 0:
                first[left[node]] = first[node]
            else:
                leaves[first[node]] = ~left[node]
            if right[node] >= 0:
                first[right[node]] = middle[node]
            else:
                leaves[middle[node]] = ~right[node]


cdef void _whole(Box* box, const row_t[::1] n_bins, int k) noexcept nogil:
    cdef int f, b
    memset(box, 0, sizeof(Box))
    box.parent = -1
    for f in range(k):
        for b in range(n_bins[f] + 1):
            box.reach[f][b >> 6] |= <word_t> 1 << (b & 63)


cdef void _hang(Box* box, row_t child, row_t[::1] left, row_t[::1] right) noexcept nogil:
    if box.parent >= 0:
        if box.side == 0:
            left[box.parent] = child
        else:
            right[box.parent] = child


cdef inline bint _holds(const word_t* bits, int b) noexcept nogil:
    return (bits[b >> 6] >> (b & 63)) & 1


cdef inline int _below(word_t word, int n) noexcept nogil:
    # Public randomness: a multiply by the upper half is even enough.
    return <int> (((word >> 32) * <word_t> n) >> 32)


cdef extern from *:
    """
    #define dpboost_count_bits(word) __builtin_popcountll(word)
    """
    int _count_bits "dpboost_count_bits"(word_t word) noexcept nogil


cdef inline int _n_reached(const word_t* bits, int n_bins) noexcept nogil:
    """Count the value bins that reach a node; the missing one comes after them."""
    cdef int i, n = -<int> _holds(bits, n_bins)
    for i in range(SET_WORDS):
        n += _count_bits(bits[i])
    return n


cdef int _reached(const word_t* bits, int n_bins, const bin_t* order, bin_t* out) noexcept nogil:
    """List the value bins that reach a node, in the feature's order."""
    cdef int b, n = 0
    for b in range(n_bins):
        if _holds(bits, order[b]):
            out[n] = order[b]
            n += 1
    return n


cdef bint _split(
    Box* box,
    Box* other,
    const row_t[::1] n_bins,
    const bin_t[::1] is_nominal,
    const bin_t[:, ::1] order,
    int k,
    const word_t* words,
    row_t* feature,
    word_t* left_bins,
) noexcept nogil:
    """Split a box; False where no feature has two bins left in it."""
    cdef bin_t reached[BINS]
    cdef int able[MAX_FEATURES]
    cdef int n_able = 0
    cdef int f, n, i
    cdef bint missing
    for f in range(k):
        if _n_reached(box.reach[f], n_bins[f]) > 1:
            able[n_able] = f
            n_able += 1
    if n_able == 0:
        return False
    f = able[_below(words[0], n_able)]
    n = _reached(box.reach[f], n_bins[f], &order[f, 0], reached)
    memset(left_bins, 0, SET_WORDS * sizeof(word_t))
    feature[0] = f
    if is_nominal[f] == 1 or is_nominal[f] == 2:
        _nominal(reached, n, is_nominal[f] == 2, words, left_bins)
    else:
        missing = is_nominal[f] == 0 and _holds(box.reach[f], n_bins[f])
        _threshold(reached, n, &order[f, 0], n_bins[f], missing, words, left_bins)
    memcpy(other, box, sizeof(Box))
    for i in range(SET_WORDS):
        box.reach[f][i] &= left_bins[i]
        other.reach[f][i] &= ~left_bins[i]
    return True


cdef void _threshold(
    const bin_t* reached, int n, const bin_t* order, int missing, bint missing_reaches,
    const word_t* words, word_t* left_bins,
) noexcept nogil:
    """Cut the ordered bins at a random place; the missing bin takes a random side."""
    cdef bin_t last = reached[_below(words[1], n - 1)]
    cdef int i = 0
    if missing_reaches and words[2] & 1:
        left_bins[missing >> 6] |= <word_t> 1 << (missing & 63)
    # All bins up to the cut, reached or not: on a number they have to be a threshold.
    while True:
        left_bins[order[i] >> 6] |= <word_t> 1 << (order[i] & 63)
        if order[i] == last:
            break
        i += 1


cdef void _nominal(
    const bin_t* reached, int n, bint subsets, const word_t* words, word_t* left_bins
) noexcept nogil:
    """Take one bin, or a random subset that is neither empty nor full."""
    cdef int i, n_left = 0
    if subsets and words[1] & 1:
        for i in range(n):
            if (words[3 + (i >> 6)] >> (i & 63)) & 1:
                left_bins[reached[i] >> 6] |= <word_t> 1 << (reached[i] & 63)
                n_left += 1
        if 0 < n_left < n:
            return
        memset(left_bins, 0, SET_WORDS * sizeof(word_t))
    i = _below(words[2], n)
    left_bins[reached[i] >> 6] |= <word_t> 1 << (reached[i] & 63)


cdef void _find_cells(
    const row_t[::1] n_bins, int k, const row_t* feature, const word_t* left_bins, int n_nodes,
    Cells* cells,
) noexcept nogil:
    """Group the bins of each feature that go the same way at every node."""
    cdef int f, node
    memset(cells, 0, sizeof(Cells))
    for f in range(MAX_FEATURES):
        cells.n[f] = 1
    for node in range(n_nodes):
        f = feature[node]
        _divide_cells(
            n_bins[f] + 1, left_bins + node * SET_WORDS, &cells.n[f], &cells.of_bin[f][0]
        )
    for f in range(k):
        for node in range(n_bins[f] + 1):
            cells.a_bin[f][cells.of_bin[f][node]] = node


cdef void _divide_cells(int n_bins, const word_t* left, int* n_cells, int* of_bin) noexcept nogil:
    """Move the bins that go left into cells of their own, where a cell has both kinds."""
    cdef int moved_to[BINS]
    cdef int n_right[BINS]
    cdef int b, cell
    cdef int before = n_cells[0]
    for cell in range(before):
        moved_to[cell] = -1
        n_right[cell] = 0
    for b in range(n_bins):
        if not _holds(left, b):
            n_right[of_bin[b]] += 1
    for b in range(n_bins):
        cell = of_bin[b]
        if not _holds(left, b) or n_right[cell] == 0:
            continue
        if moved_to[cell] < 0:
            moved_to[cell] = n_cells[0]
            n_cells[0] += 1
        of_bin[b] = moved_to[cell]


cdef void _write_steps(
    const Cells* cells, const row_t[::1] n_bins, int k, row_t[:, ::1] steps
) noexcept nogil:
    cdef int f, b
    cdef int stride = 1
    memset(&steps[0, 0], 0, MAX_FEATURES * BINS * sizeof(row_t))
    for f in range(k - 1, -1, -1):
        for b in range(n_bins[f] + 1):
            steps[f, b] = cells.of_bin[f][b] * stride
        stride *= cells.n[f]


cdef void _fill(
    const Box* box, int leaf, const Cells* cells, int k, unsigned short* table
) noexcept nogil:
    """Write the leaf into every combination of cells that reaches it."""
    cdef int a, b, c
    cdef unsigned short* run
    for a in range(cells.n[0]):
        if not _holds(box.reach[0], cells.a_bin[0][a]):
            continue
        for b in range(cells.n[1]):
            if k > 1 and not _holds(box.reach[1], cells.a_bin[1][b]):
                continue
            run = table + (a * cells.n[1] + b) * cells.n[2]
            for c in range(cells.n[2]):
                if k < 3 or _holds(box.reach[2], cells.a_bin[2][c]):
                    run[c] = leaf
