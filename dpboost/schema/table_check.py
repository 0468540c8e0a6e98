"""Check of a schema against private rows; the result is not private."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.displays import aligned, data_frame, html_table
from dpboost._utils.schema_checks import column_in_days, is_date
from dpboost._utils.sparse_checks import checked_sparse
from dpboost._utils.validation import refuse

#: Said wherever a look is shown.
WARNING = "NOT PRIVATE: exact counts of the rows. Show it only to those who may read the "
WARNING += "rows, and do not derive a schema from it: a bound taken from the rows reveals them."

_HEAD = ("column", "what happens", "how often")
_NOTHING = "Nothing is clipped, dropped or refused."
_WIDTH = 96


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that happens to a column.

    Parameters
    ----------
    column : str
        Its name, or the word ``label``.
    what : {"clipped", "other", "dropped", "rounded", "refused", "learned", "missing"}
        What happens.
    text : str
        For people.
    """

    column: str
    what: str
    text: str


@dataclass(frozen=True, kw_only=True)
class SchemaCheck:
    """The effects of a schema on a table; created by `Schema.check`.

    Parameters
    ----------
    findings : tuple of Finding
        In the order of the columns; the label comes last.

    Privacy
    -------
    Private: exact counts of rows. It is for anyone who may see the rows, and for no one else.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing at all was found."""
        return not self.findings

    def __repr__(self) -> str:
        lines = aligned([_HEAD, *self._rows]) if self.findings else [_NOTHING]
        return "\n".join([*textwrap.wrap(WARNING, _WIDTH), "", *lines])

    def _repr_html_(self) -> str:
        notes = () if self.findings else (_NOTHING,)
        return html_table(_HEAD, self._rows, caption=WARNING, notes=notes)

    def to_frame(self) -> Any:
        """Return the findings as a data frame.

        Returns
        -------
        DataFrame
            A line for each, with ``column``, ``what`` and ``text``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return data_frame("SchemaCheck", ("column", "what", "text"), self._rows)

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        return [(finding.column, finding.what, finding.text) for finding in self.findings]


def named_columns(X: Any) -> Iterator[tuple[str | int, NDArray[Any], str]]:
    """Go through the columns of a table, by name where it has names.

    Yields the name, the values, those of dates in days, and what the type of the column says:
    "category", "date" or "".
    """
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        for index, name in enumerate(X.columns):
            column = X.iloc[:, index]
            kind = "category" if type(column.dtype).__name__ == "CategoricalDtype" else ""
            if is_date(column.dtype):
                column, kind = column_in_days(column), "date"
            values = np.asarray(column, dtype=object)
            yield (name if isinstance(name, str) else index), values, kind
        return
    array = checked_sparse(X).toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    if array.ndim != 2:
        raise refuse("X", "Schema.check", "a table with two dimensions", array.ndim)
    yield from ((index, column, "") for index, column in enumerate(array.T))


def check_table(
    declared: dict[str, Any], columns: Sequence[tuple[str | int, NDArray[Any], str]]
) -> list[Finding]:
    """Return what happens to the columns of a table.

    ``declared`` has ``bounds``, ``edges`` and ``categories`` by position, and ``integer`` as a set
    of positions; the columns are those of `named_columns`.
    """
    findings: list[Finding] = []
    for index, (name, values, kind) in enumerate(columns):
        shown = str(name)
        empty = _is_missing(values)
        if empty.any():
            found = f"{_rows(empty)} without a value: in a bin of their own"
            findings.append(Finding(column=shown, what="missing", text=found))
        present = values[~empty]
        if index in declared["categories"]:
            findings += _check_categories(shown, present, declared["categories"][index])
        elif kind and index not in declared["bounds"] and index not in declared["edges"]:
            findings.append(_undeclared(shown, kind))
        else:
            findings += _check_numbers(shown, present, index, declared)
    return findings


def check_labels(labels: NDArray[Any], classes: Any, label_bounds: Any) -> list[Finding]:
    """Return what happens to labels.

    Labels have shape (n_rows,).
    """
    if classes is not None:
        if _is_missing(labels).any():
            return [_missing_labels()]
        outside = np.array([label not in classes for label in labels.tolist()], dtype=bool)
        if outside.any():
            text = f"{_rows(outside)} of no declared class: left out"
            return [Finding(column="label", what="dropped", text=text)]
        return []
    if label_bounds is None:
        text = "neither classes nor label_bounds are declared: they are assumed public or learned"
        return [Finding(column="label", what="learned", text=text)]
    if _is_missing(labels).any():
        return [_missing_labels()]
    numbers = _as_numbers(labels)
    if numbers is None:
        return [Finding(column="label", what="refused", text="labels that are no numbers")]
    return _clipped("label", numbers, label_bounds)


def _missing_labels() -> Finding:
    text = "missing labels: leave their rows out before the fit"
    return Finding(column="label", what="refused", text=text)


def _undeclared(name: str, kind: str) -> Finding:
    if kind == "date":
        return Finding(column=name, what="refused", text="dates without bounds: declare them")
    text = "no values are listed: learned where delta > 0, refused where it is 0"
    return Finding(column=name, what="learned", text=text)


def _rows(mask: NDArray[np.bool_]) -> str:
    count = int(mask.sum())
    return f"{count} row" if count == 1 else f"{count} rows"


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    # Missing values of every library are unequal to themselves, or None.
    return np.array([_is_none(value) for value in values.tolist()], dtype=bool)


def _is_none(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    if any(isinstance(value, str) for value in values.tolist()):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _check_categories(name: str, values: NDArray[Any], listed: tuple[Any, ...]) -> list[Finding]:
    known = set(listed)
    other = np.array([value not in known for value in values.tolist()], dtype=bool)
    if not other.any():
        return []
    text = f'{_rows(other)} with a value that is not listed: counted as "other"'
    return [Finding(column=name, what="other", text=text)]


def _check_numbers(
    name: str, values: NDArray[Any], index: int, declared: dict[str, Any]
) -> list[Finding]:
    numbers = _as_numbers(values)
    if numbers is None:
        text = "text without a declaration: list its values, or let the fit learn them"
        if index in declared["bounds"] or index in declared["edges"]:
            text = "text in a column with bounds or edges"
        return [Finding(column=name, what="refused", text=text)]
    found: list[Finding] = []
    if index in declared["integer"]:
        fractions = numbers != np.floor(numbers)
        if fractions.any():
            text = f"{_rows(fractions)} with a fraction in a column of whole numbers"
            found.append(Finding(column=name, what="rounded", text=text))
    if index in declared["bounds"]:
        found += _clipped(name, numbers, declared["bounds"][index])
    elif index not in declared["edges"]:
        text = "no declaration: bounds are learned with a part of the budget"
        found.append(Finding(column=name, what="learned", text=text))
    return found


def _clipped(name: str, numbers: NDArray[np.float64], bounds: tuple[float, float]) -> list[Finding]:
    outside = (numbers < bounds[0]) | (numbers > bounds[1])
    if not outside.any():
        return []
    text = f"{_rows(outside)} outside [{bounds[0]:g}, {bounds[1]:g}]: clipped"
    return [Finding(column=name, what="clipped", text=text)]
