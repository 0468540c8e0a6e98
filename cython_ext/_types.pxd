# Widths used by every kernel, named once.

ctypedef unsigned char bin_t            # a bin number: at most 256 cells a feature
ctypedef int row_t                      # a row number inside one process
ctypedef long long sum_t                # integer sums, scores, leaf values
ctypedef unsigned long long word_t      # random words and packed (gradient, count) words
