import numpy as np
from numpy.typing import NDArray

def add_trees(
    bins: NDArray[np.uint8],
    rows: NDArray[np.int32],
    first_tree: NDArray[np.int32],
    last_tree: int,
    node_start: NDArray[np.int32],
    leaf_start: NDArray[np.int32],
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_value: NDArray[np.int64],
    scores: NDArray[np.int64],
    n_threads: int,
    compact: bool = False,
) -> None: ...
def leaf_indices(
    bins: NDArray[np.uint8],
    rows: NDArray[np.int32],
    tree: int,
    node_start: NDArray[np.int32],
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaves: NDArray[np.int32],
    n_threads: int,
) -> None: ...
def logistic(raw: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
def softmax(raw: NDArray[np.float64]) -> None: ...
def exponential(raw: NDArray[np.float64], out: NDArray[np.float64]) -> None: ...
