# From raw values to bins.
#
# A feature's map is given by eight numbers and one position in a shared table (see `binning.pyi`):
#     search == 0:  cell = trunc(clamp((x - lower) * scale, first, last));  bin = cell
#     search == 1:  the same cell;  bin = table[start + cell]
#     search == 2:  bin = number of edges below x, the edges at borders[start:start + 2 * step - 1]
# with |x| <= 1e-35 (as float32) read as `zero` (0, or NaN where zero counts as missing), and NaN
# sent to `missing_cell`.
#
# Every value goes through the same full block of BLOCK doubles, so that a row gets the same bins
# alone, in the tail of a table, on every thread: there is no second code path.

from cython.parallel cimport prange
from libc.math cimport HUGE_VAL
from libc.string cimport memcpy

from _types cimport bin_t, word_t

ctypedef fused real_t:
    float
    double

ctypedef const real_t const_real_t

cdef enum:
    BLOCK = 256
    COLUMNS_AT_ONCE = 64  # columns that are counted together, their counts in the second cache
    NEAR = 16  # doubles to either side of its formula among which the end of a bin is looked for

cdef word_t SIGN = <word_t> 1 << 63

# LightGBM reads values up to float32(1e-35) as zero; a float's own digits, promoted to double.
cdef extern from *:
    """
    #define DPBOOST_ZERO ((double)1e-35f)
    """
    const double ZERO "DPBOOST_ZERO"


cdef inline double squash(double x, double zero) noexcept nogil:
    return zero if (-ZERO <= x) & (x <= ZERO) else x


cdef inline bint is_plain(int search, double lower, double scale, double zero) noexcept nogil:
    # Whether a value up to 1e-35 has the cell of zero without being replaced: beside such a lower
    # bound it vanishes when it is subtracted, and from zero up it stays within the first cell.
    return (
        search != 2 and zero == 0.0 and scale < 1e30
        and (lower == 0.0 or lower > 1e-15 or lower < -1e-15)
    )


cdef inline void affine_cells(
    const double* x, double lower, double scale, double first, double last,
    double missing_cell, int* cell,
) noexcept nogil:
    cdef int i
    cdef double t
    for i in range(BLOCK):
        t = (x[i] - lower) * scale
        t = t if t > first else first
        t = t if t < last else last
        t = t if x[i] == x[i] else missing_cell
        cell[i] = <int>t


cdef inline void edge_cells(
    const double* x, const double* edges, int step, int missing_cell, int* cell,
) noexcept nogil:
    cdef int i
    for i in range(BLOCK):
        cell[i] = 0
    while step > 0:
        for i in range(BLOCK):
            cell[i] += step * (edges[cell[i] + step - 1] < x[i])
        step >>= 1
    for i in range(BLOCK):
        cell[i] = cell[i] if x[i] == x[i] else missing_cell


cdef void bin_block(
    const double* x, int search, double lower, double scale, double first, double last,
    double missing_cell, int step, const bin_t* table, const double* borders, bin_t* bins,
) noexcept nogil:
    cdef int i
    cdef int cell[BLOCK]
    if search == 2:
        edge_cells(x, borders, step, <int>missing_cell, cell)
    else:
        affine_cells(x, lower, scale, first, last, missing_cell, cell)
    if search == 1:
        for i in range(BLOCK):
            bins[i] = table[cell[i]]
    else:
        for i in range(BLOCK):
            bins[i] = <bin_t>cell[i]


cdef inline void load(
    const_real_t* source, Py_ssize_t stride, int count, bint plain, double zero, double* x,
) noexcept nogil:
    # stride in bytes; a short block is filled up with zeros
    cdef int i
    cdef const char* position = <const char*>source
    if count == BLOCK and stride == sizeof(real_t):
        for i in range(BLOCK):
            x[i] = source[i]
    else:
        for i in range(count):
            x[i] = (<const_real_t*>position)[0]
            position += stride
        for i in range(count, BLOCK):
            x[i] = 0.0
    if not plain:
        for i in range(BLOCK):
            x[i] = squash(x[i], zero)


cdef void bin_rows(
    const_real_t* values, Py_ssize_t row_stride, Py_ssize_t column_stride, int n_features,
    int count, const unsigned char* search, const double* lower, const double* scale,
    const double* first, const double* last, const double* missing_cell, const double* zero,
    const int* step, const Py_ssize_t* start, const bin_t* table, const double* borders,
    bin_t* out, Py_ssize_t out_stride,
) noexcept nogil:
    cdef int f
    cdef double x[BLOCK]
    cdef bin_t bins[BLOCK]
    cdef const char* column = <const char*>values
    for f in range(n_features):
        load(<const_real_t*>column, row_stride, count,
             is_plain(search[f], lower[f], scale[f], zero[f]), zero[f], x)
        bin_block(x, search[f], lower[f], scale[f], first[f], last[f], missing_cell[f], step[f],
                  table + (start[f] if search[f] == 1 else 0),
                  borders + (start[f] if search[f] == 2 else 0), bins)
        memcpy(out + f * out_stride, bins, count)
        column += column_stride


def bin_dense(
    const_real_t[:, :] values, const unsigned char[::1] search, const double[::1] lower,
    const double[::1] scale, const double[::1] first, const double[::1] last,
    const double[::1] missing_cell, const double[::1] zero, const int[::1] step,
    const Py_ssize_t[::1] start, const bin_t[::1] table, const double[::1] borders,
    bin_t[:, ::1] out, Py_ssize_t first_row, int n_threads,
):
    """Bin rows of any strides: out[f, first_row + i] is the bin of values[i, f]."""
    cdef Py_ssize_t n_rows = values.shape[0]
    cdef int n_features = <int>values.shape[1]
    cdef Py_ssize_t n_blocks = (n_rows + BLOCK - 1) // BLOCK
    cdef Py_ssize_t block, row
    if (
        first_row < 0 or n_rows > out.shape[1] - first_row or n_features != out.shape[0]
        or n_features > search.shape[0]
    ):
        raise ValueError("There are more rows or columns than there is room for their bins.")
    if n_rows == 0 or n_features == 0:
        return
    for block in prange(
        n_blocks, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=16
    ):
        row = block * BLOCK
        bin_rows(
            &values[row, 0], values.strides[0], values.strides[1], n_features,
            <int>min(<Py_ssize_t>BLOCK, n_rows - row), &search[0], &lower[0], &scale[0],
            &first[0], &last[0], &missing_cell[0], &zero[0], &step[0], &start[0], &table[0],
            &borders[0], &out[0, first_row + row], out.strides[0],
        )


cdef void count_features(
    const_real_t* values, Py_ssize_t row_stride, Py_ssize_t column_stride, Py_ssize_t n_rows,
    const int* columns, const double* lower, const double* scale, const double* zero,
    int n_columns, int n_cells, Py_ssize_t* counts,
) noexcept nogil:
    cdef double x[BLOCK]
    cdef int cell[BLOCK]
    cdef Py_ssize_t block, row
    cdef int k, i, count
    for block in range((n_rows + BLOCK - 1) // BLOCK):
        row = block * BLOCK
        count = <int>min(<Py_ssize_t>BLOCK, n_rows - row)
        for k in range(n_columns):
            load(
                <const_real_t*>(
                    <const char*>values + row * row_stride + columns[k] * column_stride
                ),
                row_stride, count, is_plain(0, lower[k], scale[k], zero[k]), zero[k], x,
            )
            affine_cells(x, lower[k], scale[k], 0, n_cells - 1, n_cells, cell)
            for i in range(count):
                counts[k * (n_cells + 1) + cell[i]] += 1


def count_cells(
    const_real_t[:, :] values, const int[::1] columns, const double[::1] lower,
    const double[::1] scale, const double[::1] zero, Py_ssize_t[:, ::1] counts, int n_threads,
):
    """Count rows by cell: counts[k, c] grows by the rows whose value in columns[k] is in cell c.

    The last entry counts missing values.
    """
    cdef Py_ssize_t n_rows = values.shape[0]
    cdef int n_columns = <int>columns.shape[0]
    cdef int n_cells = <int>counts.shape[1] - 1
    cdef int n_groups = (n_columns + COLUMNS_AT_ONCE - 1) // COLUMNS_AT_ONCE
    cdef int group, k, after
    if n_columns > counts.shape[0] or n_columns > lower.shape[0]:
        raise ValueError("There are more columns than there is room for their counts.")
    for k in range(n_columns):
        if not 0 <= columns[k] < values.shape[1]:
            raise ValueError("Rows have fewer columns than are to be counted.")
    if n_rows == 0 or n_columns == 0:
        return
    # As many groups of about the same size for each thread.
    n_groups = min((n_groups + n_threads - 1) // n_threads * n_threads, n_columns)
    for group in prange(n_groups, nogil=True, num_threads=n_threads, schedule="dynamic"):
        k = group * n_columns // n_groups
        after = (group + 1) * n_columns // n_groups
        count_features(
            &values[0, 0], values.strides[0], values.strides[1], n_rows, &columns[k], &lower[k],
            &scale[k], &zero[k], after - k, n_cells, &counts[k, 0],
        )


cdef void bin_column(
    const_real_t* values, Py_ssize_t n_stored, int search, double lower, double scale,
    double first, double last, double missing_cell, double zero, int step, const bin_t* table,
    const double* borders, bin_t* out,
) noexcept nogil:
    cdef double x[BLOCK]
    cdef bin_t bins[BLOCK]
    cdef Py_ssize_t k = 0
    cdef int count
    while k < n_stored:
        count = <int>min(<Py_ssize_t>BLOCK, n_stored - k)
        load(values + k, sizeof(real_t), count, is_plain(search, lower, scale, zero), zero, x)
        bin_block(x, search, lower, scale, first, last, missing_cell, step, table, borders, bins)
        memcpy(out + k, bins, count)
        k += BLOCK


def bin_stored(
    const_real_t[::1] values, const Py_ssize_t[::1] column_start,
    const unsigned char[::1] search, const double[::1] lower, const double[::1] scale,
    const double[::1] first, const double[::1] last, const double[::1] missing_cell,
    const double[::1] zero, const int[::1] step, const Py_ssize_t[::1] start,
    const bin_t[::1] table, const double[::1] borders, bin_t[::1] out, int n_threads,
):
    """Bin the stored values of columns: those of f are column_start[f]:column_start[f + 1]."""
    cdef int n_features = <int>search.shape[0]
    cdef int f
    if column_start.shape[0] != n_features + 1 or column_start[0] < 0:
        raise ValueError("The columns of the stored values are not those of their bins.")
    if column_start[n_features] > min(values.shape[0], out.shape[0]):
        raise ValueError("There are fewer stored values than their columns say.")
    for f in range(n_features):
        if column_start[f] > column_start[f + 1]:
            raise ValueError("The columns of the stored values do not follow one another.")
    if values.shape[0] == 0:
        return
    for f in prange(
        n_features, nogil=True, num_threads=n_threads, schedule="dynamic", chunksize=16
    ):
        bin_column(
            &values[0] + column_start[f], column_start[f + 1] - column_start[f], search[f],
            lower[f], scale[f], first[f], last[f], missing_cell[f], zero[f], step[f],
            &table[0] + (start[f] if search[f] == 1 else 0),
            &borders[0] + (start[f] if search[f] == 2 else 0), &out[0] + column_start[f],
        )


cdef struct Map:
    int search
    double lower
    double scale
    double first
    double last
    double missing_cell
    int step
    const bin_t* table
    const double* borders


# Doubles in their order, as words: the next double is the next word.

cdef inline word_t order_of(double x) noexcept nogil:
    cdef word_t bits
    memcpy(&bits, &x, 8)
    return ~bits if bits & SIGN else bits | SIGN


cdef inline double double_at(word_t order) noexcept nogil:
    cdef word_t bits = order ^ SIGN if order & SIGN else ~order
    cdef double x
    memcpy(&x, &bits, 8)
    return x


cdef void bins_at(const word_t* order, const Map* map, bin_t* bins) noexcept nogil:
    cdef double value[BLOCK]
    cdef double x[BLOCK]
    cdef int i
    for i in range(BLOCK):
        value[i] = double_at(order[i])
    load(value, sizeof(double), BLOCK, is_plain(map.search, map.lower, map.scale, 0.0), 0.0, x)
    bin_block(x, map.search, map.lower, map.scale, map.first, map.last, map.missing_cell,
              map.step, map.table, map.borders, bins)


cdef void look_near(const Map* map, int n_ends, word_t* low, word_t* high) noexcept nogil:
    # Where the formula has the end of every bin but the last: right but for rounding.
    cdef int b, cell = 0
    cdef word_t near, least = order_of(-HUGE_VAL), most = order_of(HUGE_VAL)
    cdef bin_t bins[BLOCK]
    for b in range(BLOCK):
        low[b] = high[b] = least
    for b in range(n_ends):
        cell += 1
        while map.search == 1 and cell < map.missing_cell and map.table[cell] <= b:
            cell += 1
        near = order_of(map.borders[b] if map.search == 2 else map.lower + cell / map.scale)
        low[b] = max(near, least + NEAR) - NEAR
        high[b] = min(near, most - NEAR) + NEAR
    bins_at(low, map, bins)
    for b in range(n_ends):
        low[b] = low[b] if bins[b] <= b else least
    bins_at(high, map, bins)
    for b in range(n_ends):
        high[b] = high[b] if bins[b] > b else most


cdef void find_ends_of(const Map* map, int n_ends, double* out) noexcept nogil:
    cdef word_t low[BLOCK]
    cdef word_t high[BLOCK]
    cdef word_t middle[BLOCK]
    cdef bin_t bins[BLOCK]
    cdef word_t widest = 2
    cdef int b
    look_near(map, n_ends, low, high)
    while widest > 1:
        for b in range(BLOCK):
            middle[b] = low[b] + (high[b] - low[b]) // 2
        bins_at(middle, map, bins)
        widest = 0
        for b in range(n_ends):
            if bins[b] <= b:
                low[b] = middle[b]
            else:
                high[b] = middle[b]
            widest = max(widest, high[b] - low[b])
    for b in range(n_ends):
        out[b] = double_at(low[b])


def find_ends(
    const int[::1] features, const int[::1] n_bins, const unsigned char[::1] search,
    const double[::1] lower, const double[::1] scale, const double[::1] first,
    const double[::1] last, const double[::1] missing_cell, const int[::1] step,
    const Py_ssize_t[::1] start, const bin_t[::1] table, const double[::1] borders,
    double[:, ::1] out,
):
    """Find the largest double in bin b or below: out[k, b] for feature features[k].

    Bisects over all doubles by asking where they are binned, first close to where they should be.
    Zero is a number here, also where it counts as missing.
    """
    cdef Map map
    cdef Py_ssize_t k
    cdef int f
    for k in range(features.shape[0]):
        f = features[k]
        map.search, map.lower, map.scale, map.step = search[f], lower[f], scale[f], step[f]
        map.first, map.last, map.missing_cell = first[f], last[f], missing_cell[f]
        map.table = &table[0] + (start[f] if search[f] == 1 else 0)
        map.borders = &borders[0] + (start[f] if search[f] == 2 else 0)
        find_ends_of(&map, n_bins[f] - 1, &out[k, 0])
