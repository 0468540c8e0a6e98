"""Tables in CSV and Parquet files."""

from __future__ import annotations

import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.declared_rows import COMMAND_LINE, Declaration, DeclaredRows
from dpboost.schema.declared_types import typed

_PARQUET = (".parquet", ".pq")

#: Description of a fault by the name of pandas' or pyarrow's error.
_FAULTS = {
    "EmptyDataError": "it is empty",
    "UnicodeDecodeError": 'it is not in UTF-8; save it as "CSV UTF-8"',
    "ParserError": "a line has more cells than the first one, or a quotation mark has no end",
    "ParserWarning": "lines have more cells than the first one, which names the columns",
    "ArrowInvalid": "it is not a Parquet file",
}


def pandas() -> Any:
    """Import pandas, or raise with instructions to install it."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "The command line reads tables with pandas: python -m pip install 'dpboost[pandas]'"
        ) from error


def read_file(path: str, numeric: Iterable[str] = ()) -> Any:
    """Read a table from a file.

    Cells of a CSV file stay text, so that no type is inferred. In a file with semicolons as
    separators, a comma in a number is the decimal point. The file is a CSV file, compressed or not,
    with commas, semicolons or tabs between the cells; or a Parquet file. Columns in ``numeric`` are
    declared as numbers: they are parsed as such if all their cells are plain numbers, which takes a
    tenth of the time.
    """
    library = pandas()
    try:
        if path.lower().endswith(_PARQUET):
            return library.read_parquet(path)
        mark = _separator(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", library.errors.ParserWarning)
            table = _read_csv(path, mark, numeric)
    except (ValueError, UnicodeError, library.errors.ParserWarning) as error:
        # The library's own message may show a line of the file.
        name = type(error).__name__
        raise InvalidParameterError(
            f"The file {path!r} cannot be read as a table: {_FAULTS.get(name, name)}."
        ) from None
    table = table.rename(columns=str.strip)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InvalidParameterError(f"The file {path!r} has two columns {twice[0]!r}.")
    if mark == ";":
        number = r"^\s*([+-]?\d+),(\d+)\s*$"
        table = table.apply(lambda column: column.str.replace(number, r"\1.\2", regex=True))
    return table


def _read_csv(path: str, mark: str, numeric: Iterable[str]) -> Any:
    """Read cells as text, or as numbers in declared columns where every cell is a number."""
    given: dict[str, Any] = {"sep": mark, "skipinitialspace": True, "index_col": False}
    types: dict[str, type] = defaultdict(lambda: str, dict.fromkeys(numeric, float))
    if types and mark != ";" and os.path.isfile(path):
        try:
            return pandas().read_csv(path, dtype=types, **_exact_numbers(), **given)
        except ValueError:
            pass
    return pandas().read_csv(path, dtype=str, **given)


def _exact_numbers() -> dict[str, str]:
    """Return what makes pandas round as the conversion from text does; 3.1 always does."""
    major, minor = map(int, pandas().__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def _separator(path: str) -> str:
    """Return the separator of the header line."""
    if not os.path.isfile(path):  # A stream can be read only once, so commas are assumed.
        return ","
    names = pandas().read_csv(path, nrows=0, dtype=str).columns
    if len(names) > 1:
        return ","
    return max(",;\t", key=str(names[0]).count)


def declaration_of(path: str | None, target: str | None, user: str | None = None) -> Declaration:
    """Read the declarations of a JSON schema or a data dictionary; none without a path.

    The columns that the command names as target and user get these roles in the dictionary.
    """
    return Declaration.of(path, target=target, user=user, interface=COMMAND_LINE)


def rows_of_file(path: str, declared: Declaration, **how: Any) -> DeclaredRows:
    """Read features, labels and users of a file, as `rows_of_table` does."""
    return rows_of_table(read_file(path), declared, **how)


def rows_of_table(table: Any, declared: Declaration, **how: Any) -> DeclaredRows:
    """Return features, labels and users of a table; print which columns are left out.

    The table is as read from the file; other arguments are those of `Declaration.rows`.
    """
    found = declared.rows(table, **how)
    if found.left_out:
        print(f"{found.left_out_line}", file=sys.stderr)
    return found


def rows_for_model(booster: Any, table: Any, path: str) -> Any:
    """Return the columns of a table that a model uses, in its order and with its types.

    ``path`` is the file of the table, for messages.
    """
    known = {str(name).replace(" ", "_"): name for name in table.columns}
    names = booster.feature_name()
    missing = [name for name in names if name not in known]
    if missing:
        raise InvalidParameterError(
            f"The file {path!r} lacks columns of the model: {', '.join(missing)}."
        )
    columns = table[[known[name] for name in names]].set_axis(names, axis=1)
    lists = dict(zip(_nominal(booster), booster.pandas_categorical or [], strict=False))
    return typed(columns, lists, {name for name in names if name not in lists})


def _nominal(booster: Any) -> list[str]:
    """Return the names of the categorical columns, in order."""
    infos = booster.dump_model(num_iteration=1)["feature_infos"]
    return [name for name in booster.feature_name() if infos.get(name, {}).get("values")]


def task_of(
    given: str | None,
    declared: Declaration,
    path: str | None = None,
    *,
    assume_types: bool = False,
) -> str:
    """Return the task: ``"classification"`` or ``"regression"``.

    ``given`` is the value of ``--task``. With ``path``, the file of the table, other mismatches are
    reported as well; ``assume_types`` is as of `Declaration.rows`.
    """
    schema = declared.schema
    if given is not None:
        return given
    if (schema.classes is None) == (schema.label_bounds is None):
        lines = [_no_task(declared)]
        if path is not None:
            lines += declared.problems(read_file(path), assume_types=assume_types)
        raise InvalidParameterError("\n".join(lines))
    return "classification" if schema.classes is not None else "regression"


def _no_task(declared: Declaration) -> str:
    """Return the message for a task that cannot be inferred."""
    if declared.target is None:
        where = "" if declared.dictionary is None else ", or set the role 'target' in a line"
        return (
            f"The column to predict is missing: pass --target COLUMN{where}. Values in the schema "
            "make it a class, a range makes it a number; --task sets it if neither is declared."
        )
    return (
        f"Cannot infer the task from the target {declared.target!r}: pass --task classification or "
        "--task regression, or declare its values or its range in the schema."
    )


def write_csv(table: Any, path: str | None) -> None:
    """Write a table to a file, or to standard output without a path."""
    if path is None:
        print(table.to_csv(index=False), end="")
        return
    partial = f"{path}.partial"
    table.to_csv(partial, index=False)
    os.replace(partial, path)
