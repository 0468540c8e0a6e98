"""The tree blocks of a model text.

A block is written number by number into a page of memory that the next block reuses. Nothing here
reads a row: trees are released, and what their bins stand for is public.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeASCII
from libc.string cimport memcpy, strlen

from _decimal cimport put_integer, put_natural, put_real, zeros_below
from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    SET_WORDS = 4           # a set of bins is 256 bits
    CATEGORICAL = 9         # LightGBM's decision types; what is missing goes right
    NUMERIC = 8
    ZERO_IS_MISSING = 4
    MISSING_LEFT = 2        # added to the last two
    # Characters that may be written, a blank behind each number included. An integer of 32 bits
    # takes at most 11, one of 64 bits 20, a double of 17 digits 24, and one of 6 digits 13.
    ROOM_OF_A_TREE = 512    # names of fields, and what is written beyond the last number
    ROOM_OF_A_NODE = 12 + 14 + 25 + 3 + 12 + 12 + 14 + 14 + 21 + 12
    ROOM_OF_A_LEAF = 25 + 21 + 21
    ROOM_OF_A_WORD = 12
    WHOLE_BELOW = 1000000   # %g writes smaller integers as they are

cdef extern from *:
    """
    #define dpboost_ones(word) __builtin_popcountll(word)
    """
    int ones_of "dpboost_ones"(word_t word) noexcept nogil

cdef struct Tree:
    row_t number
    row_t n_nodes
    const row_t* feature
    const word_t* left_bins
    const row_t* left
    const row_t* right
    const double* leaf_value
    const sum_t* leaf_count
    const double* node_value
    const sum_t* node_count
    const double* split_gain

cdef struct Bins:
    const row_t* n_bins
    const bin_t* is_categorical
    const row_t* first
    const double* values
    int numeric             # decision type of a split of numbers

# The codes of a tree's categorical splits: words of 32 bits, and where those of each split end.
cdef struct Sets:
    row_t n_sets
    unsigned int* words
    row_t* ends

ctypedef fused integer_t:
    row_t
    sum_t
    unsigned int


def spell_trees(
    const row_t[::1] node_start,
    const row_t[::1] leaf_start,
    const row_t[::1] feature,
    const word_t[:, ::1] left_bins,
    const row_t[::1] left,
    const row_t[::1] right,
    const double[::1] leaf_value,
    const sum_t[::1] leaf_count,
    const double[::1] node_value,
    const sum_t[::1] node_count,
    const double[::1] split_gain,
    const row_t[::1] n_bins,
    const bin_t[::1] is_categorical,
    const row_t[::1] first,
    const double[::1] values,
    bint zero_as_missing,
    unsigned int[::1] words,
    row_t[::1] ends,
):
    """Return the block of each tree.

    Parameters
    ----------
    node_start, leaf_start : int32 arrays of shape (n_trees + 1,)
        Nodes and leaves of tree ``t`` begin there; a tree of n nodes has n + 1 leaves.
    feature, left, right : int32 arrays of shape (n_nodes,)
        Feature and children of each node: ``v >= 0`` is a node of the same tree, ``v < 0`` its
        leaf ``~v``.
    left_bins : uint64 array of shape (n_nodes, 4)
        Bins that go left, as bits.
    leaf_value, leaf_count : float64 and int64 arrays of shape (n_leaves,)
    node_value, node_count : float64 and int64 arrays of shape (n_nodes,)
    split_gain : float64 array of shape (n_nodes,)
    n_bins, is_categorical : int32 and uint8 arrays of shape (n_features,)
        Value bins and kind of each feature; bin ``n_bins[f]`` is the missing one.
    first : int32 array of shape (n_features,)
        Where the bins of each feature with a split begin in ``values``.
    values : float64 array
        What each bin stands for: its largest double, or a category code from 0 to 2^31 - 1.
    zero_as_missing : bool
        Whether zeros go where missing values go.
    words : uint32 array
        Scratch, at least one entry: for every categorical split of the largest tree as many words
        of 32 bits as its feature's codes need.
    ends : int32 array
        Scratch, longer than a tree has nodes.

    Returns
    -------
    list of str
        ASCII.

    Raises
    ------
    MemoryError
    """
    cdef row_t t, node, leaf
    cdef Py_ssize_t room = 0, needed
    cdef Tree tree
    cdef Bins bins
    cdef Sets sets
    cdef char* page = NULL
    cdef char* end
    cdef list blocks = []
    bins.n_bins, bins.is_categorical, bins.first = &n_bins[0], &is_categorical[0], &first[0]
    bins.numeric = ZERO_IS_MISSING if zero_as_missing else NUMERIC
    try:
        for t in range(node_start.shape[0] - 1):
            node, leaf = node_start[t], leaf_start[t]
            tree.number, tree.n_nodes = t, node_start[t + 1] - node
            tree.leaf_value, tree.leaf_count = &leaf_value[leaf], &leaf_count[leaf]
            needed = ROOM_OF_A_TREE + ROOM_OF_A_LEAF
            if tree.n_nodes > 0:
                tree.feature, tree.left_bins = &feature[node], &left_bins[node, 0]
                tree.left, tree.right = &left[node], &right[node]
                tree.node_value, tree.node_count = &node_value[node], &node_count[node]
                tree.split_gain = &split_gain[node]
                bins.values = &values[0]
                sets.words, sets.ends = &words[0], &ends[0]
                find_sets(&tree, &bins, &sets)
                needed += (ROOM_OF_A_NODE + ROOM_OF_A_LEAF) * <Py_ssize_t> tree.n_nodes
                needed += ROOM_OF_A_WORD * <Py_ssize_t> sets.ends[sets.n_sets]
            if needed > room:
                end = <char*> PyMem_Realloc(page, 2 * needed)
                if end == NULL:
                    raise MemoryError()
                page, room = end, 2 * needed
            end = put_tree(page, &tree, &bins, &sets) if tree.n_nodes else put_leaf(page, &tree)
            blocks.append(PyUnicode_DecodeASCII(page, end - page, NULL))
    finally:
        PyMem_Free(page)
    return blocks


cdef void find_sets(const Tree* tree, const Bins* bins, Sets* sets) noexcept nogil:
    cdef row_t i, f
    cdef row_t end = 0
    sets.n_sets = 0
    sets.ends[0] = 0
    for i in range(tree.n_nodes):
        f = tree.feature[i]
        if bins.is_categorical[f]:
            end += find_set(
                tree.left_bins + SET_WORDS * i, bins.values + bins.first[f], bins.n_bins[f],
                sets.words + end,
            )
            sets.n_sets += 1
            sets.ends[sets.n_sets] = end


cdef row_t find_set(
    const word_t* left_bins, const double* codes, int n_bins, unsigned int* words,
) noexcept nogil:
    # Write the codes of the bins that go left as bits; return the number of words, at least one.
    cdef row_t n_words = 1, position
    cdef int k, b
    cdef word_t rest
    cdef unsigned int code
    words[0] = 0
    for k in range(SET_WORDS):
        rest = left_bins[k]
        while rest != 0:
            b = 64 * k + zeros_below(rest)
            rest &= rest - 1
            if b >= n_bins:
                break
            code = <unsigned int> codes[b]
            position = <row_t> (code >> 5)
            while n_words <= position:
                words[n_words] = 0
                n_words += 1
            words[position] |= 1u << (code & 31)
    return n_words


cdef char* put_leaf(char* at, const Tree* tree) except NULL:
    at = put_natural(put_text(at, b"Tree="), tree.number)
    at = put_text(at, b"\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=")
    at = put_text(at, b"\ndecision_type=\nleft_child=\nright_child=\nleaf_value=")
    at = put_real(at, tree.leaf_value[0], 17)
    at = put_text(at, b"\nleaf_weight=\nleaf_count=")
    at = put_integer(at, tree.leaf_count[0])
    at = put_text(at, b"\ninternal_value=\ninternal_weight=\ninternal_count=")
    return put_text(at, b"\nis_linear=0\nshrinkage=1\n\n\n")


cdef char* put_tree(char* at, const Tree* tree, const Bins* bins, const Sets* sets) except NULL:
    cdef row_t n_nodes = tree.n_nodes, n_leaves = tree.n_nodes + 1
    cdef char* weights
    cdef char* end
    at = put_natural(put_text(at, b"Tree="), tree.number)
    at = put_natural(put_text(at, b"\nnum_leaves="), n_leaves)
    at = put_natural(put_text(at, b"\nnum_cat="), sets.n_sets)
    at = put_integers(put_text(at, b"\nsplit_feature="), tree.feature, n_nodes)
    at = put_reals(put_text(at, b"\nsplit_gain="), tree.split_gain, n_nodes, 6)
    at = put_thresholds(put_text(at, b"\nthreshold="), tree, bins)
    at = put_decision_types(put_text(at, b"\ndecision_type="), tree, bins)
    at = put_integers(put_text(at, b"\nleft_child="), tree.left, n_nodes)
    at = put_integers(put_text(at, b"\nright_child="), tree.right, n_nodes)
    at = put_reals(put_text(at, b"\nleaf_value="), tree.leaf_value, n_leaves, 17)
    weights = put_text(at, b"\nleaf_weight=")
    end = put_integers(weights, tree.leaf_count, n_leaves)
    at = put_text(end, b"\nleaf_count=")
    memcpy(at, weights, end - weights)
    at += end - weights
    at = put_reals(put_text(at, b"\ninternal_value="), tree.node_value, n_nodes, 6)
    at = put_weights(put_text(at, b"\ninternal_weight="), tree.node_count, n_nodes)
    at = put_integers(put_text(at, b"\ninternal_count="), tree.node_count, n_nodes)
    if sets.n_sets > 0:
        at = put_integers(put_text(at, b"\ncat_boundaries="), sets.ends, sets.n_sets + 1)
        at = put_integers(
            put_text(at, b"\ncat_threshold="), sets.words, sets.ends[sets.n_sets]
        )
    return put_text(at, b"\nis_linear=0\nshrinkage=1\n\n\n")


cdef inline int missing_left(const word_t* left_bins, int n_bins) noexcept nogil:
    return left_bins[n_bins // 64] >> (n_bins % 64) & 1


cdef inline int last_bin(const word_t* left_bins, int n_bins) noexcept nogil:
    # The last value bin of those that go left, which are the first ones; at all events a bin.
    cdef int k, last = -1 - missing_left(left_bins, n_bins)
    for k in range(SET_WORDS):
        last += ones_of(left_bins[k])
    return min(max(last, 0), n_bins - 1)


cdef char* put_thresholds(char* at, const Tree* tree, const Bins* bins) except NULL:
    cdef row_t i, f, n_sets = 0
    cdef int last
    for i in range(tree.n_nodes):
        f = tree.feature[i]
        if bins.is_categorical[f]:
            at = put_natural(at, n_sets)
            n_sets += 1
        else:
            last = last_bin(tree.left_bins + SET_WORDS * i, bins.n_bins[f])
            # 17 digits give back the same double, so a value on the edge goes left in both.
            at = put_real(at, bins.values[bins.first[f] + last], 17)
        at = put_text(at, b" ")
    return at - 1


cdef char* put_decision_types(char* at, const Tree* tree, const Bins* bins) noexcept:
    cdef row_t i, f
    cdef int kind
    for i in range(tree.n_nodes):
        f = tree.feature[i]
        kind = CATEGORICAL
        if not bins.is_categorical[f]:
            kind = bins.numeric
            if missing_left(tree.left_bins + SET_WORDS * i, bins.n_bins[f]):
                kind += MISSING_LEFT
        at = put_text(put_natural(at, kind), b" ")
    return at - 1


cdef inline char* put_text(char* at, const char* text) noexcept:
    cdef size_t size = strlen(text)
    memcpy(at, text, size)
    return at + size


cdef inline char* put_integers(char* at, const integer_t* numbers, row_t n) noexcept:
    cdef row_t i
    for i in range(n):
        at = put_text(put_integer(at, numbers[i]), b" ")
    return at - 1


cdef char* put_reals(char* at, const double* numbers, row_t n, int digits) except NULL:
    cdef row_t i
    for i in range(n):
        at = put_text(put_real(at, numbers[i], digits), b" ")
    return at - 1


cdef char* put_weights(char* at, const sum_t* counts, row_t n) except NULL:
    # As doubles of 6 digits.
    cdef row_t i
    for i in range(n):
        if 0 <= counts[i] < WHOLE_BELOW:
            at = put_natural(at, counts[i])
        else:
            at = put_real(at, <double> counts[i], 6)
        at = put_text(at, b" ")
    return at - 1
