# Sets of bins as 64-bit words, for the kernels that walk through their members.

from _types cimport word_t

cdef extern from *:
    """
    #define dpboost_lowest(word) __builtin_ctzll(word)
    """
    int lowest_bit "dpboost_lowest"(word_t word) noexcept nogil
