import numpy as np
from numpy.typing import NDArray

def squared(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int32],
    scale: float,
    gradient_limit: int,
    words: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def logistic(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int32],
    table: NDArray[np.int64],
    gradient_limit: int,
    words: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def softmax(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int32],
    table: NDArray[np.int64],
    gradient_limit: int,
    words: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def separate(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int32],
    table: NDArray[np.int64],
    gradient_limit: int,
    words: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def surface(
    scores: NDArray[np.int64],
    labels: NDArray[np.int64],
    rows: NDArray[np.int32],
    gradients: NDArray[np.int64],
    hessians: NDArray[np.int64],
    origin: int,
    shift: int,
    label_shift: int,
    residual: bool,
    low: int,
    high: int,
    words: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def weighted(
    weights: NDArray[np.int32], rows: NDArray[np.int32], words: NDArray[np.int64]
) -> None: ...
