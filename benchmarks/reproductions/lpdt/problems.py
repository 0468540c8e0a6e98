"""The regression tables of the LPDT paper that are to be had, as numbers without missing cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files import PublishedFile, locate
from benchmarks.problems import PROBLEMS
from benchmarks.problems.originals import ORIGINALS
from benchmarks.problems.tables import read_table

Rows = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class LocalProblem:
    """A table of the paper.

    Attributes
    ----------
    name : str
        The paper's name for it.
    files : tuple of PublishedFile
        The publisher's files.
    read : callable
        Returns features and labels from the local files, by path below the data folder.
    """

    name: str
    files: tuple[PublishedFile, ...]
    read: Callable[[Mapping[str, Path]], Rows] = field(repr=False)

    def load(self) -> Rows:
        """Return features of shape (n_rows, n_features) and labels, both float64."""
        X, y = self.read({file.path: locate(file) for file in self.files})
        return np.ascontiguousarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)


def _last_column(name: str, path: str, sha256: str, n_columns: int, **options: Any) -> LocalProblem:
    """Return a problem over one delimited file whose last column is the label."""
    file = PublishedFile(path=path, url=None, sha256=sha256, original=ORIGINALS[path])

    def read(paths: Mapping[str, Path]) -> Rows:
        table = read_table(paths[path], n_columns, **options).to_numpy(dtype=np.float64)
        return table[:, :-1], table[:, -1]

    return LocalProblem(name=name, files=(file,), read=read)


def _known(name: str, problem: str, rows: Callable[[Any, np.ndarray], Rows]) -> LocalProblem:
    """Return a problem over a table that other experiments have too."""
    known = PROBLEMS[problem]
    return LocalProblem(name=name, files=known.files, read=lambda paths: rows(*known.read(paths)))


def _abalone(X: Any, y: np.ndarray) -> Rows:
    sexes = np.column_stack([X["sex"] == sex for sex in ("M", "F", "I")])
    return np.column_stack([sexes, X.drop(columns="sex").to_numpy()]), y


def _wine(color: str) -> Callable[[Any, np.ndarray], Rows]:
    def rows(X: Any, y: np.ndarray) -> Rows:
        mine = (X["color"] == color).to_numpy()
        return X.drop(columns="color").to_numpy()[mine], y[mine]

    return rows


def _naval(X: Any, _: np.ndarray) -> Rows:
    # The paper's errors (7 for a constant, 0 for a tree) are those of the lever position.
    return X.drop(columns="lever").to_numpy(), X["lever"].to_numpy()


def _plain(X: Any, y: np.ndarray) -> Rows:
    return X.to_numpy(), y


LOCAL_PROBLEMS: dict[str, LocalProblem] = {
    problem.name: problem
    for problem in (
        _known("ABA", "abalone", _abalone),
        _last_column(
            "AIR",
            "airfoil/airfoil_self_noise.dat",
            "f1746df437a75b4eb96a3f278c5aa8939ac0d19ae34867baa45721264d0d0477",
            6,
            sep="\t",
        ),
        _last_column(
            "AQU",
            "qsar_aquatic_toxicity/qsar_aquatic_toxicity.csv",
            "d812a1bf920624941887bba4c09940c928ff5950e4e5f6b5dd0589b9aa8c69f1",
            9,
            sep=";",
        ),
        _known("CBM", "naval", _naval),
        _known("CCP", "ccpp", _plain),
        _last_column(
            "CON",
            "concrete/Concrete_Data_Yeh.csv",
            "850e0116d409845aecb35363dbb018fdae76da44f1ba174fce90cab2c998a246",
            9,
            header=None,
        ),
        _known("CPU", "cpu_act", _plain),
        _last_column(
            "FIS",
            "qsar_fish_toxicity/qsar_fish_toxicity.csv",
            "ba1851ac41a07efd412b8d59a0a04d05b73564d3e34eba7be46f76aa4a2b8d77",
            7,
        ),
        _last_column(
            "HOU",
            "boston_housing/housing.data",
            "e3e36f7b9e5435f9eb8320e106aebad00031fefa3064527da0c71dec59e49b76",
            14,
            sep=r"\s+",
            header=None,
        ),
        _known("RED", "wine_quality", _wine("red")),
        _known("WHI", "wine_quality", _wine("white")),
    )
}
