"""Forest cover type: which of seven kinds of forest covers a cell of 30 by 30 meters?

The table of 92,962 rows is a random part of the published one, its measures scaled into [0, 1]
by those who offer it. ``covtype_odds`` holds all rows of two classes in their units.
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
from benchmarks.problems.tables import (
    array_frame,
    class_numbers,
    declared_frame,
    read_table,
    same_bounds,
)

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "https://archive.ics.uci.edu/dataset/31/covertype"
LABEL = "Cover_Type"
MEASURES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
)
INDICATORS = tuple(f"Wilderness_Area{area}" for area in range(1, 5)) + tuple(
    f"Soil_Type{soil}" for soil in range(1, 41)
)
_SCALED_FILE = PublishedFile(
    path="covtype_subsets/ramp_covertype_test_92962.csv.gz",
    url="https://raw.githubusercontent.com/ramp-kits/covertype/master/data/test.csv.gz",
    sha256="d1683af154f7279cfb7221e813d44d904346d4965779c56bfbe7c5c74cebf8fd",
)
_SCALED_BOUNDS = same_bounds(MEASURES + INDICATORS, 0, 1)


def _read_scaled(
    paths: Mapping[str, Path], classes: Mapping[int, int], dictionary: DataDictionary
) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_SCALED_FILE.path], 55)
    return declared_frame(raw, dictionary), class_numbers(raw[LABEL], classes, LABEL)


def _scaled_problem(name: str, classes: Mapping[int, int]) -> Problem:
    numbers = tuple(sorted(set(classes.values())))
    dictionary = DataDictionary(bounds=_SCALED_BOUNDS, integer=INDICATORS, classes=numbers)
    return Problem(
        name=name,
        task="binary" if len(numbers) == 2 else "multiclass",
        files=(_SCALED_FILE,),
        dictionary=dictionary,
        read=lambda paths: _read_scaled(paths, classes, dictionary),
        source=SOURCE,
    )


COVTYPE = _scaled_problem("covtype", {number: int(number == 2) for number in range(1, 8)})
COVTYPE_7 = _scaled_problem("covtype_7", {number: number - 1 for number in range(1, 8)})

_RAW_FILE = PublishedFile(
    path="covtype_odds_cover/cover.npz",
    url=None,
    original=ORIGINALS["covtype_odds_cover/cover.npz"],
    sha256="04a4672ee029d5d6824c03ac68e208db23412eb8275d6017d2471c5af9af1d20",
)
RAW_BOUNDS = {
    "Elevation": (1_500, 4_000),  # meters
    "Aspect": (0, 360),  # degrees
    "Slope": (0, 90),  # degrees
    "Horizontal_Distance_To_Hydrology": (0, 1_500),
    "Vertical_Distance_To_Hydrology": (-200, 700),
    "Horizontal_Distance_To_Roadways": (0, 7_500),
    "Hillshade_9am": (0, 255),
    "Hillshade_Noon": (0, 255),
    "Hillshade_3pm": (0, 255),
    "Horizontal_Distance_To_Fire_Points": (0, 7_500),
}


def _read_raw(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    path = paths[_RAW_FILE.path]
    try:
        with np.load(path) as content:
            features, labels = content["x"], content["y"]
    except (KeyError, ValueError, OSError) as error:
        raise DataFileError(f"{path} does not hold the arrays x and y: {error}") from error
    X = array_frame(features, MEASURES)
    return X, class_numbers(np.ravel(labels).tolist(), {0: 0, 1: 1}, LABEL)


COVTYPE_ODDS = Problem(
    name="covtype_odds",
    task="binary",
    files=(_RAW_FILE,),
    dictionary=DataDictionary(bounds=RAW_BOUNDS, classes=(0, 1)),
    read=_read_raw,
    source="https://odds.cs.stonybrook.edu/forestcovercovertype-dataset/",
)
