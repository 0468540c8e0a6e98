import numpy as np
from numpy.typing import NDArray

def find_leaves(
    bins: NDArray[np.uint8],
    rows: NDArray[np.int32],
    features: NDArray[np.int32],
    steps: NDArray[np.int32],
    table: NDArray[np.uint16],
    leaves: NDArray[np.uint16],
    n_threads: int,
) -> None: ...
def leaf_sums(
    words: NDArray[np.int64],
    leaves: NDArray[np.uint16],
    gradients: NDArray[np.int64],
    hessians: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def add_leaves(
    rows: NDArray[np.int32],
    leaves: NDArray[np.uint16],
    values: NDArray[np.int64],
    scores: NDArray[np.int64],
    n_threads: int,
) -> None: ...
