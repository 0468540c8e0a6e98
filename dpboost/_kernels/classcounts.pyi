import numpy as np
from numpy.typing import NDArray

def build(
    bins: NDArray[np.uint8],
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    classes: NDArray[np.uint8],
    amounts: NDArray[np.int32],
    cell_offsets: NDArray[np.int32],
    n_classes: int,
    counts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def build_stored(
    column_start: NDArray[np.intp],
    rows: NDArray[np.int32],
    bins: NDArray[np.uint8],
    fill: NDArray[np.uint8],
    node_of_row: NDArray[np.int32],
    classes: NDArray[np.uint8],
    amounts: NDArray[np.int32],
    totals: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    counts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def totals(
    order: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    classes: NDArray[np.uint8],
    amounts: NDArray[np.int32],
    counts: NDArray[np.int64],
) -> None: ...
def split_rows(
    bins: NDArray[np.uint8],
    order: NDArray[np.int32],
    scratch: NDArray[np.int32],
    begins: NDArray[np.int32],
    ends: NDArray[np.int32],
    feature: NDArray[np.int32],
    branches: NDArray[np.uint8],
    child_offsets: NDArray[np.int32],
    child_ends: NDArray[np.int32],
    n_threads: int,
) -> None: ...
