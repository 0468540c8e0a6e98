import numpy as np
from numpy.typing import NDArray

def spell_trees(
    node_start: NDArray[np.int32],
    leaf_start: NDArray[np.int32],
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    leaf_value: NDArray[np.float64],
    leaf_count: NDArray[np.int64],
    node_value: NDArray[np.float64],
    node_count: NDArray[np.int64],
    split_gain: NDArray[np.float64],
    n_bins: NDArray[np.int32],
    is_categorical: NDArray[np.uint8],
    first: NDArray[np.int32],
    values: NDArray[np.float64],
    zero_as_missing: bool,
    words: NDArray[np.uint32],
    ends: NDArray[np.int32],
) -> list[str]: ...
