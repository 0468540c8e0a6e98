"""Scores of every candidate split from integer class counts.

The impurity of a branch with class counts t_c and t rows in total is

0 entropy       sum_c t_c min(log2(t / t_c), cap)
1 Gini          t - sum_c t_c^2 / t
2 errors        t - max_c t_c
3 root-Gini     sum_c min(sqrt(t_c (t - t_c)), cap t_c, cap (t - t_c))

and 0 without rows. A candidate's score is the sum over its branches of ``floor(-impurity scale)``,
in one fixed order of operations; every node has its own public cap and scale.

Error before the floor. Let u = 2^-53. A node has t < 2^31 rows and at most 255 classes, and counts
are exact doubles. Entropy has a scale below 2^7.2. One of its terms is off by at most
5 u t_c log2(t / t_c) + 3 u t_c, of which the sum over classes is below 43 u t, and the sum itself
rounds by at most 255 u times its value, which is at most 8 t: in all below 2^12 u t, or 2^-2.8 of
a unit. Gini has a scale below 2^9 and adds 255 squares: an error below 258 u t, or 2^-4 of a unit.
Errors are exact up to the product with the scale. Root-Gini has a scale of at most 2^6 and a sum
of at most sqrt(255) t, with an error of 260 u times that: below 2^-3 of a unit. All are below a
quarter. Caps do not enter: they are smaller than what they replace.
"""

from cython.parallel cimport prange
from libc.math cimport floor, log2, sqrt

from _types cimport bin_t, row_t, sum_t

cdef enum:
    CLASSES = 255
    FEW = 4096     # candidates that are not worth waking other threads for
    ENTROPY = 0
    GINI = 1
    ERRORS = 2
    THRESHOLD = 0
    CATEGORY = 1


def scores(
    const sum_t[:, ::1] counts,
    const row_t[::1] cell_offsets,
    const row_t[::1] candidate_offsets,
    const bin_t[::1] kinds,
    int n_classes,
    int criterion,
    const double[::1] caps,
    const double[::1] scales,
    sum_t[:, ::1] out,
    int n_threads,
):
    """Score every candidate of every node.

    Parameters
    ----------
    counts : int64 array of shape (n_nodes, n_cells * n_classes)
        The classes of a cell side by side.
    cell_offsets : int32 array of shape (n_features + 1,)
        Cells of feature ``f``; the last one is its missing bin.
    candidate_offsets : int32 array of shape (n_features + 1,)
    kinds : uint8 array of shape (n_features,)
        0: candidate ``b`` sends bins up to ``b`` left and the rest right; 1: it sends bin ``b``
        left; 2: the one candidate has a branch for every cell.
    n_classes : int
        At most 255.
    criterion : int
        Number in the list above.
    caps, scales : float64 arrays of shape (n_nodes,)
        Public.
    out : int64 array of shape (n_nodes, n_candidates)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n_features = kinds.shape[0]
    cdef Py_ssize_t n_tasks = counts.shape[0] * n_features
    cdef Py_ssize_t n_candidates = out.shape[0] * out.shape[1]
    cdef Py_ssize_t task, node, f, cell
    for task in prange(
        n_tasks, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_candidates > FEW,
    ):
        node = task // n_features
        f = task % n_features
        cell = cell_offsets[f]
        _score_feature(
            &counts[node, cell * n_classes], cell_offsets[f + 1] - cell, kinds[f], n_classes,
            criterion, caps[node], scales[node], &out[node, candidate_offsets[f]],
        )


def node_scores(
    const sum_t[:, ::1] counts,
    int criterion,
    const double[::1] caps,
    const double[::1] scales,
    sum_t[::1] out,
):
    """Score every node as one branch.

    Parameters
    ----------
    counts : int64 array of shape (n_nodes, n_classes)
    criterion, caps, scales
        As in ``scores``.
    out : int64 array of shape (n_nodes,)
        Overwritten.
    """
    cdef Py_ssize_t n_nodes = counts.shape[0]
    cdef Py_ssize_t n_classes = counts.shape[1]
    cdef Py_ssize_t node
    with nogil:
        for node in range(n_nodes):
            out[node] = _branch(&counts[node, 0], n_classes, criterion, caps[node], scales[node])


cdef inline double _entropy(
    const sum_t* counts, Py_ssize_t n_classes, double total, double cap
) noexcept nogil:
    cdef double result = 0.0
    cdef Py_ssize_t c
    for c in range(n_classes):
        # 0 log 0 is 0. The cap replaces the bound on the size of the table that the sensitivity of
        # the entropy would need.
        if counts[c] > 0:
            result += counts[c] * min(log2(total / counts[c]), cap)
    return result


cdef inline double _gini(const sum_t* counts, Py_ssize_t n_classes, double total) noexcept nogil:
    cdef double squares = 0.0
    cdef Py_ssize_t c
    for c in range(n_classes):
        squares += <double> counts[c] * counts[c]
    return total - squares / total


cdef inline double _errors(const sum_t* counts, Py_ssize_t n_classes, double total) noexcept nogil:
    cdef sum_t largest = 0
    cdef Py_ssize_t c
    for c in range(n_classes):
        largest = max(largest, counts[c])
    return total - largest


cdef inline double _root_gini(
    const sum_t* counts, Py_ssize_t n_classes, double total, double cap
) noexcept nogil:
    cdef double result = 0.0
    cdef double rest
    cdef Py_ssize_t c
    for c in range(n_classes):
        rest = total - counts[c]
        result += min(sqrt(counts[c] * rest), cap * min(<double> counts[c], rest))
    return result


cdef inline sum_t _branch(
    const sum_t* counts, Py_ssize_t n_classes, int criterion, double cap, double scale
) noexcept nogil:
    cdef sum_t total = 0
    cdef double impurity
    cdef Py_ssize_t c
    for c in range(n_classes):
        total += counts[c]
    if total == 0:
        return 0
    if criterion == ENTROPY:
        impurity = _entropy(counts, n_classes, <double> total, cap)
    elif criterion == GINI:
        impurity = _gini(counts, n_classes, <double> total)
    elif criterion == ERRORS:
        impurity = _errors(counts, n_classes, <double> total)
    else:
        impurity = _root_gini(counts, n_classes, <double> total, cap)
    # Rounded down on every side: floors of reals at most D apart are at most ceil(D) apart.
    return <sum_t> floor(-impurity * scale)


cdef void _score_feature(
    const sum_t* counts,
    Py_ssize_t n_cells,
    bin_t kind,
    Py_ssize_t n_classes,
    int criterion,
    double cap,
    double scale,
    sum_t* out,
) noexcept nogil:
    cdef sum_t total[CLASSES]
    cdef sum_t left[CLASSES]
    cdef sum_t right[CLASSES]
    cdef sum_t score = 0
    cdef Py_ssize_t cell, c
    # A branch for every cell: one candidate, which the order of the cells does not change.
    if kind != THRESHOLD and kind != CATEGORY:
        for cell in range(n_cells):
            score += _branch(counts + cell * n_classes, n_classes, criterion, cap, scale)
        out[0] = score
        return
    for c in range(n_classes):
        total[c] = 0
        left[c] = 0
    for cell in range(n_cells):
        for c in range(n_classes):
            total[c] += counts[cell * n_classes + c]
    for cell in range(n_cells - 1):
        for c in range(n_classes):
            left[c] = counts[cell * n_classes + c] + (left[c] if kind == THRESHOLD else 0)
            right[c] = total[c] - left[c]
        out[cell] = (
            _branch(left, n_classes, criterion, cap, scale)
            + _branch(right, n_classes, criterion, cap, scale)
        )
