import numpy as np
from numpy.typing import NDArray

def ascend(
    lines: NDArray[np.float64],
    weights: NDArray[np.float64],
    blocks: NDArray[np.float64],
) -> None: ...
