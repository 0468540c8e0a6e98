import numpy as np
from numpy.typing import NDArray

MOST_ROWS: int

class FewRows:
    def __init__(
        self,
        bins: NDArray[np.uint8],
        words: NDArray[np.int64],
        cell_offsets: NDArray[np.int32],
        candidate_offsets: NDArray[np.int32],
        is_categorical: NDArray[np.uint8],
        n_threads: int,
    ) -> None: ...
    def runs(
        self,
        hessian: float,
        reg_lambda: float,
        scale: float,
        limit: int,
        scores: NDArray[np.int64],
        starts: NDArray[np.int32],
    ) -> NDArray[np.intp]: ...
    def totals(self) -> NDArray[np.int64]: ...
    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None: ...
