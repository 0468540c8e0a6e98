# Numbers as decimal digits, byte for byte as C's %d and %.<digits>g write them in the C locale.
#
# A double is m 2^e with an integer m. Its first digits are the integer nearest to m 2^e 10^s, for
# the s that leaves as many digits as are asked for: a quotient of two integers, of which one is a
# power of two or of ten. Where both fit 128 bits the quotient and its rest are exact, so rounding
# (to even on a tie) is too. That is so for whatever a leaf value or an edge usually is. The other
# doubles are spelled by Python itself.

from cpython.mem cimport PyMem_Free
from libc.math cimport isfinite
from libc.stdint cimport int64_t
from libc.string cimport memcpy, strlen

from _types cimport word_t
from _wide cimport wide_t

cdef extern from "Python.h":
    char* PyOS_double_to_string(double, char, int, int, int*) except NULL

cdef extern from *:
    """
    static const unsigned long long dpboost_tens[20] = {
        1ull, 10ull, 100ull, 1000ull, 10000ull, 100000ull, 1000000ull, 10000000ull, 100000000ull,
        1000000000ull, 10000000000ull, 100000000000ull, 1000000000000ull, 10000000000000ull,
        100000000000000ull, 1000000000000000ull, 10000000000000000ull, 100000000000000000ull,
        1000000000000000000ull, 10000000000000000000ull
    };
    static const char dpboost_pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    #define dpboost_width(word) (64 - __builtin_clzll(word))
    #define dpboost_zeros(word) __builtin_ctzll(word)
    """
    const word_t[20] TENS "dpboost_tens"
    const char* PAIRS "dpboost_pairs"
    int width_of "dpboost_width"(word_t word) noexcept nogil  # bits of a word that is not 0
    int zeros_below "dpboost_zeros"(word_t word) noexcept nogil  # of a word that is not 0

cdef struct Digits:
    word_t digits
    int exponent    # of ten, of the first digit


cdef inline int count_digits(word_t n) noexcept nogil:
    cdef int size = 3 if n >= 100 else 1
    while size < 20 and n >= TENS[size]:
        size += 1
    return size


cdef inline void write_digits(char* at, word_t n, int size) noexcept nogil:
    # The last `size` digits of n.
    cdef unsigned int four
    while size >= 4:
        size -= 4
        four = <unsigned int> (n % 10000)
        n //= 10000
        memcpy(at + size, PAIRS + 2 * (four // 100), 2)
        memcpy(at + size + 2, PAIRS + 2 * (four % 100), 2)
    four = <unsigned int> n
    if size >= 2:
        size -= 2
        memcpy(at + size, PAIRS + 2 * (four % 100), 2)
        four //= 100
    if size == 1:
        at[0] = <char> (c'0' + four % 10)


cdef inline char* put_natural(char* at, word_t n) noexcept nogil:
    cdef int size
    if n < 10:
        at[0] = <char> (c'0' + n)
        return at + 1
    if n < 100:
        memcpy(at, PAIRS + 2 * n, 2)
        return at + 2
    size = count_digits(n)
    write_digits(at, n, size)
    return at + size


cdef inline char* put_integer(char* at, int64_t n) noexcept nogil:
    if n >= 0:
        return put_natural(at, n)
    at[0] = c'-'
    return put_natural(at + 1, 0 - <word_t> n)


cdef inline wide_t ten_to_the(int power) noexcept nogil:
    # Up to 10^38, the largest of 128 bits.
    if power <= 19:
        return TENS[power]
    return <wide_t> TENS[19] * <wide_t> TENS[power - 19]


cdef inline int width_of_ten_to_the(int power) noexcept nogil:
    return (power * 3402 >> 10) + 1     # log2(10) = 3402 / 1024, right up to 10^38


cdef inline bint nearest(word_t m, int e, int s, word_t* near, word_t* below) noexcept nogil:
    # The integer nearest to m 2^e 10^s and the one at or below; False where 128 bits are too few.
    cdef wide_t number = m, part, rest
    cdef int power = s if s >= 0 else -s
    if power > 38:
        return False
    if s >= 0:
        if width_of(m) + width_of_ten_to_the(power) > 128 or e < -127:
            return False
        number = number * ten_to_the(power)
        if e >= 0:
            # Not more than the digits that are asked for, and one.
            below[0] = near[0] = <word_t> (number << e)
            return True
        part = <wide_t> 1 << -e
        below[0] = <word_t> (number >> -e)
        rest = number & (part - 1)
    else:
        if width_of(m) + e > 128 or width_of_ten_to_the(power) - e > 128:
            return False
        part = ten_to_the(power)
        if e >= 0:
            number = number << e
        else:
            part = part << -e
        below[0] = <word_t> (number // part)
        rest = number % part
    near[0] = below[0]
    if rest > part - rest or (rest == part - rest and below[0] & 1 == 1):
        near[0] += 1
    return True


cdef inline bint find_digits(word_t m, int e, int size, Digits* found) noexcept nogil:
    # The first digits of m 2^e, rounded.
    cdef word_t near, below
    # log10(2) = 1292913986 / 2^32: of a power of ten or of one in the same binade it is too small.
    cdef int64_t binade = width_of(m) - 1 + e
    cdef int exponent = <int> (binade * 1292913986 >> 32)
    if not nearest(m, e, size - 1 - exponent, &near, &below):
        return False
    if below >= TENS[size]:
        exponent += 1
        if not nearest(m, e, size - 1 - exponent, &near, &below):
            return False
    if near == TENS[size]:
        near = TENS[size - 1]
        exponent += 1
    found.digits = near
    found.exponent = exponent
    return True


cdef inline int without_zeros(const char* digits, int size) noexcept nogil:
    while digits[size - 1] == c'0':
        size -= 1
    return size


cdef inline char* put_digits(char* at, Digits found, int size) noexcept nogil:
    # As %g does: without zeros at the end, with an exponent where that is below -4 or too large.
    cdef int exponent = found.exponent
    cdef int n, i, whole = exponent + 1 if 0 <= exponent < size else 1
    if -4 <= exponent < 0:
        memcpy(at, b"0.000", 5)
        at += 1 - exponent
        write_digits(at, found.digits, size)
        return at + without_zeros(at, size)
    write_digits(at + 1, found.digits, size)
    n = without_zeros(at + 1, size)
    for i in range(whole):
        at[i] = at[i + 1]
    at[whole] = c'.'
    if 0 <= exponent < size:
        return at + n + 1 if n > whole else at + whole
    at += n + 1 if n > 1 else 1
    at[0] = c'e'
    at[1] = c'-' if exponent < 0 else c'+'
    exponent = -exponent if exponent < 0 else exponent
    if exponent < 10:
        at[2] = c'0'
        return put_natural(at + 3, exponent)
    return put_natural(at + 2, exponent)


cdef inline char* put_any_real(char* at, double x, int size) except NULL:
    cdef char* text = PyOS_double_to_string(x, c'g', size, 0, NULL)
    cdef size_t length = strlen(text)
    memcpy(at, text, length)
    PyMem_Free(text)
    return at + length


cdef inline char* put_real(char* at, double x, int size) except NULL:
    # `size` digits, at most 17, in at most 24 characters; nothing is written beyond 24 positions.
    cdef word_t bits, m
    cdef int e
    cdef Digits found
    memcpy(&bits, &x, 8)
    if x == 0.0 or not isfinite(x):
        return put_any_real(at, x, size)
    m = bits & 0xFFFFFFFFFFFFFULL
    e = <int> (bits >> 52 & 2047) - 1075
    if e == -1075:
        e += 1
    else:
        m |= 1ULL << 52
    e += zeros_below(m)
    m >>= zeros_below(m)
    if not find_digits(m, e, size, &found):
        return put_any_real(at, x, size)
    if x < 0.0:
        at[0] = c'-'
        at += 1
    return put_digits(at, found, size)
