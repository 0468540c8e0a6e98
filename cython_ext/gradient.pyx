"""From integer scores and labels to packed (gradient, count) words, one fixed map per row.

A row's word depends on its own score and label and on public numbers only, never on its position
in a block, on the block's length or on the thread. Everything is integer arithmetic but for one
product of doubles in ``squared``, rounded by itself (no fused operation), so the same row gives
the same bits in a vector lane and in the scalar tail.

A word is ``(gradient << 32) + 1`` in units of 2^-16; a row that the filter drops has word 0 and
adds neither gradient nor count anywhere.
"""

from cython.parallel cimport prange

from _types cimport row_t, sum_t, word_t

cdef enum:
    CHUNK = 1024         # rows staged on the stack between gathering and arithmetic
    FEW = 8              # chunks that are not worth waking other threads for
    GRID_BITS = 16       # gradients are integers in units of 2^-16
    TABLE_BITS = 30      # table values are integers in units of 2^-30

# Adding and subtracting 1.5 * 2^52 rounds a double to the nearest integer, ties to even, and
# unlike rint() it does so in the baseline instruction set of every machine.
cdef double ROUNDER = 6755399441055744.0
cdef sum_t INT32_MAX = 2147483647


def squared(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    double scale,
    sum_t filter_limit,
    sum_t gradient_limit,
    sum_t[::1] words,
    int n_threads,
):
    """Gradient of half the squared error, ``(score - label) / half_width``.

    Parameters
    ----------
    scores : int64 array of shape (n_rows,)
        Raw scores on the score grid, anything within +-2^62.
    labels : int64 array of shape (n_rows,)
        Labels on the same grid, within +-2^60.
    rows : int32 array of shape (n_selected,)
        Rows to compute.
    scale : float
        65536 over the half-width of the label range in score units; a half-width is at most
        2^31 - 1 units, so that a difference beyond 32 bits is clipped anyway.
    filter_limit : int
        Drop rows with ``|score - label|`` above it, in score units, below 2^60; negative: drop
        none.
    gradient_limit : int
        Clip gradients to +- this, in units of 2^-16; at most 65536.
    words : int64 array of shape (n_selected,)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk
    if n == 0:
        return
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_chunks > FEW,
    ):
        _squared_chunk(
            &scores[0], &labels[0], &rows[chunk * CHUNK], min(n - chunk * CHUNK, CHUNK),
            scale, filter_limit, gradient_limit, &words[chunk * CHUNK],
        )


def logistic(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
    int table_shift,
    sum_t half_range,
    sum_t filter_limit,
    sum_t gradient_limit,
    sum_t[::1] words,
    int n_threads,
):
    """Gradient of the logistic loss, ``probability - label``.

    The probability is read from a public table of the logistic function over non-negative
    scores, with linear interpolation in integers; negative scores use
    ``p(-x) = 1 - p(x)``, which then holds exactly.

    Parameters
    ----------
    scores : int64 array of shape (n_rows,)
        Raw scores on the grid of the table; saturated at +-``half_range``.
    labels : int64 array of shape (n_rows,)
        0 or 1.
    rows : int32 array of shape (n_selected,)
        Rows to compute.
    table : int64 array of shape ((half_range >> table_shift) + 1,)
        ``(value << 32) + rise``: the function at ``i << table_shift`` and its rise up to the
        next entry, both in units of 2^-30, the rise below 2^32.
    table_shift : int
        The step of the table is ``2^table_shift`` score units; at most 20.
    half_range : int
        A multiple of the step, below 2^31.
    filter_limit : int
        Drop rows with ``|gradient|`` above it, in units of 2^-16; negative: drop none.
    gradient_limit : int
        Clip gradients to +- this, in units of 2^-16; at most 65536.
    words : int64 array of shape (n_selected,)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk
    if n == 0:
        return
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_chunks > FEW,
    ):
        _logistic_chunk(
            &scores[0], &labels[0], &rows[chunk * CHUNK], min(n - chunk * CHUNK, CHUNK),
            &table[0], table_shift, half_range, filter_limit, gradient_limit,
            &words[chunk * CHUNK],
        )


cdef inline sum_t _clip(sum_t value, sum_t limit) noexcept nogil:
    return min(max(value, -limit), limit)


cdef inline sum_t _within(sum_t value, sum_t limit) noexcept nogil:
    # |value| <= limit in one comparison: below -limit the sum wraps to a huge number.
    return <word_t> (value + limit) <= <word_t> (2 * limit)


cdef inline sum_t _pack(int gradient) noexcept nogil:
    # A product, because a left shift of a negative number is undefined in C.
    return gradient * (<sum_t> 1 << 32) + 1


cdef void _squared_chunk(
    const sum_t* scores,
    const sum_t* labels,
    const row_t* rows,
    Py_ssize_t n,
    double scale,
    sum_t filter_limit,
    sum_t gradient_limit,
    sum_t* words,
) noexcept nogil:
    cdef int narrow[CHUNK]
    cdef double bound = <double> gradient_limit
    cdef double gradient
    cdef sum_t difference, keep
    cdef Py_ssize_t i
    for i in range(n):
        difference = scores[rows[i]] - labels[rows[i]]
        keep = _within(difference, filter_limit) | (filter_limit < 0)
        words[i] = -keep
        narrow[i] = <int> _clip(difference, INT32_MAX)
    for i in range(n):
        # Clipping before rounding is the same as after, as the limit is an integer.
        gradient = min(max(<double> narrow[i] * scale, -bound), bound)
        gradient = (gradient + ROUNDER) - ROUNDER
        words[i] &= _pack(<int> gradient)


cdef void _logistic_chunk(
    const sum_t* scores,
    const sum_t* labels,
    const row_t* rows,
    Py_ssize_t n,
    const sum_t* table,
    int table_shift,
    sum_t half_range,
    sum_t filter_limit,
    sum_t gradient_limit,
    sum_t* words,
) noexcept nogil:
    cdef int value_shift = table_shift + TABLE_BITS - GRID_BITS
    cdef sum_t half = <sum_t> 1 << (value_shift - 1)
    cdef sum_t fraction_mask = (<sum_t> 1 << table_shift) - 1
    cdef sum_t score, negative, size, entry, value, gradient, keep
    cdef Py_ssize_t i
    for i in range(n):
        score = _clip(scores[rows[i]], half_range)
        size = max(score, -score)
        entry = table[size >> table_shift]
        value = ((entry >> 32) << table_shift) + <unsigned int> entry * (size & fraction_mask)
        value = (value + half) >> value_shift
        # 1 - value for a negative score, without a branch that would often be mispredicted.
        negative = score >> 63
        value = (value ^ negative) - negative + (negative & (1 << GRID_BITS))
        gradient = value - labels[rows[i]] * (1 << GRID_BITS)
        keep = _within(gradient, filter_limit) | (filter_limit < 0)
        words[i] = -keep & _pack(<int> _clip(gradient, gradient_limit))
