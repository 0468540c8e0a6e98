import numpy as np
from numpy.random import BitGenerator
from numpy.typing import NDArray

def respond(
    bit_generator: BitGenerator,
    symbols: NDArray[np.int64],
    n_symbols: int,
    other: int,
    out: NDArray[np.int64],
) -> None: ...
def toss_bits(
    bit_generator: BitGenerator,
    symbols: NDArray[np.int64],
    n_symbols: int,
    background: int,
    own: int,
    out: NDArray[np.uint8],
) -> None: ...
def round_levels(
    bit_generator: BitGenerator,
    positions: NDArray[np.int64],
    n_levels: int,
    out: NDArray[np.int64],
) -> None: ...
def add_bits(bits: NDArray[np.uint8], totals: NDArray[np.int64]) -> None: ...
def add_labeled_bits(
    bits: NDArray[np.uint8],
    labels: NDArray[np.int64],
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None: ...
