"""Exact private selection: candidates proposed uniformly, accepted by integer coins.

With replacement, accepting candidate i with exp(-(best - score_i) p/q) is the exponential
mechanism; without replacement it is permute-and-flip (McKenna and Sheldon, "Permute-and-Flip",
2020, Algorithm 1). Neither is ever cut short: both kernels begin with plain trials and, when these
fail, pass to a second exact sampler of the same distribution that costs a few passes over the
row. The number of trials stays in here: it depends on the private scores.

Proof: docs/proofs/samplers.md.
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
from _levels cimport (
    FIRST_TRIALS,
    MOST_LEVELS,
    accept,
    accept_beyond,
    gap_of,
    level_of,
    levels_of,
    levels_t,
    n_trials,
    pass_level,
)
from _types cimport row_t, sum_t, word_t

cdef enum:
    FAR_LEVEL = 8       # nats from which 64 candidates share random words


cdef inline sum_t highest(const sum_t *scores, Py_ssize_t n) noexcept nogil:
    cdef sum_t best = scores[0]
    cdef Py_ssize_t i
    for i in range(1, n):
        best = scores[i] if scores[i] > best else best
    return best


cdef Py_ssize_t member_of_level(
    const sum_t *scores, sum_t best, const levels_t *levels, int level, word_t position
) noexcept nogil:
    # Index of the candidate number `position` among those of the level.
    cdef word_t low = levels.start[level]
    cdef word_t gap
    cdef Py_ssize_t i = 0
    while True:
        gap = gap_of(best, scores[i])
        if gap >= low and (level == levels.last or gap < levels.start[level + 1]):
            if position == 0:
                return i
            position -= 1
        i += 1


cdef Py_ssize_t exponential_by_level(
    bits_t *bits, const sum_t *scores, Py_ssize_t n, sum_t best, const levels_t *levels,
    word_t p, word_t q
) noexcept nogil:
    # Propose with weight 2^-j instead of 1 at level j: an integer number of units 2^-last. The
    # acceptance exp(-gap) / 2^-j is then j coins 2/e and a coin for the rest of the gap.
    cdef word_t size[MOST_LEVELS + 1]
    cdef word_t total = 0
    cdef word_t position
    cdef Py_ssize_t i
    cdef int level
    for level in range(levels.last + 1):
        size[level] = 0
    for i in range(n):
        size[level_of(levels, gap_of(best, scores[i]))] += 1
    for level in range(levels.last + 1):
        total += size[level] << (levels.last - level)
    while True:
        position = draw_below(bits, total)
        level = 0
        while position >= size[level] << (levels.last - level):
            position -= size[level] << (levels.last - level)
            level += 1
        if pass_level(bits, level):
            i = member_of_level(scores, best, levels, level, position >> (levels.last - level))
            if accept_beyond(bits, gap_of(best, scores[i]), level, p, q):
                return i


cdef Py_ssize_t draw_exponential(
    bits_t *bits, const sum_t *scores, Py_ssize_t n, const levels_t *levels, word_t p, word_t q
) noexcept nogil:
    cdef sum_t best = highest(scores, n)
    cdef Py_ssize_t _trial, i
    for _trial in range(n_trials(n)):
        i = draw_below(bits, n)
        if accept(bits, gap_of(best, scores[i]), p, q):
            return i
    # Trials are independent: after any number of failures every exact sampler may go on.
    return exponential_by_level(bits, scores, n, best, levels, p, q)


cdef inline bint contains(const Py_ssize_t *seen, int n_seen, Py_ssize_t i) noexcept nogil:
    cdef int k
    for k in range(n_seen):
        if seen[k] == i:
            return True
    return False


cdef word_t flip_block(
    bits_t *bits, const sum_t *scores, int n, sum_t best, const levels_t *levels, word_t p, word_t q
) noexcept nogil:
    # One coin for each of up to 64 candidates; bit i of the result is the head of scores[i].
    # Random words serve as the first bits of all far candidates' coins exp(-1): few survive.
    cdef int level = levels.last if levels.last < FAR_LEVEL else FAR_LEVEL
    cdef word_t far = 0
    cdef word_t heads, bit
    cdef int i, _round
    for i in range(n):
        far |= <word_t> (gap_of(best, scores[i]) >= levels.start[level]) << i
    heads = far
    for _round in range(level):
        if heads == 0:
            break
        heads &= draw_word(bits)
    if heads == 0 and far == (~(<word_t> 0)) >> (64 - n):
        return 0
    for i in range(n):
        bit = <word_t> 1 << i
        if not far & bit:
            if accept(bits, gap_of(best, scores[i]), p, q):
                heads |= bit
        elif heads & bit:
            if not (
                pass_level(bits, level)
                and accept_beyond(bits, gap_of(best, scores[i]), level, p, q)
            ):
                heads ^= bit
    return heads


cdef Py_ssize_t draw_permute_and_flip(
    bits_t *bits, const sum_t *scores, Py_ssize_t n, const levels_t *levels, word_t p, word_t q
) noexcept nogil:
    cdef sum_t best = highest(scores, n)
    cdef Py_ssize_t seen[FIRST_TRIALS]
    cdef int n_seen = 0
    cdef word_t n_heads = 0
    cdef word_t heads
    cdef Py_ssize_t i, start
    cdef Py_ssize_t chosen = 0
    while n_seen < FIRST_TRIALS:
        i = draw_below(bits, n)
        if contains(seen, n_seen, i):
            continue
        if accept(bits, gap_of(best, scores[i]), p, q):
            return i
        seen[n_seen] = i
        n_seen += 1
    # The first head of a random order is a uniform one of all heads, and every candidate has one
    # coin: so flip the coins of the others in any order and keep each head with chance 1/heads.
    for start in range(0, n, 64):
        heads = flip_block(bits, scores + start, <int> min(n - start, 64), best, levels, p, q)
        i = start
        while heads != 0:
            if heads & 1 and not contains(seen, n_seen, i):
                n_heads += 1
                if draw_below(bits, n_heads) == 0:
                    chosen = i
            heads >>= 1
            i += 1
    return chosen


cdef int check(scores_shape, chosen_shape, numerator, denominator) except -1:
    if not (0 < numerator < 1 << 63 and 0 < denominator < 1 << 63):
        raise ValueError("numerator and denominator must be in 1..2**63-1")
    return check_shapes(scores_shape[0], scores_shape[1], chosen_shape[0])


cdef int check_shapes(Py_ssize_t n_rows, Py_ssize_t n_candidates, Py_ssize_t n_chosen) except -1:
    if not 0 < n_candidates < 1 << 31:
        raise ValueError("scores must have between 1 and 2**31-1 columns")
    if n_rows != n_chosen:
        raise ValueError("chosen must have one entry for each row of scores")
    return 0


cdef int finish(row_t[::1] chosen) except -1:
    # After a failure the choice rests on words that are not random.
    cdef Py_ssize_t row
    if source_failed():
        for row in range(chosen.shape[0]):
            chosen[row] = 0
    return raise_pending()


def exponential(
    bit_generator, const sum_t[:, ::1] scores, numerator, denominator, row_t[::1] chosen
):
    """Draw one candidate per row, P(i) proportional to exp(scores[row, i] numerator/denominator).

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call; rows are drawn in order.
    scores : int64 ndarray of shape (n_rows, n_candidates)
        Any int64; gaps and exponents are exact in 128 bits.
    numerator, denominator : int
        Both in 1..2**63-1.
    chosen : int32 ndarray of shape (n_rows,)
        Receives the indices.

    Raises
    ------
    ValueError
        If there is no candidate, a number is out of its range, or the lengths differ.
    OSError
        If the source runs out of random bits; ``chosen`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    check((scores.shape[0], scores.shape[1]), (chosen.shape[0],), numerator, denominator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t n = scores.shape[1]
    cdef word_t p = numerator
    cdef word_t q = denominator
    cdef levels_t levels = levels_of(n, p, q)
    cdef Py_ssize_t row
    with bit_generator.lock:
        with nogil:
            for row in range(scores.shape[0]):
                chosen[row] = <row_t> draw_exponential(&bits, &scores[row, 0], n, &levels, p, q)
        finish(chosen)


def permute_and_flip(
    bit_generator, const sum_t[:, ::1] scores, numerator, denominator, row_t[::1] chosen
):
    """Draw one candidate per row by permute-and-flip.

    In random order without replacement, candidate i is accepted with probability
    exp(-(best - scores[row, i]) numerator/denominator). Parameters and errors as `exponential`.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    check((scores.shape[0], scores.shape[1]), (chosen.shape[0],), numerator, denominator)
    cdef bits_t bits = open_bits(source)
    cdef Py_ssize_t n = scores.shape[1]
    cdef word_t p = numerator
    cdef word_t q = denominator
    cdef levels_t levels = levels_of(n, p, q)
    cdef Py_ssize_t row
    with bit_generator.lock:
        with nogil:
            for row in range(scores.shape[0]):
                chosen[row] = <row_t> draw_permute_and_flip(
                    &bits, &scores[row, 0], n, &levels, p, q
                )
        finish(chosen)


def argmax(const sum_t[:, ::1] scores, row_t[::1] chosen):
    """Set ``chosen[row]`` to the column of the highest score, ties to the lowest index.

    Not private: for ``epsilon=inf`` only. Raises ValueError as `exponential`.
    """
    cdef Py_ssize_t row, i
    cdef Py_ssize_t best
    check_shapes(scores.shape[0], scores.shape[1], chosen.shape[0])
    with nogil:
        for row in range(scores.shape[0]):
            best = 0
            for i in range(1, scores.shape[1]):
                if scores[row, i] > scores[row, best]:
                    best = i
            chosen[row] = <row_t> best
