"""Higgs: does a simulated collision produce the particle? The sample that LightGBM ships."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks._compat import import_pandas
from benchmarks.files import PublishedFile
from benchmarks.problems.problem import DataDictionary, Problem
from benchmarks.problems.tables import class_numbers, declared_frame, read_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

_URL = "https://raw.githubusercontent.com/microsoft/LightGBM/master/examples/binary_classification/"
_FILES = (
    PublishedFile(
        path="higgs_lightgbm_sample/binary.train",
        url=f"{_URL}binary.train",
        sha256="41c42dc14f86960256bf872fc8ae6286c688b44f43b4057b29428787fc1e0444",
    ),
    PublishedFile(
        path="higgs_lightgbm_sample/binary.test",
        url=f"{_URL}binary.test",
        sha256="d99ebec91acd99638f00c727c251c947a1d17ddfcbea27bfef6b0dc5e5fb1db3",
    ),
)
_JET = {"pt": (0, 10), "eta": (-5, 5), "phi": (-2, 2), "b_tag": (0, 5)}
_MASSES = ("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb")
_DICTIONARY = DataDictionary(
    # The publisher has standardized all columns: momenta and masses cannot be negative, angles
    # phi go once around; the other ends are round and generous.
    bounds={
        "lepton_pt": (0, 10),
        "lepton_eta": (-5, 5),
        "lepton_phi": (-2, 2),
        "missing_energy": (0, 10),
        "missing_energy_phi": (-2, 2),
        **{f"jet{jet}_{name}": ends for jet in range(1, 5) for name, ends in _JET.items()},
        **dict.fromkeys(_MASSES, (0, 10)),
    },
    classes=(0, 1),
)


def _read(paths: Mapping[str, Path]) -> tuple[pd.DataFrame, np.ndarray]:
    names = ["label", *_DICTIONARY.bounds]
    parts = [
        read_table(paths[file.path], len(names), sep="\t", header=None).set_axis(names, axis=1)
        for file in _FILES
    ]
    raw = import_pandas().concat(parts, ignore_index=True)
    return declared_frame(raw, _DICTIONARY), class_numbers(raw["label"], {0: 0, 1: 1}, "label")


HIGGS = Problem(
    name="higgs",
    task="binary",
    files=_FILES,
    dictionary=_DICTIONARY,
    read=_read,
    source="https://archive.ics.uci.edu/dataset/280/higgs",
)
