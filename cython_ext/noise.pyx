"""Exact discrete noise from integer coins: no floating point touches a sample.

Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithms
2 and 3. Draws are sequential, one stream per call, so they do not depend on a number of threads.
The sum of value and noise is taken modulo 2^64: a value near the ends of int64 wraps, which is
a function of the exact result and so as private as it, never a clipped or a missing tail.

Proof: docs/proofs/samplers.md.
"""

from _bits cimport (
    bernoulli_exp as exp_coin,
    bernoulli_exp_fraction,
    bernoulli_exp_one,
    bernoulli_exp_wide,
    bitgen_t,
    bits_t,
    draw_below,
    draw_bit,
    open_bits,
    raise_pending,
    source_failed,
    source_of,
    wide_t,
)
from _types cimport bin_t, sum_t, word_t


cdef inline word_t draw_magnitude(
    bits_t *bits, word_t numerator, word_t denominator
) noexcept nogil:
    # P(k) proportional to exp(-k numerator/denominator), k >= 0. The remainder modulo the
    # denominator and the multiple of it are independent under exp(-x/denominator).
    cdef word_t remainder, multiple
    remainder = draw_below(bits, denominator)
    while not bernoulli_exp_fraction(bits, remainder, denominator):
        remainder = draw_below(bits, denominator)
    multiple = 0
    while bernoulli_exp_one(bits):
        multiple += 1
    remainder += multiple * denominator
    return remainder if numerator == 1 else remainder // numerator


cdef inline sum_t draw_laplace(bits_t *bits, word_t numerator, word_t denominator) noexcept nogil:
    cdef word_t magnitude
    cdef bint negative
    while True:
        negative = draw_bit(bits)
        magnitude = draw_magnitude(bits, numerator, denominator)
        if magnitude != 0 or not negative:      # else zero would count twice
            return -<sum_t> magnitude if negative else <sum_t> magnitude


cdef inline sum_t draw_gaussian(bits_t *bits, word_t sigma) noexcept nogil:
    # Laplace of scale sigma, accepted with exp(-(|y| - sigma)^2 / (2 sigma^2)):
    # -y^2/(2 sigma^2) + |y|/sigma = 1/2 - (|y| - sigma)^2/(2 sigma^2).
    cdef sum_t candidate
    cdef word_t distance
    while True:
        candidate = draw_laplace(bits, 1, sigma)
        distance = <word_t> (candidate if candidate >= 0 else -candidate)
        distance = distance - sigma if distance >= sigma else sigma - distance
        if bernoulli_exp_wide(bits, <wide_t> distance * <wide_t> distance, 2 * sigma * sigma):
            return candidate


cdef void fill_laplace(
    bitgen_t *source, const sum_t[::1] values, word_t numerator, word_t denominator, sum_t[::1] out
) noexcept nogil:
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        out[i] = <sum_t> (<word_t> values[i] + <word_t> draw_laplace(&bits, numerator, denominator))


cdef void fill_gaussian(
    bitgen_t *source, const sum_t[::1] values, word_t sigma, sum_t[::1] out
) noexcept nogil:
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        out[i] = <sum_t> (<word_t> values[i] + <word_t> draw_gaussian(&bits, sigma))


cdef int finish(sum_t[::1] out) except -1:
    # What stands in `out` after a failure is masked by words that are not random.
    cdef Py_ssize_t i
    if source_failed():
        for i in range(out.shape[0]):
            out[i] = 0
    return raise_pending()


cdef int check_rational(numerator, denominator) except -1:
    if not (0 < numerator < 1 << 32 and 0 < denominator < 1 << 32):
        raise ValueError("numerator and denominator must be in 1..2**32-1")
    return 0


cdef int check_lengths(Py_ssize_t n_values, Py_ssize_t n_out) except -1:
    if n_values != n_out:
        raise ValueError("values and out must have the same length")
    return 0


def discrete_laplace(
    bit_generator, const sum_t[::1] values, numerator, denominator, sum_t[::1] out
):
    """Set ``out[i] = values[i] + X_i`` with P(X=k) proportional to exp(-|k| numerator/denominator).

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    values : int64 ndarray of shape (n,)
    numerator, denominator : int
        Both in 1..2**32-1.
    out : int64 ndarray of shape (n,)
        May be ``values`` itself. Sums wrap modulo 2**64.

    Raises
    ------
    ValueError
        If a number is out of its range or the lengths differ.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    check_rational(numerator, denominator)
    check_lengths(values.shape[0], out.shape[0])
    cdef word_t p = numerator
    cdef word_t q = denominator
    with bit_generator.lock:
        with nogil:
            fill_laplace(source, values, p, q, out)
        finish(out)


def discrete_gaussian(bit_generator, const sum_t[::1] values, sigma, sum_t[::1] out):
    """Set ``out[i] = values[i] + X_i`` with P(X=k) proportional to exp(-k^2/(2 sigma^2)).

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    values : int64 ndarray of shape (n,)
    sigma : int
        In 1..2**31-1.
    out : int64 ndarray of shape (n,)
        May be ``values`` itself. Sums wrap modulo 2**64.

    Raises
    ------
    ValueError
        If sigma is out of its range or the lengths differ.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    if not 0 < sigma < 1 << 31:
        raise ValueError("sigma must be in 1..2**31-1")
    check_lengths(values.shape[0], out.shape[0])
    cdef word_t scale = sigma
    with bit_generator.lock:
        with nogil:
            fill_gaussian(source, values, scale, out)
        finish(out)


def geometric(bit_generator, numerator, denominator, sum_t[::1] out):
    """Fill ``out`` with P(k) = (1 - r) r^k, k >= 0, where r = exp(-numerator/denominator).

    Both integers are in 1..2**32-1; raises as `discrete_laplace`.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    check_rational(numerator, denominator)
    cdef word_t p = numerator
    cdef word_t q = denominator
    with bit_generator.lock:
        with nogil:
            for i in range(out.shape[0]):
                out[i] = <sum_t> draw_magnitude(&bits, p, q)
        finish(out)


def bernoulli_exp(bit_generator, numerator, denominator, bin_t[::1] out):
    """Fill ``out`` with coins that are 1 with probability exp(-numerator/denominator).

    The numerator is in 0..2**64-1, the denominator in 1..2**63-1.

    Raises
    ------
    ValueError
        If a number is out of its range.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    if not (0 <= numerator < 1 << 64 and 0 < denominator < 1 << 63):
        raise ValueError("numerator must be in 0..2**64-1 and denominator in 1..2**63-1")
    cdef word_t p = numerator
    cdef word_t q = denominator
    with bit_generator.lock:
        with nogil:
            for i in range(out.shape[0]):
                out[i] = exp_coin(&bits, p, q)
        if source_failed():
            for i in range(out.shape[0]):
                out[i] = 0
        raise_pending()
