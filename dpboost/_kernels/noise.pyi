import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

def discrete_laplace(
    bit_generator: BitGenerator,
    values: NDArray[np.int64],
    numerator: int,
    denominator: int,
    out: NDArray[np.int64],
) -> None: ...
def discrete_gaussian(
    bit_generator: BitGenerator,
    values: NDArray[np.int64],
    sigma: int,
    out: NDArray[np.int64],
) -> None: ...
def geometric(
    bit_generator: BitGenerator, numerator: int, denominator: int, out: NDArray[np.int64]
) -> None: ...
def bernoulli_exp(
    bit_generator: BitGenerator, numerator: int, denominator: int, out: NDArray[np.uint8]
) -> None: ...
