"""From integer scores and labels to packed (gradient, hessian) words, one fixed map per row.

As in the gradient kernels a row's word depends on its own score and label and on public numbers
only. A word is ``(gradient << 32) + hessian``; gradients are in units of 2^-16, hessians of the
squared loss in units of 2^-12 and of the others in units of 2^-16.
"""

from cython.parallel cimport prange

from _newton cimport (
    ROWS_AT_ONCE, STEP_BITS, logistic_position, logistic_word, separate_words, softmax_words,
    squared_position, squared_word, surface_t, surface_word, weigh,
)
from _types cimport row_t, sum_t

cdef enum:
    FEW = 8192


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
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        words[i] = squared_word(
            squared_position(scores[rows[i]], labels[rows[i]]), scale, bound
        )


def logistic(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
    sum_t gradient_limit,
    sum_t[::1] words,
    int n_threads,
):
    """Clipped gradient ``p - label`` and hessian ``p (1 - p)`` of the logistic loss.

    Parameters
    ----------
    scores : int64 array of shape (n_rows,)
        In units of 2^-20.
    labels : int64 array of shape (n_rows,)
        0 or 1.
    rows : int32 array of shape (n_selected,)
    table : int64 array
        From ``two_sided_table``; scores beyond it get its ends.
    gradient_limit : int
        In units of 2^-16, at most 65536.
    words : int64 array of shape (n_selected,)
        Overwritten; hessians are at most 2^14 units.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef int position
    cdef sum_t half_range = (table.shape[0] // 2) << STEP_BITS
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        position = logistic_position(scores[rows[i]], half_range)
        words[i] = logistic_word(
            table[position >> STEP_BITS], position, labels[rows[i]], gradient_limit
        )


def softmax(
    const sum_t[:, ::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
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
    gradient_limit : int
        In units of 2^-16, at most 65536.
    words : int64 array of shape (n_classes, n_selected)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t n_chunks = (n + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    cdef Py_ssize_t chunk
    cdef sum_t table_range = (<sum_t> table.shape[0]) << STEP_BITS
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        softmax_words(
            &scores[0, 0], scores.shape[1], scores.shape[0], &labels[0],
            &rows[chunk * ROWS_AT_ONCE], min(n - chunk * ROWS_AT_ONCE, ROWS_AT_ONCE),
            &table[0], table_range, gradient_limit, &words[0, chunk * ROWS_AT_ONCE], words.shape[1],
        )


def separate(
    const sum_t[:, ::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[::1] table,
    sum_t gradient_limit,
    sum_t[:, ::1] words,
    int n_threads,
):
    """Clipped gradients and hessians of one logistic loss for each class against the rest.

    Parameters
    ----------
    scores, labels, rows, words
        As in ``softmax``.
    table, gradient_limit
        As in ``logistic``.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t n_chunks = (n + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE
    cdef Py_ssize_t chunk
    cdef sum_t half_range = (table.shape[0] // 2) << STEP_BITS
    for chunk in prange(
        n_chunks, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        separate_words(
            &scores[0, 0], scores.shape[1], scores.shape[0], &labels[0],
            &rows[chunk * ROWS_AT_ONCE], min(n - chunk * ROWS_AT_ONCE, ROWS_AT_ONCE),
            &table[0], half_range, gradient_limit, &words[0, chunk * ROWS_AT_ONCE], words.shape[1],
        )


def surface(
    const sum_t[::1] scores,
    const sum_t[::1] labels,
    const row_t[::1] rows,
    const sum_t[:, ::1] gradients,
    const sum_t[:, ::1] hessians,
    sum_t origin,
    int shift,
    int label_shift,
    bint residual,
    sum_t low,
    sum_t high,
    sum_t[::1] words,
    int n_threads,
):
    """Gradient and hessian from public tables, linear between their nodes.

    Parameters
    ----------
    scores, labels : int64 arrays of shape (n_rows,)
        On the grids of the loss.
    rows : int32 array of shape (n_selected,)
    gradients, hessians : int64 arrays of shape (n_labels + 1, n_scores + 1)
        In units of 2^-30; at most 2^45 units. The last line and column repeat those before.
    origin : int
        Score of the first node, or score less label.
    shift, label_shift : int
        Units between nodes, as powers of two of at most 13 and 16.
    residual : bool
        Whether the tables are over score less label; then there is one label node.
    low, high : int
        Clips of gradients in units of 2^-16, at most 65536 in size.
    words : int64 array of shape (n_selected,)
        Overwritten; hessians are at most 2^16 units.
    n_threads : int
    """
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef surface_t table
    table.gradients, table.hessians = &gradients[0, 0], &hessians[0, 0]
    table.width, table.origin, table.shift = gradients.shape[1], origin, shift
    table.range = <sum_t> (gradients.shape[1] - 2) << shift
    table.label_range = <sum_t> (gradients.shape[0] - 2) << label_shift
    table.label_shift, table.residual, table.low, table.high = label_shift, residual, low, high
    for i in prange(
        n, nogil=True, num_threads=n_threads, schedule="static", use_threads_if=n > FEW
    ):
        words[i] = surface_word(scores[rows[i]], labels[rows[i]], &table)


def weighted(const int[::1] weights, const row_t[::1] rows, sum_t[:, ::1] words):
    """Multiply words by the weights of their rows; no half of a word grows.

    Parameters
    ----------
    weights : int32 array of shape (n_rows,)
        In units of 2^-16, 0 to 65536.
    rows : int32 array of shape (n_selected,)
    words : int64 array of shape (n_outputs, n_selected)
        Changed in place.
    """
    cdef Py_ssize_t i, k
    for k in range(words.shape[0]):
        for i in range(rows.shape[0]):
            words[k, i] = weigh(words[k, i], weights[rows[i]])
