import numpy as np
from numpy.typing import NDArray

def runs(
    column_start: NDArray[np.intp],
    stored_rows: NDArray[np.int32],
    stored_bins: NDArray[np.uint8],
    fill: NDArray[np.uint8],
    node_of_row: NDArray[np.int32],
    words: NDArray[np.int64],
    total_sums: NDArray[np.int64],
    total_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    candidate_offsets: NDArray[np.int32],
    is_categorical: NDArray[np.uint8],
    hessian: float,
    reg_lambda: float,
    scale: float,
    limit: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.intp]]: ...
