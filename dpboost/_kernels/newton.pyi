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
