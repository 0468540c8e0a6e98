"""The stored cells of a sparse table that comes by row, sorted by column.

Values and rows are sorted apart, so that a caller who wants bins of the values needs no room for
both at a time.
"""

from _types cimport row_t

ctypedef fused real_t:
    float
    double


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
    const row_t[::1] columns, const real_t[::1] values, Py_ssize_t[::1] place, real_t[::1] out
):
    """Sort the values of stored cells by column, those of one column in the order they have.

    Parameters
    ----------
    columns : int32 array of shape (n_stored,)
    values : float32 or float64 array of shape (n_stored,)
    place : intp array of shape (n_features,)
        Where each column begins; afterwards, where it ends.
    out : array of the same type and shape
        Overwritten.
    """
    cdef Py_ssize_t k
    with nogil:
        for k in range(columns.shape[0]):
            out[place[columns[k]]] = values[k]
            place[columns[k]] += 1


def rows_by_column(
    const Py_ssize_t[::1] row_start, const row_t[::1] columns, Py_ssize_t[::1] place, row_t[::1] out
):
    """Sort the rows of stored cells by column, as `values_by_column` does with their values.

    Parameters
    ----------
    row_start : intp array of shape (n_rows + 1,)
        Cells of row ``r`` are ``row_start[r]:row_start[r + 1]``.
    columns : int32 array of shape (n_stored,)
    place : intp array of shape (n_features,)
        Where each column begins; afterwards, where it ends.
    out : int32 array of shape (n_stored,)
        Overwritten.
    """
    cdef Py_ssize_t row, k
    with nogil:
        for row in range(row_start.shape[0] - 1):
            for k in range(row_start[row], row_start[row + 1]):
                out[place[columns[k]]] = <row_t> row
                place[columns[k]] += 1
