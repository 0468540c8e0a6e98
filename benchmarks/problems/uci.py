"""Smaller tables of the UCI repository: skin, wine, power plant, mushroom and air quality."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.files import PublishedFile
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import class_numbers, declared_frame, numbers, read_table

if TYPE_CHECKING:
    import pandas as pd

_UCI = "https://archive.ics.uci.edu/"

_SKIN_FILE = PublishedFile(
    path="skin/Skin_NonSkin.txt",
    url=f"{_UCI}ml/machine-learning-databases/00229/Skin_NonSkin.txt",
    sha256="e30c0a845385dcc95a45c45ed263465674a49638e98ef740afd520769c7714a4",
)
_SKIN = DataDictionary(bounds=dict.fromkeys(("blue", "green", "red"), (0, 255)), classes=(0, 1))


def _read_skin(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(
        paths[_SKIN_FILE.path], 4, sep="\t", header=None, names=[*_SKIN.bounds, "label"]
    )
    return declared_frame(raw, _SKIN), class_numbers(raw["label"], {1: 1, 2: 0}, "label")


SKIN = Problem(
    name="skin",
    task="binary",
    files=(_SKIN_FILE,),
    dictionary=_SKIN,
    read=_read_skin,
    source=f"{_UCI}dataset/229/skin+segmentation",
)

_WINE_FILES = {
    "red": PublishedFile(
        path="wine_quality/winequality-red.csv",
        url=None,
        original=ORIGINALS["wine_quality/winequality-red.csv"],
        sha256="e5679c6181ed6747ea3b3bcd822abe4442ce96955a064721fce6d4e28397cdc5",
    ),
    "white": PublishedFile(
        path="wine_quality/winequality-white.csv",
        url=None,
        original=ORIGINALS["wine_quality/winequality-white.csv"],
        sha256="9be11c4ba67fb9f1bcbca4222ef939bc80b05cd3e3650136058d91efd2215078",
    ),
}
_WINE = DataDictionary(
    # Grams a liter and, for sulfur dioxide, milligrams; what wine can hold, rounded up.
    bounds={
        "fixed acidity": (0, 20),
        "volatile acidity": (0, 2),
        "citric acid": (0, 2),
        "residual sugar": (0, 100),
        "chlorides": (0, 1),
        "free sulfur dioxide": (0, 300),
        "total sulfur dioxide": (0, 500),
        "density": (0.98, 1.04),
        "pH": (2.5, 4.5),
        "sulphates": (0, 2),
        "alcohol": (7, 16),
    },
    categories={"color": ("red", "white")},
    label_bounds=(0, 10),
)


def _read_wine(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    parts = [
        read_table(paths[file.path], 12).assign(color=color) for color, file in _WINE_FILES.items()
    ]
    raw = import_pandas().concat(parts, ignore_index=True)
    return declared_frame(raw, _WINE), numbers(raw["quality"], "quality")


WINE = Problem(
    name="wine_quality",
    task="regression",
    files=tuple(_WINE_FILES.values()),
    dictionary=_WINE,
    read=_read_wine,
    source=f"{_UCI}dataset/186/wine+quality",
)

_CCPP_FILE = PublishedFile(
    path="ccpp/Folds5x2_pp.csv",
    url=None,
    original=ORIGINALS["ccpp/Folds5x2_pp.csv"],
    sha256="36d15df96523b0b53476026bd380fa6c99db6773522f0b64ae90daace03980f0",
)
_CCPP = DataDictionary(
    # The ranges that the publisher states, to the next round number.
    bounds={
        "temperature": (0, 40),
        "vacuum": (25, 82),
        "pressure": (990, 1_035),
        "humidity": (25, 101),
    },
    label_bounds=(420, 500),
)


def _read_ccpp(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_CCPP_FILE.path], 5, encoding="utf-8-sig")
    return declared_frame(raw, _CCPP), numbers(raw["energy"], "energy")


CCPP = Problem(
    name="ccpp",
    task="regression",
    files=(_CCPP_FILE,),
    dictionary=_CCPP,
    read=_read_ccpp,
    source=f"{_UCI}dataset/294/combined+cycle+power+plant",
)

_MUSHROOM_FILE = PublishedFile(
    path="mushroom/agaricus-lepiota.data",
    url=f"{_UCI}ml/machine-learning-databases/mushroom/agaricus-lepiota.data",
    sha256="e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e",
)
# One letter a value, as the publisher's agaricus-lepiota.names lists them.
_MUSHROOM_VALUES = {
    "cap_shape": "bcxfks",
    "cap_surface": "fgys",
    "cap_color": "nbcgrpuewy",
    "bruises": "tf",
    "odor": "alcyfmnps",
    "gill_attachment": "adfn",
    "gill_spacing": "cwd",
    "gill_size": "bn",
    "gill_color": "knbhgropuewy",
    "stalk_shape": "et",
    "stalk_root": "bcuezr",
    "stalk_surface_above_ring": "fyks",
    "stalk_surface_below_ring": "fyks",
    "stalk_color_above_ring": "nbcgopewy",
    "stalk_color_below_ring": "nbcgopewy",
    "veil_type": "pu",
    "veil_color": "nowy",
    "ring_number": "not",
    "ring_type": "ceflnpsz",
    "spore_print_color": "knbhrouwy",
    "population": "acnsvy",
    "habitat": "glmpuwd",
}
_MUSHROOM = DataDictionary(
    bounds={},
    categories={name: tuple(letters) for name, letters in _MUSHROOM_VALUES.items()},
    classes=(0, 1),
)


def _read_mushroom(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(
        paths[_MUSHROOM_FILE.path],
        23,
        header=None,
        names=["label", *_MUSHROOM_VALUES],
        na_values="?",
        keep_default_na=False,
    )
    return declared_frame(raw, _MUSHROOM), class_numbers(raw["label"], {"e": 0, "p": 1}, "label")


MUSHROOM = Problem(
    name="mushroom",
    task="binary",
    files=(_MUSHROOM_FILE,),
    dictionary=_MUSHROOM,
    read=_read_mushroom,
    source=f"{_UCI}dataset/73/mushroom",
)

_AIR_FILE = PublishedFile(
    path="air_quality/AirQualityUCI.csv",
    url=None,
    original=ORIGINALS["air_quality/AirQualityUCI.csv"],
    sha256="aab959c9d3e500e5449fc4463b2453167ec8ab311e07482457c1daab6164cdd3",
)
_AIR_LABEL = "C6H6(GT)"
_AIR_MISSING = -200
_AIR = DataDictionary(
    bounds={
        "hour": (0, 23),
        "CO(GT)": (0, 20),  # mg/m3
        "PT08.S1(CO)": (0, 3_000),  # responses of sensors, about 500 to 2,500
        "NMHC(GT)": (0, 1_500),  # micrograms/m3
        "PT08.S2(NMHC)": (0, 3_000),
        "NOx(GT)": (0, 1_500),  # ppb
        "PT08.S3(NOx)": (0, 3_000),
        "NO2(GT)": (0, 500),  # micrograms/m3
        "PT08.S4(NO2)": (0, 3_000),
        "PT08.S5(O3)": (0, 3_000),
        "T": (-10, 50),  # degrees Celsius
        "RH": (0, 100),  # per cent
        "AH": (0, 3),
    },
    label_bounds=(0, 100),  # micrograms/m3 of benzene
)


def _read_air(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    raw = read_table(paths[_AIR_FILE.path], 15)
    # In this copy a decimal comma that stood for 1.0086 has become the 10,086 of thousands.
    grouped = raw["AH"].astype(str).str.contains(",")
    plain = raw["AH"].astype(str).str.replace(",", "").astype(float)
    raw["AH"] = plain.where(~grouped, plain / 10_000)
    raw["hour"] = raw["Time"].str.split(".").str[0]
    names = [name for name in raw.columns if name in _AIR.bounds or name == _AIR_LABEL]
    table = import_pandas().DataFrame({name: numbers(raw[name], name) for name in names})
    table = table.mask(table == _AIR_MISSING)
    table = table[table[_AIR_LABEL].notna()].reset_index(drop=True)
    return declared_frame(table, _AIR), numbers(table[_AIR_LABEL], _AIR_LABEL)


AIR_QUALITY = Problem(
    name="air_quality",
    task="regression",
    files=(_AIR_FILE,),
    dictionary=_AIR,
    read=_read_air,
    source=f"{_UCI}dataset/360/air+quality",
)
