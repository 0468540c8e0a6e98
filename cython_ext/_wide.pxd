# Integers of 128 bits. For Cython they are long long, for the C compiler what they are.

cdef extern from *:
    """
    #ifndef __SIZEOF_INT128__
    #error "dpboost needs a compiler with 128-bit integers: GCC, Clang or clang-cl"
    #endif
    typedef unsigned __int128 dpboost_wide_t;
    """
    ctypedef unsigned long long wide_t "dpboost_wide_t"
