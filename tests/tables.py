"""Bins of any table in one dense matrix, for comparisons."""

import numpy as np

from dpboost.data.sparse import dense_columns


def dense_bins(binner, table, n_threads=1):
    """Bins of a dense or sparse table as an array of shape (n_features, n_rows)."""
    bins = table.bins(binner, n_threads)
    return dense_columns(bins, np.arange(binner.n_features))[0]
