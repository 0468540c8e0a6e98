import numpy as np
from numpy.typing import NDArray

def polya(
    bit_generator: np.random.BitGenerator,
    values: NDArray[np.int64],
    numerator: int,
    denominator: int,
    honest: int,
    out: NDArray[np.int64],
) -> None: ...
