"""Abalone: the age of shellfish, in rings, from their size and weight."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.text import read_cells, to_frame, to_numbers

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_LABEL = "rings"
_COLUMNS = (
    "sex",
    "length",
    "diameter",
    "height",
    "whole_weight",
    "shucked_weight",
    "viscera_weight",
    "shell_weight",
    _LABEL,
)
_FILE = PublishedFile(
    path="abalone/abalone.data",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/abalone/abalone.data",
    sha256="de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
)
_DICTIONARY = DataDictionary(
    # Millimeters and grams, both divided by 200 by the publisher.
    bounds={
        "length": (0, 1),
        "diameter": (0, 1),
        "height": (0, 1.5),
        "whole_weight": (0, 3),
        "shucked_weight": (0, 1.5),
        "viscera_weight": (0, 1),
        "shell_weight": (0, 1.2),
    },
    categories={"sex": ("M", "F", "I")},
    label_bounds=(1, 30),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    rows = read_cells(paths[_FILE.path], len(_COLUMNS))
    return to_frame(rows, _COLUMNS, _DICTIONARY), to_numbers([row[-1] for row in rows], _LABEL)


ABALONE = Problem(
    name="abalone",
    task="regression",
    files=(_FILE,),
    dictionary=_DICTIONARY,
    read=_read,
    source="https://archive.ics.uci.edu/dataset/1/abalone",
)
