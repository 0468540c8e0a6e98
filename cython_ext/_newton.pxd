# From a row's integer score and label to its packed (gradient, hessian) word: one fixed map for
# each loss, the same in every kernel that includes this file.

from _types cimport row_t, sum_t, word_t

cdef enum:
    GRID_BITS = 16
    TABLE_BITS = 30
    COUNT_UNITS = 4096
    ROWS_AT_ONCE = 512

cdef struct curve_t:
    # A public function as a table: 2^shift score units a step, constant from ``range`` on.
    const sum_t* table
    int shift
    sum_t range


cdef inline sum_t clip(sum_t value, sum_t limit) noexcept nogil:
    return min(max(value, -limit), limit)


cdef inline sum_t pack(sum_t gradient, sum_t hessian) noexcept nogil:
    return gradient * (<sum_t> 1 << 32) + hessian


cdef inline sum_t squared_word(
    sum_t score, sum_t label, double scale, double bound
) noexcept nogil:
    # Half the squared error: the scaled difference, clipped and rounded; hessian one. The large
    # number rounds a double to the nearest integer in every instruction set.
    cdef double gradient = <double> clip(score - label, 2147483647) * scale
    gradient = min(max(gradient, -bound), bound)
    gradient = (gradient + 6755399441055744.0) - 6755399441055744.0
    return pack(<sum_t> gradient, COUNT_UNITS)


cdef inline sum_t probability(sum_t raw, const curve_t* logistic) noexcept nogil:
    # The logistic function on the 2^-16 grid.
    cdef int value_shift = logistic.shift + TABLE_BITS - GRID_BITS
    cdef sum_t score = clip(raw, logistic.range)
    cdef sum_t size = max(score, -score)
    cdef sum_t entry = logistic.table[size >> logistic.shift]
    cdef sum_t value = ((entry >> 32) << logistic.shift)
    cdef sum_t negative = score >> 63
    value += <unsigned int> entry * (size & ((<sum_t> 1 << logistic.shift) - 1))
    value = (value + (<sum_t> 1 << (value_shift - 1))) >> value_shift
    return (value ^ negative) - negative + (negative & (1 << GRID_BITS))


cdef inline sum_t logistic_word(
    sum_t score, sum_t label, const curve_t* logistic, sum_t limit
) noexcept nogil:
    # Two classes: gradient p - label, hessian p (1 - p).
    cdef sum_t p = probability(score, logistic)
    cdef sum_t hessian = (p * ((1 << GRID_BITS) - p)) >> GRID_BITS
    return pack(clip(p - (label << GRID_BITS), limit), hessian)


cdef inline sum_t decay(sum_t below, const curve_t* exponential) noexcept nogil:
    # exp(-below) on the 2^-30 grid for below >= 0; the fall to the next entry is positive.
    cdef sum_t entry, part
    if below >= exponential.range:
        return 0
    entry = exponential.table[below >> exponential.shift]
    part = below & ((<sum_t> 1 << exponential.shift) - 1)
    return (entry >> 32) - ((<unsigned int> entry * part) >> exponential.shift)


cdef inline sum_t class_word(sum_t p, sum_t own, bint is_own, sum_t limit) noexcept nogil:
    # One class of several, from its probability and that of the row's own class.
    cdef sum_t missing = (1 << GRID_BITS) - own
    cdef sum_t hessian = (p * ((1 << GRID_BITS) - p)) >> GRID_BITS
    if is_own:
        return pack(-min(missing, limit), hessian)
    if missing > limit:
        p = (p * limit) // missing
    return pack(p, hessian)


cdef inline void softmax_words(
    const sum_t* scores, Py_ssize_t n_rows, int n_classes, const sum_t* labels, const row_t* rows,
    Py_ssize_t n, const curve_t* exponential, sum_t limit, sum_t* words, Py_ssize_t width,
) noexcept nogil:
    # All classes of at most ROWS_AT_ONCE rows: neighbours where ``rows`` is NULL. Class k of row
    # r is ``scores[k * n_rows + r]``, that of the i-th word ``words[k * width + i]``.
    cdef sum_t top[ROWS_AT_ONCE]
    cdef word_t total[ROWS_AT_ONCE]
    cdef sum_t own[ROWS_AT_ONCE]
    cdef Py_ssize_t k, i
    cdef sum_t value
    for i in range(n):
        top[i] = scores[rows[i] if rows else i]
        total[i] = 0
    for k in range(1, n_classes):
        for i in range(n):
            top[i] = max(top[i], scores[k * n_rows + (rows[i] if rows else i)])
    for k in range(n_classes):
        for i in range(n):
            value = decay(top[i] - scores[k * n_rows + (rows[i] if rows else i)], exponential)
            words[k * width + i] = value
            total[i] += <word_t> value
    for i in range(n):
        # The total is at least 2^30: the reciprocal is at most 2^32, the product at most 2^62.
        # Both are rounded down: the classes never have more than one together.
        total[i] = (<word_t> 1 << 62) // total[i]
        own[i] = share_of(words[labels[rows[i] if rows else i] * width + i], total[i])
    for k in range(n_classes):
        for i in range(n):
            words[k * width + i] = class_word(
                share_of(words[k * width + i], total[i]), own[i],
                labels[rows[i] if rows else i] == k, limit,
            )


cdef inline sum_t share_of(sum_t value, word_t reciprocal) noexcept nogil:
    # A probability on the 2^-16 grid.
    return <sum_t> ((<word_t> value * reciprocal) >> 46)
