# From a row's integer score and label to its packed (gradient, hessian) word: one fixed map for
# each loss, the same in every kernel that includes this file.

from _types cimport row_t, sum_t, word_t

cdef enum:
    GRID_BITS = 16
    TABLE_BITS = 30
    COUNT_UNITS = 4096
    ROWS_AT_ONCE = 512
    STEP_BITS = 13  # a step of a table is 2^13 score units
    STEP_UNITS = 8192
    HALF = 1 << 13  # of a unit of the 2^-16 grid, before the shift that rounds

cdef struct surface_t:
    # Gradient and hessian as public tables: lines of nodes over scores, a line for each label
    # node. Both end with a repeated node, so that the last ones can be interpolated as well.
    const sum_t* gradients
    const sum_t* hessians
    Py_ssize_t width
    sum_t origin         # score, or score less label, of the first node
    sum_t range
    int shift
    sum_t label_range
    int label_shift
    bint residual        # whether only the difference of score and label matters
    sum_t low
    sum_t high


cdef inline sum_t clip(sum_t value, sum_t limit) noexcept nogil:
    return min(max(value, -limit), limit)


cdef inline sum_t pack(sum_t gradient, sum_t hessian) noexcept nogil:
    return gradient * (<sum_t> 1 << 32) + hessian


cdef inline int squared_position(sum_t score, sum_t label) noexcept nogil:
    # Half the squared error: the difference, within 32 bits.
    return <int> clip(score - label, 2147483647)


cdef inline sum_t squared_word(int difference, double scale, double bound) noexcept nogil:
    # The scaled difference, clipped and rounded; hessian one. The large number rounds a double to
    # the nearest integer in every instruction set.
    cdef double gradient = <double> difference * scale
    gradient = min(max(gradient, -bound), bound)
    gradient = (gradient + 6755399441055744.0) - 6755399441055744.0
    return pack(<int> gradient, COUNT_UNITS)


cdef inline int logistic_position(sum_t score, sum_t half_range) noexcept nogil:
    # Two classes: where the score lies in the table, which ends on both sides.
    return <int> min(max(score + half_range, 0), 2 * half_range - 1)


cdef inline unsigned int logistic_share(
    unsigned int value, unsigned int rise, int position
) noexcept nogil:
    # p on the 2^-16 grid. Entry i of the table is the logistic function at i steps above
    # -half_range on the 2^-30 grid, and its rise to the next entry. Everything fits into 32 bits:
    # the shift leaves of the position what lies between entries, as a part of 2^32.
    cdef unsigned int part = <unsigned int> position << (32 - STEP_BITS)
    value += <unsigned int> ((<word_t> rise * part) >> 32)
    return (value + HALF) >> (TABLE_BITS - GRID_BITS)


cdef inline int logistic_gradient(unsigned int p, int label, int limit) noexcept nogil:
    return min(max(<int> p - (label << GRID_BITS), -limit), limit)


cdef inline unsigned int logistic_hessian(unsigned int p) noexcept nogil:
    return (p * ((1 << GRID_BITS) - p)) >> GRID_BITS


cdef inline sum_t logistic_word(
    sum_t entry, int position, sum_t label, sum_t limit
) noexcept nogil:
    # Gradient p - label, hessian p (1 - p).
    cdef unsigned int p = logistic_share(
        <unsigned int> (entry >> 32), <unsigned int> entry, position
    )
    return pack(logistic_gradient(p, <int> label, <int> limit), logistic_hessian(p))


cdef inline void logistic_words(
    const sum_t* scores, const sum_t* labels, const unsigned char* present, Py_ssize_t n,
    const sum_t* table, sum_t half_range, sum_t limit, sum_t* words,
) noexcept nogil:
    # At most ROWS_AT_ONCE neighboring rows, zero for those that are not present. In steps: those
    # without a look-up are vectors then, of 32 bits where they can be.
    cdef int position[ROWS_AT_ONCE]
    cdef unsigned int value[ROWS_AT_ONCE]
    cdef unsigned int rise[ROWS_AT_ONCE]
    cdef int gradient[ROWS_AT_ONCE]
    cdef int clip_at = <int> limit
    cdef unsigned int p
    cdef Py_ssize_t i
    for i in range(n):
        position[i] = logistic_position(scores[i], half_range)
    for i in range(n):
        value[i] = <unsigned int> (table[position[i] >> STEP_BITS] >> 32)
        rise[i] = <unsigned int> table[position[i] >> STEP_BITS]
    for i in range(n):
        gradient[i] = <int> labels[i]
    for i in range(n):
        p = logistic_share(value[i], rise[i], position[i])
        gradient[i] = logistic_gradient(p, gradient[i], clip_at) & -<int> present[i]
        value[i] = logistic_hessian(p) & -<int> present[i]
    for i in range(n):
        words[i] = pack(gradient[i], value[i])


cdef inline sum_t decay(sum_t below, const sum_t* table, sum_t table_range) noexcept nogil:
    # exp(-below) on the 2^-30 grid for below >= 0; the fall to the next entry is positive.
    cdef sum_t entry
    if below >= table_range:
        return 0
    entry = table[below >> STEP_BITS]
    return (entry >> 32) - (
        (<sum_t> (<unsigned int> entry) * (below & (STEP_UNITS - 1))) >> STEP_BITS
    )


cdef inline void softmax_words(
    const sum_t* scores, Py_ssize_t n_rows, int n_classes, const sum_t* labels, const row_t* rows,
    Py_ssize_t n, const sum_t* table, sum_t table_range, sum_t limit, sum_t* words,
    Py_ssize_t width,
) noexcept nogil:
    # All classes of at most ROWS_AT_ONCE rows: neighbors where ``rows`` is NULL. Class k of row
    # r is ``scores[k * n_rows + r]``, that of the i-th word ``words[k * width + i]``.
    cdef sum_t top[ROWS_AT_ONCE]
    cdef word_t total[ROWS_AT_ONCE]
    cdef sum_t factor[ROWS_AT_ONCE]
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
            value = top[i] - scores[k * n_rows + (rows[i] if rows else i)]
            value = decay(value, table, table_range)
            words[k * width + i] = value
            total[i] += <word_t> value
    for i in range(n):
        # The total is at least 2^30: the reciprocal is at most 2^32, the product at most 2^62.
        # Both are rounded down: the classes never have more than one together.
        total[i] = (<word_t> 1 << 62) // total[i]
        own[i] = share_of(words[labels[rows[i] if rows else i] * width + i], total[i])
        value = (1 << GRID_BITS) - own[i]
        # What scales the vector down to the limit, rounded down.
        factor[i] = (limit << GRID_BITS) // max(value, limit) if limit > 0 else 0
    for k in range(n_classes):
        for i in range(n):
            value = share_of(words[k * width + i], total[i])
            words[k * width + i] = pack(
                (value * factor[i]) >> GRID_BITS, (value * ((1 << GRID_BITS) - value)) >> GRID_BITS
            )
    for i in range(n):
        value = (1 << GRID_BITS) - own[i]
        words[labels[rows[i] if rows else i] * width + i] = pack(
            -min(value, limit), (own[i] * value) >> GRID_BITS
        )


cdef inline sum_t share_of(sum_t value, word_t reciprocal) noexcept nogil:
    # A probability on the 2^-16 grid.
    return <sum_t> ((<word_t> value * reciprocal) >> 46)


cdef inline void separate_words(
    const sum_t* scores, Py_ssize_t n_rows, int n_classes, const sum_t* labels, const row_t* rows,
    Py_ssize_t n, const sum_t* table, sum_t half_range, sum_t limit, sum_t* words,
    Py_ssize_t width,
) noexcept nogil:
    # One logistic loss for each class, each against the rest; as ``softmax_words``.
    cdef Py_ssize_t k, i, row
    cdef int position
    for k in range(n_classes):
        for i in range(n):
            row = rows[i] if rows else i
            position = logistic_position(scores[k * n_rows + row], half_range)
            words[k * width + i] = logistic_word(
                table[position >> STEP_BITS], position, labels[row] == k, limit
            )


cdef inline sum_t between(sum_t left, sum_t right, sum_t part, int shift) noexcept nogil:
    # ``part`` of 2^shift on the way from one node to the next, rounded down.
    return left + (((right - left) * part) >> shift)


cdef inline sum_t height(
    const sum_t* nodes, Py_ssize_t width, sum_t part, int shift, sum_t label_part, int label_shift
) noexcept nogil:
    # A surface between four nodes.
    cdef sum_t value = between(nodes[0], nodes[1], part, shift)
    if label_part == 0:
        return value
    nodes += width
    return between(value, between(nodes[0], nodes[1], part, shift), label_part, label_shift)


cdef inline sum_t surface_word(sum_t score, sum_t label, const surface_t* surface) noexcept nogil:
    # Any loss of one output: tables of gradient and hessian, clipped and rounded.
    cdef int fine = TABLE_BITS - GRID_BITS
    cdef sum_t half = <sum_t> 1 << (fine - 1)
    cdef sum_t across = 0 if surface.residual else min(max(label, 0), surface.label_range)
    cdef sum_t along = score - (label if surface.residual else 0) - surface.origin
    cdef sum_t part, label_part, gradient, hessian
    cdef Py_ssize_t node
    along = min(max(along, 0), surface.range)
    part = along & ((<sum_t> 1 << surface.shift) - 1)
    label_part = across & ((<sum_t> 1 << surface.label_shift) - 1)
    node = (across >> surface.label_shift) * surface.width + (along >> surface.shift)
    gradient = height(
        surface.gradients + node, surface.width, part, surface.shift, label_part,
        surface.label_shift,
    )
    hessian = height(
        surface.hessians + node, surface.width, part, surface.shift, label_part,
        surface.label_shift,
    )
    gradient = min(max((gradient + half) >> fine, surface.low), surface.high)
    return pack(gradient, min(max((hessian + half) >> fine, 0), 1 << GRID_BITS))


cdef inline sum_t weigh(sum_t word, sum_t weight) noexcept nogil:
    # A word times a weight of at most 2^16 units of 2^-16, either half rounded to nearest: no
    # half grows, and so no norm of a row's halves does.
    cdef sum_t half = <sum_t> 1 << (GRID_BITS - 1)
    cdef sum_t hessian = word & <sum_t> 0xFFFFFFFF
    cdef sum_t gradient = word >> 32
    cdef sum_t size = (max(gradient, -gradient) * weight + half) >> GRID_BITS
    return pack(-size if gradient < 0 else size, (hessian * weight + half) >> GRID_BITS)
