import numpy as np
from numpy.typing import NDArray

def gradient_gain(
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    candidate_offsets: NDArray[np.int32],
    is_categorical: NDArray[np.uint8],
    hessian: float,
    reg_lambda: float,
    scale: float,
    limit: int,
    scores: NDArray[np.int64],
    n_threads: int,
) -> None: ...
