"""What the released sums of a tree's leaves say of each of its splits.

The formula is that of ``dpboost.growing.shrunken_leaves``. All numbers are released or public.
"""

from _types cimport row_t


def split_gains(
    const row_t[::1] left,
    const row_t[::1] right,
    const double[:, ::1] gradients,
    const double[:, ::1] hessians,
    double deviation,
    double reg_lambda,
    double prior,
    double[:, ::1] below,
    double[:, ::1] shown,
):
    """Add up leaves from the last node to the first, and compare the two sides of each.

    Parameters
    ----------
    left, right : int32 arrays of shape (n_nodes,)
        Children, ``~leaf`` for a leaf; an internal child has a larger number than its parent.
    gradients, hessians : float64 arrays of shape (n_outputs, n_nodes + 1)
        Released sums of the leaves; a negative hessian counts as zero.
    deviation : float
        Standard deviation of the noise of a gradient sum.
    reg_lambda : float
        Added to the hessian of a side, positive.
    prior : float
        Typical size of a step.
    below : float64 array of shape (3, n_nodes)
        Overwritten: room for the sums and the number of the leaves below a node.
    shown : float64 array of shape (2, n_nodes)
        Zeros; the gains of the nodes and their variances by noise alone are added.
    """
    cdef int n_nodes = left.shape[0]
    cdef int output, node, i
    cdef row_t[2] child
    cdef double[2] gradient, hessian, size, variance
    cdef double weight, noise, difference
    with nogil:
        for output in range(gradients.shape[0]):
            # Children have larger numbers than their parents: backwards, both sides are known.
            for node in range(n_nodes - 1, -1, -1):
                child[0], child[1] = left[node], right[node]
                for i in range(2):
                    if child[i] < 0:
                        gradient[i] = gradients[output, ~child[i]]
                        hessian[i] = max(hessians[output, ~child[i]], 0.0)
                        size[i] = 1
                    else:
                        gradient[i] = below[0, child[i]]
                        hessian[i] = below[1, child[i]]
                        size[i] = below[2, child[i]]
                below[0, node] = gradient[0] + gradient[1]
                below[1, node] = hessian[0] + hessian[1]
                below[2, node] = size[0] + size[1]
                for i in range(2):
                    hessian[i] += reg_lambda
                    variance[i] = deviation * deviation * size[i] / (hessian[i] * hessian[i])
                noise = variance[0] + variance[1]
                difference = gradient[0] / hessian[0] - gradient[1] / hessian[1]
                weight = hessian[0] * hessian[1] / (hessian[0] + hessian[1])
                # The noise of the difference inflates its square by its variance on average, which
                # is taken off below: a split of nothing shows nothing, rather than always a little.
                weight *= prior * prior / (prior * prior + noise)
                shown[0, node] += weight * (difference * difference - noise)
                shown[1, node] += 2 * (weight * noise) * (weight * noise)


def value_gains(double variance, double[::1] below, double[::1] gains):
    """Compare the means of the two sides of each split of a complete tree.

    Parameters
    ----------
    variance : float
        Of the noise of the value of a leaf.
    below : float64 array of shape (n_leaves,)
        Released values of the leaves from left to right; overwritten.
    gains : float64 array of shape (n_leaves - 1,)
        Overwritten, level by level.
    """
    cdef Py_ssize_t n_nodes = below.shape[0] // 2
    cdef Py_ssize_t node
    cdef double left, right, difference
    cdef double noise = 2 * variance
    with nogil:
        while n_nodes:
            for node in range(n_nodes):
                left, right = below[2 * node], below[2 * node + 1]
                difference = left - right
                gains[n_nodes - 1 + node] = (difference * difference - noise) / (4 * n_nodes)
                below[node] = (left + right) / 2
            # A mean of twice as many leaves has half the variance.
            noise /= 2
            n_nodes //= 2
