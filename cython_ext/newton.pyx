"""From integer scores and labels to packed (gradient, hessian) words, one fixed map per row.

As in the gradient kernels a row's word depends on its own score and label and on public numbers
only. A word is ``(gradient << 32) + hessian``; gradients are in units of 2^-16, hessians of the
squared loss in units of 2^-12 and of the others in units of 2^-16.
"""

from cython.parallel cimport prange

from _types cimport row_t, sum_t

cdef enum:
    GRID_BITS = 16
    TABLE_BITS = 30
    COUNT_UNITS = 4096
    FEW = 8192

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
