"""Integer histograms of packed (gradient, count) words, one row of cells per node.

A row's word is ``(gradient << 32) + 1`` (see the gradient kernel), so one addition per row and
feature serves both sums. A packed accumulator takes at most ``BLOCK`` rows: with gradients of at
most 2^16 in absolute value the upper half stays inside +-(2^31 - 2^16) and the lower half below
2^15, for any data. Between blocks the two fields go to separate int64 sums. The count field is
never negative, so the arithmetic shift (a floor division by 2^32) returns the exact signed
gradient sum: the borrow that a negative sum would need never reaches it.

Sums of integers do not depend on the order of addition, hence not on the number of threads.
"""

from cython.parallel cimport prange
from libc.string cimport memset

from _types cimport bin_t, row_t, sum_t, word_t

cdef enum:
    CELLS = 256    # cells of one feature, missing bin included
    BLOCK = 32767  # rows that a packed accumulator can take
    GROUP = 4      # features that share one pass over the words
    FEW = 16384    # cells that are not worth waking other threads for


def build(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const row_t[::1] starts,
    const row_t[::1] nodes,
    const sum_t[::1] words,
    const row_t[::1] cell_offsets,
    sum_t[:, ::1] sums,
    sum_t[:, ::1] counts,
    int n_threads,
):
    """Sum gradients and counts of the listed nodes into the cells of every feature.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column; a bin is below the number of cells of its feature.
    order : int32 array of shape (n_ordered,)
        Columns of ``bins`` and positions in ``words``, grouped by node.
    starts : int32 array of shape (n_nodes + 1,)
        Node ``k`` owns ``order[starts[k]:starts[k + 1]]``.
    nodes : int32 array of shape (n_listed,)
        Nodes to build.
    words : int64 array of shape (n_rows,)
        ``(gradient << 32) + 1``, or 0 for a row that takes no part; ``|gradient| <= 2^16``.
    cell_offsets : int32 array of shape (n_features + 1,)
        Cells of feature ``f`` lie at ``cell_offsets[f]:cell_offsets[f + 1]``, at most 256.
    sums, counts : int64 arrays of shape (n_listed, n_cells)
        Overwritten, in the order of ``nodes``; units 2^-16 and rows.
    n_threads : int
    """
    cdef Py_ssize_t n_features = bins.shape[0]
    cdef Py_ssize_t n_listed = nodes.shape[0]
    cdef Py_ssize_t n_tasks = (n_features + GROUP - 1) // GROUP * n_listed
    cdef Py_ssize_t task
    cdef row_t node
    cdef const row_t* rows = &order[0] if order.shape[0] > 0 else NULL
    cdef const sum_t* row_words = &words[0] if words.shape[0] > 0 else NULL
    for task in prange(
        n_tasks, nogil=True, num_threads=n_threads, schedule="dynamic",
        use_threads_if=n_features * order.shape[0] > FEW,
    ):
        node = nodes[task % n_listed]
        _build_group(
            bins, task // n_listed * GROUP, rows, starts[node], starts[node + 1], row_words,
            cell_offsets, sums, counts, task % n_listed,
        )


def gather_stored(
    const Py_ssize_t[::1] column_start,
    const row_t[::1] stored_rows,
    const bin_t[::1] stored_bins,
    const row_t[::1] position,
    Py_ssize_t[::1] out_start,
    row_t[::1] out_rows,
    bin_t[::1] out_bins,
):
    """Copy what sparse columns store of some rows.

    Parameters
    ----------
    column_start : intp array of shape (n_features + 1,)
        Entries of feature ``f`` are ``column_start[f]:column_start[f + 1]``.
    stored_rows : int32 array of shape (n_stored,)
    stored_bins : uint8 array of shape (n_stored,)
    position : int32 array of shape (n_rows,)
        New number of each row, negative for a row that is left out.
    out_start : intp array of shape (n_features + 1,)
        Overwritten.
    out_rows, out_bins : arrays of shape (n,)
        Overwritten from the start; as long as all entries that are kept, or longer.
    """
    cdef Py_ssize_t n_features = column_start.shape[0] - 1
    cdef Py_ssize_t f, k
    cdef Py_ssize_t n = 0
    with nogil:
        out_start[0] = 0
        for f in range(n_features):
            for k in range(column_start[f], column_start[f + 1]):
                if position[stored_rows[k]] >= 0:
                    out_rows[n] = position[stored_rows[k]]
                    out_bins[n] = stored_bins[k]
                    n += 1
            out_start[f + 1] = n


def children(
    const sum_t[:, ::1] parents,
    const sum_t[:, ::1] left,
    sum_t[:, ::1] out,
    int n_threads,
):
    """Derive the histograms of right children as parent minus left child, exactly.

    Parameters
    ----------
    parents, left : int64 arrays of shape (n_parents, n_cells)
        Sums, or counts, of the parents and of their left children.
    out : int64 array of shape (2 * n_parents, n_cells)
        Overwritten: left child, right child, parent by parent.
    n_threads : int
    """
    cdef Py_ssize_t n_parents = parents.shape[0]
    cdef Py_ssize_t n_cells = parents.shape[1]
    cdef Py_ssize_t i
    if n_cells == 0:
        return
    for i in prange(
        n_parents, nogil=True, num_threads=n_threads, schedule="static",
        use_threads_if=n_parents * n_cells > FEW,
    ):
        _divide_row(
            &parents[i, 0], &left[i, 0], &out[2 * i, 0], &out[2 * i + 1, 0], n_cells
        )


def node_totals(
    const row_t[::1] order,
    const row_t[::1] starts,
    const sum_t[::1] words,
    sum_t[::1] sums,
    sum_t[::1] counts,
    int n_threads,
):
    """Sum gradients and counts of every node.

    Parameters
    ----------
    order : int32 array of shape (n_ordered,)
        Positions in ``words``, grouped by node.
    starts : int32 array of shape (n_nodes + 1,)
        Node ``k`` owns ``order[starts[k]:starts[k + 1]]``.
    words : int64 array of shape (n_rows,)
        ``(gradient << 32) + 1``, or 0 for a row that takes no part; ``|gradient| <= 2^16``.
    sums, counts : int64 arrays of shape (n_nodes,)
        Overwritten; units 2^-16 and rows.
    n_threads : int
    """
    cdef Py_ssize_t n_nodes = sums.shape[0]
    cdef Py_ssize_t k, block, n_blocks
    cdef sum_t gradient, count
    cdef word_t packed
    cdef const row_t* rows = &order[0] if order.shape[0] > 0 else NULL
    cdef const sum_t* row_words = &words[0] if words.shape[0] > 0 else NULL
    with nogil:
        for k in range(n_nodes):
            n_blocks = (starts[k + 1] - starts[k] + BLOCK - 1) // BLOCK
            gradient = 0
            count = 0
            for block in prange(
                n_blocks, num_threads=n_threads, schedule="static", use_threads_if=n_blocks > 1
            ):
                packed = _sum_block(
                    rows,
                    starts[k] + block * BLOCK,
                    min(starts[k] + (block + 1) * BLOCK, <Py_ssize_t> starts[k + 1]),
                    row_words,
                )
                # A block's word fits (see above); the sums of blocks have 64 bits each.
                gradient += <sum_t> packed >> 32
                count += <unsigned int> packed
            sums[k] = gradient
            counts[k] = count


cdef void _build_group(
    const bin_t[:, ::1] bins,
    Py_ssize_t first,
    const row_t* order,
    Py_ssize_t begin,
    Py_ssize_t end,
    const sum_t* words,
    const row_t[::1] cell_offsets,
    sum_t[:, ::1] sums,
    sum_t[:, ::1] counts,
    Py_ssize_t position,
) noexcept nogil:
    # Four features in one pass: order and word are loaded once, and the four accumulators give
    # the processor independent chains where many rows in a row fall into the same cell.
    cdef word_t cells[GROUP][CELLS]
    cdef const bin_t* columns[GROUP]
    cdef Py_ssize_t n_cells[GROUP]
    cdef Py_ssize_t width = min(<Py_ssize_t> GROUP, bins.shape[0] - first)
    cdef Py_ssize_t start = begin
    cdef Py_ssize_t stop, f
    for f in range(GROUP):
        # A last group that is not full counts its last feature again, and writes it once.
        columns[f] = &bins[first + min(f, width - 1), 0] if end > begin else NULL
        n_cells[f] = cell_offsets[first + min(f, width - 1) + 1]
        n_cells[f] -= cell_offsets[first + min(f, width - 1)]
    while True:
        stop = min(start + BLOCK, end)
        for f in range(GROUP):
            memset(cells[f], 0, n_cells[f] * sizeof(word_t))
        _accumulate(
            columns[0], columns[1], columns[2], columns[3], order, start, stop, words,
            cells[0], cells[1], cells[2], cells[3],
        )
        for f in range(width):
            _unpack(
                cells[f],
                &sums[position, cell_offsets[first + f]],
                &counts[position, cell_offsets[first + f]],
                n_cells[f],
                start > begin,
            )
        start = stop
        if start >= end:
            break


cdef inline void _accumulate(
    const bin_t* a,
    const bin_t* b,
    const bin_t* c,
    const bin_t* d,
    const row_t* order,
    Py_ssize_t start,
    Py_ssize_t stop,
    const sum_t* words,
    word_t* cells_a,
    word_t* cells_b,
    word_t* cells_c,
    word_t* cells_d,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef row_t row
    cdef word_t word
    for i in range(start, stop):
        row = order[i]
        word = <word_t> words[row]
        # A filtered row has the word 0: it adds nothing, and takes as long as any other.
        cells_a[a[row]] += word
        cells_b[b[row]] += word
        cells_c[c[row]] += word
        cells_d[d[row]] += word


cdef void _unpack(
    const word_t* cells, sum_t* sums, sum_t* counts, Py_ssize_t n_cells, bint add
) noexcept nogil:
    # The first block of a node overwrites, later ones add.
    cdef Py_ssize_t c
    if add:
        for c in range(n_cells):
            sums[c] += <sum_t> cells[c] >> 32
            counts[c] += <unsigned int> cells[c]
    else:
        for c in range(n_cells):
            sums[c] = <sum_t> cells[c] >> 32
            counts[c] = <unsigned int> cells[c]


cdef void _divide_row(
    const sum_t* parent, const sum_t* left, sum_t* left_out, sum_t* right_out, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t c
    for c in range(n):
        left_out[c] = left[c]
        # Integers: exactly the sum over the right child's own rows. A difference of floats would
        # carry rounding from the left child into the right one, and a row of the left would move
        # both.
        right_out[c] = parent[c] - left[c]


cdef word_t _sum_block(
    const row_t* order, Py_ssize_t begin, Py_ssize_t end, const sum_t* words
) noexcept nogil:
    cdef Py_ssize_t i
    cdef word_t total = 0
    for i in range(begin, end):
        total = total + <word_t> words[order[i]]
    return total
