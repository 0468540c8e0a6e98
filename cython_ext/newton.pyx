"""From integer scores and labels to packed (gradient, hessian) words, one fixed map per row.

As in the gradient kernels a row's word depends on its own score and label and on public numbers
only. A word is ``(gradient << 32) + hessian``; gradients are in units of 2^-16, hessians of the
squared loss in units of 2^-12 and of the others in units of 2^-16.
"""

from cython.parallel cimport prange

from _types cimport row_t, sum_t, word_t

cdef enum:
    GRID_BITS = 16
    TABLE_BITS = 30
    COUNT_UNITS = 4096
    FEW = 8192
    ROWS_AT_ONCE = 512

# See the gradient kernels: rounds a double to the nearest integer in every instruction set.
cdef double ROUNDER = 6755399441055744.0
cdef sum_t INT32_MAX = 2147483647


cdef inline sum_t _clip(sum_t value, sum_t limit) noexcept nogil:
    return min(max(value, -limit), limit)


cdef inline sum_t _pack(sum_t gradient, sum_t hessian) noexcept nogil:
    return gradient * (<sum_t> 1 << 32) + hessian


def squared(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    double scale,
    sum_t gradient_limit,
    sum_t[::1] words,
    int n_threads,
):
    """Clipped gradient of half the squared error, hessian one.

    Parameters
    ----------
    scores, labels : int64 arrays of shape (n_rows,)
        On the score grid.
    rows : int32 array of shape (n_selected,)
    scale : float
        65536 over the half-width of the label range in score units.
    gradient_limit : int
        In units of 2^-16, at most 65536.
    words : int64 array of shape (n_selected,)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef double bound = <double> gradient_limit
    cdef double gradient
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        gradient = <double> _clip(scores[rows[i]] - labels[rows[i]], INT32_MAX) * scale
        gradient = min(max(gradient, -bound), bound)
        gradient = (gradient + ROUNDER) - ROUNDER
        words[i] = _pack(<sum_t> gradient, COUNT_UNITS)


cdef inline sum_t _probability(
    sum_t raw, const sum_t* table, int table_shift, sum_t half_range
) noexcept nogil:
    """The logistic function on the 2^-16 grid, from the public table of the losses."""
    cdef int value_shift = table_shift + TABLE_BITS - GRID_BITS
    cdef sum_t score = _clip(raw, half_range)
    cdef sum_t size = max(score, -score)
    cdef sum_t entry = table[size >> table_shift]
    cdef sum_t value = ((entry >> 32) << table_shift)
    cdef sum_t negative = score >> 63
    value += <unsigned int> entry * (size & ((<sum_t> 1 << table_shift) - 1))
    value = (value + (<sum_t> 1 << (value_shift - 1))) >> value_shift
    return (value ^ negative) - negative + (negative & (1 << GRID_BITS))


def logistic(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
    int table_shift,
    sum_t half_range,
    sum_t gradient_limit,
    sum_t[::1] words,
    int n_threads,
):
    """Clipped gradient ``p - label`` and hessian ``p (1 - p)`` of the logistic loss.

    Parameters
    ----------
    scores, labels, rows, table, table_shift, half_range
        As in ``gradient.logistic``.
    gradient_limit : int
        In units of 2^-16, at most 65536.
    words : int64 array of shape (n_selected,)
        Overwritten; hessians are at most 2^14 units.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef sum_t p, gradient, hessian
    cdef const sum_t* entries = &table[0]
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        p = _probability(scores[rows[i]], entries, table_shift, half_range)
        gradient = _clip(p - labels[rows[i]] * (1 << GRID_BITS), gradient_limit)
        hessian = (p * ((1 << GRID_BITS) - p)) >> GRID_BITS
        words[i] = _pack(gradient, hessian)


cdef inline sum_t _decay(
    sum_t below, const sum_t* table, int table_shift, sum_t table_range
) noexcept nogil:
    """``exp(-below)`` on the 2^-30 grid for ``below >= 0``, zero beyond the table."""
    cdef sum_t entry
    if below >= table_range:
        return 0
    entry = table[below >> table_shift]
    # The fall to the next entry is stored as a positive number.
    return (entry >> 32) - (
        (<sum_t> (<unsigned int> entry) * (below & ((<sum_t> 1 << table_shift) - 1)))
        >> table_shift
    )


def softmax(
    const sum_t[:, ::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
    int table_shift,
    sum_t gradient_limit,
    sum_t[:, ::1] words,
    int n_threads,
):
    """Clipped gradients ``p - [label]`` and hessians ``p (1 - p)`` of all classes.

    Probabilities are rounded down, so that those of the other classes never sum to more than
    what the row's own class leaves. A gradient vector whose own entry is larger than the limit
    is scaled down as a whole, again rounded down: its L1 norm is at most twice the limit, its
    squared L2 norm at most twice the limit's square.

    Parameters
    ----------
    scores : int64 array of shape (n_classes, n_rows)
        In units of 2^-20.
    labels : int64 array of shape (n_rows,)
        Class of each row, 0 to n_classes - 1.
    rows : int32 array of shape (n_selected,)
    table : int64 array
        From ``exponential_table``.
    table_shift : int
        Score units per step of the table, as a power of two.
    gradient_limit : int
        In units of 2^-16, at most 65536.
    words : int64 array of shape (n_classes, n_selected)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t n_chunks = (n + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    cdef Py_ssize_t chunk
    cdef sum_t table_range = (<sum_t> table.shape[0]) << table_shift
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        _softmax_chunk(
            scores, labels, rows, &table[0], table_shift, table_range, gradient_limit, words,
            chunk * ROWS_AT_ONCE, min(n - chunk * ROWS_AT_ONCE, ROWS_AT_ONCE),
        )


cdef void _softmax_chunk(
    const sum_t[:, ::1] scores, const sum_t[::1] labels, const row_t[::1] rows,
    const sum_t* table, int table_shift, sum_t table_range, sum_t limit, sum_t[:, ::1] words,
    Py_ssize_t start, Py_ssize_t n,
) noexcept nogil:
    cdef sum_t top[ROWS_AT_ONCE]
    cdef word_t total[ROWS_AT_ONCE]
    cdef word_t own[ROWS_AT_ONCE]
    cdef Py_ssize_t n_classes = scores.shape[0]
    cdef Py_ssize_t k, i
    cdef sum_t value
    for i in range(n):
        top[i] = scores[0, rows[start + i]]
        total[i] = 0
    for k in range(1, n_classes):
        for i in range(n):
            top[i] = max(top[i], scores[k, rows[start + i]])
    for k in range(n_classes):
        for i in range(n):
            value = _decay(top[i] - scores[k, rows[start + i]], table, table_shift, table_range)
            words[k, start + i] = value
            total[i] += <word_t> value
    for i in range(n):
        # The total is at least 2^30: the reciprocal is at most 2^32, the product at most 2^62.
        total[i] = (<word_t> 1 << 62) // total[i]
        own[i] = _share(words[labels[rows[start + i]], start + i], total[i])
    for k in range(n_classes):
        for i in range(n):
            words[k, start + i] = _class_word(
                <sum_t> _share(words[k, start + i], total[i]), <sum_t> own[i],
                labels[rows[start + i]] == k, limit,
            )


cdef inline word_t _share(sum_t value, word_t reciprocal) noexcept nogil:
    """A probability on the 2^-16 grid, rounded down."""
    return (<word_t> value * reciprocal) >> 46


cdef inline sum_t _class_word(sum_t p, sum_t own, bint is_own, sum_t limit) noexcept nogil:
    cdef sum_t missing = (1 << GRID_BITS) - own
    cdef sum_t hessian = (p * ((1 << GRID_BITS) - p)) >> GRID_BITS
    if is_own:
        return _pack(-min(missing, limit), hessian)
    if missing > limit:
        p = (p * limit) // missing
    return _pack(p, hessian)
