"""The stored cells of a sparse table that comes by row, sorted by column.

Values and rows are sorted apart, so that a caller who wants bins of the values needs no room for
both at a time.
"""

from _types cimport bin_t, row_t

ctypedef fused value_t:
    float
    double
    bin_t


def column_starts(const row_t[::1] columns, Py_ssize_t[::1] column_start):
    """Find where each column begins when the stored cells of a table are sorted by column.

    Parameters
    ----------
    columns : int32 array of shape (n_stored,)
        Column of each cell.
    column_start : intp array of shape (n_features + 1,)
        Overwritten.
    """
    cdef Py_ssize_t k
    column_start[:] = 0
    with nogil:
        for k in range(columns.shape[0]):
            column_start[columns[k] + 1] += 1
        for k in range(1, column_start.shape[0]):
            column_start[k] += column_start[k - 1]


def values_by_column(
    const row_t[::1] columns, const value_t[::1] values, row_t first, row_t last,
    Py_ssize_t[::1] position, value_t[::1] out
):
    """Sort the values of stored cells by column, those of one column in the order they have.

    Parameters
    ----------
    columns : int32 array of shape (n_stored,)
    values : float32, float64 or uint8 array of shape (n_stored,)
    first, last : int
        Only cells of the columns ``first`` to ``last - 1`` are sorted.
    position : intp array of shape (n_features,)
        Where each of these columns begins in ``out``; afterwards, where it ends.
    out : array of the same type, as long as there are cells in these columns
        Overwritten.
    """
    cdef Py_ssize_t k
    if values.shape[0] != columns.shape[0] or not 0 <= first <= last <= position.shape[0]:
        raise ValueError("The values are not those of the cells.")
    with nogil:
        for k in range(columns.shape[0]):
            if first <= columns[k] < last:
                out[position[columns[k]]] = values[k]
                position[columns[k]] += 1


def rows_by_column(
    const Py_ssize_t[::1] row_start,
    const row_t[::1] columns,
    Py_ssize_t[::1] position,
    row_t[::1] out,
):
    """Sort the rows of stored cells by column, as `values_by_column` does with their values.

    Parameters
    ----------
    row_start : intp array of shape (n_rows + 1,)
        Cells of row ``r`` are ``row_start[r]:row_start[r + 1]``.
    columns : int32 array of shape (n_stored,)
    position : intp array of shape (n_features,)
        Where each column begins; afterwards, where it ends.
    out : int32 array of shape (n_stored,)
        Overwritten.
    """
    cdef Py_ssize_t row, k
    if out.shape[0] != columns.shape[0] or row_start[row_start.shape[0] - 1] > columns.shape[0]:
        raise ValueError("The rows are not those of the cells.")
    with nogil:
        for row in range(row_start.shape[0] - 1):
            for k in range(row_start[row], row_start[row + 1]):
                out[position[columns[k]]] = <row_t> row
                position[columns[k]] += 1


def bins_by_row(
    const row_t[::1] columns, const bin_t[::1] bins, Py_ssize_t[::1] position, bin_t[::1] out
):
    """Put the bins of stored cells, sorted by column, in the order that the cells have by row.

    Parameters
    ----------
    columns : int32 array of shape (n_stored,)
        Column of each cell, by row.
    bins : uint8 array of shape (n_stored,)
        By column.
    position : intp array of shape (n_features,)
        Where each column begins; afterwards, where it ends.
    out : uint8 array of shape (n_stored,)
        Overwritten.
    """
    cdef Py_ssize_t k
    if bins.shape[0] != columns.shape[0] or out.shape[0] != columns.shape[0]:
        raise ValueError("The bins are not those of the cells.")
    with nogil:
        for k in range(columns.shape[0]):
            out[k] = bins[position[columns[k]]]
            position[columns[k]] += 1


def count_rows(
    const Py_ssize_t[::1] row_start, const row_t[::1] columns, const row_t[::1] rows,
    Py_ssize_t[::1] column_start,
):
    """Find where each column begins when the cells of some rows are sorted by column.

    Parameters
    ----------
    row_start : intp array of shape (n_rows + 1,)
        Cells of row ``r`` are ``row_start[r]:row_start[r + 1]``.
    columns : int32 array of shape (n_stored,)
    rows : int32 array of shape (n_selected,)
    column_start : intp array of shape (n_features + 1,)
        Overwritten.
    """
    cdef Py_ssize_t i, k
    column_start[:] = 0
    with nogil:
        for i in range(rows.shape[0]):
            for k in range(row_start[rows[i]], row_start[rows[i] + 1]):
                column_start[columns[k] + 1] += 1
        for k in range(1, column_start.shape[0]):
            column_start[k] += column_start[k - 1]


def take_rows(
    const Py_ssize_t[::1] row_start, const row_t[::1] columns, const bin_t[::1] bins,
    const row_t[::1] rows, Py_ssize_t[::1] position, row_t[::1] out_rows, bin_t[::1] out_bins,
):
    """Sort the cells of some rows by column; rows count from 0 in their order.

    Parameters
    ----------
    row_start, columns, rows
        As in `count_rows`.
    bins : uint8 array of shape (n_stored,)
        By row.
    position : intp array of shape (n_features,)
        Where each column begins; afterwards, where it ends.
    out_rows, out_bins : arrays as long as there are cells in these rows
        Overwritten.
    """
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(rows.shape[0]):
            for k in range(row_start[rows[i]], row_start[rows[i] + 1]):
                out_rows[position[columns[k]]] = <row_t> i
                out_bins[position[columns[k]]] = bins[k]
                position[columns[k]] += 1
