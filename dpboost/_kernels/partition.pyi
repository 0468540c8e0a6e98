import numpy as np
from numpy.typing import NDArray

def split_rows(
    bins: NDArray[np.uint8],
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
    feature: NDArray[np.int32],
    split_bin: NDArray[np.uint8],
    is_categorical: NDArray[np.uint8],
    order_out: NDArray[np.int32],
    starts_out: NDArray[np.int32],
    n_threads: int,
) -> None: ...
