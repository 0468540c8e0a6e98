import numpy as np
from numpy.typing import NDArray

def order_nodes(
    node_start: NDArray[np.int32],
    leaf_start: NDArray[np.int32],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    order: NDArray[np.int32],
    node_place: NDArray[np.int32],
    leaf_place: NDArray[np.int32],
) -> bool: ...
def share_grid(
    order: NDArray[np.int32],
    node_place: NDArray[np.int32],
    feature: NDArray[np.int32],
    left_bins: NDArray[np.uint64],
    n_bins: NDArray[np.int32],
    reach: NDArray[np.uint64],
    share: NDArray[np.float64],
) -> None: ...
def add_up(
    order: NDArray[np.int32],
    node_place: NDArray[np.int32],
    leaf_place: NDArray[np.int32],
    leaf_count: NDArray[np.int64],
    leaf_value: NDArray[np.float64],
    below_count: NDArray[np.int64],
    below_value: NDArray[np.float64],
    node_count: NDArray[np.int64],
    node_value: NDArray[np.float64],
) -> None: ...
