"""What the processor can do."""

cdef extern from *:
    """
    #ifdef DPBOOST_KNOWS_V3
    static int dpboost_has_v3(void) { return __builtin_cpu_supports("x86-64-v3") != 0; }
    #else
    static int dpboost_has_v3(void) { return 0; }
    #endif
    """
    bint dpboost_has_v3() noexcept nogil


def has_v3():
    """Tell whether the kernels were built for x86-64-v3 too, and this machine runs that."""
    return dpboost_has_v3()
