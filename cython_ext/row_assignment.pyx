"""Rows by round: their order, their bins in compact columns.

For the order, rows are cut in chunks of a fixed size. A first pass counts the rows of every round
in every chunk, running sums fix where each chunk writes, and a second pass writes: every position
of the result is known before any thread writes, so the result is the stable order for any number of
threads.
"""

import numpy as np

from cython.parallel cimport prange

from _types cimport bin_t, row_t

cdef enum:
    CHUNK = 32768
    FEW = 16384    # cells that are not worth waking other threads for


def order_rows(
    const row_t[::1] rounds, row_t[::1] order, Py_ssize_t[::1] starts, int n_threads
):
    """Sort rows by round, those of one round by number.

    Parameters
    ----------
    rounds : int32 array of shape (n_rows,)
        Round of each row, in ``0..n_rounds - 1``.
    order : int32 array of shape (n_rows,)
        Overwritten with numbers of rows.
    starts : intp array of shape (n_rounds + 1,)
        Overwritten: the rows of round ``k`` are ``order[starts[k]:starts[k + 1]]``.
    n_threads : int
    """
    cdef Py_ssize_t n_rows = rounds.shape[0]
    cdef Py_ssize_t n_rounds = starts.shape[0] - 1
    cdef Py_ssize_t n_chunks = (n_rows + CHUNK - 1) // CHUNK
    # For each chunk and round: first the number of rows, then the position of the next one.
    cdef row_t[:, ::1] positions = np.zeros((n_chunks, n_rounds), dtype=np.int32)
    cdef Py_ssize_t chunk, k
    cdef row_t position, here
    position = 0
    with nogil:
        for chunk in prange(
            n_chunks, num_threads=n_threads, schedule="static", use_threads_if=n_chunks > 1
        ):
            _count(rounds, chunk * CHUNK, min(n_rows, (chunk + 1) * CHUNK), &positions[chunk, 0])
        # Rounds outside, chunks inside: the rows of a round come chunk after chunk, hence by
        # number.
        for k in range(n_rounds):
            starts[k] = position
            for chunk in range(n_chunks):
                here = positions[chunk, k]
                positions[chunk, k] = position
                position = position + here
        starts[n_rounds] = position
        for chunk in prange(
            n_chunks, num_threads=n_threads, schedule="static", use_threads_if=n_chunks > 1
        ):
            _write(
                rounds, chunk * CHUNK, min(n_rows, (chunk + 1) * CHUNK), &positions[chunk, 0], order
            )


cdef void _count(
    const row_t[::1] rounds, Py_ssize_t begin, Py_ssize_t end, row_t* counts
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(begin, end):
        counts[rounds[i]] += 1


cdef void _write(
    const row_t[::1] rounds, Py_ssize_t begin, Py_ssize_t end, row_t* positions, row_t[::1] order
) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(begin, end):
        order[positions[rounds[i]]] = <row_t> i
        positions[rounds[i]] += 1


def gather_rounds(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const Py_ssize_t[::1] starts,
    bin_t[::1] out,
    int n_threads,
):
    """Copy the bins of some rounds, one compact matrix after the other.

    The rows of one round lie all over a column: to copy them costs as much memory traffic as to
    read the column whole. So a column is read once for all rounds.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
    order : int32 array of shape (n_ordered,)
        Rows by round.
    starts : intp array of shape (n_rounds + 1,)
        The rows of round ``k`` are ``order[starts[k]:starts[k + 1]]``.
    out : uint8 array of shape (n_features * (starts[n_rounds] - starts[0]),)
        Overwritten with ``bins[:, rows]`` of every round.
    n_threads : int
    """
    cdef Py_ssize_t n_features = bins.shape[0]
    cdef Py_ssize_t n_rounds = starts.shape[0] - 1
    cdef Py_ssize_t f
    if out.shape[0] == 0:
        return
    for f in prange(
        n_features, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=out.shape[0] > FEW,
    ):
        _gather_column(&bins[f, 0], f, n_features, &order[0], &starts[0], n_rounds, &out[0])


cdef void _gather_column(
    const bin_t* column, Py_ssize_t f, Py_ssize_t n_features, const row_t* order,
    const Py_ssize_t* starts, Py_ssize_t n_rounds, bin_t* out,
) noexcept nogil:
    cdef Py_ssize_t k, i, n
    cdef const row_t* rows
    cdef bin_t* line
    for k in range(n_rounds):
        n = starts[k + 1] - starts[k]
        rows = order + starts[k]
        line = out + n_features * (starts[k] - starts[0]) + f * n
        for i in range(n):
            line[i] = column[rows[i]]
