import numpy as np
from numpy.typing import NDArray

def scores(
    counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    candidate_offsets: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    n_classes: int,
    criterion: int,
    caps: NDArray[np.float64],
    scales: NDArray[np.float64],
    out: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def node_scores(
    counts: NDArray[np.int64],
    criterion: int,
    caps: NDArray[np.float64],
    scales: NDArray[np.float64],
    out: NDArray[np.int64],
) -> None: ...
