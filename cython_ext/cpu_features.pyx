"""What the processor can do, and how many threads OpenMP would use."""

cdef extern from *:
    """
    #ifdef DPBOOST_KNOWS_V3
    static int dpboost_has_v3(void) { return __builtin_cpu_supports("x86-64-v3") != 0; }
    #else
    static int dpboost_has_v3(void) { return 0; }
    #endif
    #ifdef _OPENMP
    #include <omp.h>
    #else
    static int omp_get_max_threads(void) { return 1; }
    #endif
    """
    bint dpboost_has_v3() noexcept nogil
    int omp_get_max_threads() noexcept nogil


def has_v3():
    """Tell whether the kernels were built for x86-64-v3 too, and this machine runs that."""
    return dpboost_has_v3()


def max_threads():
    """Return how many threads OpenMP would use, 1 where the kernels are built without it.

    The limits that the user sets count: ``OMP_NUM_THREADS``, and threadpoolctl for this thread.
    """
    return omp_get_max_threads()
