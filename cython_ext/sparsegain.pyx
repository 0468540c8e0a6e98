"""Scores of every candidate split from sparse columns, as runs of neighbors with one score.

Where no row of a node stores anything between two bins of a feature, the thresholds between them
divide the node alike, and where no row of it stores anything at all, every candidate of the
feature leaves it as it is. So the scores of a node are runs, at most a few for each stored cell,
and only these are computed: the cost does not depend on the number of features or bins. The
scores are those of the gain kernel, from the same integers.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdlib cimport calloc, free, realloc

from _gain cimport child_score
from _sets cimport lowest_bit
from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    CELLS = 256      # cells of one feature, missing bin included
    SET_WORDS = 4    # a set of bins is 256 bits
    PARTS = 16       # runs of features for each thread
    FIRST_ROOM = 1024

cdef struct columns_t:
    Py_ssize_t n_features
    const Py_ssize_t* column_start
    const row_t* rows
    const bin_t* bins
    const bin_t* fill
    const row_t* node_of_row
    const sum_t* words
    const row_t* cell_offsets
    const row_t* candidate_offsets
    const bin_t* is_categorical

cdef struct score_t:
    # The score of a candidate, and the nodes it is asked for.
    double hessian
    double reg_lambda
    double scale
    double limit
    Py_ssize_t n_nodes
    const sum_t* total_sums
    const sum_t* total_counts
    const sum_t* undivided

cdef struct cells_t:
    # Cells of one feature by node, and which of them hold a stored row.
    sum_t* sums
    sum_t* counts
    word_t* stored
    row_t* touched

cdef struct runs_t:
    # Runs in the order in which features give them; ``last`` is each node's last score.
    sum_t* score
    row_t* start
    row_t* node
    sum_t* last
    Py_ssize_t n
    Py_ssize_t room
    bint failed


def runs(
    const Py_ssize_t[::1] column_start,
    const row_t[::1] stored_rows,
    const bin_t[::1] stored_bins,
    const bin_t[::1] fill,
    const row_t[::1] node_of_row,
    const sum_t[::1] words,
    const sum_t[::1] total_sums,
    const sum_t[::1] total_counts,
    const row_t[::1] cell_offsets,
    const row_t[::1] candidate_offsets,
    const bin_t[::1] is_categorical,
    double hessian,
    double reg_lambda,
    double scale,
    sum_t limit,
    int n_threads,
):
    """Score every candidate of every node, by runs of neighbors with one score.

    Parameters
    ----------
    column_start : intp array of shape (n_features + 1,)
        Entries of feature ``f`` are ``column_start[f]:column_start[f + 1]``, each row once.
    stored_rows : int32 array of shape (n_stored,)
    stored_bins : uint8 array of shape (n_stored,)
    fill : uint8 array of shape (n_features,)
        Bin of the rows that a column does not store.
    node_of_row : int32 array of shape (n_rows,)
    words : int64 array of shape (n_rows,)
        ``(gradient << 32) + 1``, or 0 for a row that takes no part.
    total_sums, total_counts : int64 arrays of shape (n_nodes,)
        Of the rows of each node.
    cell_offsets, candidate_offsets, is_categorical, hessian, reg_lambda, scale, limit
        As in ``gain.gradient_gain``.
    n_threads : int

    Returns
    -------
    scores : int64 array of shape (n_runs,)
    starts : int32 array of shape (n_runs,)
        First candidate of each run; it ends where the next run of the node begins.
    node_start : intp array of shape (n_nodes + 1,)
        Runs of node ``k`` are ``node_start[k]:node_start[k + 1]``, the first from candidate 0.

    Raises
    ------
    MemoryError
    """
    cdef Py_ssize_t n_features = fill.shape[0]
    cdef Py_ssize_t n_nodes = total_sums.shape[0]
    cdef Py_ssize_t n_stored = column_start[n_features]
    cdef int n_parts = max(1, min(PARTS * n_threads, <int> min(n_features, n_stored // 4096 + 1)))
    cdef columns_t columns
    cdef score_t score
    cdef runs_t* parts = <runs_t*> calloc(n_parts, sizeof(runs_t))
    cdef sum_t[::1] undivided = np.empty(n_nodes, dtype=np.int64)
    cdef Py_ssize_t[::1] borders = _borders(column_start, n_parts)
    cdef Py_ssize_t k
    cdef int part
    if parts == NULL:
        raise MemoryError("The scores of the splits do not fit into memory.")
    if stored_rows.shape[0] == 0:
        stored_rows = candidate_offsets  # never read: no column has an entry
        stored_bins = fill
    columns.n_features = n_features
    columns.column_start, columns.rows = &column_start[0], &stored_rows[0]
    columns.bins, columns.fill = &stored_bins[0], &fill[0]
    columns.node_of_row = &node_of_row[0] if node_of_row.shape[0] else NULL
    columns.words = &words[0] if words.shape[0] else NULL
    columns.cell_offsets, columns.candidate_offsets = &cell_offsets[0], &candidate_offsets[0]
    columns.is_categorical = &is_categorical[0]
    score.hessian, score.reg_lambda, score.scale = hessian, reg_lambda, scale
    score.limit, score.n_nodes = <double> limit, n_nodes
    score.total_sums, score.total_counts = &total_sums[0], &total_counts[0]
    score.undivided = &undivided[0]
    for k in range(n_nodes):
        undivided[k] = _candidate(&score, k, total_sums[k], total_counts[k])
    try:
        for part in range(n_parts):
            # Memory that a thread allocates is kept for that thread: what is allocated here, and
            # only grown there, is free for all when the runs are merged.
            _make_room(&parts[part])
        for part in prange(n_parts, nogil=True, num_threads=n_threads, schedule="dynamic"):
            _part(&columns, &score, borders[part], borders[part + 1], &parts[part])
        return _merged(parts, n_parts, n_nodes, undivided)
    finally:
        for part in range(n_parts):
            free(parts[part].score)
            free(parts[part].start)
            free(parts[part].node)
            free(parts[part].last)
        free(parts)


cdef _borders(const Py_ssize_t[::1] column_start, Py_ssize_t n_parts):
    """Cut features in parts with about as many entries each."""
    cdef Py_ssize_t n_features = column_start.shape[0] - 1
    targets = np.arange(1, n_parts) * column_start[n_features] // n_parts
    inner = np.searchsorted(np.asarray(column_start), targets)
    return np.concatenate(([0], np.minimum(inner, n_features), [n_features])).astype(np.intp)


cdef _merged(runs_t* parts, Py_ssize_t n_parts, Py_ssize_t n_nodes, const sum_t[::1] undivided):
    """Put the runs of each node one behind the other, and drop those without a candidate."""
    cdef Py_ssize_t[::1] node_start = np.zeros(n_nodes + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] position = np.empty(n_nodes, dtype=np.intp)
    cdef Py_ssize_t part, i, k
    cdef runs_t* some
    for part in range(n_parts):
        if parts[part].failed:
            raise MemoryError("The scores of the splits do not fit into memory.")
        for i in range(parts[part].n):
            node_start[parts[part].node[i] + 1] += 1
    for k in range(n_nodes):
        node_start[k + 1] += node_start[k] + 1     # and the run from candidate 0
    scores_out = np.empty(node_start[n_nodes], dtype=np.int64)
    starts_out = np.empty(node_start[n_nodes], dtype=np.int32)
    cdef sum_t[::1] scores = scores_out
    cdef row_t[::1] starts = starts_out
    for k in range(n_nodes):
        scores[node_start[k]] = undivided[k]
        starts[node_start[k]] = 0
        position[k] = node_start[k] + 1
    with nogil:
        for part in range(n_parts):
            some = &parts[part]
            for i in range(some.n):
                k = some.node[i]
                if starts[position[k] - 1] == some.start[i]:
                    # The next feature divides from its first candidate on.
                    position[k] -= 1
                scores[position[k]] = some.score[i]
                starts[position[k]] = some.start[i]
                position[k] += 1
    # Runs that replaced another one leave positions unused at the end of their node.
    with nogil:
        i = 0
        for k in range(n_nodes):
            part = node_start[k]
            node_start[k] = i
            for part in range(part, position[k]):
                scores[i] = scores[part]
                starts[i] = starts[part]
                i += 1
        node_start[n_nodes] = i
    return scores_out[:i], starts_out[:i], np.asarray(node_start)


cdef inline sum_t _candidate(
    const score_t* score, Py_ssize_t node, sum_t left_sum, sum_t left_count
) noexcept nogil:
    # Differences of integers below 2^53: exact, as in the gain kernel.
    cdef double left = child_score(
        <double> left_sum, <double> left_count, score.hessian, score.reg_lambda, score.scale,
        score.limit,
    )
    cdef double right = child_score(
        <double> score.total_sums[node] - <double> left_sum,
        <double> score.total_counts[node] - <double> left_count,
        score.hessian, score.reg_lambda, score.scale, score.limit,
    )
    return <sum_t> left + <sum_t> right


cdef void _part(
    const columns_t* columns, const score_t* score, Py_ssize_t first, Py_ssize_t last, runs_t* out
) noexcept nogil:
    # Scratch for one feature at a time; every cell that is written is emptied again.
    cdef cells_t cells
    cdef Py_ssize_t f, k
    cells.sums = <sum_t*> calloc(score.n_nodes * CELLS, sizeof(sum_t))
    cells.counts = <sum_t*> calloc(score.n_nodes * CELLS, sizeof(sum_t))
    cells.stored = <word_t*> calloc(score.n_nodes * SET_WORDS, sizeof(word_t))
    cells.touched = <row_t*> calloc(score.n_nodes, sizeof(row_t))
    out.last = <sum_t*> calloc(score.n_nodes, sizeof(sum_t))
    if cells.sums and cells.counts and cells.stored and cells.touched and out.last:
        for k in range(score.n_nodes):
            out.last[k] = score.undivided[k]
        for f in range(first, last):
            _feature(columns, score, &cells, f, out)
    else:
        out.failed = True
    free(cells.sums)
    free(cells.counts)
    free(cells.stored)
    free(cells.touched)


cdef void _feature(
    const columns_t* columns, const score_t* score, cells_t* cells, Py_ssize_t f, runs_t* out
) noexcept nogil:
    cdef Py_ssize_t k, node, cell
    cdef Py_ssize_t n_touched = 0
    cdef sum_t word
    cdef bin_t b
    cdef word_t* stored
    for k in range(columns.column_start[f], columns.column_start[f + 1]):
        node = columns.node_of_row[columns.rows[k]]
        word = columns.words[columns.rows[k]]
        b = columns.bins[k]
        stored = cells.stored + node * SET_WORDS
        if not (stored[0] | stored[1] | stored[2] | stored[3]):
            cells.touched[n_touched] = <row_t> node
            n_touched += 1
        stored[b >> 6] |= <word_t> 1 << (b & 63)
        cell = node * CELLS + b
        # Sums of separate fields: no block can overflow.
        cells.sums[cell] += word >> 32
        cells.counts[cell] += <unsigned int> word
    for k in range(n_touched):
        _node(columns, score, cells, f, cells.touched[k], out)


cdef void _node(
    const columns_t* columns, const score_t* score, cells_t* cells, Py_ssize_t f, Py_ssize_t node,
    runs_t* out
) noexcept nogil:
    """Write the runs of one feature in one node, and empty its cells."""
    cdef row_t first = columns.candidate_offsets[f]
    cdef Py_ssize_t n_candidates = columns.cell_offsets[f + 1] - columns.cell_offsets[f] - 1
    cdef sum_t* sums = cells.sums + node * CELLS
    cdef sum_t* counts = cells.counts + node * CELLS
    cdef word_t* stored = cells.stored + node * SET_WORDS
    cdef bin_t fill = columns.fill[f]
    cdef bint categorical = columns.is_categorical[f]
    cdef sum_t stored_sum = 0
    cdef sum_t stored_count = 0
    cdef sum_t left_sum = 0
    cdef sum_t left_count = 0
    cdef Py_ssize_t word, b
    cdef Py_ssize_t after = 0
    cdef word_t left
    for word in range(SET_WORDS):
        left = stored[word]
        while left:
            b = word * 64 + lowest_bit(left)
            left &= left - 1
            stored_sum += sums[b]
            stored_count += counts[b]
    # The rows that store nothing lie in the cell of the others.
    stored[fill >> 6] |= <word_t> 1 << (fill & 63)
    sums[fill] += score.total_sums[node] - stored_sum
    counts[fill] += score.total_counts[node] - stored_count
    for word in range(SET_WORDS):
        left = stored[word]
        while left:
            b = word * 64 + lowest_bit(left)
            left &= left - 1
            if b < n_candidates:
                if b > after:
                    # Up to here thresholds divide alike; a category that no row has, not at all.
                    _add(score, node, first + <row_t> after, left_sum, left_count, out)
                left_sum = sums[b] if categorical else left_sum + sums[b]
                left_count = counts[b] if categorical else left_count + counts[b]
                _add(score, node, first + <row_t> b, left_sum, left_count, out)
                after = b + 1
                if categorical:
                    left_sum = 0
                    left_count = 0
            sums[b] = 0
            counts[b] = 0
        stored[word] = 0
    if after < n_candidates and (categorical or after == 0):
        _add(score, node, first + <row_t> after, left_sum, left_count, out)
    # Where the next feature stores nothing, this run goes on through it.
    if f + 1 < columns.n_features:
        _append(node, first + <row_t> n_candidates, score.undivided[node], out)


cdef inline void _add(
    const score_t* score, Py_ssize_t node, row_t start, sum_t left_sum, sum_t left_count,
    runs_t* out
) noexcept nogil:
    _append(node, start, _candidate(score, node, left_sum, left_count), out)


cdef inline void _append(Py_ssize_t node, row_t start, sum_t score, runs_t* out) noexcept nogil:
    # A run with the score of the one before goes on with it.
    if out.failed or out.last[node] == score:
        return
    if out.n == out.room:
        _make_room(out)
        if out.failed:
            return
    out.score[out.n] = score
    out.start[out.n] = start
    out.node[out.n] = <row_t> node
    out.last[node] = score
    out.n += 1


cdef void _make_room(runs_t* out) noexcept nogil:
    cdef Py_ssize_t room = max(<Py_ssize_t> FIRST_ROOM, 2 * out.room)
    cdef void* score = realloc(out.score, room * sizeof(sum_t))
    cdef void* start = NULL
    cdef void* node = NULL
    if score != NULL:
        out.score = <sum_t*> score
        start = realloc(out.start, room * sizeof(row_t))
    if start != NULL:
        out.start = <row_t*> start
        node = realloc(out.node, room * sizeof(row_t))
    if node != NULL:
        out.node = <row_t*> node
        out.room = room
    else:
        out.failed = True
