"""Row coins: which block of a partition a row's 64-bit word falls into."""

from cython.parallel cimport prange

from _types cimport row_t, word_t


cdef inline row_t block_of(
    word_t word, const word_t[::1] thresholds, Py_ssize_t n_thresholds
) noexcept nogil:
    # Number of thresholds <= word, by bisection of the sorted thresholds.
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t high = n_thresholds
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high) // 2
        if thresholds[middle] <= word:
            low = middle + 1
        else:
            high = middle
    return <row_t> low


def assign_blocks(
    const word_t[::1] words, const word_t[::1] thresholds, row_t[::1] blocks, int n_threads
):
    """Set ``blocks[i]`` to the number of thresholds that are at most ``words[i]``.

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
    cdef Py_ssize_t n_thresholds = thresholds.shape[0]
    cdef Py_ssize_t i
    if words.shape[0] != blocks.shape[0]:
        raise ValueError("words and blocks must have the same length")
    for i in prange(words.shape[0], nogil=True, schedule="static", num_threads=n_threads):
        blocks[i] = block_of(words[i], thresholds, n_thresholds)
