"""Shares of discrete Laplace noise, exact from integer coins.

The noise of m parties together is the difference of two geometric numbers with P(k) proportional
to exp(-k p/q). A geometric number is the sum of m independent negative binomial numbers of shape
1/m (Polya's law; the gamma shares of the continuous Laplace law in integers).

A negative binomial number of shape r is the sum of the points of a Poisson process on 1, 2, 3, ...
with intensity r exp(-j p/q)/j at j: its generating function is exp(sum of r t^j (z^j - 1)/j) with
t = exp(-p/q), which is ((1 - t)/(1 - t z))^r. The process is thinned from a simpler one. Let
L = 2^J be the least power of two that is at least q/p. There are J + 2 slots of mass r each:

* slot i < J: the numbers of [2^i, 2^(i+1)), r/2^i each; a point at j is kept with probability
  2^i/j * exp(-j p/q);
* the last two slots: blocks n = 0, 1, ... of the numbers of [L(1+n), L(2+n)), 2^-n r/L each,
  2r together; a point at j is kept with probability L/j * 2^n exp(-j p/q), where the last factor
  is (2/e)^n exp(-(j p - n q)/q), at most 1 because L p >= q.

All of it is coins of rational probability, coins exp(-a/b), fair bits and uniform integers: no
floating point, no table that ends, no cap on trials.

Proof: docs/proofs/samplers.md.
"""

from _bits cimport (
    bernoulli,
    bernoulli_exp_wide,
    bernoulli_two_over_e,
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
from _types cimport sum_t, word_t


cdef struct process_t:
    word_t numerator        # p
    word_t denominator      # q
    word_t doublings        # J
    word_t parts            # the total mass (J + 2)/m, in parts of at most one half
    word_t part_numerator   # twice the mass of a part, as a fraction of at most one
    word_t part_denominator


cdef inline process_t open_process(word_t numerator, word_t denominator, word_t honest) noexcept:
    cdef process_t process
    process.numerator = numerator
    process.denominator = denominator
    process.doublings = 0
    while (numerator << process.doublings) < denominator:
        process.doublings += 1
    process.part_numerator = 2 * (process.doublings + 2)
    process.parts = (process.part_numerator + honest - 1) // honest
    process.part_denominator = honest * process.parts
    return process


cdef inline word_t draw_poisson(bits_t *bits, word_t numerator, word_t denominator) noexcept nogil:
    # Mass numerator/(2 denominator), at most one half: k with probability 2^-(k+1), accepted with
    # (numerator/denominator)^k / k!.
    cdef word_t count, position
    cdef bint kept
    while True:
        count = 0
        while draw_bit(bits):
            count += 1
        kept = True
        for position in range(1, count + 1):
            kept = bernoulli(bits, numerator, denominator) and bernoulli(bits, 1, position)
            if not kept:
                break
        if kept:
            return count


cdef inline word_t draw_point(bits_t *bits, process_t *process) noexcept nogil:
    # One point of the simpler process; zero when it is not kept.
    cdef word_t slot, length, start, block, _step
    cdef wide_t exponent
    slot = draw_below(bits, process.doublings + 2)
    block = 0
    if slot < process.doublings:
        length = <word_t> 1 << slot
    else:
        length = <word_t> 1 << process.doublings
        while draw_bit(bits):
            block += 1
    start = length * (1 + block) + draw_below(bits, length)
    if not bernoulli(bits, length, start):
        return 0
    for _step in range(block):
        if not bernoulli_two_over_e(bits):
            return 0
    exponent = <wide_t> start * <wide_t> process.numerator
    exponent = exponent - <wide_t> block * <wide_t> process.denominator
    return start if bernoulli_exp_wide(bits, exponent, process.denominator) else 0


cdef inline word_t draw_negative_binomial(bits_t *bits, process_t *process) noexcept nogil:
    cdef word_t total = 0
    cdef word_t _part, count, _point
    for _part in range(process.parts):
        count = draw_poisson(bits, process.part_numerator, process.part_denominator)
        for _point in range(count):
            total += draw_point(bits, process)
    return total


cdef void fill_polya(
    bitgen_t *source, const sum_t[::1] values, process_t process, sum_t[::1] out
) noexcept nogil:
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    cdef word_t up, down
    for i in range(values.shape[0]):
        up = draw_negative_binomial(&bits, &process)
        down = draw_negative_binomial(&bits, &process)
        out[i] = <sum_t> (<word_t> values[i] + up - down)


cdef int finish(sum_t[::1] out) except -1:
    # What stands in `out` after a failure is masked by words that are not random.
    cdef Py_ssize_t i
    if source_failed():
        for i in range(out.shape[0]):
            out[i] = 0
    return raise_pending()


def polya(
    bit_generator, const sum_t[::1] values, numerator, denominator, honest, sum_t[::1] out
):
    """Set ``out[i] = values[i] + A_i - B_i``, two negative binomial numbers of shape 1/honest.

    The sum of ``honest`` such shares has P(X=k) proportional to exp(-|k| numerator/denominator).

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    values : int64 ndarray of shape (n,)
    numerator, denominator : int
        Both in 1..2**32-1.
    honest : int
        In 1..2**16.
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
    if not (0 < numerator < 1 << 32 and 0 < denominator < 1 << 32):
        raise ValueError("numerator and denominator must be in 1..2**32-1")
    if not 0 < honest <= 1 << 16:
        raise ValueError("honest must be in 1..2**16")
    if values.shape[0] != out.shape[0]:
        raise ValueError("values and out must have the same length")
    cdef process_t process = open_process(numerator, denominator, honest)
    with bit_generator.lock:
        with nogil:
            fill_polya(source, values, process, out)
        finish(out)
