import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

def exponential(
    bit_generator: BitGenerator,
    scores: NDArray[np.int64],
    numerator: int,
    denominator: int,
    chosen: NDArray[np.int32],
) -> None: ...
def permute_and_flip(
    bit_generator: BitGenerator,
    scores: NDArray[np.int64],
    numerator: int,
    denominator: int,
    chosen: NDArray[np.int32],
) -> None: ...
def argmax(scores: NDArray[np.int64], chosen: NDArray[np.int32]) -> None: ...
