"""The exponential mechanism over scores that come in runs of neighbors.

The same sampler as in the selection kernel, and the same draws from the same bits: a proposal is
looked up among the runs, and passes over all candidates become passes over runs.

Proof: docs/proofs/samplers.md.
"""

from _bits cimport (
    bitgen_t,
    bits_t,
    draw_below,
    open_bits,
    raise_pending,
    source_failed,
    source_of,
)
from _levels cimport (
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

cdef struct runs_t:
    # Runs of one node; the last one ends at n_candidates.
    const sum_t *scores
    const row_t *starts
    Py_ssize_t n
    Py_ssize_t n_candidates


cdef inline word_t length_of(const runs_t *runs, Py_ssize_t run) noexcept nogil:
    cdef Py_ssize_t stop = runs.starts[run + 1] if run + 1 < runs.n else runs.n_candidates
    return <word_t> (stop - runs.starts[run])


cdef inline Py_ssize_t best_run(const runs_t *runs) noexcept nogil:
    # The first of the best ones.
    cdef Py_ssize_t best = 0
    cdef Py_ssize_t run
    for run in range(1, runs.n):
        if runs.scores[run] > runs.scores[best]:
            best = run
    return best


cdef inline sum_t score_of(const runs_t *runs, row_t candidate) noexcept nogil:
    # By bisection: the last run that starts at the candidate or before.
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = runs.n
    cdef Py_ssize_t middle
    while high - low > 1:
        middle = (low + high) >> 1
        if runs.starts[middle] <= candidate:
            low = middle
        else:
            high = middle
    return runs.scores[low]


cdef Py_ssize_t member_of_level(
    const runs_t *runs, sum_t best, const levels_t *levels, int level, word_t position, sum_t *score
) noexcept nogil:
    # Candidate number `position` among those of the level, and its score.
    cdef Py_ssize_t run = 0
    while True:
        if level_of(levels, gap_of(best, runs.scores[run])) == level:
            if position < length_of(runs, run):
                score[0] = runs.scores[run]
                return runs.starts[run] + <Py_ssize_t> position
            position -= length_of(runs, run)
        run += 1


cdef Py_ssize_t by_level(
    bits_t *bits, const runs_t *runs, sum_t best, const levels_t *levels, word_t p, word_t q
) noexcept nogil:
    # As in the selection kernel: weight 2^-j at level j, then what remains of the coin.
    cdef word_t size[MOST_LEVELS + 1]
    cdef word_t total = 0
    cdef word_t position
    cdef sum_t score = 0
    cdef Py_ssize_t run, candidate
    cdef int level
    for level in range(levels.last + 1):
        size[level] = 0
    for run in range(runs.n):
        size[level_of(levels, gap_of(best, runs.scores[run]))] += length_of(runs, run)
    for level in range(levels.last + 1):
        total += size[level] << (levels.last - level)
    while True:
        position = draw_below(bits, total)
        level = 0
        while position >= size[level] << (levels.last - level):
            position -= size[level] << (levels.last - level)
            level += 1
        if pass_level(bits, level):
            candidate = member_of_level(
                runs, best, levels, level, position >> (levels.last - level), &score
            )
            if accept_beyond(bits, gap_of(best, score), level, p, q):
                return candidate


cdef Py_ssize_t draw(
    bits_t *bits, const runs_t *runs, const levels_t *levels, word_t p, word_t q
) noexcept nogil:
    cdef sum_t best = runs.scores[best_run(runs)]
    cdef Py_ssize_t _trial, candidate
    for _trial in range(n_trials(runs.n_candidates)):
        candidate = draw_below(bits, runs.n_candidates)
        if accept(bits, gap_of(best, score_of(runs, <row_t> candidate)), p, q):
            return candidate
    return by_level(bits, runs, best, levels, p, q)


cdef runs_t runs_at(
    const sum_t[::1] scores, const row_t[::1] starts, const Py_ssize_t[::1] node_start,
    Py_ssize_t node, Py_ssize_t n_candidates
) noexcept nogil:
    cdef runs_t runs
    runs.scores = &scores[node_start[node]]
    runs.starts = &starts[node_start[node]]
    runs.n = node_start[node + 1] - node_start[node]
    runs.n_candidates = n_candidates
    return runs


def exponential(
    bit_generator, const sum_t[::1] scores, const row_t[::1] starts,
    const Py_ssize_t[::1] node_start, n_candidates, numerator, denominator, row_t[::1] chosen
):
    """Draw one candidate a node, P(i) proportional to exp(score_i numerator/denominator).

    Parameters
    ----------
    bit_generator : numpy.random.BitGenerator
        Its lock is held for the whole call; nodes are drawn in order.
    scores : int64 ndarray of shape (n_runs,)
    starts : int32 ndarray of shape (n_runs,)
        First candidate of each run.
    node_start : intp ndarray of shape (n_nodes + 1,)
        Runs of node ``k`` are ``node_start[k]:node_start[k + 1]``, at least one, from candidate 0.
    n_candidates : int
        Of each node.
    numerator, denominator : int
        Both in 1..2**63-1.
    chosen : int32 ndarray of shape (n_nodes,)
        Receives the candidates: those that the selection kernel draws from all scores.

    Raises
    ------
    ValueError
        If there is no candidate or a number is out of its range.
    OSError
        If the source runs out of random bits; ``chosen`` is then all zero.
    """
    cdef bitgen_t *source = source_of(bit_generator)
    if not (0 < numerator < 1 << 63 and 0 < denominator < 1 << 63):
        raise ValueError("numerator and denominator must be in 1..2**63-1")
    if not 0 < n_candidates < 1 << 31:
        raise ValueError("there must be between 1 and 2**31-1 candidates")
    cdef Py_ssize_t n = n_candidates
    cdef bits_t bits = open_bits(source)
    cdef word_t p = numerator
    cdef word_t q = denominator
    cdef levels_t levels = levels_of(n, p, q)
    cdef runs_t runs
    cdef Py_ssize_t node
    with bit_generator.lock:
        with nogil:
            for node in range(chosen.shape[0]):
                runs = runs_at(scores, starts, node_start, node, n)
                chosen[node] = <row_t> draw(&bits, &runs, &levels, p, q)
        if source_failed():
            # The choice rests on words that are not random.
            for node in range(chosen.shape[0]):
                chosen[node] = 0
        raise_pending()


def argmax(
    const sum_t[::1] scores, const row_t[::1] starts, const Py_ssize_t[::1] node_start,
    row_t[::1] chosen
):
    """Set ``chosen[node]`` to the candidate of the highest score, ties to the lowest index.

    Not private: for ``epsilon=inf`` only. Parameters as `exponential`.
    """
    cdef runs_t runs
    cdef Py_ssize_t node
    with nogil:
        for node in range(chosen.shape[0]):
            runs = runs_at(scores, starts, node_start, node, 1)
            chosen[node] = runs.starts[best_run(&runs)]
