"""Bank: does a client of a Portuguese bank subscribe a term deposit after a call?"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem, StratifiedSplit
from benchmarks.problems.tables import class_numbers, declared_frame, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_FILE = PublishedFile(
    path="bank_marketing/bank.zip",
    url="https://archive.ics.uci.edu/ml/machine-learning-databases/00222/bank.zip",
    sha256="99d7e8eb12401ed278b793984423915411ea8df099e1795f9fefe254f513fe5e",
)
_MEMBER = "bank-full.csv"
_YES_NO = ("no", "yes")
_DICTIONARY = DataDictionary(
    bounds={
        "age": (18, 95),
        "balance": (-10_000, 105_000),  # euros, yearly average
        "day": (1, 31),
        "duration": (0, 5_000),  # seconds
        "campaign": (1, 63),
        "pdays": (-1, 900),  # -1: not contacted before
        "previous": (0, 300),
    },
    # The values that the publisher's bank-names.txt lists.
    categories={
        "job": (
            "admin.",
            "unknown",
            "unemployed",
            "management",
            "housemaid",
            "entrepreneur",
            "student",
            "blue-collar",
            "self-employed",
            "retired",
            "technician",
            "services",
        ),
        "marital": ("married", "divorced", "single"),
        "education": ("unknown", "secondary", "primary", "tertiary"),
        "default": _YES_NO,
        "housing": _YES_NO,
        "loan": _YES_NO,
        "contact": ("unknown", "telephone", "cellular"),
        "month": (
            "jan",
            "feb",
            "mar",
            "apr",
            "may",
            "jun",
            "jul",
            "aug",
            "sep",
            "oct",
            "nov",
            "dec",
        ),
        "poutcome": ("unknown", "other", "failure", "success"),
    },
    classes=(0, 1),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    path = paths[_FILE.path]
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_MEMBER) as stream:
            raw = read_table(stream, 17, sep=";", keep_default_na=False)
    except (KeyError, zipfile.BadZipFile) as error:
        raise DataFileError(f"{path} does not hold {_MEMBER}: {error}") from error
    y = class_numbers(raw["y"], {"no": 0, "yes": 1}, "y")
    return declared_frame(raw, _DICTIONARY), y


BANK = Problem(
    name="bank",
    task="binary",
    files=(_FILE,),
    dictionary=_DICTIONARY,
    read=_read,
    split=StratifiedSplit(),
    source="https://archive.ics.uci.edu/dataset/222/bank+marketing",
)
