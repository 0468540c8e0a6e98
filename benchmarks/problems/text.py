"""Comma-separated text of a known shape, read strictly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.errors import DataFileError
from benchmarks.problems.problem import DataDictionary

if TYPE_CHECKING:
    import pandas as pd

MISSING = "?"
_COMMENT = "|"


def read_cells(path: Path, n_columns: int) -> list[list[str]]:
    """Return the cells of a file without header, blanks around them removed.

    Empty lines and lines that start with ``|`` are no rows.

    Raises
    ------
    DataFileError
        If a row has another number of cells than ``n_columns``, or there is no row.
    """
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith(_COMMENT):
            continue
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != n_columns:
            raise DataFileError(
                f"{path}, line {number}: {n_columns} values are expected, {len(cells)} are there."
            )
        rows.append(cells)
    if not rows:
        raise DataFileError(f"{path} holds no rows.")
    return rows


def to_numbers(cells: Iterable[str], name: str) -> np.ndarray:
    """Return a column as float64, a missing value as NaN.

    Raises
    ------
    DataFileError
        If a cell is not a number.
    """
    try:
        return np.array(
            [float("nan") if cell == MISSING else float(cell) for cell in cells], dtype=np.float64
        )
    except ValueError as error:
        raise DataFileError(f"Column {name!r} must hold numbers: {error}.") from error


def to_frame(
    rows: Sequence[Sequence[str]], names: Sequence[str], dictionary: DataDictionary
) -> pd.DataFrame:
    """Return the features that ``dictionary`` declares, in the order of the file.

    Parameters
    ----------
    rows : sequence of rows of cells
        As `read_cells` returns them.
    names : sequence of str
        Name of every column of the file; one that is not declared is left out.
    dictionary : DataDictionary
        Which columns are features, and of which kind.

    Raises
    ------
    DataFileError
        If a cell of a numeric column is not a number, or a cell of a categorical column holds
        a value that is not declared.
    """
    pandas = import_pandas()
    columns = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        if name in dictionary.bounds:
            columns[name] = to_numbers(cells, name)
        elif name in dictionary.categories:
            declared = dictionary.categories[name]
            strange = sorted(set(cells).difference(declared, {MISSING}))
            if strange:
                raise DataFileError(f"Column {name!r} has a value not declared: {strange[0]!r}.")
            columns[name] = pandas.Categorical(
                [None if cell == MISSING else cell for cell in cells], categories=list(declared)
            )
    return pandas.DataFrame(columns)
