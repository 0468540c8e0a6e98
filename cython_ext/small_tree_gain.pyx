"""Split scores of a tree with few rows, level by level, as runs of neighbors with one score.

Below the first levels of such a tree most cells of a node's histogram are empty, and a threshold
in an empty cell divides the node as the threshold before it does. So the histogram of a node never
leaves the first cache: its cells are added up, the ones that hold rows become scores, and the next
node takes their place. Nothing is kept for siblings: to add up all rows again costs less than to
write, read and subtract cells that are mostly empty.

The scores are those of the gain kernel, from the same integers in the same operations. Words are
packed as in the histogram kernel; a tree has so few rows that no sum of them leaves its field.
"""

import numpy as np

from cython.parallel cimport prange
from libc.string cimport memcpy, memmove, memset

from _gain cimport child_score
from _sets cimport lowest_bit
from _types cimport bin_t, row_t, sum_t, word_t

#: Rows that the fields of a packed sum can take.
MOST_ROWS = 32767

cdef enum:
    CELLS = 256        # cells of one feature, missing bin included
    SET_WORDS = 4      # a set of cells is 256 bits
    GROUP = 4          # features that share one pass over the words
    ROOM = 4 * 256 + 1  # runs of a group of features, and one more that may not become one
    SPARSE = 128       # rows of a node below which cells with rows are found by their bits
    NODE_WORK = 64     # what a node costs without its rows, in rows
    MOST_PARTS = 64    # threads that share a level
    FEW = 16384        # cells that are not worth waking other threads for

cdef struct rows_t:
    # The rows of a tree, in the order of its nodes.
    Py_ssize_t n_features
    Py_ssize_t n_rows
    const bin_t* bins
    const sum_t* words
    const row_t* cell_offsets
    const row_t* candidate_offsets
    const bin_t* is_categorical
    row_t* order
    row_t* right
    const row_t* starts
    Py_ssize_t n_nodes

cdef struct part_t:
    # Tasks of one thread, the candidate that the first begins with, and the runs that came out:
    # those of its first node, and of all its nodes.
    Py_ssize_t first
    Py_ssize_t stop
    Py_ssize_t candidate
    Py_ssize_t n_first
    Py_ssize_t n

cdef struct score_t:
    double hessian
    double reg_lambda
    double scale
    double limit

cdef struct scratch_t:
    # Cells of a group, empty between nodes, and its runs: first candidate, packed left sums.
    word_t cells[GROUP][CELLS]
    word_t stored[GROUP][SET_WORDS]
    row_t start[ROOM]
    word_t left[ROOM]
    double left_score[ROOM]
    double right_score[ROOM]


cdef class FewRows:
    """Rows of one tree, grouped by the nodes of its current level.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column; a bin is below the number of cells of its feature. At most 32767 rows.
    words : int64 array of shape (n_rows,)
        ``(gradient << 32) + 1``, or 0 for a row that takes no part; ``|gradient| <= 2^16``.
    cell_offsets : int32 array of shape (n_features + 1,)
        Cells of feature ``f``, at most 256; the last one is its missing bin.
    candidate_offsets : int32 array of shape (n_features + 1,)
        Candidates of feature ``f``: one per cell but the last, at least one.
    is_categorical : uint8 array of shape (n_features,)
    n_threads : int

    Raises
    ------
    ValueError
        If there are too many rows.

    Privacy
    -------
    All that it returns is private. Time, and the number of runs, depend on private rows.
    """

    cdef rows_t rows
    cdef const bin_t[:, ::1] bins
    cdef const sum_t[::1] words
    cdef const row_t[::1] cell_offsets
    cdef const row_t[::1] candidate_offsets
    cdef const bin_t[::1] is_categorical
    cdef row_t[::1] order
    cdef row_t[::1] right
    cdef row_t[::1] starts
    cdef int n_threads

    def __init__(
        self,
        const bin_t[:, ::1] bins,
        const sum_t[::1] words,
        const row_t[::1] cell_offsets,
        const row_t[::1] candidate_offsets,
        const bin_t[::1] is_categorical,
        int n_threads,
    ):
        cdef Py_ssize_t n_rows = bins.shape[1]
        if n_rows > MOST_ROWS:
            raise ValueError("packed sums take 32767 rows at most")
        self.bins, self.words = bins, words
        self.cell_offsets, self.candidate_offsets = cell_offsets, candidate_offsets
        self.is_categorical = is_categorical
        self.n_threads = n_threads
        self.order = np.arange(n_rows, dtype=np.int32)
        self.right = np.empty(n_rows, dtype=np.int32)
        self.starts = np.array([0, n_rows], dtype=np.int32)
        self.rows.n_features, self.rows.n_rows = bins.shape[0], n_rows
        if n_rows > 0:  # otherwise no node has a row, and no pointer is followed
            self.rows.bins, self.rows.words = &bins[0, 0], &words[0]
            self.rows.order, self.rows.right = &self.order[0], &self.right[0]
        self.rows.cell_offsets = &cell_offsets[0]
        self.rows.candidate_offsets = &candidate_offsets[0]
        self.rows.is_categorical = &is_categorical[0]
        self.rows.starts, self.rows.n_nodes = &self.starts[0], 1

    def runs(
        self, double hessian, double reg_lambda, double scale, sum_t limit,
        sum_t[::1] scores, row_t[::1] starts,
    ):
        """Score every candidate of every node of the level.

        Parameters
        ----------
        hessian, reg_lambda, scale, limit
            As in ``gain.gradient_gain``.
        scores : int64 array of shape (n_nodes * n_candidates,)
            Its first entries are overwritten, one for each run.
        starts : int32 array of shape (n_nodes * n_candidates,)
            The same with the first candidate of each run; it ends where the next run of the node
            begins.

        Returns
        -------
        node_start : intp array of shape (n_nodes + 1,)
            Runs of node ``k`` are ``node_start[k]:node_start[k + 1]``, the first from candidate 0.
        """
        cdef rows_t* rows = &self.rows
        cdef Py_ssize_t n_groups = (rows.n_features + GROUP - 1) // GROUP
        cdef Py_ssize_t n_candidates = rows.candidate_offsets[rows.n_features]
        cdef bint alone = rows.n_features * rows.n_rows <= FEW
        cdef int n_parts = 1 if alone else min(self.n_threads, <int> MOST_PARTS)
        node_start = np.zeros(rows.n_nodes + 1, dtype=np.intp)
        cdef Py_ssize_t[::1] before = node_start
        cdef part_t parts[MOST_PARTS]
        cdef score_t score
        cdef int part
        cdef Py_ssize_t node
        cdef Py_ssize_t position = 0
        score.hessian, score.reg_lambda, score.scale = hessian, reg_lambda, scale
        score.limit = <double> limit
        with nogil:
            _share_out(rows, n_groups, n_candidates, n_parts, parts)
            for part in prange(
                n_parts, num_threads=n_parts, schedule="static", use_threads_if=n_parts > 1
            ):
                _score_tasks(
                    rows, &score, &parts[part], n_groups,
                    &scores[parts[part].candidate], &starts[parts[part].candidate], &before[1],
                )
            for part in range(n_parts):
                # What the parts wrote moves together.
                before[parts[part].first // n_groups + 1] += parts[part].n_first
                if parts[part].n > 0 and position < parts[part].candidate:
                    memmove(
                        &scores[position], &scores[parts[part].candidate],
                        parts[part].n * sizeof(sum_t),
                    )
                    memmove(
                        &starts[position], &starts[parts[part].candidate],
                        parts[part].n * sizeof(row_t),
                    )
                position += parts[part].n
            for node in range(rows.n_nodes):
                before[node + 1] += before[node]
        return node_start

    def totals(self):
        """Return gradient sums and counts of the nodes of the level.

        Returns
        -------
        int64 array of shape (2, n_nodes)
            Units 2^-16, and rows.
        """
        cdef rows_t* rows = &self.rows
        out = np.empty((2, rows.n_nodes), dtype=np.int64)
        cdef sum_t[:, ::1] totals = out
        cdef Py_ssize_t node, i
        cdef word_t packed
        with nogil:
            for node in range(rows.n_nodes):
                packed = 0
                for i in range(rows.starts[node], rows.starts[node + 1]):
                    packed += <word_t> rows.words[rows.order[i]]
                totals[0, node] = <sum_t> packed >> 32
                totals[1, node] = <unsigned int> packed
        return out

    def split(self, const row_t[::1] feature, const bin_t[::1] split_bin):
        """Send the rows of node ``k`` on to nodes ``2 k`` and ``2 k + 1``, in stable order.

        Parameters
        ----------
        feature : int32 array of shape (n_nodes,)
        split_bin : uint8 array of shape (n_nodes,)
            Last bin that goes left, or the one category that does.
        """
        cdef rows_t* rows = &self.rows
        cdef row_t[::1] starts = np.empty(2 * rows.n_nodes + 1, dtype=np.int32)
        cdef Py_ssize_t node
        with nogil:
            for node in range(rows.n_nodes):
                starts[2 * node] = rows.starts[node]
                starts[2 * node + 1] = _divide(
                    rows, rows.starts[node], rows.starts[node + 1], feature[node],
                    split_bin[node],
                )
            starts[2 * rows.n_nodes] = <row_t> rows.n_rows
        self.starts = starts
        rows.starts, rows.n_nodes = &self.starts[0], 2 * rows.n_nodes


cdef row_t _divide(
    const rows_t* rows, Py_ssize_t begin, Py_ssize_t end, row_t feature, bin_t split_bin
) noexcept nogil:
    # One comparison serves both kinds: bins 0..b, or the single bin b. Every row is written to
    # both sides and counted on one: a branch would be mispredicted for every other row.
    cdef const bin_t* column = rows.bins + feature * rows.n_rows
    cdef row_t* order = rows.order
    cdef row_t* right = rows.right
    cdef bin_t low = split_bin if rows.is_categorical[feature] else 0
    cdef bin_t width = split_bin - low
    cdef Py_ssize_t left = begin
    cdef Py_ssize_t n_right = 0
    cdef Py_ssize_t i, goes_left
    cdef row_t row
    for i in range(begin, end):
        row = order[i]
        goes_left = <bin_t> (column[row] - low) <= width
        order[left] = row
        right[n_right] = row
        left += goes_left
        n_right += 1 - goes_left
    if n_right > 0:
        memcpy(order + left, right, n_right * sizeof(row_t))
    return <row_t> left


cdef void _share_out(
    const rows_t* rows, Py_ssize_t n_groups, Py_ssize_t n_candidates, int n_parts, part_t* parts
) noexcept nogil:
    # Cut the tasks, node by node and group by group, into parts of about equal work. A run starts
    # at a candidate of its own: what other parts write lies before or behind.
    cdef Py_ssize_t work = rows.n_rows + rows.n_nodes * NODE_WORK
    cdef Py_ssize_t task
    cdef int part
    for part in range(n_parts):
        task = _task_after(rows, n_groups, part * work // n_parts)
        parts[part].first = task
        parts[part].candidate = task // n_groups * n_candidates
        parts[part].candidate += rows.candidate_offsets[task % n_groups * GROUP]
        if part > 0:
            parts[part - 1].stop = task
    parts[n_parts - 1].stop = rows.n_nodes * n_groups


cdef Py_ssize_t _task_after(
    const rows_t* rows, Py_ssize_t n_groups, Py_ssize_t work
) noexcept nogil:
    cdef Py_ssize_t node = 0
    cdef Py_ssize_t own = rows.starts[1] - rows.starts[0] + NODE_WORK
    while work >= own:
        work -= own
        node += 1
        own = rows.starts[node + 1] - rows.starts[node] + NODE_WORK
    return node * n_groups + work * n_groups // own


cdef void _score_tasks(
    const rows_t* rows, const score_t* score, part_t* part, Py_ssize_t n_groups,
    sum_t* scores, row_t* starts, Py_ssize_t* n_runs
) noexcept nogil:
    cdef scratch_t scratch
    cdef Py_ssize_t task, node, own
    memset(scratch.cells, 0, sizeof(scratch.cells))
    memset(scratch.stored, 0, sizeof(scratch.stored))
    part.n = 0
    part.n_first = 0
    for task in range(part.first, part.stop):
        node = task // n_groups
        own = _score_group(
            rows, score, &scratch, node, task % n_groups * GROUP, scores + part.n, starts + part.n
        )
        part.n += own
        if node == part.first // n_groups:
            part.n_first += own  # another part may count runs of this node as well
        else:
            n_runs[node] += own


cdef Py_ssize_t _score_group(
    const rows_t* rows, const score_t* score, scratch_t* scratch, Py_ssize_t node,
    Py_ssize_t first, sum_t* scores, row_t* starts
) noexcept nogil:
    """Write the runs of a group of features in one node, and return how many there are."""
    cdef Py_ssize_t begin = rows.starts[node]
    cdef Py_ssize_t end = rows.starts[node + 1]
    cdef Py_ssize_t width = min(<Py_ssize_t> GROUP, rows.n_features - first)
    cdef const bin_t* columns[GROUP]
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t f, n_candidates
    cdef row_t candidate
    cdef bint is_sparse = end - begin < SPARSE
    cdef word_t total = 0
    for f in range(GROUP):
        # A last group that is not full counts its last feature again, and forgets it.
        columns[f] = rows.bins + (first + min(f, width - 1)) * rows.n_rows
    _add_up(
        columns, rows.order + begin, end - begin, rows.words, scratch, is_sparse
    )
    for f in range(width):
        candidate = rows.candidate_offsets[first + f]
        n_candidates = rows.candidate_offsets[first + f + 1] - candidate
        if is_sparse:
            if rows.is_categorical[first + f]:
                n = _stored_categories(scratch, f, candidate, n_candidates, n, &total)
            else:
                n = _stored_thresholds(scratch, f, candidate, n_candidates, n, &total)
        else:
            n = _all_cells(
                scratch, f, candidate, n_candidates, n, rows.is_categorical[first + f], &total
            )
    for f in range(width, GROUP):
        memset(scratch.cells[f], 0, CELLS * sizeof(word_t))
        memset(scratch.stored[f], 0, SET_WORDS * sizeof(word_t))
    _score_runs(scratch, score, total, n, scores)
    memcpy(starts, scratch.start, n * sizeof(row_t))
    return n


cdef inline void _add_up(
    const bin_t** columns, const row_t* order, Py_ssize_t n, const sum_t* words,
    scratch_t* scratch, bint is_sparse
) noexcept nogil:
    cdef const bin_t* a = columns[0]
    cdef const bin_t* b = columns[1]
    cdef const bin_t* c = columns[2]
    cdef const bin_t* d = columns[3]
    cdef Py_ssize_t i
    cdef row_t row
    cdef word_t word
    for i in range(n):
        row = order[i]
        word = <word_t> words[row]
        scratch.cells[0][a[row]] += word
        scratch.cells[1][b[row]] += word
        scratch.cells[2][c[row]] += word
        scratch.cells[3][d[row]] += word
    if is_sparse:
        for i in range(n):
            row = order[i]
            scratch.stored[0][a[row] >> 6] |= <word_t> 1 << (a[row] & 63)
            scratch.stored[1][b[row] >> 6] |= <word_t> 1 << (b[row] & 63)
            scratch.stored[2][c[row] >> 6] |= <word_t> 1 << (c[row] & 63)
            scratch.stored[3][d[row] >> 6] |= <word_t> 1 << (d[row] & 63)


cdef inline Py_ssize_t _stored_thresholds(
    scratch_t* scratch, Py_ssize_t f, row_t candidate, Py_ssize_t n_candidates, Py_ssize_t n,
    word_t* total
) noexcept nogil:
    # A run begins at every cell with rows, and the first one at the first cell in any case.
    cdef word_t* cells = scratch.cells[f]
    cdef word_t running = 0
    cdef word_t bits
    cdef Py_ssize_t word, cell
    scratch.left[n] = 0
    scratch.start[n] = candidate
    n += 1 - (scratch.stored[f][0] & 1)
    for word in range(SET_WORDS):
        bits = scratch.stored[f][word]
        scratch.stored[f][word] = 0
        while bits != 0:
            cell = word * 64 + lowest_bit(bits)
            bits &= bits - 1
            running += cells[cell]
            cells[cell] = 0
            scratch.left[n] = running
            scratch.start[n] = candidate + <row_t> cell
            # The missing bin is no candidate.
            n += cell < n_candidates
    total[0] = running
    return n


cdef inline Py_ssize_t _stored_categories(
    scratch_t* scratch, Py_ssize_t f, row_t candidate, Py_ssize_t n_candidates, Py_ssize_t n,
    word_t* total
) noexcept nogil:
    # A cell with rows is a run of its own, and so is each gap.
    cdef word_t* cells = scratch.cells[f]
    cdef word_t running = 0
    cdef word_t bits
    cdef Py_ssize_t word, cell
    cdef Py_ssize_t gap = 0
    for word in range(SET_WORDS):
        bits = scratch.stored[f][word]
        scratch.stored[f][word] = 0
        while bits != 0:
            cell = word * 64 + lowest_bit(bits)
            bits &= bits - 1
            if gap < cell:
                scratch.left[n] = 0
                scratch.start[n] = candidate + <row_t> gap
                n += 1
            scratch.left[n] = cells[cell]
            scratch.start[n] = candidate + <row_t> cell
            n += cell < n_candidates
            running += cells[cell]
            cells[cell] = 0
            gap = cell + 1
    if gap < n_candidates:
        scratch.left[n] = 0
        scratch.start[n] = candidate + <row_t> gap
        n += 1
    total[0] = running
    return n


cdef inline Py_ssize_t _all_cells(
    scratch_t* scratch, Py_ssize_t f, row_t candidate, Py_ssize_t n_candidates, Py_ssize_t n,
    bint is_categorical, word_t* total
) noexcept nogil:
    # A run begins at a cell with rows; of categories also behind one.
    cdef word_t* cells = scratch.cells[f]
    cdef word_t running = cells[0]
    cdef word_t before = -<word_t> is_categorical
    cdef Py_ssize_t cell
    scratch.left[n] = running
    scratch.start[n] = candidate
    n += 1
    for cell in range(1, n_candidates):
        running += cells[cell]
        scratch.left[n] = cells[cell] if is_categorical else running
        scratch.start[n] = candidate + <row_t> cell
        n += (cells[cell] | (cells[cell - 1] & before)) != 0
    total[0] = running + cells[n_candidates]
    memset(cells, 0, (n_candidates + 1) * sizeof(word_t))
    return n


cdef inline void _score_runs(
    scratch_t* scratch, const score_t* score, word_t total, Py_ssize_t n, sum_t* scores
) noexcept nogil:
    # Halves of packed sums fit into 32 bits: what a processor turns into doubles in one step.
    cdef double total_sum = <double> <int> (total >> 32)
    cdef double total_count = <double> <int> total
    cdef double hessian = score.hessian
    cdef double reg_lambda = score.reg_lambda
    cdef double scale = score.scale
    cdef double limit = score.limit
    cdef double left_sum, left_count
    cdef Py_ssize_t i
    for i in range(n):
        left_sum = <double> <int> (scratch.left[i] >> 32)
        left_count = <double> <int> scratch.left[i]
        scratch.left_score[i] = child_score(
            left_sum, left_count, hessian, reg_lambda, scale, limit
        )
        scratch.right_score[i] = child_score(
            total_sum - left_sum, total_count - left_count, hessian, reg_lambda, scale, limit
        )
    for i in range(n):
        # Scores are not negative, so that truncation is the floor.
        scores[i] = <sum_t> scratch.left_score[i] + <sum_t> scratch.right_score[i]
