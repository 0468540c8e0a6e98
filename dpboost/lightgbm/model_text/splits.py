"""What the bins of splits stand for in a model text: edges of numbers and codes of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.lightgbm.model_text.nodes import Nodes

if TYPE_CHECKING:
    from dpboost.data.binner import Binner


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitValues:
    """What each bin of each feature with a split stands for.

    Parameters
    ----------
    first : ndarray of shape (n_features,), int32
        Where the bins of a feature begin in ``values``; 0 for features without a split.
    values : ndarray of shape (n_values,), float64
        The largest double of a bin of numbers, the code of a category.
    n_words : ndarray of shape (n_features,), int32
        How many words of 32 bits hold the codes of a feature; 0 for numbers and for features
        without a split.
    """

    first: NDArray[np.int32]
    values: NDArray[np.float64]
    n_words: NDArray[np.int32]


def split_values(nodes: Nodes, binner: Binner) -> SplitValues:
    """Return what the bins of all splits stand for.

    Raises
    ------
    InvalidParameterError
        If a feature with a split has category codes that the format cannot hold.
    """
    n_features = len(binner.n_bins)
    used = np.flatnonzero(np.bincount(nodes.feature, minlength=n_features))
    nominal = binner.is_categorical[used] != 0
    binner.find_thresholds(used[~nominal].tolist())
    first = np.zeros(n_features, dtype=np.int32)
    first[used[1:]] = np.cumsum(binner.n_bins[used[:-1]])
    n_words = np.zeros(n_features, dtype=np.int32)
    values: list[NDArray[np.float64] | NDArray[np.int64]] = []
    for feature, is_nominal in zip(used.tolist(), nominal.tolist(), strict=True):
        if is_nominal:
            codes = binner.category_codes(feature)
            for code in codes.tolist():
                check_code(code, binner.feature_names[feature])
            n_words[feature] = codes.max() // 32 + 1
            values.append(codes)
        else:
            values.append(binner.thresholds(feature))
    return SplitValues(
        first=first,
        values=np.concatenate([np.empty(0), *values], dtype=np.float64),
        n_words=n_words,
    )


def check_code(code: int, name: str) -> int:
    """Return a category code, raising unless the format can hold it."""
    if not 0 <= code < 2**31:
        raise InvalidParameterError(
            f"Category code {code} of feature {name!r} cannot be written to a LightGBM model: "
            "codes are integers from 0 to 2^31 - 1."
        )
    return code
