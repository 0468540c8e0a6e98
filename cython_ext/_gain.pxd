# The score of a child, shared by the kernels that score candidates.

cdef inline double child_score(
    double total, double n, double hessian, double reg_lambda, double scale, double limit
) noexcept nogil:
    # An empty child has total 0: any denominator but 0 gives its score.
    cdef double denominator = 1.0 if n == 0.0 else hessian * n + reg_lambda
    return min(total * total * scale / denominator, limit)
