"""Fine cells of released histograms merged into bins of about equal mass.

Only released and public numbers come in.
"""

from libc.math cimport floor, rint

from _types cimport bin_t


def merge(
    const double[:, ::1] mass, const double[::1] totals, int n_bins, int halvings,
    bin_t[:, ::1] bins,
):
    """Look for the least mass of a bin that gives every feature at most ``n_bins`` of them.

    Parameters
    ----------
    mass : float64 array of shape (n_features, n_cells)
        Positive.
    totals : float64 array of shape (n_features,)
        Sums of the masses of a feature.
    n_bins : int
        1 to 256.
    halvings : int
        Steps of the search between zero and everything; it ends early where all bins are used.
    bins : uint8 array of shape (n_features, n_cells)
        Overwritten: the bin of each cell, from 0 and up by 0 or 1; all zero where no step finds
        bins.
    """
    cdef Py_ssize_t n_cells = mass.shape[1]
    cdef Py_ssize_t f
    cdef int _step, found
    cdef double least, most, target
    with nogil:
        for f in range(mass.shape[0]):
            least, most = 0.0, totals[f]
            for _step in range(halvings):
                target = (least + most) / 2
                found = _count(&mass[f, 0], n_cells, target, n_bins, NULL)
                if found > n_bins:
                    least = target
                    continue
                most = target
                if found == n_bins:
                    break
            if _count(&mass[f, 0], n_cells, most, n_bins, &bins[f, 0]) > n_bins:
                bins[f, :] = 0


cdef int _count(
    const double* mass, Py_ssize_t n_cells, double target, int most_bins, bin_t* bins
) noexcept nogil:
    """Count bins of about a mass, and write them unless NULL; more than allowed ends the count.

    A cell that is heavier is a bin of its own, and the cells between two such ones are divided
    evenly.
    """
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t stop, i
    cdef int n_bins = 0
    cdef double before = 0.0   # mass of light cells before a stretch of them
    cdef double after, length, parts, part, last
    while start < n_cells:
        stop, after = start, before
        while stop < n_cells and mass[stop] < target:
            after += mass[stop]
            stop += 1
        length = after - before
        parts = max(rint(length / target), 1.0)
        last = -1.0
        after = before
        for i in range(start, stop):
            after += mass[i]
            part = (after - mass[i] / 2 - before) / max(length, 1e-300)
            part = min(floor(part * parts), parts - 1)
            if part != last:
                last = part
                n_bins += 1
                if n_bins > most_bins:
                    return n_bins
            if bins != NULL:
                bins[i] = n_bins - 1
        before = after
        if stop < n_cells:
            n_bins += 1
            if n_bins > most_bins:
                return n_bins
            if bins != NULL:
                bins[stop] = n_bins - 1
        start = stop + 1
    return n_bins
