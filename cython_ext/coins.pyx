"""Row coins: which block of a partition a row's 64-bit word falls into.

Proof: docs/proofs/samplers.md.
"""

from cython.parallel cimport prange

from _types cimport row_t, word_t

cdef enum:
    CHUNK = 8192
    SLICES = 4096      # of the range of words, by the leading bits
    SLICE_SHIFT = 52


def assign_blocks(
    const word_t[::1] words, const word_t[::1] thresholds, row_t[::1] blocks, int n_threads
):
    """Set ``blocks[i]`` to the number of thresholds that are at most ``words[i]``.

    The leading bits of a word say where to begin to count; few thresholds lie between there and
    the word, so that no bisection is needed, whose branches nobody can predict.

    Parameters
    ----------
    words : uint64 ndarray of shape (n,)
        One uniform word per row.
    thresholds : uint64 ndarray of shape (n_thresholds,)
        Cumulative probabilities in units of 2^-64, ascending. A cumulative probability of 1 has no
        such number and is left out: words beyond the last threshold belong to the last block.
    blocks : int32 ndarray of shape (n,)
        Receives numbers in 0..n_thresholds.
    n_threads : int
        Threads to use; the result does not depend on it.

    Raises
    ------
    ValueError
        If the lengths differ.
    """
    cdef Py_ssize_t n = words.shape[0]
    cdef Py_ssize_t n_thresholds = thresholds.shape[0]
    cdef Py_ssize_t n_chunks = (n + CHUNK - 1) // CHUNK
    cdef Py_ssize_t chunk
    cdef row_t first_block[SLICES]
    cdef const row_t* first = first_block
    cdef const word_t* borders = &thresholds[0] if n_thresholds else NULL
    if n != blocks.shape[0]:
        raise ValueError("words and blocks must have the same length")
    if n == 0:
        return
    _begin_slices(borders, n_thresholds, first_block)
    for chunk in prange(
        n_chunks, nogil=True, schedule="static", num_threads=n_threads,
        use_threads_if=n_chunks > 1,
    ):
        _assign_chunk(
            &words[chunk * CHUNK], min(n - chunk * CHUNK, <Py_ssize_t> CHUNK), borders,
            n_thresholds, first, &blocks[chunk * CHUNK],
        )


cdef void _begin_slices(
    const word_t* thresholds, Py_ssize_t n_thresholds, row_t* first_block
) noexcept nogil:
    """Find the block of the least word of every slice."""
    cdef Py_ssize_t slice_, block
    block = 0
    for slice_ in range(SLICES):
        # A word that equals a threshold is beyond it: a block gets exactly the words from the
        # threshold before to the one below its own, as many as its share has units of 2^-64.
        while block < n_thresholds and thresholds[block] <= <word_t> slice_ << SLICE_SHIFT:
            block += 1
        first_block[slice_] = <row_t> block


cdef void _assign_chunk(
    const word_t* words, Py_ssize_t n, const word_t* thresholds, Py_ssize_t n_thresholds,
    const row_t* first_block, row_t* blocks,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef row_t block
    for i in range(n):
        block = first_block[words[i] >> SLICE_SHIFT]
        while block < n_thresholds and thresholds[block] <= words[i]:
            block += 1
        blocks[i] = block
