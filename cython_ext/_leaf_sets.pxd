# Leaves of rows by the sets of leaves that their bins leave possible, for trees of few features:
# the idea of QuickScorer (Lucchese et al., SIGIR 2015), with bins in place of comparisons.

from libc.string cimport memset

from _sets cimport highest_bit, lowest_bit
from _types cimport bin_t, row_t, word_t

cdef enum:
    SET_WORDS = 4  # a set of bins is 256 bits
    BINS = 256
    SIDE_BY_SIDE = 256  # neighboring rows that find their leaves together
    LEAF_WORDS = 4  # words of a set of leaves
    MOST_SETS = 64  # words of the sets that one bin of each feature of a tree has
    AT_ONCE = 3  # features whose sets are looked up in one pass

cdef struct Nodes:
    const bin_t* bins
    Py_ssize_t n_rows
    const row_t* feature
    const word_t* left_bins
    const row_t* left
    const row_t* right

cdef struct LeafSets:
    # Leaves that each bin of each feature leaves possible, as bits: all bins of a row leave one.
    Py_ssize_t n_words
    Py_ssize_t n_features
    Py_ssize_t column[MOST_SETS]
    word_t possible[MOST_SETS][BINS]
    word_t below[64 * LEAF_WORDS][LEAF_WORDS]
    word_t left[SIDE_BY_SIDE]


cdef inline bint find_leaf_sets(
    const Nodes* tree, Py_ssize_t n_nodes, Py_ssize_t most_features, LeafSets* sets
) noexcept nogil:
    """Write the leaves that each bin leaves possible; return whether there is room.

    Children must stand behind their parents here as well.
    """
    cdef row_t feature[MOST_SETS]
    cdef bin_t slot[64 * LEAF_WORDS]
    cdef word_t inside[SET_WORDS]
    cdef word_t left, right, every
    cdef word_t* possible
    cdef Py_ssize_t node, k, word, b, n_features = 0, n_bins = 0
    cdef Py_ssize_t n_words = n_nodes // 64 + 1
    if n_words > LEAF_WORDS:
        return False
    most_features = min(most_features, MOST_SETS // n_words)
    memset(inside, 0, sizeof(inside))
    for node in range(n_nodes):
        if 0 <= tree.left[node] <= node or 0 <= tree.right[node] <= node:
            return False
        k = 0
        while k < n_features and feature[k] != tree.feature[node]:
            k += 1
        if k == most_features:
            return False
        feature[k] = tree.feature[node]
        n_features = max(n_features, k + 1)
        slot[node] = <bin_t> k
        for word in range(SET_WORDS):
            inside[word] |= tree.left_bins[node * SET_WORDS + word]
    for word in range(SET_WORDS):
        if inside[word]:
            n_bins = 64 * word + highest_bit(inside[word]) + 1
    # What follows the last bin that goes left anywhere is all the same.
    n_bins = min(n_bins + 1, <Py_ssize_t> BINS)
    sets.n_words, sets.n_features = n_words, n_features
    for k in range(n_features):
        sets.column[k] = feature[k] * tree.n_rows
    for word in range(n_words):
        every = ~<word_t> 0 if word < n_words - 1 else ~<word_t> 0 >> (63 - n_nodes % 64)
        for k in range(n_features):
            possible = sets.possible[word * n_features + k]
            for b in range(n_bins):
                possible[b] = every
        for node in range(n_nodes - 1, -1, -1):
            left = _below(sets, tree.left[node], word)
            right = _below(sets, tree.right[node], word)
            sets.below[node][word] = left | right
            if left | right:
                _rule_out(
                    tree.left_bins + node * SET_WORDS, ~right, ~left, n_bins,
                    sets.possible[word * n_features + slot[node]],
                )
        for k in range(n_features):
            possible = sets.possible[word * n_features + k]
            for b in range(n_bins, BINS):
                possible[b] = possible[n_bins - 1]
    return True


cdef inline word_t _below(const LeafSets* sets, row_t child, Py_ssize_t word) noexcept nogil:
    if child >= 0:
        return sets.below[child][word]
    return <word_t> (~child >> 6 == word) << (~child & 63)


cdef inline void _rule_out(
    const word_t* left_bins, word_t left, word_t right, Py_ssize_t n_bins, word_t* possible
) noexcept nogil:
    cdef Py_ssize_t first, b
    cdef word_t goes_left
    for first in range(0, n_bins, 64):
        goes_left = left_bins[first // 64]
        for b in range(min(n_bins - first, <Py_ssize_t> 64)):
            possible[first + b] &= right ^ ((left ^ right) & -((goes_left >> b) & 1))


cdef inline void look_up_leaves(
    LeafSets* sets, const bin_t* bins, Py_ssize_t n, bin_t* leaf
) noexcept nogil:
    """Write the leaves of neighboring columns."""
    cdef const bin_t* columns[AT_ONCE]
    cdef const word_t* possible[AT_ONCE]
    cdef const word_t* others[AT_ONCE]
    cdef word_t one, other
    cdef Py_ssize_t word, turn, i
    if sets.n_features <= AT_ONCE and sets.n_words <= 2:
        _point(sets, bins, 0, 0, columns, possible)
        _point(sets, bins, sets.n_words - 1, 0, columns, others)
        if sets.n_words == 1:
            for i in range(n):
                leaf[i] = <bin_t> lowest_bit(_by_all(columns, possible, i))
        else:
            for i in range(n):
                one, other = _by_all(columns, possible, i), _by_all(columns, others, i)
                leaf[i] = <bin_t> (lowest_bit(one | other) + 64 * (other != 0))
        return
    memset(leaf, 0, n)
    for word in range(sets.n_words):
        memset(sets.left, 255, sizeof(sets.left))
        for turn in range((sets.n_features + AT_ONCE - 1) // AT_ONCE):
            _point(sets, bins, word, turn, columns, possible)
            for i in range(n):
                sets.left[i] &= _by_all(columns, possible, i)
        for i in range(n):
            leaf[i] |= _leaf_in(sets.left[i], word)


cdef inline void _point(
    const LeafSets* sets,
    const bin_t* bins,
    Py_ssize_t word,
    Py_ssize_t turn,
    const bin_t** columns,
    const word_t** possible,
) noexcept nogil:
    # The next features of a pass; the last one as often as is needed.
    cdef Py_ssize_t i, k
    for i in range(AT_ONCE):
        k = min(AT_ONCE * turn + i, sets.n_features - 1)
        columns[i] = bins + sets.column[k]
        possible[i] = sets.possible[word * sets.n_features + k]


cdef inline word_t _by_all(
    const bin_t** columns, const word_t** possible, Py_ssize_t i
) noexcept nogil:
    return possible[0][columns[0][i]] & possible[1][columns[1][i]] & possible[2][columns[2][i]]


cdef inline bin_t _leaf_in(word_t left, Py_ssize_t word) noexcept nogil:
    # The leaf in a word of a set, 0 where another word has it.
    cdef word_t last = <word_t> 1 << 63
    return <bin_t> ((64 * word + lowest_bit(left | last)) & -<row_t> (left != 0))
