"""Diamonds: the price of a round cut diamond, in dollars, from its measures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import declared_frame, numbers, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_FILE = PublishedFile(
    path="diamonds/diamonds.csv",
    url=None,
    original=ORIGINALS["diamonds/diamonds.csv"],
    sha256="0e7164799468299f8dc09b006cf396c43717c3dc71f947f0a32cc6e199895b46",
)
_DICTIONARY = DataDictionary(
    # The ranges that ggplot2's documentation states, to the next round number.
    bounds={
        "carat": (0.2, 5.1),
        "depth": (43, 79),
        "table": (43, 95),
        "x": (0, 11),  # millimeters
        "y": (0, 59),
        "z": (0, 32),
    },
    categories={
        "cut": ("Fair", "Good", "Very Good", "Premium", "Ideal"),
        "color": ("D", "E", "F", "G", "H", "I", "J"),
        "clarity": ("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"),
    },
    label_bounds=(300, 19_000),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_FILE.path], 10)
    return declared_frame(raw, _DICTIONARY), numbers(raw["price"], "price")


DIAMONDS = Problem(
    name="diamonds",
    task="regression",
    files=(_FILE,),
    dictionary=_DICTIONARY,
    read=_read,
    source="https://ggplot2.tidyverse.org/reference/diamonds.html",
)
