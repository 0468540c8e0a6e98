import numpy as np
from numpy.typing import NDArray

def split_gains(
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    noise_stddev: float,
    reg_lambda: float,
    prior: float,
    below: NDArray[np.float64],
    shown: NDArray[np.float64],
) -> None: ...
def value_gains(
    variance: float, below: NDArray[np.float64], gains: NDArray[np.float64]
) -> None: ...
