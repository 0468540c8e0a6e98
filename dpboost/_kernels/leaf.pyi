import numpy as np
from numpy.typing import NDArray

def clipped_leaf(
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
    hessian: float,
    reg_lambda: float,
    gradient_unit: float,
    clip: float,
    units_per_one: float,
    out: NDArray[np.int64],
) -> None: ...
