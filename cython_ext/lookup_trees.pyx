"""Trees that are look-up tables over the bins of a few features: leaves, sums and scores of rows.

All sums are integers, so they do not depend on chunks or threads.
"""

from cython.parallel cimport prange
from libc.string cimport memset

from _cells cimport add_packed, leaf_at, look_up, unpack
from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    CHUNK = 4096
    BLOCK = 32767       # rows whose packed words cannot overflow a field
    MAX_LEAVES = 4096


def find_leaves(
    const bin_t[:, ::1] bins,
    const row_t[::1] rows,
    const row_t[::1] features,
    const row_t[:, ::1] steps,
    const unsigned short[::1] table,
    unsigned short[::1] leaves,
    int n_threads,
):
    """Look up the leaf of every listed row.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column.
    rows : int32 array of shape (n_selected,)
        Empty stands for all rows in their order.
    features : int32 array of shape (k,)
        Features of the table, one to three.
    steps : int32 array of shape (3, 256)
        What each bin of each feature moves in the table; zeros beyond k.
    table : uint16 array
    leaves : uint16 array of shape (n_selected,)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = leaves.shape[0]
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk
    cdef int k = features.shape[0]
    cdef const bin_t* columns[3]
    cdef int f
    if n == 0:
        return
    for f in range(3):
        # A feature that is not there points to the first one; all its steps are zero.
        columns[f] = &bins[features[f if f < k else 0], 0]
    cdef const row_t* chosen = &rows[0] if rows.shape[0] else NULL
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_chunks > 4,
    ):
        _find_chunk(
            columns, &steps[0, 0], chosen, chunk * CHUNK, min(n - chunk * CHUNK, CHUNK),
            &table[0], &leaves[chunk * CHUNK],
        )


cdef void _find_chunk(
    const bin_t** columns, const row_t* steps, const row_t* rows, Py_ssize_t start, Py_ssize_t n,
    const unsigned short* table, unsigned short* leaves,
) noexcept nogil:
    cdef Py_ssize_t i
    if rows == NULL:
        look_up(columns[0] + start, columns[1] + start, columns[2] + start, steps, table, n, leaves)
    else:
        for i in range(n):
            leaves[i] = leaf_at(columns[0], columns[1], columns[2], steps, table, rows[start + i])


def leaf_sums(
    const sum_t[::1] words,
    const unsigned short[::1] leaves,
    sum_t[::1] gradients,
    sum_t[::1] hessians,
    int n_threads,
):
    """Sum packed (gradient, hessian) words by leaf.

    Parameters
    ----------
    words : int64 array of shape (n,)
        ``(gradient << 32) + hessian``, gradients within +-2^16 and hessians in 0..2^16.
    leaves : uint16 array of shape (n,)
    gradients, hessians : int64 arrays of shape (n_leaves,)
        Overwritten; at most 4096 leaves.
    n_threads : int
    """
    cdef Py_ssize_t n = words.shape[0]
    cdef Py_ssize_t n_blocks = (n + BLOCK - 1) // BLOCK
    cdef Py_ssize_t block
    cdef int n_leaves = gradients.shape[0]
    memset(&gradients[0], 0, n_leaves * sizeof(sum_t))
    memset(&hessians[0], 0, n_leaves * sizeof(sum_t))
    for block in range(n_blocks):
        with nogil:
            _add_block(
                &words[block * BLOCK], &leaves[block * BLOCK], min(n - block * BLOCK, BLOCK),
                &gradients[0], &hessians[0], n_leaves,
            )


cdef void _add_block(
    const sum_t* words, const unsigned short* leaves, Py_ssize_t n,
    sum_t* gradients, sum_t* hessians, int n_leaves,
) noexcept nogil:
    cdef word_t packed[MAX_LEAVES]
    memset(packed, 0, n_leaves * sizeof(word_t))
    add_packed(words, leaves, n, packed)
    unpack(packed, n_leaves, gradients, hessians)


def add_leaves(
    const row_t[::1] rows,
    const unsigned short[::1] leaves,
    const sum_t[::1] values,
    sum_t[::1] scores,
    int n_threads,
):
    """Add each listed row's leaf value to its score.

    Parameters
    ----------
    rows : int32 array of shape (n_selected,)
        Empty stands for all rows in their order.
    leaves : uint16 array of shape (n_selected,)
    values : int64 array of shape (n_leaves,)
    scores : int64 array of shape (n_rows,)
        Added to.
    n_threads : int
    """
    cdef Py_ssize_t n = leaves.shape[0]
    cdef Py_ssize_t i
    cdef const row_t* chosen = &rows[0] if rows.shape[0] else NULL
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > 4 * CHUNK
    ):
        if chosen == NULL:
            scores[i] += values[leaves[i]]
        else:
            scores[chosen[i]] += values[leaves[i]]
