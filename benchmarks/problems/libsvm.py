"""Sets of the LIBSVM collection: cod-rna, a9a, w8a, ijcnn1 and news20.

The file of cod-rna holds the published training rows, rebuilt from a standardized copy; that of
ijcnn1 is a MATLAB copy of the training and validation rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem, SplitProtocol, StratifiedSplit
from benchmarks.problems.tables import array_frame, class_numbers, read_svmlight, same_bounds

if TYPE_CHECKING:
    import pandas as pd
    import scipy.sparse

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_SIGNS = {-1.0: 0, 1.0: 1}


def _names(n_features: int) -> tuple[str, ...]:
    return tuple(f"f{number}" for number in range(n_features))


def _binary_problem(
    name: str,
    files: tuple[PublishedFile, ...],
    bounds: Mapping[str, tuple[float, float]],
    split: SplitProtocol | None = None,
) -> Problem:
    """Return a problem whose files are in LIBSVM's format, with labels -1 and +1."""

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        parts = [read_svmlight(paths[file.path], len(bounds)) for file in files]
        features = np.vstack([part.toarray() for part, _ in parts])
        labels = np.concatenate([part for _, part in parts])
        return array_frame(features, tuple(bounds)), class_numbers(labels, _SIGNS, "label")

    return Problem(
        name=name,
        task="binary",
        files=files,
        dictionary=DataDictionary(bounds=bounds, classes=(0, 1)),
        read=read,
        split=split or SplitProtocol(),
        source=f"{_URL}binary.html",
    )


COD_RNA = _binary_problem(
    "cod_rna",
    (
        PublishedFile(
            path="cod_rna/cod-rna.reconstructed.libsvm.gz",
            url=None,
            original=ORIGINALS["cod_rna/cod-rna.reconstructed.libsvm.gz"],
            sha256="77bdda703b6efd4c64c3a003741cc24866381d9f4a62cbe696c8d118dead4b51",
        ),
    ),
    # A free energy, the length of the shorter sequence, and frequencies of nucleotides.
    {"f0": (-2_000, 500), "f1": (50, 260)} | same_bounds(_names(8)[2:], 0, 1),
    StratifiedSplit(),
)
A9A = _binary_problem(
    "a9a",
    (
        PublishedFile(
            path="libsvm_a9a/a9a",
            url=f"{_URL}binary/a9a",
            sha256="f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
        ),
        PublishedFile(
            path="libsvm_a9a/a9a.t",
            url=f"{_URL}binary/a9a.t",
            sha256="1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        ),
    ),
    same_bounds(_names(123), 0, 1),
)
W8A = _binary_problem(
    "w8a",
    (
        PublishedFile(
            path="libsvm_w8a/w8a",
            url=f"{_URL}binary/w8a",
            sha256="6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
        ),
    ),
    same_bounds(_names(300), 0, 1),
)

_IJCNN1_FILE = PublishedFile(
    path="ijcnn1/ijcnn1.mat",
    url=None,
    original=ORIGINALS["ijcnn1/ijcnn1.mat"],
    sha256="d6c45434ac100a448e177a78473f875edef43aa6caf64909dc5e185d268a0aaa",
)
# The collection's page: ten indicators, then values scaled into [-1, 1].
_IJCNN1_BOUNDS = same_bounds(_names(22)[:10], 0, 1) | same_bounds(_names(22)[10:], -1, 1)


def _read_ijcnn1(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    from scipy.io import loadmat

    path = paths[_IJCNN1_FILE.path]
    try:
        content = loadmat(path)
        features, labels = content["X"], content["y"]
    except (KeyError, ValueError, OSError) as error:
        raise DataFileError(f"{path} does not hold the matrices X and y: {error}") from error
    dense = features.toarray() if hasattr(features, "toarray") else features
    X = array_frame(dense, tuple(_IJCNN1_BOUNDS))
    return X, class_numbers(np.ravel(labels).astype(float), _SIGNS, "label")


IJCNN1 = Problem(
    name="ijcnn1",
    task="binary",
    files=(_IJCNN1_FILE,),
    dictionary=DataDictionary(bounds=_IJCNN1_BOUNDS, classes=(0, 1)),
    read=_read_ijcnn1,
    source=f"{_URL}binary.html#ijcnn1",
)

_NEWS20_FILE = PublishedFile(
    path="news20/news20.bz2",
    url=f"{_URL}multiclass/news20.bz2",
    sha256="8c79851f6f5fdc5540a0d04a5ab728353c42d26b84e73f93bda301c06c15ffe9",
)
_NEWS20_WORDS = 62_061


def _read_news20(paths: Mapping[str, Path]) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    X, labels = read_svmlight(paths[_NEWS20_FILE.path], _NEWS20_WORDS)
    groups = {float(group): int(group > 10) for group in range(1, 21)}
    return X, class_numbers(labels, groups, "label")


NEWS20 = Problem(
    name="news20",
    task="binary",
    files=(_NEWS20_FILE,),
    dictionary=DataDictionary(
        # How often each word occurs in a message; more than ten times counts as ten.
        bounds=dict.fromkeys(range(_NEWS20_WORDS), (0, 10)),
        classes=(0, 1),
    ),
    read=_read_news20,
    source=f"{_URL}multiclass.html#news20",
)
