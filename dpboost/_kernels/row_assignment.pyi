import numpy as np
from numpy.typing import NDArray

def order_rows(
    rounds: NDArray[np.int32],
    order: NDArray[np.int32],
    starts: NDArray[np.intp],
    n_threads: int,
) -> None: ...
def gather_rounds(
    bins: NDArray[np.uint8],
    order: NDArray[np.int32],
    starts: NDArray[np.intp],
    out: NDArray[np.uint8],
    n_threads: int,
) -> None: ...
