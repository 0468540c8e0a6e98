"""Local reports: randomized symbols and bits with exact probabilities, and the sums over them.

Every probability is a whole number of units of 2^-64 and is drawn exactly: a uniform word is
compared with it, or 64 coins are tossed together, digit by digit. No floating point touches a
report. Reports are drawn one after the other from one source.

Proof: docs/proofs/local-reports.md.
"""

from _bits cimport (
    bitgen_t,
    bits_t,
    draw_below,
    draw_word,
    open_bits,
    raise_pending,
    source_failed,
    source_of,
)
from _types cimport bin_t, sum_t, word_t

cdef enum:
    LEVEL_BITS = 32     # a position is a level and 32 binary digits


cdef inline word_t draw_lanes(bits_t *bits, word_t probability) noexcept nogil:
    # 64 independent coins of probability * 2^-64: each lane compares its own uniform number with
    # the probability, the highest binary digit first, and is decided at the first that differs.
    cdef word_t undecided = ~(<word_t> 0)
    cdef word_t ones = 0
    cdef word_t random
    cdef int position = 63
    while undecided != 0 and position >= 0:
        random = draw_word(bits)
        if (probability >> position) & 1:
            ones |= undecided & ~random
            undecided &= random
        else:
            undecided &= ~random
        position -= 1
    return ones


cdef inline sum_t draw_response(
    bits_t *bits, sum_t symbol, word_t n_others, word_t other
) noexcept nogil:
    cdef word_t word = draw_word(bits)
    cdef sum_t answer
    if word >= n_others * other:
        return symbol
    answer = <sum_t> (word // other)
    return answer if answer < symbol else answer + 1


cdef inline void draw_report(
    bits_t *bits, sum_t symbol, Py_ssize_t n_symbols, word_t background, word_t own, bint certain,
    bin_t *out
) noexcept nogil:
    cdef Py_ssize_t first, position
    cdef Py_ssize_t n_bytes = (n_symbols + 7) // 8
    cdef word_t lanes
    for first in range(0, n_symbols, 64):
        lanes = draw_lanes(bits, background)
        if n_symbols - first < 64:
            lanes &= ((<word_t> 1) << (n_symbols - first)) - 1
        if first <= symbol < first + 64:
            lanes &= ~((<word_t> 1) << (symbol - first))
            if certain or draw_word(bits) < own:
                lanes |= (<word_t> 1) << (symbol - first)
        for position in range(first // 8, min(first // 8 + 8, n_bytes)):
            out[position] = <bin_t> (lanes & 0xFF)
            lanes >>= 8


cdef int check_symbols(const sum_t[::1] symbols, sum_t n_symbols) except -1:
    cdef Py_ssize_t i
    cdef bint inside = True
    for i in range(symbols.shape[0]):
        inside = inside and 0 <= symbols[i] < n_symbols
    if not inside:
        raise ValueError("symbols must be in 0..n_symbols-1")
    return 0


def respond(bit_generator, const sum_t[::1] symbols, n_symbols, other, sum_t[::1] out):
    """Keep a symbol, or replace it by any other one with ``other`` units of probability each.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    symbols : int64 ndarray of shape (n,)
        In 0..n_symbols-1.
    n_symbols : int
        At least 2.
    other : int
        Units of 2^-64, at least 1; ``(n_symbols - 1) * other`` is below 2^64. What is left is
        the probability to keep the symbol.
    out : int64 ndarray of shape (n,)
        Overwritten with the answers.

    Raises
    ------
    ValueError
        If a number is out of its range or the lengths differ.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    if not (n_symbols >= 2 and other >= 1 and (n_symbols - 1) * other < 1 << 64):
        raise ValueError("the other symbols must leave a positive probability to keep the own one")
    if symbols.shape[0] != out.shape[0]:
        raise ValueError("symbols and out must have the same length")
    check_symbols(symbols, n_symbols)
    cdef word_t n_others = n_symbols - 1
    cdef word_t units = other
    with bit_generator.lock:
        with nogil:
            for i in range(symbols.shape[0]):
                out[i] = draw_response(&bits, symbols[i], n_others, units)
        if source_failed():
            for i in range(out.shape[0]):
                out[i] = 0
        raise_pending()


def toss_bits(
    bit_generator, const sum_t[::1] symbols, n_symbols, background, own, bin_t[:, ::1] out
):
    """Toss one coin for each symbol, with another probability for a report's own one.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    symbols : int64 ndarray of shape (n,)
        The own symbols, in 0..n_symbols-1.
    n_symbols : int
        Number of bits.
    background, own : int
        Units of 2^-64 for a one at another symbol, below 2^64, and at the own one, up to 2^64.
    out : uint8 ndarray of shape (n, ceil(n_symbols / 8))
        Overwritten; bit b of byte k is symbol 8 k + b, and bits beyond the last symbol are zero.

    Raises
    ------
    ValueError
        If a number is out of its range or the shapes do not fit.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    if not (n_symbols >= 1 and 0 <= background < 1 << 64 and 0 <= own <= 1 << 64):
        raise ValueError("background must be in 0..2**64-1 and own in 0..2**64")
    if out.shape[0] != symbols.shape[0] or out.shape[1] != (n_symbols + 7) // 8:
        raise ValueError("out must have a row for each symbol and a bit for each of n_symbols")
    check_symbols(symbols, n_symbols)
    cdef Py_ssize_t size = n_symbols
    cdef word_t background_units = background
    cdef bint certain = own == 1 << 64
    cdef word_t own_units = 0 if certain else own
    with bit_generator.lock:
        with nogil:
            for i in range(symbols.shape[0]):
                draw_report(
                    &bits, symbols[i], size, background_units, own_units, certain, &out[i, 0]
                )
        if source_failed():
            out[:, :] = 0
        raise_pending()


def round_levels(bit_generator, const sum_t[::1] positions, n_levels, sum_t[::1] out):
    """Round positions between levels up or down, without bias.

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call.
    positions : int64 ndarray of shape (n,)
        In units of 2^-32 of a level, at most ``(n_levels - 1) * 2^32``. A negative one has no
        level and gets a uniform one.
    n_levels : int
        In 1..2^31-1.
    out : int64 ndarray of shape (n,)
        Overwritten with levels in 0..n_levels-1.

    Raises
    ------
    ValueError
        If a number is out of its range or the lengths differ.
    OSError
        If the source runs out of random bits; ``out`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t i
    cdef word_t digits
    if not 1 <= n_levels < 1 << 31:
        raise ValueError("n_levels must be in 1..2**31-1")
    if positions.shape[0] != out.shape[0]:
        raise ValueError("positions and out must have the same length")
    cdef word_t levels = n_levels
    cdef sum_t highest = (n_levels - 1) << LEVEL_BITS
    cdef bint inside = True
    for i in range(positions.shape[0]):
        inside = inside and positions[i] <= highest
    if not inside:
        raise ValueError("positions must not lie above the last level")
    with bit_generator.lock:
        with nogil:
            for i in range(positions.shape[0]):
                if positions[i] < 0:
                    out[i] = <sum_t> draw_below(&bits, levels)
                else:
                    digits = <word_t> positions[i] & 0xFFFFFFFFULL
                    out[i] = positions[i] >> LEVEL_BITS
                    # A word is drawn for whole levels too: no report takes fewer than others.
                    out[i] += (draw_word(&bits) >> 32) < digits
        if source_failed():
            for i in range(out.shape[0]):
                out[i] = 0
        raise_pending()


def add_bits(const bin_t[:, ::1] bits, sum_t[::1] totals):
    """Add to each symbol's total how many reports have its bit set.

    Parameters
    ----------
    bits : uint8 ndarray of shape (n, ceil(n_symbols / 8))
        As `toss_bits` writes them.
    totals : int64 ndarray of shape (n_symbols,)
    """
    cdef Py_ssize_t n_bytes = bits.shape[1]
    cdef Py_ssize_t n_symbols = totals.shape[0]
    cdef Py_ssize_t i, position, bit, last
    if n_bytes != (n_symbols + 7) // 8:
        raise ValueError("bits must have one bit for each total")
    with nogil:
        for i in range(bits.shape[0]):
            for position in range(n_bytes):
                last = min(n_symbols - 8 * position, 8)
                for bit in range(last):
                    totals[8 * position + bit] += (bits[i, position] >> bit) & 1


def add_labeled_bits(
    const bin_t[:, ::1] bits, const sum_t[::1] labels, sum_t[::1] counts, sum_t[::1] sums
):
    """Add reports and their labels to the totals of the symbols whose bits are set.

    Parameters
    ----------
    bits : uint8 ndarray of shape (n, ceil(n_symbols / 8))
    labels : int64 ndarray of shape (n,)
    counts, sums : int64 ndarrays of shape (n_symbols,)
    """
    cdef Py_ssize_t n_bytes = bits.shape[1]
    cdef Py_ssize_t n_symbols = counts.shape[0]
    cdef Py_ssize_t i, position, bit, last
    cdef sum_t one
    if n_bytes != (n_symbols + 7) // 8 or sums.shape[0] != n_symbols:
        raise ValueError("bits must have one bit for each total")
    if labels.shape[0] != bits.shape[0]:
        raise ValueError("bits and labels must have the same length")
    with nogil:
        for i in range(bits.shape[0]):
            for position in range(n_bytes):
                last = min(n_symbols - 8 * position, 8)
                for bit in range(last):
                    one = (bits[i, position] >> bit) & 1
                    counts[8 * position + bit] += one
                    sums[8 * position + bit] += labels[i] & -one
