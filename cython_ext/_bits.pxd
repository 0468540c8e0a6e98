# Exact coins over a numpy BitGenerator: integers only, no floating point, no cap on trials.
#
# A coin exp(-p/q) follows Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
# Privacy" (2020), Algorithm 1: for p/q <= 1 the first failure of coins (p/q)/1, (p/q)/2,
# (p/q)/3, ... falls on an odd position with probability exp(-p/q); larger exponents are that many
# coins exp(-1) and one for the fraction. Coins stop at the first failure, so that a hopeless
# exponent costs little more than one random bit.

from cpython.exc cimport PyErr_Occurred
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t, uint64_t

from _types cimport word_t
from _wide cimport wide_t

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        uint64_t (*next_uint64)(void *state) noexcept nogil
        uint32_t (*next_uint32)(void *state) noexcept nogil


cdef struct bits_t:
    bitgen_t *source
    word_t pool         # bits not yet used, the next one lowest
    int left            # how many


cdef inline bitgen_t *source_of(object bit_generator) except NULL:
    return <bitgen_t *> PyCapsule_GetPointer(bit_generator.capsule, "BitGenerator")


cdef inline bint source_failed() noexcept:
    # A source without bits cannot raise inside a loop without the GIL: it leaves the exception
    # pending in this thread, and the loop ends on words that the caller must throw away.
    return PyErr_Occurred() != NULL


cdef inline int raise_pending() except -1:
    return -1 if source_failed() else 0


cdef inline bits_t open_bits(bitgen_t *source) noexcept nogil:
    cdef bits_t bits
    bits.source = source
    bits.pool = 0
    bits.left = 0
    return bits


cdef inline word_t draw_word(bits_t *bits) noexcept nogil:
    return bits.source.next_uint64(bits.source.state)


cdef inline bint draw_bit(bits_t *bits) noexcept nogil:
    cdef bint bit
    if bits.left == 0:
        bits.pool = draw_word(bits)
        bits.left = 64
    bit = bits.pool & 1
    bits.pool >>= 1
    bits.left -= 1
    return bit


cdef inline word_t draw_below(bits_t *bits, word_t n) noexcept nogil:
    # Uniform in 0..n-1 for n >= 1: Lemire, "Fast Random Integer Generation in an Interval"
    # (2019), Algorithm 5. The high half of word * n, with the words that would give some values
    # one pre-image too many rejected.
    cdef word_t product
    cdef uint32_t n_short, surplus_short
    cdef wide_t wide
    cdef word_t surplus
    if n == 1:
        return 0
    if n <= 0xFFFFFFFFULL:
        n_short = <uint32_t> n
        product = <word_t> bits.source.next_uint32(bits.source.state) * n
        if <uint32_t> product < n_short:
            surplus_short = (0 - n_short) % n_short
            while <uint32_t> product < surplus_short:
                product = <word_t> bits.source.next_uint32(bits.source.state) * n
        return product >> 32
    wide = <wide_t> draw_word(bits) * <wide_t> n
    if <word_t> wide < n:
        surplus = (0 - n) % n
        while <word_t> wide < surplus:
            wide = <wide_t> draw_word(bits) * <wide_t> n
    return <word_t> (wide >> 64)


cdef inline bint bernoulli(bits_t *bits, word_t p, word_t q) noexcept nogil:
    # True with probability min(1, p/q), q >= 1: random bits against the binary digits of p/q,
    # decided at the first that differ, two bits on average. p == 0 means that all digits to come
    # are zero.
    cdef word_t rest
    cdef bint digit
    if p >= q:
        return True
    while p != 0:
        rest = q - p
        digit = p >= rest
        p = p - rest if digit else p + p
        if draw_bit(bits) != digit:
            return digit
    return False


cdef inline bint bernoulli_two_over_e(bits_t *bits) noexcept nogil:
    # The coin exp(-1) given that its first random bit, the coin 1/2, came up.
    cdef word_t position = 3
    while bernoulli(bits, 1, position):
        position += 1
    return position & 1


cdef inline bint bernoulli_exp_one(bits_t *bits) noexcept nogil:
    # exp(-1): the coin 1/1 is certain, so the first random bit already fails half of the time.
    return draw_bit(bits) and bernoulli_two_over_e(bits)


cdef inline bint bernoulli_exp_fraction(bits_t *bits, word_t p, word_t q) noexcept nogil:
    # exp(-p/q) for p <= q. The coin (p/q)/position is two coins, so that nothing can overflow.
    cdef word_t position = 1
    while bernoulli(bits, 1, position) and bernoulli(bits, p, q):
        position += 1
    return position & 1


cdef inline bint bernoulli_exp(bits_t *bits, word_t p, word_t q) noexcept nogil:
    while p >= q:
        if not bernoulli_exp_one(bits):
            return False
        p -= q
    return bernoulli_exp_fraction(bits, p, q)


cdef inline bint bernoulli_exp_wide(bits_t *bits, wide_t p, word_t q) noexcept nogil:
    while p >= q:
        if not bernoulli_exp_one(bits):
            return False
        p = p - <wide_t> q
    return bernoulli_exp_fraction(bits, <word_t> p, q)
