"""Adult: does a person of the 1994 census of the United States earn more than 50,000 a year?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.errors import DataFileError
from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem, StratifiedSplit
from benchmarks.problems.text import read_cells, to_frame

if TYPE_CHECKING:
    import pandas as pd

_URL = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_TRAIN = PublishedFile(
    path="adult/adult.data",
    url=_URL + "adult.data",
    sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
)
_TEST = PublishedFile(
    path="adult/adult.test",
    url=_URL + "adult.test",
    sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
)
_CLASSES = {"<=50K": 0, ">50K": 1}
_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
# The values that the publisher's adult.names lists, in its order and spelling.
_CATEGORIES = {
    "workclass": (
        "Private",
        "Self-emp-not-inc",
        "Self-emp-inc",
        "Federal-gov",
        "Local-gov",
        "State-gov",
        "Without-pay",
        "Never-worked",
    ),
    "education": (
        "Bachelors",
        "Some-college",
        "11th",
        "HS-grad",
        "Prof-school",
        "Assoc-acdm",
        "Assoc-voc",
        "9th",
        "7th-8th",
        "12th",
        "Masters",
        "1st-4th",
        "10th",
        "Doctorate",
        "5th-6th",
        "Preschool",
    ),
    "marital_status": (
        "Married-civ-spouse",
        "Divorced",
        "Never-married",
        "Separated",
        "Widowed",
        "Married-spouse-absent",
        "Married-AF-spouse",
    ),
    "occupation": (
        "Tech-support",
        "Craft-repair",
        "Other-service",
        "Sales",
        "Exec-managerial",
        "Prof-specialty",
        "Handlers-cleaners",
        "Machine-op-inspct",
        "Adm-clerical",
        "Farming-fishing",
        "Transport-moving",
        "Priv-house-serv",
        "Protective-serv",
        "Armed-Forces",
    ),
    "relationship": (
        "Wife",
        "Own-child",
        "Husband",
        "Not-in-family",
        "Other-relative",
        "Unmarried",
    ),
    "race": (
        "White",
        "Asian-Pac-Islander",
        "Amer-Indian-Eskimo",
        "Other",
        "Black",
    ),
    "sex": (
        "Female",
        "Male",
    ),
    "native_country": (
        "United-States",
        "Cambodia",
        "England",
        "Puerto-Rico",
        "Canada",
        "Germany",
        "Outlying-US(Guam-USVI-etc)",
        "India",
        "Japan",
        "Greece",
        "South",
        "China",
        "Cuba",
        "Iran",
        "Honduras",
        "Philippines",
        "Italy",
        "Poland",
        "Jamaica",
        "Vietnam",
        "Mexico",
        "Portugal",
        "Ireland",
        "France",
        "Dominican-Republic",
        "Laos",
        "Ecuador",
        "Taiwan",
        "Haiti",
        "Columbia",
        "Hungary",
        "Guatemala",
        "Nicaragua",
        "Scotland",
        "Thailand",
        "Yugoslavia",
        "El-Salvador",
        "Trinadad&Tobago",
        "Peru",
        "Hong",
        "Holand-Netherlands",
    ),
}
_DICTIONARY = DataDictionary(
    bounds={
        "age": (17, 90),
        "fnlwgt": (0, 1_500_000),
        "education_num": (1, 16),
        "capital_gain": (0, 99_999),
        "capital_loss": (0, 5_000),
        "hours_per_week": (1, 99),
    },
    categories=_CATEGORIES,
    classes=(0, 1),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    # All 48,842 rows: the publisher's own split is set aside for repeated ones.
    rows = [row for file in (_TRAIN, _TEST) for row in read_cells(paths[file.path], len(_COLUMNS))]
    return to_frame(rows, _COLUMNS, _DICTIONARY), _labels([row[-1] for row in rows])


def _labels(cells: list[str]) -> np.ndarray:
    try:
        # In the test file, and only there, a label ends with a full stop.
        return np.array([_CLASSES[cell.removesuffix(".")] for cell in cells], dtype=np.int64)
    except KeyError as error:
        raise DataFileError(
            f"Column 'income' must hold one of {', '.join(_CLASSES)}. Got {error} instead."
        ) from error


ADULT = Problem(
    name="adult",
    task="binary",
    files=(_TRAIN, _TEST),
    dictionary=_DICTIONARY,
    read=_read,
    split=StratifiedSplit(),
    source="https://archive.ics.uci.edu/dataset/2/adult",
)
