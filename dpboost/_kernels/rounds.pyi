import numpy as np
from numpy.typing import NDArray

def squared(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    present: NDArray[np.uint8],
    pending: NDArray[np.int64],
    leaves: NDArray[np.uint16],
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    steps: NDArray[np.int32],
    table: NDArray[np.uint16],
    sums: NDArray[np.int64],
    n_threads: int,
    scale: float,
    gradient_limit: int,
) -> None: ...
def logistic(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    present: NDArray[np.uint8],
    pending: NDArray[np.int64],
    leaves: NDArray[np.uint16],
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    steps: NDArray[np.int32],
    table: NDArray[np.uint16],
    sums: NDArray[np.int64],
    n_threads: int,
    curve: NDArray[np.int64],
    gradient_limit: int,
) -> None: ...
def softmax(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    present: NDArray[np.uint8],
    pending: NDArray[np.int64],
    leaves: NDArray[np.uint16],
    bins: NDArray[np.uint8],
    features: NDArray[np.int32],
    steps: NDArray[np.int32],
    table: NDArray[np.uint16],
    sums: NDArray[np.int64],
    n_threads: int,
    curve: NDArray[np.int64],
    gradient_limit: int,
) -> None: ...
