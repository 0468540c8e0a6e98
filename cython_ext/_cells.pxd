# Looking up leaves and adding packed words, for the kernels that pass over rows.

from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    STEPS = 256  # steps of a feature, one for each bin
    LANES = 4    # sums of a leaf that are added to in turn


cdef inline unsigned short leaf_at(
    const bin_t* first, const bin_t* second, const bin_t* third, const row_t* steps,
    const unsigned short* table, Py_ssize_t row,
) noexcept nogil:
    # The leaf of one row.
    return table[
        steps[first[row]] + steps[STEPS + second[row]] + steps[2 * STEPS + third[row]]
    ]


cdef inline void look_up(
    const bin_t* first, const bin_t* second, const bin_t* third, const row_t* steps,
    const unsigned short* table, Py_ssize_t n, unsigned short* leaves,
) noexcept nogil:
    # The leaves of neighboring rows.
    cdef Py_ssize_t i
    for i in range(n):
        leaves[i] = leaf_at(first, second, third, steps, table, i)


cdef inline void add_packed(
    const sum_t* words, const unsigned short* leaves, Py_ssize_t n, word_t* packed
) noexcept nogil:
    # Add packed words by leaf; at most 32767 of them until ``unpack``.
    cdef Py_ssize_t i
    for i in range(n):
        packed[leaves[i]] += <word_t> words[i]


cdef inline void add_packed_apart(
    const sum_t* words, const unsigned short* leaves, Py_ssize_t n, word_t* packed, Py_ssize_t size
) noexcept nogil:
    # The same with LANES sums of each leaf, ``size`` apart: neighboring rows often share a leaf,
    # and a sum that has just been written is slow to read.
    cdef Py_ssize_t turn, i
    cdef int lane
    for turn in range(n // LANES):
        for lane in range(LANES):
            i = turn * LANES + lane
            packed[lane * size + leaves[i]] += <word_t> words[i]
    for i in range(n // LANES * LANES, n):
        packed[leaves[i]] += <word_t> words[i]


cdef inline void unpack(
    word_t* packed, Py_ssize_t n, sum_t* gradients, sum_t* hessians
) noexcept nogil:
    # Move packed sums to sums of their halves, and empty them.
    cdef Py_ssize_t i
    for i in range(n):
        # The lower half is never negative: the upper half is the gradient as it is.
        hessians[i] += <sum_t> (packed[i] & <word_t> 0xFFFFFFFF)
        gradients[i] += (<sum_t> packed[i]) >> 32
        packed[i] = 0
