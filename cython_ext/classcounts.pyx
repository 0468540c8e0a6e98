"""Rows of single trees: histograms of any nodes by class, and the way of rows to their children.

A row counts one, or an amount of its own.

A node owns a range of ``order``. Unlike the levels of boosting, nodes may be looked at and split
in any order, and into any number of branches: a split moves rows inside its node's range only.
Sums of integers do not depend on the order of addition, hence not on the number of threads.
"""

from cython.parallel cimport prange
from libc.string cimport memcpy, memset

from _types cimport bin_t, row_t, sum_t

cdef enum:
    CELLS = 256    # cells of one feature, missing bin included
    FEW = 16384    # rows that are not worth waking other threads for


def build(
    const bin_t[:, ::1] bins,
    const row_t[::1] order,
    const row_t[::1] begins,
    const row_t[::1] ends,
    const bin_t[::1] classes,
    const row_t[::1] amounts,
    const row_t[::1] cell_offsets,
    int n_classes,
    sum_t[:, ::1] counts,
    int n_threads,
):
    """Count the rows of every class in every cell of every listed node.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
        By column; a bin is below the number of cells of its feature.
    order : int32 array of shape (n_ordered,)
        Columns of ``bins`` and positions in ``classes``.
    begins, ends : int32 arrays of shape (n_listed,)
        Listed node ``k`` owns ``order[begins[k]:ends[k]]``.
    classes : uint8 array of shape (n_rows,)
        Below ``n_classes``.
    amounts : int32 array of shape (n_rows,), or empty
        What each row counts; one where it is empty.
    cell_offsets : int32 array of shape (n_features + 1,)
        Cells of feature ``f``, at most 256.
    n_classes : int
    counts : int64 array of shape (n_listed, n_cells * n_classes)
        Overwritten; the classes of a cell lie side by side.
    n_threads : int
    """
    cdef Py_ssize_t n_features = bins.shape[0]
    cdef Py_ssize_t n_tasks = n_features * begins.shape[0]
    cdef Py_ssize_t task, node, f
    cdef const row_t* rows = &order[0] if order.shape[0] > 0 else NULL
    cdef const bin_t* labels = &classes[0] if classes.shape[0] > 0 else NULL
    cdef const row_t* units = &amounts[0] if amounts.shape[0] > 0 else NULL
    if n_tasks == 0:
        return
    for task in prange(
        n_tasks, nogil=True, num_threads=n_threads, schedule="dynamic",
        use_threads_if=order.shape[0] > FEW,
    ):
        node = task // n_features
        f = task % n_features
        _build_feature(
            &bins[f, 0] if bins.shape[1] > 0 else NULL,
            rows, begins[node], ends[node], labels, units, n_classes,
            (cell_offsets[f + 1] - cell_offsets[f]) * <Py_ssize_t> n_classes,
            &counts[node, cell_offsets[f] * <Py_ssize_t> n_classes],
        )


def build_stored(
    const Py_ssize_t[::1] column_start,
    const row_t[::1] rows,
    const bin_t[::1] bins,
    const bin_t[::1] fill,
    const row_t[::1] node_of_row,
    const bin_t[::1] classes,
    const row_t[::1] amounts,
    const sum_t[:, ::1] totals,
    const row_t[::1] cell_offsets,
    sum_t[:, ::1] counts,
    int n_threads,
):
    """Do the same from the stored cells of sparse columns.

    Parameters
    ----------
    column_start : intp array of shape (n_features + 1,)
        Stored cells of feature ``f``.
    rows : int32 array of shape (n_stored,)
    bins : uint8 array of shape (n_stored,)
    fill : uint8 array of shape (n_features,)
        Bin of all other cells of a column.
    node_of_row : int32 array of shape (n_rows,)
        Which of the listed nodes each row is in, -1 for none.
    classes, amounts, cell_offsets, counts, n_threads
        As in ``build``.
    totals : int64 array of shape (n_listed, n_classes)
        Of the listed nodes.
    """
    cdef Py_ssize_t n_features = fill.shape[0]
    cdef Py_ssize_t f
    if counts.shape[0] == 0:
        return
    for f in prange(
        n_features, nogil=True, num_threads=n_threads, schedule="dynamic",
        use_threads_if=rows.shape[0] > FEW,
    ):
        _build_stored_feature(
            column_start[f], column_start[f + 1], rows, bins, fill[f], node_of_row, classes,
            amounts, totals, cell_offsets[f], cell_offsets[f + 1], counts,
        )


def totals(
    const row_t[::1] order,
    const row_t[::1] begins,
    const row_t[::1] ends,
    const bin_t[::1] classes,
    const row_t[::1] amounts,
    sum_t[:, ::1] counts,
):
    """Count the rows of every class in every listed node.

    Parameters
    ----------
    order, begins, ends, classes, amounts
        As in ``build``.
    counts : int64 array of shape (n_listed, n_classes)
        Overwritten.
    """
    cdef Py_ssize_t n_listed = begins.shape[0]
    cdef Py_ssize_t n_classes = counts.shape[1]
    cdef bint weighted = amounts.shape[0] > 0
    cdef Py_ssize_t node, c, i
    with nogil:
        for node in range(n_listed):
            for c in range(n_classes):
                counts[node, c] = 0
            for i in range(begins[node], ends[node]):
                counts[node, classes[order[i]]] += amounts[order[i]] if weighted else 1


def split_rows(
    const bin_t[:, ::1] bins,
    row_t[::1] order,
    row_t[::1] scratch,
    const row_t[::1] begins,
    const row_t[::1] ends,
    const row_t[::1] feature,
    const bin_t[:, ::1] branches,
    const row_t[::1] child_offsets,
    row_t[::1] child_ends,
    int n_threads,
):
    """Sort the rows of every listed node by their branches, keeping their order in each.

    Parameters
    ----------
    bins : uint8 array of shape (n_features, n_rows)
    order : int32 array of shape (n_ordered,)
        Sorted inside the range of each listed node; the ranges must not overlap.
    scratch : int32 array of shape (n_ordered,)
        Overwritten.
    begins, ends : int32 arrays of shape (n_listed,)
    feature : int32 array of shape (n_listed,)
    branches : uint8 array of shape (n_listed, 256)
        Branch of every bin of the node's feature.
    child_offsets : int32 array of shape (n_listed + 1,)
        Children of listed node ``k`` are ``child_offsets[k]:child_offsets[k + 1]``, one a branch.
    child_ends : int32 array of shape (n_children,)
        Overwritten with the end of each child's range; the first child begins with its parent,
        every other one where the one before it ends.
    n_threads : int
    """
    cdef Py_ssize_t n_listed = begins.shape[0]
    cdef Py_ssize_t k
    if order.shape[0] == 0:
        child_ends[:] = 0
        return
    for k in prange(
        n_listed, nogil=True, num_threads=n_threads, schedule="dynamic",
        use_threads_if=order.shape[0] > FEW,
    ):
        _sort_node(
            &bins[feature[k], 0], &order[0], &scratch[0], begins[k], ends[k], &branches[k, 0],
            child_offsets[k + 1] - child_offsets[k], &child_ends[child_offsets[k]],
        )


cdef void _build_feature(
    const bin_t* column,
    const row_t* rows,
    Py_ssize_t begin,
    Py_ssize_t end,
    const bin_t* classes,
    const row_t* amounts,
    Py_ssize_t n_classes,
    Py_ssize_t n_counts,
    sum_t* counts,
) noexcept nogil:
    cdef Py_ssize_t i
    cdef row_t row
    memset(counts, 0, n_counts * sizeof(sum_t))
    if amounts == NULL:
        for i in range(begin, end):
            row = rows[i]
            counts[column[row] * n_classes + classes[row]] += 1
        return
    for i in range(begin, end):
        row = rows[i]
        # Fewer than 2^31 rows of at most 2^16 units: below 2^47.
        counts[column[row] * n_classes + classes[row]] += amounts[row]


cdef void _build_stored_feature(
    Py_ssize_t first,
    Py_ssize_t last,
    const row_t[::1] rows,
    const bin_t[::1] bins,
    bin_t fill,
    const row_t[::1] node_of_row,
    const bin_t[::1] classes,
    const row_t[::1] amounts,
    const sum_t[:, ::1] totals,
    Py_ssize_t first_cell,
    Py_ssize_t last_cell,
    sum_t[:, ::1] counts,
) noexcept nogil:
    cdef Py_ssize_t n_classes = totals.shape[1]
    cdef bint weighted = amounts.shape[0] > 0
    cdef Py_ssize_t i, node, position, c
    cdef sum_t rest
    for node in range(counts.shape[0]):
        for position in range(first_cell * n_classes, last_cell * n_classes):
            counts[node, position] = 0
    for i in range(first, last):
        node = node_of_row[rows[i]]
        if node >= 0:
            counts[node, (first_cell + bins[i]) * n_classes + classes[rows[i]]] += (
                amounts[rows[i]] if weighted else 1
            )
    # What a column does not store lies in its fill bin: the node's total less what was found, and
    # no pass over rows. Integers, so that the rest is exact.
    for node in range(counts.shape[0]):
        for c in range(n_classes):
            rest = totals[node, c]
            for position in range(first_cell, last_cell):
                rest = rest - counts[node, position * n_classes + c]
            counts[node, (first_cell + fill) * n_classes + c] += rest


cdef void _sort_node(
    const bin_t* column,
    row_t* order,
    row_t* scratch,
    Py_ssize_t begin,
    Py_ssize_t end,
    const bin_t* branches,
    Py_ssize_t n_branches,
    row_t* child_ends,
) noexcept nogil:
    cdef row_t position[CELLS]
    cdef row_t start = <row_t> begin
    cdef Py_ssize_t i, branch
    memset(position, 0, sizeof(position))
    for i in range(begin, end):
        position[branches[column[order[i]]]] += 1
    for branch in range(n_branches):
        # Counts become the positions where the branches begin.
        start += position[branch]
        child_ends[branch] = start
        position[branch] = start - position[branch]
    # A counting sort keeps the order of rows inside a branch: neighboring rows stay neighbors in
    # memory, level after level.
    for i in range(begin, end):
        branch = branches[column[order[i]]]
        scratch[position[branch]] = order[i]
        position[branch] += 1
    memcpy(order + begin, scratch + begin, (end - begin) * sizeof(row_t))
