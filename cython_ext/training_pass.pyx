"""One pass over all rows a round: last round's leaf values, gradients, leaves and their sums.

A round of random partitions reads each row once. First the row's score takes the value of its
leaf in the round before, then come its gradient and hessian, its leaf in the new partition, and
the sums of that leaf. The maps of a row are those of the newton and cells kernels; all sums are
integers, so nothing depends on chunks or threads.
"""

from cython.parallel cimport prange
from libc.stdlib cimport calloc, free

from _cells cimport LANES, add_packed, add_packed_apart, look_up, unpack
from _newton cimport (
    ROWS_AT_ONCE, STEP_BITS, logistic_words, separate_words, softmax_words, squared_position,
    squared_word, surface_t, surface_word, weigh,
)
from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    CHUNKS_AT_ONCE = 63  # 32256 rows: their packed words cannot overflow a field
    FEW = 8192
    SQUARED = 0
    LOGISTIC = 1
    SOFTMAX = 2
    SEPARATE = 3
    SURFACE = 4
    WORDS_AT_ONCE = 8192  # words of all classes on the stack; at most 1000 classes

cdef struct rule_t:
    # A loss and its public numbers.
    int kind
    double scale
    const sum_t* table
    sum_t table_range
    surface_t surface
    sum_t limit

cdef struct pass_t:
    # What a pass reads and writes; ``weights`` may be NULL.
    Py_ssize_t n_rows
    int n_outputs
    int n_leaves
    int n_before
    sum_t* scores
    const sum_t* labels
    const unsigned char* present
    const int* weights
    const sum_t* pending
    unsigned short* leaves
    const bin_t* columns[3]
    const row_t* steps
    const unsigned short* table


def squared(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads,
    double scale, sum_t gradient_limit,
):
    """Pass over the rows with the squared loss.

    Parameters
    ----------
    scores : int64 array of shape (n_outputs, n_rows)
        The values of the round before are added.
    labels : int64 array of shape (n_rows,)
    present : uint8 array of shape (n_rows,)
        0 for rows that take no part, 1 for the others.
    weights : int32 array of shape (n_rows,) or (0,)
        Of each row in units of 2^-16, 0 to 65536; empty where every row counts fully.
    pending : int64 array of shape (n_outputs, n_leaves_before)
        Leaf values of the round before; zeros where there was none.
    leaves : uint16 array of shape (n_rows,)
        Leaves in the round before; overwritten with the new ones.
    bins : uint8 array of shape (n_features, n_rows)
        By column.
    features, steps, table
        The partition, as in ``cells.find_leaves``.
    sums : int64 array of shape (2, n_outputs, n_leaves)
        Overwritten: gradient and hessian sums.
    n_threads : int
    scale, gradient_limit
        As in ``newton.squared``.
    """
    cdef rule_t rule
    rule.kind, rule.scale, rule.limit = SQUARED, scale, gradient_limit
    _pass(
        scores, labels, present, weights, pending, leaves, bins, features, steps, table, sums,
        n_threads, &rule,
    )


def logistic(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads,
    const sum_t[::1] curve, sum_t gradient_limit,
):
    """Pass over the rows with the logistic loss: as ``squared`` and ``newton.logistic``."""
    cdef rule_t rule
    rule.kind, rule.limit = LOGISTIC, gradient_limit
    rule.table, rule.table_range = &curve[0], (curve.shape[0] // 2) << STEP_BITS
    _pass(
        scores, labels, present, weights, pending, leaves, bins, features, steps, table, sums,
        n_threads, &rule,
    )


def softmax(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads,
    const sum_t[::1] curve, sum_t gradient_limit,
):
    """Pass over the rows with the softmax loss: as ``squared`` and ``newton.softmax``."""
    cdef rule_t rule
    rule.kind, rule.limit = SOFTMAX, gradient_limit
    rule.table, rule.table_range = &curve[0], (<sum_t> curve.shape[0]) << STEP_BITS
    _pass(
        scores, labels, present, weights, pending, leaves, bins, features, steps, table, sums,
        n_threads, &rule,
    )


def separate(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads,
    const sum_t[::1] curve, sum_t gradient_limit,
):
    """Pass over the rows with separate classes: as ``squared`` and ``newton.separate``."""
    cdef rule_t rule
    rule.kind, rule.limit = SEPARATE, gradient_limit
    rule.table, rule.table_range = &curve[0], (curve.shape[0] // 2) << STEP_BITS
    _pass(
        scores, labels, present, weights, pending, leaves, bins, features, steps, table, sums,
        n_threads, &rule,
    )


def surface(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads,
    const sum_t[:, ::1] gradients, const sum_t[:, ::1] hessians, sum_t origin, int shift,
    int label_shift, bint residual, sum_t low, sum_t high,
):
    """Pass over the rows with a loss in tables: as ``squared`` and ``newton.surface``."""
    cdef rule_t rule
    rule.kind = SURFACE
    rule.surface.gradients, rule.surface.hessians = &gradients[0, 0], &hessians[0, 0]
    rule.surface.width = gradients.shape[1]
    rule.surface.origin, rule.surface.shift = origin, shift
    rule.surface.range = <sum_t> (gradients.shape[1] - 2) << shift
    rule.surface.label_range = <sum_t> (gradients.shape[0] - 2) << label_shift
    rule.surface.label_shift, rule.surface.residual = label_shift, residual
    rule.surface.low, rule.surface.high = low, high
    _pass(
        scores, labels, present, weights, pending, leaves, bins, features, steps, table, sums,
        n_threads, &rule,
    )


cdef _pass(
    sum_t[:, ::1] scores, const sum_t[::1] labels, const unsigned char[::1] present,
    const int[::1] weights, const sum_t[:, ::1] pending, unsigned short[::1] leaves,
    const bin_t[:, ::1] bins, const row_t[::1] features, const row_t[:, ::1] steps,
    const unsigned short[::1] table, sum_t[:, :, ::1] sums, int n_threads, const rule_t* rule,
):
    cdef pass_t rows
    cdef int k = features.shape[0]
    cdef int f
    rows.n_rows, rows.n_outputs, rows.n_leaves = leaves.shape[0], scores.shape[0], sums.shape[2]
    sums[:] = 0
    if rows.n_rows == 0:
        return
    rows.scores, rows.labels, rows.present = &scores[0, 0], &labels[0], &present[0]
    rows.weights = &weights[0] if weights.shape[0] else NULL
    rows.n_before = pending.shape[1]
    rows.pending = &pending[0, 0]
    rows.leaves = &leaves[0]
    rows.steps, rows.table = &steps[0, 0], &table[0]
    for f in range(3):
        # A feature that is not there points to the first one; all its steps are zero.
        rows.columns[f] = &bins[features[f if f < k else 0], 0]
    _add_parts(&rows, rule, n_threads if rows.n_rows > FEW else 1, &sums[0, 0, 0])


cdef _add_parts(const pass_t* rows, const rule_t* rule, int n_parts, sum_t* sums):
    """Give each thread a run of rows and sums of its own, then add the sums up."""
    cdef Py_ssize_t size = rows.n_outputs * rows.n_leaves
    cdef Py_ssize_t own = (2 + LANES) * size
    cdef Py_ssize_t whole = (rows.n_rows + n_parts - 1) // n_parts
    cdef sum_t* work = <sum_t*> calloc(n_parts * own, sizeof(sum_t))
    cdef Py_ssize_t part, i
    if work == NULL:
        raise MemoryError("The sums of the leaves do not fit into memory.")
    try:
        for part in prange(n_parts, nogil=True, num_threads=n_parts, schedule="static"):
            _part(
                rows, rule, min(part * whole, rows.n_rows), min((part + 1) * whole, rows.n_rows),
                work + part * own,
            )
        for part in range(n_parts):
            for i in range(2 * size):
                sums[i] += work[part * own + i]
    finally:
        free(work)


cdef void _part(
    const pass_t* rows, const rule_t* rule, Py_ssize_t start, Py_ssize_t stop, sum_t* work
) noexcept nogil:
    """Gradient sums, hessian sums and packed sums lie one behind the other in ``work``."""
    cdef Py_ssize_t size = rows.n_outputs * rows.n_leaves
    cdef word_t* packed = <word_t*> (work + 2 * size)
    cdef Py_ssize_t chunk, first
    for chunk in range((stop - start + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE):
        first = start + chunk * ROWS_AT_ONCE
        if chunk > 0 and chunk % CHUNKS_AT_ONCE == 0:
            _unpack_lanes(packed, size, work)
        _chunk(rows, rule, first, min(stop - first, ROWS_AT_ONCE), packed)
    _unpack_lanes(packed, size, work)


cdef void _unpack_lanes(word_t* packed, Py_ssize_t size, sum_t* work) noexcept nogil:
    cdef int lane
    for lane in range(LANES):
        unpack(packed + lane * size, size, work, work + size)


cdef void _chunk(
    const pass_t* rows, const rule_t* rule, Py_ssize_t start, Py_ssize_t n, word_t* packed
) noexcept nogil:
    if rule.kind == SOFTMAX or rule.kind == SEPARATE:
        _several_outputs(rows, rule, start, n, packed)
    else:
        _one_output(rows, rule, start, n, packed)


cdef inline void _find_leaves(const pass_t* rows, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
    look_up(
        rows.columns[0] + start, rows.columns[1] + start, rows.columns[2] + start, rows.steps,
        rows.table, n, rows.leaves + start,
    )


cdef void _one_output(
    const pass_t* rows, const rule_t* rule, Py_ssize_t start, Py_ssize_t n, word_t* packed
) noexcept nogil:
    # In steps over arrays of its own, which nothing else is written over: those without a
    # look-up are vectors then. And copies: the compiler cannot know that no word is written over
    # the rule.
    cdef sum_t words[ROWS_AT_ONCE]
    cdef int positions[ROWS_AT_ONCE]
    cdef const sum_t* scores = rows.scores + start
    cdef const sum_t* labels = rows.labels + start
    cdef const unsigned char* present = rows.present + start
    cdef double bound = <double> rule.limit
    cdef double scale = rule.scale
    cdef surface_t surface = rule.surface
    cdef Py_ssize_t i
    _take_pending(rows, start, n)
    if rule.kind == SQUARED:
        for i in range(n):
            positions[i] = squared_position(scores[i], labels[i])
        for i in range(n):
            words[i] = squared_word(positions[i], scale, bound) & -<sum_t> present[i]
    elif rule.kind == SURFACE:
        for i in range(n):
            words[i] = surface_word(scores[i], labels[i], &surface) & -<sum_t> present[i]
    else:
        logistic_words(
            scores, labels, present, n, rule.table, rule.table_range, rule.limit, words
        )
    _weigh(rows, start, n, words)
    _find_leaves(rows, start, n)
    add_packed_apart(words, rows.leaves + start, n, packed, rows.n_leaves)


cdef void _take_pending(const pass_t* rows, Py_ssize_t start, Py_ssize_t n) noexcept nogil:
    cdef const unsigned short* leaves = rows.leaves + start
    cdef const sum_t* values
    cdef sum_t* scores
    cdef Py_ssize_t i
    cdef int k
    for k in range(rows.n_outputs):
        scores = rows.scores + k * rows.n_rows + start
        values = rows.pending + k * rows.n_before
        for i in range(n):
            scores[i] += values[leaves[i]]


cdef void _several_outputs(
    const pass_t* rows, const rule_t* rule, Py_ssize_t start, Py_ssize_t n, word_t* packed
) noexcept nogil:
    # A row needs the words of all its classes at once: with many classes, fewer rows at a time.
    cdef sum_t words[WORDS_AT_ONCE]
    cdef Py_ssize_t width = WORDS_AT_ONCE // rows.n_outputs
    cdef Py_ssize_t piece, first, here, i
    cdef int k
    width = min(width, ROWS_AT_ONCE)
    _take_pending(rows, start, n)
    _find_leaves(rows, start, n)
    for piece in range((n + width - 1) // width):
        first = start + piece * width
        here = min(start + n - first, width)
        if rule.kind == SOFTMAX:
            softmax_words(
                rows.scores + first, rows.n_rows, rows.n_outputs, rows.labels + first, NULL, here,
                rule.table, rule.table_range, rule.limit, words, width,
            )
        else:
            separate_words(
                rows.scores + first, rows.n_rows, rows.n_outputs, rows.labels + first, NULL, here,
                rule.table, rule.table_range, rule.limit, words, width,
            )
        for k in range(rows.n_outputs):
            for i in range(here):
                words[k * width + i] &= -<sum_t> rows.present[first + i]
            _weigh(rows, first, here, words + k * width)
            add_packed(
                words + k * width, rows.leaves + first, here, packed + k * rows.n_leaves
            )


cdef inline void _weigh(
    const pass_t* rows, Py_ssize_t start, Py_ssize_t n, sum_t* words
) noexcept nogil:
    cdef const int* weights = rows.weights
    cdef Py_ssize_t i
    if weights != NULL:
        for i in range(n):
            words[i] = weigh(words[i], weights[start + i])
