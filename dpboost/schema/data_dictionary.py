"""Data dictionaries: tables that describe the columns of another table."""

from __future__ import annotations

import csv
import html
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpboost._utils.files import write_atomically
from dpboost._utils.json_text import parse_json
from dpboost._utils.schema_checks import Category, check_text, day_number, iso_text, refuse_yaml
from dpboost._utils.validation import InvalidParameterError

#: What a column may be; each with other words for it that dictionaries use.
TYPES = {
    "number": ("numeric", "float", "double", "real", "decimal", "continuous", "calc", "slider"),
    "integer": ("int", "count", "whole number", "ordinal"),
    "boolean": ("bool", "flag", "yesno", "truefalse", "binary"),
    "category": ("categorical", "nominal", "factor", "enum", "dropdown", "radio", "checkbox"),
    "date": ("datetime", "timestamp", "date_ymd", "date_dmy", "date_mdy"),
    "text": ("string", "str", "varchar", "char", "notes"),
}

#: What a column is for.
ROLES = ("feature", "target", "user", "ignore")

# Headers of this library's own files come first; then those of other systems.
_HEADERS = {
    "name": ("name", "column", "variable", "field", "variable / field name"),
    "type": ("type", "dtype", "data type", "field type"),
    "lower": ("lower", "min", "minimum", "low", "text validation min"),
    "upper": ("upper", "max", "maximum", "high", "text validation max"),
    "values": (
        *("values", "categories", "choices", "levels", "codes"),
        "choices, calculations, or slider labels",
    ),
    "role": ("role", "use"),
    "description": ("description", "label", "meaning", "field label"),
}

#: Headers of a file that this library writes.
COLUMNS = tuple(_HEADERS)

#: First line of a CSV file that this library writes; lines that begin so are not read.
COMMENT = "#"
HINT = (
    f"{COMMENT} type: {'; '.join(TYPES)}. role: {'; '.join(ROLES)} (empty: feature). A category "
    "without values is learned privately."
)


@dataclass(frozen=True, kw_only=True)
class ColumnEntry:
    """One line of a data dictionary.

    Parameters
    ----------
    name : str
        Name of the column.
    type : str
        One of number, integer, boolean, category, date and text; "" if it is not declared.
    lower, upper : float or None
        Inclusive range of the values; of dates in days since 1970-01-01.
    values : tuple
        Values of a category.
    role : str
        One of feature, target, user and ignore.
    description : str
        Free text.
    """

    name: str
    type: str = ""
    lower: float | None = None
    upper: float | None = None
    values: tuple[Category, ...] = ()
    role: str = "feature"
    description: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the line as plain values, without empty ones."""
        found = {
            "name": self.name,
            "type": self.type,
            "lower": self._end(self.lower),
            "upper": self._end(self.upper),
            "values": list(self.values),
            "role": self.role if self.role != "feature" else "",
            "description": self.description,
        }
        return {key: value for key, value in found.items() if value not in ("", None, [])}

    def _end(self, value: float | None) -> float | str | None:
        """Return an end of the range as files have it: of dates as ISO text."""
        return iso_text(value) if self.type == "date" and value is not None else value


@dataclass(frozen=True)
class DataDictionary:
    r"""Public metadata of the columns of a table, with one line per column.

    Parameters
    ----------
    entries : tuple of ColumnEntry
        One for each column.

    Raises
    ------
    InvalidParameterError
        For a name that occurs twice, two targets or users, a range without one end or with its ends
        exchanged, and a value that is listed twice: one error for all of them.

    Privacy
    -------
    Everything in a data dictionary is published with the model. Write it without reading the
    private rows.

    Examples
    --------
    >>> text = "name,type,min,max,values\nage,integer,0,120,\nsex,category,,,F|M"
    >>> DataDictionary.from_csv_text(text).schema_parts()["bounds"]
    {'age': (0.0, 120.0)}
    """

    entries: tuple[ColumnEntry, ...]

    def __post_init__(self) -> None:
        for entry in self.entries:
            for text in (entry.name, entry.description, *entry.values):
                check_text(text, f"The data dictionary's line for the column {entry.name!r}")
        _raise_all(list(_problems(self.entries)))

    @property
    def target(self) -> str | None:
        """Name of the column to predict, if declared."""
        return next((entry.name for entry in self.entries if entry.role == "target"), None)

    @property
    def user_column(self) -> str | None:
        """Name of the column of user ids, if declared."""
        return next((entry.name for entry in self.entries if entry.role == "user"), None)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the columns that take part, without the target and the user."""
        return tuple(entry.name for entry in self.entries if entry.role == "feature")

    def with_role(self, role: str, name: str | None) -> DataDictionary:
        """Return the lines with a role that only the given column has.

        A column that was the target becomes a feature, one that was the user is ignored. The role
        is "target" or "user"; a name of None changes nothing.
        """
        if name is None:
            return self
        left = "feature" if role == "target" else "ignore"
        others = (replace(e, role=left) if e.role == role else e for e in self.entries)
        return DataDictionary(
            tuple(replace(entry, role=role) if entry.name == name else entry for entry in others)
        )

    @property
    def learned(self) -> tuple[str, ...]:
        """Names of category columns without values, which a fit estimates privately."""
        return tuple(
            e.name
            for e in self.entries
            if e.type == "category" and not e.values and e.role == "feature"
        )

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the columns whose lines declare a type of numbers, with or without a range."""
        kinds = ("number", "integer", "boolean", "date")
        return tuple(e.name for e in self.entries if e.type in kinds and not e.values)

    @property
    def types_alone(self) -> tuple[str, ...]:
        """Names of the features whose lines declare a type of numbers and no range."""
        kinds = ("number", "integer", "date")
        return tuple(
            entry.name
            for entry in self.entries
            if entry.role == "feature" and entry.type in kinds and entry.lower is None
        )

    def schema_parts(self, target: str | None = None) -> dict[str, Any]:
        """Return the declarations as arguments of ``Schema``.

        ``target`` is the column to predict, where no line says so; its values are the classes, its
        range the label bounds. The parts are ``bounds``, ``categories``, ``integer``, and
        ``classes`` or ``label_bounds``. A category without values is left open: a fit learns it
        privately. InvalidParameterError for a target that has no line.
        """
        target = target or self.target
        names = [entry.name for entry in self.entries]
        if target is not None and target not in names:
            raise InvalidParameterError(
                f"The data dictionary has no line for the target {target!r}. Its lines are for "
                f"{', '.join(names)}."
            )
        parts: dict[str, Any] = {"bounds": {}, "categories": {}, "integer": []}
        for entry in self.entries:
            bounds = _bounds(entry)
            if entry.name == target:
                if entry.values or entry.type == "boolean":
                    parts["classes"] = entry.values or (False, True)
                elif bounds is not None:
                    parts["label_bounds"] = bounds
                continue
            if entry.role in ("ignore", "user"):
                continue
            if entry.values or entry.type == "category":
                parts["categories"][entry.name] = entry.values
            else:
                if bounds is not None:
                    parts["bounds"][entry.name] = bounds
                if entry.type in ("integer", "boolean"):
                    parts["integer"].append(entry.name)
        return parts

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> DataDictionary:
        """Read a CSV file, or a JSON file that holds a list of objects with the same names.

        Raises
        ------
        InvalidParameterError
            For a file that cannot be read or is none of both.
        """
        shown = repr(os.fspath(path))
        refuse_yaml(path)
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                text = file.read()
            if os.fspath(path).lower().endswith(".json"):
                return cls.from_lines(parse_json(text))
        except (OSError, ValueError) as error:
            if isinstance(error, InvalidParameterError):
                raise
            why = str(error)
            if isinstance(error, FileNotFoundError):
                why = (
                    'the file does not exist. Create one with "dpboost schema" on the command '
                    "line, or dpboost.schema_template(X, path) in Python."
                )
            raise InvalidParameterError(
                f"The data dictionary {shown} cannot be read: {why}"
            ) from error
        try:
            found = cls.from_csv_text(text)
        except InvalidParameterError as error:
            raise InvalidParameterError(f"In the file {shown}: {error}") from error
        if not found.entries:
            raise InvalidParameterError(f"The data dictionary {shown} has no line for a column.")
        return found

    @classmethod
    def from_csv_text(cls, text: str) -> DataDictionary:
        """Read the text of a CSV file, separated by commas, semicolons or tabs.

        Lines end by a line feed, a carriage return or both. Those that begin with ``#`` are
        comments.

        Raises
        ------
        InvalidParameterError
            For text that is no CSV, and as `from_lines`.
        """
        lines = list(io.StringIO(text, newline=None))
        # A spreadsheet may have put quotation marks around a comment.
        while lines and lines[0].lstrip('"').startswith(COMMENT):
            del lines[0]
        separator = max(",;\t", key=(lines or [""])[0].count)
        try:
            return cls.from_lines(csv.DictReader(lines, delimiter=separator))
        except csv.Error as error:
            raise InvalidParameterError(
                f'The data dictionary is no CSV text: {error}. Save it again as "CSV UTF-8", with '
                "a line for each column."
            ) from error

    @classmethod
    def from_lines(cls, lines: Iterable[Mapping[str, Any]]) -> DataDictionary:
        """Read mappings from header to value, one for each column.

        InvalidParameterError for lines without a name, and for types, roles and numbers that are
        none.
        """
        if isinstance(lines, (Mapping, str)):
            raise InvalidParameterError("A data dictionary in JSON is a list of objects.")
        entries, problems = [], []
        for line in lines:
            try:
                entry = _entry(line)
            except InvalidParameterError as error:
                problems += str(error).split("\n* ")
            else:
                entries += [] if entry is None else [entry]
        if problems:
            _raise_all([*problems, *_problems(entries)])
        return cls(tuple(entries))

    def __repr__(self) -> str:
        lines = [COLUMNS, *self._cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = (map(str.ljust, line, widths) for line in lines)
        return "\n".join("  ".join(line).rstrip() for line in padded)

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        heads = "".join(f"<th>{name}</th>" for name in COLUMNS)
        rows = (
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>"
            for line in self._cells()
        )
        return f"<table><tr>{heads}</tr>{''.join(rows)}</table>"

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the lines as text, in the order of `COLUMNS`."""
        return [
            tuple(_shown(entry.to_dict().get(name, "")) for name in COLUMNS)
            for entry in self.entries
        ]

    def to_csv_text(self) -> str:
        """Return the CSV file that `from_csv_text` reads; it begins with the words to use."""
        file = io.StringIO()
        file.write(f"{HINT}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for entry in self.entries:
            writer.writerow({name: _shown(value) for name, value in entry.to_dict().items()})
        return file.getvalue()

    def to_file(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file, or JSON where the path ends so; an old file stays on failure."""
        text = self.to_csv_text()
        if os.fspath(path).lower().endswith(".json"):
            lines = [entry.to_dict() for entry in self.entries]
            text = json.dumps(lines, indent=2, ensure_ascii=False) + "\n"
        write_atomically(path, text.encode())


def _problems(entries: Sequence[ColumnEntry]) -> Iterator[str]:
    """Yield the faults of lines, each with its remedy."""
    names = [entry.name for entry in entries]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"The data dictionary has two lines for {name!r}: keep one."
    for role in ("target", "user"):
        found = [entry.name for entry in entries if entry.role == role]
        if len(found) > 1:
            yield (
                f"The data dictionary has more than one line with the role {role!r}, "
                f"{', '.join(map(repr, found))}: keep one, and clear the role of the others."
            )
    for entry in entries:
        if (entry.lower is None) != (entry.upper is None):
            yield (
                f"The data dictionary gives one end of the range of {entry.name!r}: give both, or "
                "none."
            )
        elif entry.lower is not None and entry.upper is not None and entry.lower > entry.upper:
            yield (
                f"The range of {entry.name!r} in the data dictionary ends before it begins: "
                "exchange lower and upper."
            )
        twice = [value for value in dict.fromkeys(entry.values) if entry.values.count(value) > 1]
        if twice:
            yield (
                f"The values of {entry.name!r} in the data dictionary list "
                f"{', '.join(map(repr, twice))} more than once: list each value once."
            )


def _raise_all(problems: Sequence[str]) -> None:
    """Raise one error for all faults, if there are any."""
    if len(problems) == 1:
        raise InvalidParameterError(problems[0])
    if problems:
        lines = "".join(f"\n* {problem}" for problem in problems)
        raise InvalidParameterError(
            f"The data dictionary has {len(problems)} faults, by column or line:{lines}"
        )


def _shown(value: Any) -> str:
    """Return a part of a line as CSV files have it."""
    return "|".join(map(str, value)) if isinstance(value, list) else str(value)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _entry(line: Mapping[str, Any]) -> ColumnEntry | None:
    """Read one line under any of the known headers, others are left out; None if it is empty."""
    if not isinstance(line, Mapping):
        raise InvalidParameterError("A line of a data dictionary is a mapping, by header.")
    if not any(map(_text, line.values())):
        return None
    headers = {_text(header).lower(): value for header, value in line.items()}
    given = {
        part: next((headers[name] for name in names if name in headers), None)
        for part, names in _HEADERS.items()
    }
    name = _text(given["name"])
    if not name:
        raise InvalidParameterError(
            f"A line of the data dictionary names no column. Its headers are "
            f"{', '.join(map(repr, line))}; one of them must be 'name'."
        )
    role = _text(given["role"]).lower() or "feature"
    kind = _type(_text(given["type"]).lower())
    ends = given["lower"], given["upper"]
    if kind in ("", "text") and any(map(_is_date, ends)):
        kind = "date"  # as REDCap says it: text whose validation has dates
    faults = []
    if role not in ROLES:
        faults.append(
            f"The role of {name!r} in the data dictionary must be one of {', '.join(ROLES)}, "
            f"not {role!r}."
        )
    if kind is None:
        faults.append(
            f"The type of {name!r} in the data dictionary must be one of {', '.join(TYPES)}, or "
            f"empty, not {_text(given['type']).lower()!r}."
        )
    lower, upper = (_number(end, kind) for end in ends)
    for end, number in zip(ends, (lower, upper), strict=True):
        if number is None and _text(end) and kind is not None:
            must = "dates such as 2024-01-31" if kind == "date" else "numbers"
            faults.append(
                f"The range of {name!r} in the data dictionary must be {must}, not {end!r}."
            )
    if faults:
        raise InvalidParameterError("\n* ".join(faults))
    assert kind is not None
    return ColumnEntry(
        name=name,
        type=kind,
        lower=lower,
        upper=upper,
        values=_values(kind, given["values"]),
        role=role,
        description=_text(given["description"]),
    )


def _type(word: str) -> str | None:
    """Return the type that a word stands for, "" for none, None if the word is unknown."""
    found = (kind for kind, others in TYPES.items() if word == kind or word in others)
    return next(found, None) if word else ""


def _number(value: Any, kind: str | None) -> float | None:
    text = _text(value)
    if not text:
        return None
    return day_number(text) if kind == "date" else _plain_number(text)


def _plain_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _is_date(value: Any) -> bool:
    text = _text(value)
    return _plain_number(text) is None and day_number(text) is not None


def _values(kind: str, value: Any) -> tuple[Category, ...]:
    """Read ``A|B``, or ``1, Yes | 2, No`` with codes before labels, or a list."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if kind in ("number", "integer", "boolean", "date") and not _text(value):
        return ()
    parts = [part.strip() for part in _text(value).split("|") if part.strip()]
    codes = [part.partition(",")[0].strip() for part in parts]
    if parts and all("," in part for part in parts) and all(map(_is_integer, codes)):
        return tuple(map(int, codes))
    if parts and all(map(_is_integer, parts)):
        return tuple(map(int, parts))
    return tuple(parts)


def _is_integer(text: str) -> bool:
    return text.lstrip("+-").isdigit()


def _bounds(entry: ColumnEntry) -> tuple[float, float] | None:
    if entry.type == "boolean" and entry.lower is None and entry.upper is None:
        return (0.0, 1.0)
    if entry.lower is None or entry.upper is None:
        return None
    return (entry.lower, entry.upper)
