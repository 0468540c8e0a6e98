import numpy as np
from numpy.typing import NDArray

def gather(
    bins: NDArray[np.uint8], rows: NDArray[np.int32], out: NDArray[np.uint8], n_threads: int
) -> None: ...
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
def build_stored(
    column_start: NDArray[np.intp],
    stored_rows: NDArray[np.int32],
    stored_bins: NDArray[np.uint8],
    fill: NDArray[np.uint8],
    node_of_row: NDArray[np.int32],
    words: NDArray[np.int64],
    total_sums: NDArray[np.int64],
    total_counts: NDArray[np.int64],
    cell_offsets: NDArray[np.int32],
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
    n_threads: int,
) -> None: ...
def subtract(
    parent_sums: NDArray[np.int64],
    parent_counts: NDArray[np.int64],
    parents: NDArray[np.int32],
    built: NDArray[np.int32],
    derived: NDArray[np.int32],
    sums: NDArray[np.int64],
    counts: NDArray[np.int64],
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
