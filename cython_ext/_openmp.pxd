# OpenMP where the build has it, one thread where it has not.

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define DPBOOST_HAS_OPENMP 1
    #else
    #define DPBOOST_HAS_OPENMP 0
    static inline int omp_get_thread_num(void) { return 0; }
    #endif
    """
    int DPBOOST_HAS_OPENMP
    int omp_get_thread_num() noexcept nogil
