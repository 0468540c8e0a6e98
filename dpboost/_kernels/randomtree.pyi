import numpy as np
from numpy.typing import NDArray

def grow(
    n_bins: NDArray[np.int32],
    is_nominal: NDArray[np.uint8],
    order: NDArray[np.uint8],
    depth: int,
    words: NDArray[np.uint64],
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    steps: NDArray[np.int32],
    table: NDArray[np.uint16],
) -> tuple[int, int]: ...
def order_leaves(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    first: NDArray[np.int32],
    middle: NDArray[np.int32],
    last: NDArray[np.int32],
    leaves: NDArray[np.int32],
) -> None: ...
