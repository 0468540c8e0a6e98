import numpy as np
from numpy.typing import NDArray

def column_starts(columns: NDArray[np.int32], column_start: NDArray[np.intp]) -> None: ...
def values_by_column(
    columns: NDArray[np.int32],
    values: NDArray[np.float32] | NDArray[np.float64] | NDArray[np.uint8],
    first: int,
    last: int,
    place: NDArray[np.intp],
    out: NDArray[np.float32] | NDArray[np.float64] | NDArray[np.uint8],
) -> None: ...
def rows_by_column(
    row_start: NDArray[np.intp],
    columns: NDArray[np.int32],
    place: NDArray[np.intp],
    out: NDArray[np.int32],
) -> None: ...
def bins_by_row(
    columns: NDArray[np.int32],
    bins: NDArray[np.uint8],
    place: NDArray[np.intp],
    out: NDArray[np.uint8],
) -> None: ...
def count_rows(
    row_start: NDArray[np.intp],
    columns: NDArray[np.int32],
    rows: NDArray[np.int32],
    column_start: NDArray[np.intp],
) -> None: ...
def take_rows(
    row_start: NDArray[np.intp],
    columns: NDArray[np.int32],
    bins: NDArray[np.uint8],
    rows: NDArray[np.int32],
    place: NDArray[np.intp],
    out_rows: NDArray[np.int32],
    out_bins: NDArray[np.uint8],
) -> None: ...
