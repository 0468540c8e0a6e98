"""Conversion of columns to their declared types: numbers, dates, categories, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from dpboost._utils.schema_checks import column_in_days, is_date

#: What a cell of a column of numbers may say instead of 1 and 0.
_WORDS = {"true": 1, "false": 0, "yes": 1, "no": 0}


def is_text(column: Any) -> bool:
    """Return whether a Series has a type that needs a list of categories: text or objects."""
    dtype = column.dtype
    return str(dtype).removeprefix("large_").startswith(("object", "str"))  # lists and structs too


def typed(
    table: Any,
    declared: Mapping[str, Sequence[Any]],
    numeric: set[str],
    learned: Set[str] = frozenset(),
    *,
    keep_cells: bool = False,
    guess: bool = True,
) -> Any:
    """Return a table whose columns have declared types.

    ``declared`` has categories by column; they become categorical columns. Columns in ``numeric``
    are declared as numbers: a cell that is none counts as missing. Columns in ``learned`` have
    categories whose values a fit learns: their cells are text. With ``keep_cells`` declared
    categories stay cells, those that are not listed among them; with ``guess`` text in other
    columns is tried as numbers, dates and truth values.
    """
    import pandas as pd

    found = {}
    for name in table.columns:
        column = table[name]
        if name in declared:
            values = list(declared[name])
            cells = _cells(column, values)
            # Masked first: pandas warns of values that are not listed, and a warning tells.
            found[name] = (
                cells
                if keep_cells
                else pd.Categorical(cells.where(cells.isin(values)), categories=values)
            )
        elif name in numeric:
            found[name] = _numbers(column)
        elif name in learned:
            text = column.map(lambda cell: str(cell).strip(), na_action="ignore")
            found[name] = text.astype("category")
        elif guess and is_text(column):
            found[name] = _guess(column)
        else:
            found[name] = column
    return pd.DataFrame(found, index=table.index)


def _cells(column: Any, values: Sequence[Any]) -> Any:
    """Return the cells of a column of the kind of its declared values: text, or numbers."""
    if not all(isinstance(value, str) for value in values):
        return column if column.dtype.kind in "iufb" else _numbers(column)
    text = column.dtype.kind == "O" or str(column.dtype).startswith("str")
    return column.map(_stripped) if text else column


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def _plain_word(cell: Any) -> str:
    return str(cell).strip().lower()


def _numbers(column: Any) -> Any:
    """Return the numbers of a column, dates in days; a cell that is none of both is missing."""
    import pandas as pd

    if is_date(column.dtype):
        return pd.Series(column_in_days(column), index=column.index)
    if column.dtype.kind in "iufb":
        return column.astype(float)
    if pd.api.types.infer_dtype(column, skipna=True) == "string":
        plain = pd.to_numeric(column, "coerce").astype(float)
        if plain.isna().equals(column.isna()):
            return plain
    # By each cell: a column without one has no text methods, and an error would tell that.
    text = column.astype(object).map(_plain_word, na_action="ignore").astype(object)
    found = pd.to_numeric(text.map(_WORDS).where(text.isin(list(_WORDS)), text), "coerce")
    found = found.astype(float)
    left = text[found.isna() & text.notna()]
    if len(left):
        found.loc[left.index] = column_in_days(_dates(left))
    return found


def _dates(text: Any) -> Any:
    """Return ISO dates and times, those with a time zone in UTC; missing where a cell is none."""
    import pandas as pd

    return pd.to_datetime(text, errors="coerce", format="ISO8601", utc=True)


def _guess(column: Any) -> Any:
    """Return truth values, numbers or dates where every cell is one; text as it is otherwise."""
    import pandas as pd

    cells = column.dropna()
    if len(cells) == 0:
        return column.astype(float)
    cells = cells.astype(str).str.strip()
    if len(cells) == len(column) and cells.str.lower().isin(["true", "false"]).all():
        return cells.str.lower() == "true"
    try:
        numbers = pd.to_numeric(column)
    except (ValueError, TypeError):
        dates = _dates(column)
        if dates[cells.index].notna().all():
            return dates.dt.tz_localize(None)
        return column.astype(object)
    whole = numbers.dtype.kind == "f" and cells.str.fullmatch(r"[+-]?\d{1,15}").all()
    return numbers.astype("Int64") if whole else numbers


def label_column(y: Any, classes: Sequence[Any] | None, task: str) -> Any:
    """Return labels of the type of the declared classes, or numbers."""
    if task == "regression":
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    if classes is not None and all(isinstance(label, str) for label in classes):
        return y.map(_stripped).astype(str).to_numpy(dtype=object)
    if classes is not None:
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    return typed(y.to_frame("target"), {}, set())["target"].to_numpy()
