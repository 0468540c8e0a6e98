import numpy as np
from numpy.typing import NDArray

def merge(
    mass: NDArray[np.float64],
    totals: NDArray[np.float64],
    n_bins: int,
    halvings: int,
    bins: NDArray[np.uint8],
) -> None: ...
