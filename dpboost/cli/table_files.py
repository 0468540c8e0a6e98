"""Tables in CSV and Parquet files, with the types that a schema declares."""

from __future__ import annotations

import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from importlib import import_module
from typing import Any

from dpboost._utils.dates import column_in_days, is_date
from dpboost._utils.validation import InvalidParameterError
from dpboost.schema import DataDictionary, Schema

_PARQUET = (".parquet", ".pq")

#: What is wrong with a file, by the name of pandas' or pyarrow's error.
_FAULTS = {
    "EmptyDataError": "it is empty",
    "UnicodeDecodeError": 'it is not in UTF-8; save it as "CSV UTF-8"',
    "ParserError": "a line has more cells than the first one, or a quotation mark has no end",
    "ParserWarning": "lines have more cells than the first one, which names the columns",
    "ArrowInvalid": "it is no Parquet file",
}

#: What a cell of a column of numbers may say instead of 1 and 0.
_WORDS = {"true": 1, "false": 0, "yes": 1, "no": 0}


def pandas() -> Any:
    """Import pandas, or say how it is installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "The command line reads tables by pandas: python -m pip install 'dpboost[pandas]'"
        ) from error


def read_file(path: str, numeric: Iterable[str] = ()) -> Any:
    """Read a table of a file.

    Cells of a CSV file stay text, so that nothing is guessed from them. In a file that is
    separated by semicolons, a comma in a number is its decimal point.

    Parameters
    ----------
    path : str
        A CSV file, compressed or not, with commas, semicolons or tabs between the cells; or a
        Parquet file.
    numeric : iterable of str
        Columns that are declared as numbers. Where all their cells are plain numbers, they are
        read as such, in a tenth of the time.

    Returns
    -------
    DataFrame

    Raises
    ------
    InvalidParameterError
        For a file that cannot be read as a table.
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
    """Read cells as text, and those of declared numbers as numbers where every one is."""
    given: dict[str, Any] = {"sep": mark, "skipinitialspace": True, "index_col": False}
    types: dict[str, type] = defaultdict(lambda: str, dict.fromkeys(numeric, float))
    if types and mark != ";" and os.path.isfile(path):
        try:
            # To the last digit, as text is turned into numbers.
            return pandas().read_csv(path, dtype=types, float_precision="round_trip", **given)
        except ValueError:
            pass
    return pandas().read_csv(path, dtype=str, **given)


def _separator(path: str) -> str:
    """Return what stands between the names of the columns."""
    if not os.path.isfile(path):  # what is read once has commas
        return ","
    names = pandas().read_csv(path, nrows=0, dtype=str).columns
    if len(names) > 1:
        return ","
    return max(",;\t", key=str(names[0]).count)


def read_schema(
    path: str | None, target: str | None, user: str | None = None
) -> tuple[Schema, DataDictionary | None]:
    """Read a schema in JSON, or a data dictionary in CSV or JSON; without a path nothing.

    In the dictionary, the columns that the command names as target and user have these roles.
    """
    if path is None:
        return Schema(), None
    found = Schema.or_dictionary(path)
    if isinstance(found, Schema):
        return found, None
    found = found.with_role("user", user)
    schema = Schema(**found.schema_parts(target))
    return schema, found.with_role("target", target)


def target_of(given: str | None, dictionary: DataDictionary | None) -> str:
    """Return the column to predict.

    Raises
    ------
    InvalidParameterError
        Where neither the command nor the dictionary names it.
    """
    target = given or (dictionary.target if dictionary else None)
    if target is None:
        raise InvalidParameterError(
            "Which column to predict is not said: --target COLUMN, or a line with the role "
            "'target' in the data dictionary."
        )
    return target


def user_column_of(
    given: str | None, rows_per_user: int | None, dictionary: DataDictionary | None
) -> str | None:
    """Return the column that says whose row it is, where users are protected.

    Raises
    ------
    InvalidParameterError
        Where one of column and limit is given without the other.
    """
    column = given or (dictionary.user_column if dictionary else None)
    if (column is None) != (rows_per_user is None):
        raise InvalidParameterError(
            "To protect users both are needed: --user COLUMN, or a line with the role 'user', and "
            "--rows-per-user N."
        )
    return column


def task_of(given: str | None, schema: Schema) -> str:
    """Return whether the target is a class or a number.

    Raises
    ------
    InvalidParameterError
        Where neither the command nor the schema says so.
    """
    if given is not None:
        return given
    if (schema.classes is None) == (schema.label_bounds is None):
        raise InvalidParameterError(
            "Whether the target is a class or a number is not said: --task classification or "
            "--task regression, or its values or its range in the schema."
        )
    return "classification" if schema.classes is not None else "regression"


def label_column(y: Any, schema: Schema, task: str) -> Any:
    """Return labels of the type of the declared classes, or numbers."""
    if task == "regression":
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    classes = schema.classes
    if classes is not None and all(isinstance(label, str) for label in classes):
        return y.map(_stripped).astype(str).to_numpy(dtype=object)
    if classes is not None:
        return typed(y.to_frame("target"), {}, {"target"})["target"].to_numpy()
    return typed(y.to_frame("target"), {}, set())["target"].to_numpy()


def typed_features(
    X: Any,
    schema: Schema,
    dictionary: DataDictionary | None,
    *,
    assume_types: bool = False,
    keep_cells: bool = False,
) -> Any:
    """Return features with the types that a schema or a data dictionary declares.

    Parameters
    ----------
    X : DataFrame
    dictionary : DataDictionary or None
        Its types count also where a line has no range.
    assume_types : bool
        Whether the types of other columns are read off the cells.
    keep_cells : bool
        Whether values of categories that are not listed stay, for a look at the rows.

    Raises
    ------
    InvalidParameterError
        For columns without a type, unless types are assumed; it names them and no cell.

    Privacy
    -------
    Types that are read off cells are a function of the rows: one row can change them. The
    guarantee is then one between tables with the same column types.
    """
    numeric = {*map(str, schema.bounds), *map(str, schema.edges), *map(str, schema.integer)}
    numeric |= set() if dictionary is None else set(dictionary.numbers)
    declared = {str(name): values for name, values in schema.categories.items()}
    learned = set() if dictionary is None else set(dictionary.learned)
    names = [str(name) for name in X.columns]
    known = {*numeric, *declared, *learned}
    open_columns = [] if assume_types else [name for name in names if name not in known]
    problems = [] if dictionary is None else _problems(names, open_columns, dictionary)
    if open_columns:
        if dictionary is None:
            problems = [
                f"The schema declares no type of {', '.join(open_columns)}, and one row could "
                "change a type that is read off the cells. Declare the columns: a type in the data "
                "dictionary is enough for numbers and for categories (dpboost schema DATA writes "
                "one to fill in)."
            ]
        problems.append(
            "Or pass --assume-types: the guarantee is then limited to tables whose cells give the "
            "same column types."
        )
    if problems:
        raise InvalidParameterError("\n".join(problems))
    return typed(X, declared, numeric, learned, keep_cells=keep_cells)


def _problems(
    names: Sequence[str], open_columns: Sequence[str], dictionary: DataDictionary
) -> list[str]:
    """Return what has to be mended before a table fits a dictionary: a line for each column."""
    types = {entry.name: entry.type for entry in dictionary.entries}
    lines = [
        f"  {name}: the file has no such column; take its line out, or give it the role 'ignore'"
        for name in dictionary.features
        if name not in names
    ]
    for name in open_columns:
        what = "is text" if types[name] == "text" else "has no type"
        cures = "its type 'category' (without values they are learned privately), or its role "
        lines.append(f"  {name}: {what}; make {cures}'ignore' or 'user'")
    return ["The data dictionary and the file do not fit together:", *lines] if lines else []


def split_columns(
    table: Any, target: str, dictionary: DataDictionary | None, user_column: str | None
) -> tuple[Any, Any, Any]:
    """Return features, labels and users of a table.

    Parameters
    ----------
    table : DataFrame
    target : str
        Column of the labels.
    dictionary : DataDictionary or None
        Says which columns are features. What it does not name is left out, with a line that says
        so.
    user_column : str or None
        Column that says whose row it is.

    Raises
    ------
    InvalidParameterError
        For a column that the table does not have.
    """
    for name in (target, *([user_column] if user_column else [])):
        if name not in table.columns:
            listed = ", ".join(map(str, table.columns))
            raise InvalidParameterError(
                f"The file has no column {name!r}. Its columns are {listed}."
            )
    users = None if user_column is None else table[user_column]
    features = [name for name in table.columns if name not in {target, user_column}]
    if dictionary is not None:
        known = {entry.name for entry in dictionary.entries}
        unknown = [str(name) for name in features if name not in known]
        if unknown:
            print(
                f"left out, because the data dictionary does not name them: {', '.join(unknown)}",
                file=sys.stderr,
            )
        features = [name for name in features if name in set(dictionary.features)]
    return table[features], table[target], users


def typed(
    table: Any,
    declared: Mapping[str, Sequence[Any]],
    numeric: set[str],
    learned: Set[str] = frozenset(),
    *,
    keep_cells: bool = False,
) -> Any:
    """Return a table whose columns have declared types; text in others is tried as numbers.

    Parameters
    ----------
    table : DataFrame
    declared : mapping of str to sequence
        Categories by column; they become categorical columns.
    numeric : set of str
        Columns that are declared as numbers: a cell that is none counts as missing.
    learned : set of str
        Columns of categories whose values a fit learns: their cells are text.
    keep_cells : bool
        Whether declared categories stay cells, those that are not listed among them.

    Returns
    -------
    table : DataFrame
    """
    library = pandas()
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
                else library.Categorical(cells.where(cells.isin(values)), categories=values)
            )
        elif name in numeric:
            found[name] = _numbers(column)
        elif name in learned:
            text = column.map(lambda cell: str(cell).strip(), na_action="ignore")
            found[name] = text.astype("category")
        elif column.dtype.kind in "OUST" or str(column.dtype).startswith("str"):
            found[name] = _guess(column)
        else:
            found[name] = column
    return library.DataFrame(found, index=table.index)


def _cells(column: Any, values: Sequence[Any]) -> Any:
    """Return the cells of a column of the kind of its declared values: text, or numbers."""
    if not all(isinstance(value, str) for value in values):
        return column if column.dtype.kind in "iufb" else _numbers(column)
    is_text = column.dtype.kind == "O" or str(column.dtype).startswith("str")
    return column.map(_stripped) if is_text else column


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def _numbers(column: Any) -> Any:
    """Return the numbers of a column, dates in days; a cell that is none of both is missing."""
    library = pandas()
    if is_date(column.dtype):
        return library.Series(column_in_days(column), index=column.index)
    if column.dtype.kind in "iufb":
        return column.astype(float)
    if library.api.types.infer_dtype(column, skipna=True) == "string":
        plain = library.to_numeric(column, "coerce").astype(float)
        if plain.isna().equals(column.isna()):
            return plain
    text = column.astype(object).map(str, na_action="ignore").str.strip().str.lower()
    found = library.to_numeric(text.map(_WORDS).where(text.isin(list(_WORDS)), text), "coerce")
    found = found.astype(float)
    left = text[found.isna() & text.notna()]
    if len(left):
        found.loc[left.index] = column_in_days(_dates(left))
    return found


def _dates(text: Any) -> Any:
    """Return ISO dates and times, those with a time zone in UTC; missing where a cell is none."""
    return pandas().to_datetime(text, errors="coerce", format="ISO8601", utc=True)


def _guess(column: Any) -> Any:
    """Return truth values, numbers or dates where every cell is one; text as it is otherwise."""
    library = pandas()
    cells = column.dropna()
    if len(cells) == 0:
        return column.astype(float)
    cells = cells.astype(str).str.strip()
    if len(cells) == len(column) and cells.str.lower().isin(["true", "false"]).all():
        return cells.str.lower() == "true"
    try:
        numbers = library.to_numeric(column)
    except (ValueError, TypeError):
        dates = _dates(column)
        if dates[cells.index].notna().all():
            return dates.dt.tz_localize(None)
        return column.astype(object)
    whole = numbers.dtype.kind == "f" and cells.str.fullmatch(r"[+-]?\d{1,15}").all()
    return numbers.astype("Int64") if whole else numbers


def write_csv(table: Any, path: str | None) -> None:
    """Write a table, to standard output without a path."""
    if path is None:
        print(table.to_csv(index=False), end="")
        return
    partial = f"{path}.partial"
    table.to_csv(partial, index=False)
    os.replace(partial, path)
