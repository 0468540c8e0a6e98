import numpy as np
from numpy.typing import NDArray

def build(
    bins: NDArray[np.uint8],
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
    nodes: NDArray[np.int32],
    words: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def gather_stored(
    column_start: NDArray[np.intp],
    stored_rows: NDArray[np.int32],
    stored_bins: NDArray[np.uint8],
    place: NDArray[np.int32],
    out_start: NDArray[np.intp],
    out_rows: NDArray[np.int32],
    out_bins: NDArray[np.uint8],
) -> None: ...
def children(
    parents: NDArray[np.int64],
    left: NDArray[np.int64],
    out: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def node_totals(
    order: NDArray[np.int32],
    starts: NDArray[np.int32],
    words: NDArray[np.int64],
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
