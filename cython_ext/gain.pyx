"""Scores of every candidate split from integer histograms.

The score of a child with gradient sum S and n rows is ``floor(S^2 scale / (hessian n + lambda))``
and the score of a candidate is the sum over its two children. S and n are exact integers; the
quotient is computed in doubles, in one fixed order and without fused operations.

Error before the floor. Let u = 2^-53. S is an exact double (|S| < 2^53 for fewer than 2^37 rows).
With a hessian that is a power of two, ``hessian * n`` is exact as well. What rounds is S*S, the
product with ``scale``, the sum with lambda (relative error at most u each), and the quotient, half
a unit in the last place: for a quotient t below 2^49 that is at most 2^-5. Together, up to terms in
u^2, at most 3 u t + 2^-5 <= 3/16 + 1/32 = 7/32, below a quarter of a unit. (With an arbitrary
hessian there is one more u t: 9/32 at 2^49, and again below a quarter for a limit of 2^48.)
Clamping to the limit after that moves no two values apart.
"""

from cython.parallel cimport prange

from _gain cimport child_score
from _types cimport bin_t, row_t, sum_t

cdef enum:
    CELLS = 256  # cells of one feature, missing bin included
    FEW = 4096   # candidates that are not worth waking other threads for


def gradient_gain(
    const sum_t[:, ::1] sums,
    const sum_t[:, ::1] counts,
    const row_t[::1] cell_offsets,
    const row_t[::1] candidate_offsets,
    const bin_t[::1] is_categorical,
    double hessian,
    double reg_lambda,
    double scale,
    sum_t limit,
    sum_t[:, ::1] scores,
    int n_threads,
):
    """Score ``floor(SL^2 scale / (hessian nL + lambda))`` plus the same of the right child.

    Numeric candidate ``b`` sends bins up to ``b`` left and the rest, the missing bin included,
    right; a categorical candidate sends its own bin left and everything else right.

    Parameters
    ----------
    sums, counts : int64 arrays of shape (n_nodes, n_cells)
        Histograms; sums in units of 2^-16.
    cell_offsets : int32 array of shape (n_features + 1,)
        Cells of feature ``f``; the last one is its missing bin.
    candidate_offsets : int32 array of shape (n_features + 1,)
        Candidates of feature ``f``: one per cell but the last.
    is_categorical : uint8 array of shape (n_features,)
    hessian : float
        Public hessian of one row, positive; a power of two for the error bound above.
    reg_lambda : float
        Non-negative.
    scale : float
        Score units per squared gradient unit.
    limit : int
        Public clamp of each child's score, at most 2^49. A child without rows scores 0.
    scores : int64 array of shape (n_nodes, n_candidates)
        Overwritten.
    n_threads : int
    """
    cdef Py_ssize_t n_features = is_categorical.shape[0]
    cdef Py_ssize_t n_tasks = sums.shape[0] * n_features
    cdef Py_ssize_t n_candidates = scores.shape[0] * scores.shape[1]
    cdef Py_ssize_t task, node, f, cell
    for task in prange(
        n_tasks, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_candidates > FEW,
    ):
        node = task // n_features
        f = task % n_features
        cell = cell_offsets[f]
        _score_feature(
            &sums[node, cell], &counts[node, cell], cell_offsets[f + 1] - cell,
            is_categorical[f], hessian, reg_lambda, scale, <double> limit,
            &scores[node, candidate_offsets[f]],
        )


cdef void _score_feature(
    const sum_t* sums,
    const sum_t* counts,
    Py_ssize_t n_cells,
    bint is_categorical,
    double hessian,
    double reg_lambda,
    double scale,
    double limit,
    sum_t* scores,
) noexcept nogil:
    cdef double left_sum[CELLS]
    cdef double left_count[CELLS]
    cdef double left[CELLS]
    cdef double right[CELLS]
    cdef sum_t running_sum = 0
    cdef sum_t running_count = 0
    cdef double total_sum, total_count
    cdef Py_ssize_t n_candidates = n_cells - 1
    cdef Py_ssize_t c
    # Running sums wait for one another, quotients do not: loops of their own let the compiler use
    # wide registers for the divisions.
    for c in range(n_candidates):
        running_sum = running_sum + sums[c]
        running_count = running_count + counts[c]
        left_sum[c] = <double> (sums[c] if is_categorical else running_sum)
        left_count[c] = <double> (counts[c] if is_categorical else running_count)
    total_sum = <double> (running_sum + sums[n_candidates])
    total_count = <double> (running_count + counts[n_candidates])
    for c in range(n_candidates):
        # Differences of integers below 2^53: exact.
        left[c] = child_score(left_sum[c], left_count[c], hessian, reg_lambda, scale, limit)
        right[c] = child_score(
            total_sum - left_sum[c], total_count - left_count[c],
            hessian, reg_lambda, scale, limit,
        )
    for c in range(n_candidates):
        # Scores are not negative, so that truncation is the floor.
        scores[c] = <sum_t> left[c] + <sum_t> right[c]
