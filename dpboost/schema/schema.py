"""Schemas: public metadata that a data owner declares about a table."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import scipy.sparse

from dpboost._utils.displays import data_frame, html_table, text_table
from dpboost._utils.files import write_atomically
from dpboost._utils.json_text import parse_json
from dpboost._utils.schema_checks import (
    MAX_VALUE_BINS,
    Category,
    Column,
    borders_between_bins,
    by_column,
    column_in_days,
    columns,
    distinct_values,
    from_pairs,
    interval,
    is_date,
    label_range,
    refuse_yaml,
    values_or_none,
)
from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import InvalidParameterError, check_choice, check_integer, refuse
from dpboost.schema.data_dictionary import DataDictionary
from dpboost.schema.declared_types import label_column, typed
from dpboost.schema.table_check import SchemaCheck, check_labels, check_table, named_columns

__all__ = [
    "MAX_VALUE_BINS",
    "Category",
    "Column",
    "DictionarySchema",
    "ResolvedSchema",
    "Schema",
    "lightgbm_name",
]

_BY_COLUMN = ("bounds", "edges", "categories")
_PARTS = (*_BY_COLUMN, "integer", "classes", "label_bounds", "max_rows")
_HEAD = ("column", "declared", "value")
# Characters of arguments that an estimator's own line has room for.
_LONGEST = 400


def lightgbm_name(name: object) -> str:
    """Return a column name as LightGBM writes it: text, with ``_`` for blanks."""
    return str(name).replace(" ", "_")


@dataclass(frozen=True, kw_only=True, repr=False)
class Schema:
    """Public metadata of a table.

    Every part is optional and is published with the model. Declare only what is known without
    reading the private rows, for example from a codebook, a regulation, physics, or a public
    sample. Columns are given by name or by index.

    Parameters
    ----------
    bounds : dict of column to (lower, upper), optional
        Inclusive range of a numeric column; values outside are clipped to it. ``lower`` may
        equal ``upper``: the column is then known to be constant and gets a single bin. A column
        of dates or times takes two dates, or ISO text like ``"2024-01-31"``; a column of durations
        takes two durations. Both are converted to days: dates to days since 1970-01-01, times with
        a time zone in UTC.
    edges : dict of column to sequence of float, optional
        Strictly increasing borders between the bins of a numeric column, at most 254; a value
        equal to a border belongs to the bin below it.
    categories : dict of column to sequence, optional
        Values (text, numbers or booleans) of a nominal column. Anything else in that column
        counts as "other". Columns of numbers hold the listed integers themselves, in
        [0, 65535]; columns of text or of pandas' categorical type are read by position in
        this list. At most 255 have a separate bin: list the most frequent first. ``None`` or an
        empty list declares a text column without its values: a fit estimates them privately, with
        a part of a positive delta, as in a data dictionary.
    integer : sequence of column, optional
        Numeric columns that hold whole numbers in floats. Their bins end half-way between whole
        numbers, and there are at most as many as values between the bounds. Columns of integer
        and boolean type need not be listed if ``assume_public`` contains ``"column_types"``.
    classes : sequence, optional
        All labels of a classification task, at least two.
    label_bounds : (lower, upper), optional
        Inclusive range of a regression label, ``lower < upper`` and at least 1e-25 apart; labels
        outside are clipped.
    max_rows : int, optional
        Public upper bound on the number of rows, at least 1.

    Raises
    ------
    InvalidParameterError
        If a value violates these rules, bounds or edges exceed 1e30 in absolute value, a column
        has two of bounds, edges and categories, or an integer column has edges or categories.

    Privacy
    -------
    A schema is an input of the mechanism, not a release: nothing in it is protected.

    Examples
    --------
    >>> schema = Schema(bounds={"age": (17, 90)}, categories={"job": ["clerk", "nurse"]})
    >>> schema.bounds
    {'age': (17.0, 90.0)}
    """

    bounds: Mapping[Column, tuple[float, float]] = field(default_factory=dict)
    edges: Mapping[Column, tuple[float, ...]] = field(default_factory=dict)
    categories: Mapping[Column, tuple[Category, ...]] = field(default_factory=dict)
    integer: tuple[Column, ...] = ()
    classes: tuple[Category, ...] | None = None
    label_bounds: tuple[float, float] | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        checks = {"bounds": interval, "edges": borders_between_bins, "categories": values_or_none}
        for name, check in checks.items():
            table = by_column(name, getattr(self, name))
            checked = {key: check(f"{name}[{key!r}]", value) for key, value in table.items()}
            object.__setattr__(self, name, checked)
        seen: dict[Column, str] = {}
        for name in _BY_COLUMN:
            for key in getattr(self, name):
                _declare_once(seen, key, name, repr(key))
        object.__setattr__(self, "integer", columns("integer", self.integer))
        for key in self.integer:
            _check_integer_column(seen.get(key), repr(key))
        if self.classes is not None:
            classes = distinct_values("classes", self.classes)
            if len(classes) < 2:
                raise refuse("classes", "Schema", "at least two labels", list(classes))
            object.__setattr__(self, "classes", classes)
        if self.label_bounds is not None:
            bounds = label_range("label_bounds", "Schema", self.label_bounds)
            object.__setattr__(self, "label_bounds", bounds)
        if self.max_rows is not None:
            rows = check_integer("max_rows", "Schema", self.max_rows, low=1)
            object.__setattr__(self, "max_rows", rows)

    # A schema holds dicts; it is compared by value and never used as a key.
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def coerce(cls, value: Any) -> Schema:
        """Return a schema from the value of a ``schema`` parameter.

        ``None`` declares nothing; a dict has the parameters of `Schema` as keys; a path names a
        schema in JSON or a data dictionary in CSV or JSON. The schema of a data dictionary takes no
        columns but its features. InvalidParameterError for any other type, an unknown key, or a
        file that cannot be read.
        """
        if value is None:
            return cls()
        if isinstance(value, Mapping):
            return cls.from_dict(value)
        if isinstance(value, (str, os.PathLike)):
            value = cls.or_dictionary(value)
        if isinstance(value, DataDictionary):
            return DictionarySchema(**value.schema_parts(), dictionary=value)
        if isinstance(value, Schema):
            return value
        raise refuse(
            "schema",
            "dpboost",
            "None, a Schema, a dict, a DataDictionary, or the path of a schema or data dictionary",
            value,
        )

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Schema:
        """Return the schema with these parameters.

        A part by column may also be a list of ``[column, value]`` pairs: JSON objects cannot
        have positions as keys.
        """
        known = [item.name for item in fields(cls)]
        for key in mapping:
            if key not in known:
                raise InvalidParameterError(
                    f"Schema has no part {key!r}.{_suggestion(str(key), known)} "
                    f"Its parts are {', '.join(known)}."
                )
        parts = {key: value for key, value in mapping.items() if value is not None}
        for name in _BY_COLUMN:
            pairs = parts.get(name)
            if pairs is not None and not isinstance(pairs, Mapping):
                parts[name] = from_pairs(name, pairs)
        return cls(**parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the declared parts as lists, dicts, text and numbers for JSON."""
        result: dict[str, Any] = {}
        for name in _BY_COLUMN:
            table = {key: list(value) for key, value in getattr(self, name).items()}
            if table and all(isinstance(key, str) for key in table):
                result[name] = table
            elif table:
                result[name] = [[key, value] for key, value in table.items()]
        if self.integer:
            result["integer"] = list(self.integer)
        for name in ("classes", "label_bounds"):
            if getattr(self, name) is not None:
                result[name] = list(getattr(self, name))
        if self.max_rows is not None:
            result["max_rows"] = self.max_rows
        return result

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a JSON file."""
        refuse_yaml(path)
        try:
            with open(path, encoding="utf-8") as file:
                content = parse_json(file.read())
        except (OSError, ValueError) as error:
            raise InvalidParameterError(
                f"The schema file {os.fspath(path)!r} cannot be read: {error}"
            ) from error
        if not isinstance(content, dict):
            raise InvalidParameterError(
                f"The schema file {os.fspath(path)!r} must hold one JSON object."
            )
        return cls.from_dict(content)

    @classmethod
    def or_dictionary(cls, path: str | os.PathLike[str]) -> Schema | DataDictionary:
        """Read a schema in JSON, or a data dictionary in CSV or JSON, whichever a file is.

        InvalidParameterError for a file that cannot be read, and for lines that are not understood.
        """
        if os.fspath(path).lower().endswith(".json"):
            try:
                return cls.from_json(path)
            except InvalidParameterError as error:
                if "one JSON object" not in str(error):
                    raise
        return DataDictionary.from_file(path)

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file that `from_json` reads; an old one stays on failure."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        write_atomically(path, text.encode())

    @classmethod
    def from_data_dictionary(
        cls, path: str | os.PathLike[str], *, target: str | None = None, max_rows: int | None = None
    ) -> Schema:
        """Return the schema of a data dictionary.

        Parameters
        ----------
        path : str or path
            A CSV file with a line for each column, or a JSON file with a list of objects. Headers
            are ``name``, ``type`` (number, integer, boolean, category, date or text), ``lower``,
            ``upper`` (of dates such as 2024-01-31), ``values`` (separated by ``|``), ``role``
            (feature, target, user or ignore) and ``description``, or their names in other systems
            such as REDCap.
        target : str, optional
            Column to predict, where no line has the role ``target``: its values are the
            ``classes``, its range the ``label_bounds``.
        max_rows : int, optional
            Passed on.

        Returns
        -------
        Schema

        Raises
        ------
        InvalidParameterError
            For a file that cannot be read, and for lines that are not understood.

        See Also
        --------
        dpboost.schema_template : A dictionary to be filled in, from a table's names and types.
        """
        found = DataDictionary.from_file(path).with_role("target", target)
        parts = found.schema_parts(target)
        return DictionarySchema(max_rows=max_rows, **parts, dictionary=found)

    @classmethod
    def from_public_sample(
        cls, X: Any, y: Any = None, *, task: str | None = None, max_rows: int | None = None
    ) -> Schema:
        """Return the schema of a *public* sample: bounds, categories, classes or label bounds.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Public rows. Columns of numbers and dates give bounds (smallest and largest finite
            value; none for a column without one), text and categorical columns of a DataFrame give
            categories, the most frequent first for text.
        y : array-like of shape (n_samples,), optional
            Public labels; needs ``task``.
        task : {"classification", "regression"}, optional
            Whether ``y`` gives ``classes`` or ``label_bounds``.
        max_rows : int, optional
            Passed on.

        Returns
        -------
        Schema

        Privacy
        -------
        Exact minima, maxima and values of the sample are published. Never pass private rows, not
        even a subset.
        """
        parts: dict[str, Any] = _columns_of_sample(X)
        if y is not None:
            if task is None:
                raise refuse("task", "Schema.from_public_sample", "given together with 'y'", task)
            check_choice(
                "task", "Schema.from_public_sample", task, ("classification", "regression")
            )
            labels = np.asarray(y).ravel()
            if task == "classification":
                parts["classes"] = np.unique(labels).tolist()
            else:
                bounds = _finite_range(labels)
                parts["label_bounds"] = bounds
        return cls(max_rows=max_rows, **parts)

    def kinds(self) -> tuple[dict[str, Sequence[Category]], set[str], set[str]]:
        """Return listed categories, numbers and learned categories, as `typed` takes them."""
        numeric = {*map(str, self.bounds), *map(str, self.edges), *map(str, self.integer)}
        listed = {str(name): values for name, values in self.categories.items() if values}
        learned = {str(name) for name, values in self.categories.items() if not values}
        return dict(listed), numeric, learned

    def check(self, X: Any, y: Any = None) -> SchemaCheck:
        """List all values of private rows that will be clipped, dropped, refused or estimated.

        Parameters
        ----------
        X : DataFrame, array or sparse matrix of shape (n_rows, n_features)
            The private rows.
        y : array-like of shape (n_rows,), optional
            Their labels.

        Returns
        -------
        SchemaCheck
            Printed, one line for each finding.

        Privacy
        -------
        **Not private**: the result contains exact counts of rows. Show it only to those who may
        read the rows. Correct the schema by a codebook, never by the counts.

        Examples
        --------
        >>> check = Schema(bounds={0: (0, 100)}).check([[34], [120]])
        >>> [finding.text for finding in check.findings]
        ['1 row outside [0, 100]: clipped']
        """
        columns = list(named_columns(X))
        known = self.resolve([str(name) for name, *_ in columns])
        columns = [
            (name, values, "category" if index in known.learned else kind)
            for index, (name, values, kind) in enumerate(columns)
        ]
        declared = {
            "bounds": known.bounds,
            "edges": known.edges,
            "categories": known.categories,
            "integer": known.integer,
        }
        findings = check_table(declared, columns)
        if y is not None:
            findings += check_labels(np.asarray(y).ravel(), self.classes, self.label_bounds)
        return SchemaCheck(findings=tuple(findings))

    def __repr__(self) -> str:
        """Return the given arguments, or the number of columns if there are many.

        scikit-learn shows it as a part of an estimator.
        """
        given = [(name, getattr(self, name)) for name in _PARTS if getattr(self, name) is not None]
        whole = ", ".join(f"{name}={value!r}" for name, value in given if value != () and value)
        if len(whole) <= _LONGEST:
            return f"Schema({whole})"
        counts = ", ".join(
            f"{name}={value!r}" if isinstance(value, int) else f"{name}: {len(value)}"
            for name, value in given
            if value
        )
        return f"<Schema {counts}>"

    def __str__(self) -> str:
        return "\n".join(text_table(_HEAD, self._lines()))

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return html_table(_HEAD, self._lines())

    def to_frame(self) -> Any:
        """Return the declarations as a data frame.

        Returns
        -------
        DataFrame
            One row for each column, and for each part without a column, with ``column``,
            ``declared`` and ``value``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return data_frame("Schema", _HEAD, self._lines())

    def _lines(self) -> list[tuple[str, str, str]]:
        """Return column, part and value of everything that is declared."""
        rows = [
            (str(key), name, ", ".join(map(_cell, value)) or "learned privately")
            for name in _BY_COLUMN
            for key, value in getattr(self, name).items()
        ]
        for name in ("integer", "classes", "label_bounds"):
            if getattr(self, name):
                rows.append(("", name, ", ".join(map(_cell, getattr(self, name)))))
        if self.max_rows is not None:
            rows.append(("", "max_rows", str(self.max_rows)))
        return rows

    def of_columns(self, kept: Sequence[int], names: Sequence[str]) -> Schema:
        """Return what is declared of some columns, by their positions among these.

        Parameters
        ----------
        kept : sequence of int
            Positions of the columns that are left.
        names : sequence of str
            Names of all columns, if they have any.

        Returns
        -------
        Schema
        """
        new = {position: place for place, position in enumerate(kept)}
        known = {lightgbm_name(name): position for position, name in enumerate(names)}

        def place_of(key: Column) -> Column | None:
            position = key if isinstance(key, int) else known.get(lightgbm_name(key))
            return key if position is None else new.get(position)

        parts: dict[str, Any] = {
            name: {
                place: value
                for key, value in getattr(self, name).items()
                if (place := place_of(key)) is not None
            }
            for name in _BY_COLUMN
        }
        integer = [place for key in self.integer if (place := place_of(key)) is not None]
        return replace(self, integer=tuple(integer), **parts)

    def resolve(self, feature_names: Sequence[str]) -> ResolvedSchema:
        """Return the schema with every column given by its index.

        ``feature_names`` are those of the columns of the table, in order. InvalidParameterError for
        a name or position the table does not have (with the closest name, column names being
        public), and for a column declared twice.
        """
        names = [str(name) for name in feature_names]
        position_of = {lightgbm_name(name): position for position, name in enumerate(names)}
        position_of |= {name: position for position, name in enumerate(names)}
        resolved: dict[str, dict[int, Any]] = {name: {} for name in _BY_COLUMN}
        seen: dict[Column, str] = {}
        for name in _BY_COLUMN:
            for key, value in getattr(self, name).items():
                position = _position(name, key, position_of, len(names))
                _declare_once(seen, position, name, f"{names[position]!r} (position {position})")
                resolved[name][position] = value
        learned = {key for key, listed in resolved["categories"].items() if not listed}
        for position in learned:
            del resolved["categories"][position]
        integer = [_position("integer", key, position_of, len(names)) for key in self.integer]
        for position in integer:
            shown = f"{names[position]!r} (position {position})"
            _check_integer_column(seen.get(position), shown)
            if integer.count(position) > 1:
                raise InvalidParameterError(
                    f"The 'integer' of Schema lists the column {shown} twice."
                )
        return ResolvedSchema(
            feature_names=tuple(names),
            **resolved,
            learned=frozenset(learned),
            integer=frozenset(integer),
            classes=self.classes,
            label_bounds=self.label_bounds,
            max_rows=self.max_rows,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class DictionarySchema(Schema):
    """The schema of a data dictionary: columns that are not its features take no part.

    Parameters
    ----------
    dictionary : DataDictionary
        With the roles and types of the columns.
    """

    dictionary: DataDictionary

    __hash__ = None

    def kinds(self) -> tuple[dict[str, Sequence[Category]], set[str], set[str]]:
        """Return listed categories, numbers and learned categories, as `typed` takes them."""
        listed, numeric, learned = super().kinds()
        return listed, numeric | set(self.dictionary.numbers), learned

    def check(self, X: Any, y: Any = None) -> SchemaCheck:
        """Look at the features among the columns of a table, as a fit takes them."""
        table = X.to_pandas() if hasattr(X, "to_pandas") else X
        if not hasattr(table, "iloc") or not hasattr(table, "columns"):
            return super().check(X, y)
        target = self.dictionary.target
        if y is None and target in table.columns:
            task = "regression" if self.classes is None and self.label_bounds else "classification"
            y = label_column(table[target], self.classes, task)
        features = [name for name in table.columns if name in set(self.dictionary.features)]
        return super().check(typed(table[features], *self.kinds(), keep_cells=True, guess=False), y)

    def resolve(self, feature_names: Sequence[str]) -> ResolvedSchema:
        """Refuse columns that would become features without being declared as such."""
        known = set(map(lightgbm_name, self.dictionary.features))
        others = [str(name) for name in feature_names if lightgbm_name(name) not in known]
        if others:
            raise InvalidParameterError(
                "X has columns that are not features of the data dictionary: "
                f"{', '.join(others)}. Leave them out of X, or pass a DataFrame in memory to fit "
                "of an estimator: it takes the features and the user of each row from the "
                "dictionary."
            )
        return super().resolve(feature_names)


@dataclass(frozen=True, kw_only=True)
class ResolvedSchema:
    """A schema with column indices of a table; created by `Schema.resolve`.

    Parameters
    ----------
    bounds, edges, categories : dict of int to tuple
        As in `Schema`, by position.
    learned : frozenset of int
        Columns of text whose categories a fit learns.
    integer : frozenset of int
        Columns of whole numbers: those declared, and those of integer type if types are assumed
        public.
    label_bounds : (float, float) or None
    """

    feature_names: tuple[str, ...]
    bounds: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    edges: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    categories: Mapping[int, tuple[Category, ...]] = field(default_factory=dict)
    learned: frozenset[int] = frozenset()
    integer: frozenset[int] = frozenset()
    classes: tuple[Category, ...] | None = None
    label_bounds: tuple[float, float] | None = None
    max_rows: int | None = None

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_features(self) -> int:
        """Number of columns of the table."""
        return len(self.feature_names)


def _declare_once(seen: dict[Column, str], key: Column, part: str, shown: str) -> None:
    """Note that ``part`` speaks of column ``key``; raise when another part did."""
    if key in seen:
        raise InvalidParameterError(
            f"The column {shown} is declared twice in Schema, in {seen[key]!r} and in {part!r}: "
            "keep one of bounds, edges and categories, by name or by position."
        )
    seen[key] = part


def _check_integer_column(part: str | None, shown: str) -> None:
    """Raise if an integer column is declared in a part that leaves it no bounds."""
    if part in ("edges", "categories"):
        raise InvalidParameterError(
            f"The column {shown} is listed in 'integer' of Schema and in {part!r}, which already "
            "define its bins: leave it out of 'integer'."
        )


def _position(part: str, key: Column, position_of: Mapping[str, int], n_features: int) -> int:
    if isinstance(key, int):
        if key >= n_features:
            raise InvalidParameterError(
                f"The {part!r} of Schema speak of column {key}, but the table has columns "
                f"0 to {n_features - 1}. If a tool drops columns between fits, positions "
                "change their meaning. RFE and RFECV without n_jobs are supported; "
                "SelectFromModel drops columns after one fit."
            )
        return key
    position = position_of.get(key, position_of.get(lightgbm_name(key)))
    if position is None:
        raise InvalidParameterError(
            f"The {part!r} of Schema name a column {key!r} that the table does not "
            f"have.{_suggestion(key, list(position_of))}"
        )
    return position


def _suggestion(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _finite_range(values: Any) -> tuple[float, float] | None:
    array = np.asarray(values, dtype=np.float64)
    finite = array[np.isfinite(array)]
    return (float(finite.min()), float(finite.max())) if finite.size else None


def _columns_of_sample(X: Any) -> dict[str, Any]:
    """Return ``bounds`` and ``categories`` of a public sample."""
    bounds: dict[Column, Any] = {}
    categories: dict[Column, Any] = {}
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for position, name in enumerate(X.columns):
            column = X.iloc[:, position]
            key = name if isinstance(name, str) else position
            if hasattr(column, "cat"):
                categories[key] = list(column.cat.categories)
            elif column.dtype.kind in "OUST" or str(column.dtype).startswith("str"):
                categories[key] = column.value_counts().index.tolist()
            elif is_date(column.dtype):
                bounds[key] = _finite_range(column_in_days(column))
            else:
                numeric = column.to_numpy(dtype=np.float64, na_value=np.nan)
                bounds[key] = _finite_range(numeric)
    else:
        array = checked_sparse(X).toarray() if scipy.sparse.issparse(X) else np.asarray(X)
        if array.ndim != 2:
            raise refuse(
                "X", "Schema.from_public_sample", "a table with two dimensions", array.ndim
            )
        for position in range(array.shape[1]):
            bounds[position] = _finite_range(array[:, position])
    return {
        "bounds": {key: value for key, value in bounds.items() if value is not None},
        "categories": {key: value for key, value in categories.items() if value},
    }


def _cell(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
