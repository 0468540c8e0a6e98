"""Counts of the categories that occur, by name, and their `Sensitive`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.privacy.queries import CategoryCountQuery, RowHandle, Sensitive, store_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts
from dpboost.privacy.stability_histogram import Name, NameCounts


def category_counts(
    source: RowHandle, query: CategoryCountQuery, neighbors: Neighbors, *, units: int
) -> Sensitive:
    """Return the counts of all categories of some columns; a row is worth ``units``.

    The query counts by `count_values` or `count_codes`.
    """
    return Sensitive(
        NameCounts(columns=store_of(source).tally(query), units=units),
        bounds=counts(neighbors, units, histograms=len(query.columns)),
        unit=1 / units,
    )


def count_values(values: Iterable[Hashable]) -> Counter[Name]:
    """Count by type and value: 1, 1.0 and True are equal, and the first one seen would win.

    Values and counts are private. None and NaN are missing; counts of several sites add up.
    """
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        return Counter(_key(value) for value in listed if not _missing(value))
    except TypeError:
        raise InvalidParameterError(
            "A categorical column must hold strings, numbers or other plain values."
        ) from None


def count_codes(codes: NDArray[np.int64], values: Sequence[Any]) -> Counter[Name]:
    """Count values that are given by their positions in a list, as `count_values` does.

    A code of -1 is missing, too. Values of the list that do not occur are not counted.
    """
    times = np.bincount(codes + 1, minlength=len(values) + 1)[1:]
    total: Counter[Name] = Counter()
    for code in np.flatnonzero(times).tolist():
        if not _missing(values[code]):
            total[_key(values[code])] += int(times[code])
    return total


def _key(value: Hashable) -> Name:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        value += 0.0  # -0.0 equals 0.0
    hash(value)
    kind = type(value).__name__
    # Values of other types may not be ordered: their names are.
    return kind, "" if kind in ("str", "int", "float", "bool", "bytes") else repr(value), value


def _missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    # The missing markers of pandas, without importing it.
    return value is None or type(value).__name__ in ("NAType", "NaTType")
