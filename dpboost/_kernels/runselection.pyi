import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

def exponential(
    bit_generator: BitGenerator,
    scores: NDArray[np.int64],
    starts: NDArray[np.int32],
    node_start: NDArray[np.intp],
    n_candidates: int,
    numerator: int,
    denominator: int,
    chosen: NDArray[np.int32],
) -> None: ...
def argmax(
    scores: NDArray[np.int64],
    starts: NDArray[np.int32],
    node_start: NDArray[np.intp],
    chosen: NDArray[np.int32],
) -> None: ...
