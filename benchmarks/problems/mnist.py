"""MNIST: which digit does an image of 28 by 28 pixels show? The 60,000 training images.

The file holds the published images in another order than the publisher's.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import array_frame, class_numbers, same_bounds

if TYPE_CHECKING:
    import pandas as pd

_FILE = PublishedFile(
    path="mnist/mnist_reconstructed.npz",
    url=None,
    original=ORIGINALS["mnist/mnist_reconstructed.npz"],
    sha256="abc9d5fccaee8d058d315a3542f6b8b9fd8d05efc4f3675db0bba790f5334c96",
)
_NAMES = tuple(f"pixel{number}" for number in range(784))
_DICTIONARY = DataDictionary(bounds=same_bounds(_NAMES, 0, 255), classes=tuple(range(10)))


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    path = paths[_FILE.path]
    try:
        with np.load(path) as content:
            features, labels = content["x_train"], content["y_train"]
    except (KeyError, ValueError, OSError) as error:
        raise DataFileError(f"{path} does not hold x_train and y_train: {error}") from error
    digits = {digit: digit for digit in range(10)}
    X = array_frame(features.reshape(len(features), -1), _NAMES)
    return X, class_numbers(np.ravel(labels).tolist(), digits, "label")


MNIST = Problem(
    name="mnist",
    task="multiclass",
    files=(_FILE,),
    dictionary=_DICTIONARY,
    read=_read,
    source="https://yann.lecun.com/exdb/mnist/",
)
