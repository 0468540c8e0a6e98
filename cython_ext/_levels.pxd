# How far a candidate lies below the best one, and the coins that let it through all the same.
#
# A gap is counted in nats: gap p/q. Level j holds the gaps of j to j + 1 nats. The coin exp(-gap)
# of a candidate at level j is j first bits of coins exp(-1), what remains of these coins
# (`pass_level`), and a coin for the gap beyond j nats (`accept_beyond`).

from _bits cimport bernoulli_exp_wide, bernoulli_two_over_e, bits_t, wide_t
from _types cimport sum_t, word_t

cdef enum:
    MOST_LEVELS = 32
    FIRST_TRIALS = 32
    MOST_TRIALS = 2048


cdef struct levels_t:
    # Level j holds the gaps of j to j + 1 nats, the last level all larger ones.
    int last
    word_t start[MOST_LEVELS + 1]


cdef inline Py_ssize_t n_trials(Py_ssize_t n) noexcept nogil:
    # Plain trials before a pass over all candidates: about as long as the pass, and no longer.
    return min(FIRST_TRIALS + n // 8, <Py_ssize_t> MOST_TRIALS)


cdef inline word_t gap_of(sum_t best, sum_t score) noexcept nogil:
    return <word_t> best - <word_t> score       # exact: 0 <= best - score < 2^64


cdef inline bint accept(bits_t *bits, word_t gap, word_t p, word_t q) noexcept nogil:
    return bernoulli_exp_wide(bits, <wide_t> gap * <wide_t> p, q)


cdef inline bint pass_level(bits_t *bits, int level) noexcept nogil:
    # What remains of `level` coins exp(-1) when the first bit of each came up.
    cdef int _coin
    for _coin in range(level):
        if not bernoulli_two_over_e(bits):
            return False
    return True


cdef inline bint accept_beyond(
    bits_t *bits, word_t gap, int level, word_t p, word_t q
) noexcept nogil:
    cdef wide_t rest = <wide_t> gap * <wide_t> p - <wide_t> level * <wide_t> q
    return bernoulli_exp_wide(bits, rest, q)


cdef inline levels_t levels_of(Py_ssize_t n, word_t p, word_t q) noexcept nogil:
    # Beyond log2(n) nats a level's weight is below 2^-j n < 1, so more levels gain nothing.
    cdef levels_t levels
    cdef wide_t start
    cdef int level = 0
    levels.start[0] = 0
    while level < MOST_LEVELS and (n >> level) > 0:
        start = (<wide_t> (level + 1) * <wide_t> q + <wide_t> (p - 1)) // <wide_t> p
        if start >> 64 != 0:                    # no gap of 64 bits reaches that level
            break
        level += 1
        levels.start[level] = <word_t> start
    levels.last = level
    return levels


cdef inline int level_of(const levels_t *levels, word_t gap) noexcept nogil:
    cdef int level = 0
    if gap >= levels.start[levels.last]:
        return levels.last
    while gap >= levels.start[level + 1]:
        level += 1
    return level
