import numpy as np
from numpy.typing import NDArray

def assign_blocks(
    words: NDArray[np.uint64],
    thresholds: NDArray[np.uint64],
    blocks: NDArray[np.int32],
    n_threads: int,
) -> None: ...
