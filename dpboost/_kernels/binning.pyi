"""From raw values to bins: one fixed map from a value to a bin.

A feature is described by one entry in each of these arrays:

===============  =========  =====================================================================
``search``       uint8      0: the cell is the bin, 1: ``table[start + cell]``, 2: sorted borders
``lower``        float64    ``cell = trunc(clamp((x - lower) * scale, first, last))``
``scale``        float64
``first``        float64    -1 for categories (negative codes share one cell), else 0
``last``         float64    at most 65537
``missing_cell`` float64    the cell of NaN (the bin of NaN where ``search`` is 2)
``zero``         float64    what values up to float32(1e-35) in size are read as: 0 as in LightGBM,
                            or NaN where zero counts as missing
``step``         int32      ``search == 2``: power of two, the feature has ``2 * step - 1`` borders
``start``        intp       place of cell 0 in ``table``, or of the first border in ``borders``
===============  =========  =====================================================================

``table`` (uint8) and ``borders`` (float64, sorted, filled up with infinity) are shared by all
features and never empty.
The caller checks shapes and ranges. What would make a kernel write outside the arrays it is given
raises ValueError before the first row.
"""

import numpy as np
from numpy.typing import NDArray

def bin_dense(
    values: NDArray[np.float32] | NDArray[np.float64],
    search: NDArray[np.uint8],
    lower: NDArray[np.float64],
    scale: NDArray[np.float64],
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    missing_cell: NDArray[np.float64],
    zero: NDArray[np.float64],
    step: NDArray[np.int32],
    start: NDArray[np.intp],
    table: NDArray[np.uint8],
    borders: NDArray[np.float64],
    out: NDArray[np.uint8],
    first_row: int,
    n_threads: int,
) -> None:
    """Bin rows of any strides: ``out[f, first_row + i]`` is the bin of ``values[i, f]``."""

def bin_stored(
    values: NDArray[np.float32] | NDArray[np.float64],
    column_start: NDArray[np.intp],
    search: NDArray[np.uint8],
    lower: NDArray[np.float64],
    scale: NDArray[np.float64],
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    missing_cell: NDArray[np.float64],
    zero: NDArray[np.float64],
    step: NDArray[np.int32],
    start: NDArray[np.intp],
    table: NDArray[np.uint8],
    borders: NDArray[np.float64],
    out: NDArray[np.uint8],
    n_threads: int,
) -> None:
    """Bin the stored values of columns: those of f are column_start[f]:column_start[f + 1]."""

def count_cells(
    values: NDArray[np.floating],
    columns: NDArray[np.int32],
    lower: NDArray[np.float64],
    scale: NDArray[np.float64],
    zero: NDArray[np.float64],
    counts: NDArray[np.intp],
    n_threads: int,
) -> None:
    """Count rows by affine cell; ``counts[k]`` has one entry more, for missing values."""

def find_ends(
    features: NDArray[np.int32],
    n_bins: NDArray[np.int32],
    search: NDArray[np.uint8],
    lower: NDArray[np.float64],
    scale: NDArray[np.float64],
    first: NDArray[np.float64],
    last: NDArray[np.float64],
    missing_cell: NDArray[np.float64],
    step: NDArray[np.int32],
    start: NDArray[np.intp],
    table: NDArray[np.uint8],
    borders: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Find the largest double in bin b or below: ``out[k, b]`` for feature ``features[k]``.

    Only for numeric features, for every value bin but the last. Bisects over all doubles by
    asking where they are binned, first close to where they should be. Zero is a number here, also
    where it counts as missing.
    """
