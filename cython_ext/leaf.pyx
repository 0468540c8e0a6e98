"""Clipped leaf values on the score grid, before noise.

One row moves the real value ``-S g / (hessian n + lambda)``, clipped, by at most some constant D.
In units, D' = D * units_per_one. Rounding two reals that are D' apart to the nearest integers
gives integers at most floor(D') + 1 apart. The doubles here are off by a few times 2^-53 of the
value, below a quarter of a unit as values saturate at 2^49 units, and floor(D' + 1/2) + 1 is at
most ceil(D') + 1: that many units are charged for a leaf.
"""

from _types cimport sum_t

cdef double ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to an integer
cdef double VALUE_LIMIT = 562949953421312.0  # 2^49 units


def clipped_leaf(
    const sum_t[::1] sums,
    const sum_t[::1] counts,
    double hessian,
    double reg_lambda,
    double gradient_unit,
    double clip,
    double units_per_one,
    sum_t[::1] out,
):
    """Leaf values ``-S gradient_unit / (hessian n + lambda)``, clipped, then rounded to units.

    Parameters
    ----------
    sums, counts : int64 arrays of shape (n_leaves,)
        Gradient sums in units of ``gradient_unit``, below 2^53, and row counts.
    hessian : float
        Public hessian of one row, positive.
    reg_lambda : float
        Non-negative.
    gradient_unit : float
        A power of two.
    clip : float
        Values are clipped to +- this before rounding; infinity for no clip.
    units_per_one : float
        Units in a leaf value of 1, positive. Values saturate at +-2^49 units.
    out : int64 array of shape (n_leaves,)
        Overwritten; a leaf without rows has value 0.
    """
    cdef Py_ssize_t n_leaves = sums.shape[0]
    cdef Py_ssize_t i
    cdef double value
    with nogil:
        for i in range(n_leaves):
            value = 0.0
            # A leaf without rows has value 0 for any lambda: no 0 / 0 where lambda is 0.
            if counts[i] != 0:
                value = -<double> sums[i] * gradient_unit
                value = value / (hessian * <double> counts[i] + reg_lambda)
            # Clip, then round. Rounded first, the clip would be no whole number of units, and
            # values at the clip would lie between those of the noise.
            value = min(max(value, -clip), clip) * units_per_one
            value = min(max(value, -VALUE_LIMIT), VALUE_LIMIT)
            # Below 2^49 the sum has the exponent of ROUNDER, whose last bit is worth one unit: the
            # addition itself rounds, to even, without a call.
            out[i] = <sum_t> ((value + ROUNDER) - ROUNDER)
