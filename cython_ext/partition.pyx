"""Stable partition of every node's rows by its released split.

Rows are cut in chunks of a fixed size inside each node. A first pass counts the left rows of every
chunk, their running sums fix where each chunk writes, and a second pass writes: every position of
the result is known before any thread writes, so the result is the stable order for any number of
threads, and one big node keeps all threads busy.
"""

import numpy as np

from cython.parallel cimport prange

from _types cimport bin_t, row_t

cdef enum:
    CHUNK = 8192


def split_rows(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const row_t[::1] starts,
    const row_t[::1] feature,
    const bin_t[::1] split_bin,
    const bin_t[::1] is_categorical,
    row_t[::1] order_out,
    row_t[::1] starts_out,
    int n_threads,
):
    """Split the rows of every node into those of its left and of its right child.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column.
    order : int32 array of shape (n_ordered,)
        Columns of ``bins``, grouped by node.
    starts : int32 array of shape (n_nodes + 1,)
        Node ``k`` owns ``order[starts[k]:starts[k + 1]]``; ``starts[0]`` is 0.
    feature : int32 array of shape (n_nodes,)
        Negative where a node is not split: all its rows go to the left child.
    split_bin : uint8 array of shape (n_nodes,)
        Last bin that goes left, or the one category that does.
    is_categorical : uint8 array of shape (n_features,)
    order_out : int32 array of shape (n_ordered,)
        Overwritten; must not be ``order``.
    starts_out : int32 array of shape (2 * n_nodes + 1,)
        Overwritten; node ``k`` has left child ``2 k`` and right child ``2 k + 1``.
    n_threads : int
    """
    cdef Py_ssize_t n_nodes = feature.shape[0]
    cdef Py_ssize_t most_chunks = n_nodes + order.shape[0] // CHUNK + 1
    # Small helpers, one entry per chunk; the rows themselves are moved without a copy.
    cdef row_t[::1] chunk_node = np.empty(most_chunks, dtype=np.int32)
    cdef row_t[::1] chunk_begin = np.empty(most_chunks, dtype=np.int32)
    cdef row_t[::1] chunk_left = np.empty(most_chunks, dtype=np.int32)
    cdef Py_ssize_t n_chunks = 0
    cdef Py_ssize_t k, c
    cdef row_t begin, before
    with nogil:
        for k in range(n_nodes):
            begin = starts[k]
            while begin < starts[k + 1]:
                chunk_node[n_chunks] = <row_t> k
                chunk_begin[n_chunks] = begin
                n_chunks += 1
                begin += min(<row_t> CHUNK, starts[k + 1] - begin)
        for c in prange(
            n_chunks, num_threads=n_threads, schedule="static", use_threads_if=n_chunks > 1
        ):
            chunk_left[c] = _count_left(
                bins, order, starts, feature, split_bin, is_categorical,
                chunk_node[c], chunk_begin[c],
            )
        # Turn counts into positions: chunk_left becomes the left rows of the node before the chunk.
        c = 0
        for k in range(n_nodes):
            before = 0
            while c < n_chunks and chunk_node[c] == k:
                before += chunk_left[c]
                chunk_left[c] = before - chunk_left[c]
                c = c + 1
            starts_out[2 * k] = starts[k]
            starts_out[2 * k + 1] = starts[k] + before
        starts_out[2 * n_nodes] = starts[n_nodes]
        for c in prange(
            n_chunks, num_threads=n_threads, schedule="static", use_threads_if=n_chunks > 1
        ):
            _scatter(
                bins, order, starts, feature, split_bin, is_categorical,
                chunk_node[c], chunk_begin[c], chunk_left[c], order_out, starts_out,
            )


cdef row_t _count_left(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const row_t[::1] starts,
    const row_t[::1] feature,
    const bin_t[::1] split_bin,
    const bin_t[::1] is_categorical,
    Py_ssize_t node,
    Py_ssize_t begin,
) noexcept nogil:
    cdef Py_ssize_t end = min(begin + CHUNK, <Py_ssize_t> starts[node + 1])
    cdef bin_t low, width
    cdef const bin_t* column
    cdef row_t left = 0
    cdef Py_ssize_t i
    if feature[node] < 0:
        return <row_t> (end - begin)
    column = &bins[feature[node], 0]
    low = split_bin[node] if is_categorical[feature[node]] else 0
    width = split_bin[node] - low
    for i in range(begin, end):
        left += <bin_t> (column[order[i]] - low) <= width
    return left


cdef void _scatter(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const row_t[::1] starts,
    const row_t[::1] feature,
    const bin_t[::1] split_bin,
    const bin_t[::1] is_categorical,
    Py_ssize_t node,
    Py_ssize_t begin,
    Py_ssize_t left_before,
    row_t[::1] order_out,
    const row_t[::1] starts_out,
) noexcept nogil:
    cdef Py_ssize_t end = min(begin + CHUNK, <Py_ssize_t> starts[node + 1])
    cdef Py_ssize_t left = starts_out[2 * node] + left_before
    cdef Py_ssize_t right = starts_out[2 * node + 1] + (begin - starts[node] - left_before)
    cdef bin_t low, width
    cdef const bin_t* column
    cdef Py_ssize_t i, goes_left
    if feature[node] < 0:
        for i in range(begin, end):
            order_out[i] = order[i]
        return
    column = &bins[feature[node], 0]
    # One comparison serves both kinds: bins 0..b, or the single bin b.
    low = split_bin[node] if is_categorical[feature[node]] else 0
    width = split_bin[node] - low
    for i in range(begin, end):
        # Arithmetic instead of a branch, which would be mispredicted for every other row.
        goes_left = <bin_t> (column[order[i]] - low) <= width
        order_out[right ^ ((left ^ right) & -goes_left)] = order[i]
        left += goes_left
        right += 1 - goes_left
