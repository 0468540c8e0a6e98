# Sets of bins as 64-bit words, for the kernels that walk through their members.

from _types cimport word_t

cdef extern from *:
    """
    #define dpboost_lowest(word) __builtin_ctzll(word)
    #define dpboost_highest(word) (63 - __builtin_clzll(word))
    #define dpboost_n_bits(word) __builtin_popcountll(word)
    """
    int lowest_bit "dpboost_lowest"(word_t word) noexcept nogil
    int highest_bit "dpboost_highest"(word_t word) noexcept nogil
    int n_bits "dpboost_n_bits"(word_t word) noexcept nogil
