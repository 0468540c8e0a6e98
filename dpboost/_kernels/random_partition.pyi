import numpy as np
from numpy.typing import NDArray

def grow(
    features: NDArray[np.int32],
    n_bins: NDArray[np.int32],
    is_nominal: NDArray[np.uint8],
    orders: NDArray[np.uint8],
    line: NDArray[np.int32],
    depth: int,
    words: NDArray[np.uint64],
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.uint64],
    NDArray[np.int32],
    NDArray[np.uint16],
]: ...
