"""Regression tables of the collection by T. Evans: no header, the label in the last column.

Its columns are centered, some are standardized. What they mean in these units only the published
file can tell, so the declared intervals are stretched: (-5, 5) for standardized columns, and
for the others the next 1, 2 or 5 times a power of ten beyond what the public file shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import declared_frame, numbers, read_table

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]
_SOURCE = "https://github.com/treforevans/uci_datasets"
_RAW = "https://raw.githubusercontent.com/treforevans/uci_datasets/master/uci_datasets/"
_STANDARDISED: Interval = (-5, 5)


def _problem(name: str, sha256: str, intervals: tuple[Interval, ...]) -> Problem:
    """Return the problem of that name; the last interval is that of the label."""
    file = PublishedFile(
        path=f"uci_regression_evans/{name}.csv.gz", url=f"{_RAW}{name}/data.csv.gz", sha256=sha256
    )
    *features, label_bounds = intervals
    dictionary = DataDictionary(
        bounds={f"x{number}": interval for number, interval in enumerate(features)},
        label_bounds=label_bounds,
    )

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        columns = [*dictionary.bounds, "label"]
        raw = read_table(paths[file.path], len(columns), header=None)
        raw.columns = columns
        return declared_frame(raw, dictionary), numbers(raw["label"], "label")

    return Problem(
        name=name,
        task="regression",
        files=(file,),
        dictionary=dictionary,
        read=read,
        source=_SOURCE,
    )


ELEVATORS = _problem(
    "elevators",
    "e39bc18a80ec3611e4fd76d0f86ee377e96ba21b568b9997576d538dafe56b7b",
    (
        (-1_000, 1_000),
        (-100, 200),
        (-2, 2),
        (-1, 1),
        (-5, 5),
        (-20, 10),
        (-100, 50),
        (-0.1, 0.1),
        (-10, 10),
        (-0.005, 0.001),
        (-0.005, 0.001),
        (-0.005, 0.001),
        (-0.005, 0.001),
        (-0.001, 0.001),
        (-2e-08, 0.0002),
        (-0.001, 0.001),
        (-5e-08, 0.0002),
        (-0.005, 0.001),
        (-1, 2),
    ),
)
KEGGDIRECTED = _problem(
    "keggdirected",
    "51b7bb56e3f3eae36273cdd5a549c042bdf0ec10948a6f8e6b01a1d6912212cd",
    (
        (-20, 200),
        (-1, 20),
        (-2, 50),
        (-0.0005, 1),
        (-100, 5_000),
        (-0.5, 20),
        (-2, 20),
        (-5e-05, 1),
        (-1, 100),
        (-5, 20),
        (-1, 10),
        (-5, 20_000),
        (-0.1, 5),
        (-2, 20),
        (-0.05, 0.5),
        (-1, 10),
        (-1, 50),
        (-0.5, 1),
        (-1, 20),
        (-0.2, 1),
        (-5, 5),
    ),
)
KEGGUNDIRECTED = _problem(
    "keggundirected",
    "117419270e50f581df18bf996ffc8b6bf1bb76c9f3640331ac9d6e64cff63d4e",
    (
        (-5, 50),
        (-5, 50),
        (-0.5, 20),
        (-0.5, 1),
        (-200, 50_000),
        (-2, 20),
        (-1, 2),
        (-0.5, 1),
        (-0.5, 2),
        (-1, 1),
        (-0.01, 5),
        (-5, 500),
        (-1, 20),
        (-2, 10),
        (-20, 5_000),
        (-0.0005, 0.5),
        (-1, 5),
        (-2, 10),
        (-0.2, 1),
        (-0.2, 0.2),
        (-0.5, 0.2),
        (-5, 50),
        (-0.0005, 0.5),
        (-1, 0.5),
        (-1, 20),
        (-0.05, 1),
        (-20, 500),
        (-2, 5),
    ),
)
KIN40K = _problem(
    "kin40k",
    "9bee7f2a9f39aa61a015f239378368601fb3978c5bb9a96433e88a55d40883ba",
    (_STANDARDISED,) * 9,
)
POL = _problem(
    "pol",
    "1c16126352954571e78f52d5a9d1b947a38655885d7cadd9407a4c9615fe4e04",
    (
        (-100, 200),
        (-20, 200),
        (-10, 200),
        (-5, 200),
        (-2, 200),
        (-10, 200),
        (-20, 200),
        (-20, 200),
        (-20, 200),
        (-20, 200),
        (-20, 200),
        (-10, 200),
        (-5, 200),
        (-5, 200),
        (-5, 200),
        (-5, 200),
        (-2, 100),
        (-2, 100),
        (-1, 200),
        (-1, 100),
        (-2, 100),
        (-1, 100),
        (-0.5, 50),
        (-1, 100),
        (-1, 50),
        (-0.5, 50),
        (-50, 100),
    ),
)
PROTEIN = _problem(
    "protein",
    "f709d0107c3ee90ab019b9e5d77fc2ae182158958cb70b1903236a51334fd01b",
    (
        (-10_000, 50_000),
        (-5_000, 20_000),
        (-0.5, 0.5),
        (-100, 500),
        (-2e06, 5e06),
        (-200, 500),
        (-5_000, 200_000),
        (-100, 500),
        (-20, 50),
        (-2, 2),
    ),
)
PUMADYN32NM = _problem(
    "pumadyn32nm",
    "10d1698944e0f6e586f2781e4b62c17c05174d4c6cdb6fb824a3e5a1b3630ae4",
    (_STANDARDISED,) * 33,
)
