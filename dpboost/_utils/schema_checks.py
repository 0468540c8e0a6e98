"""Checks of schema declarations; dates are days since 1970-01-01 in UTC."""

from __future__ import annotations

import datetime
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse

Column: TypeAlias = str | int
Category: TypeAlias = str | int | float | bool

MAX_VALUE_BINS = 255

#: Bounds and borders are at most this in absolute value. LightGBM keeps labels in single precision,
#: whose largest number is 3.4e38, and an evaluation takes fourth powers of errors: of a sum of 2^31
#: of them, 1e139, every double that follows is finite.
LARGEST_BOUND = 1e30

#: Different label bounds are at least so far apart. A unit of scores is then above 1e-35, which
#: LightGBM takes for zero, and the fourth power of a unit is a normal double.
LEAST_WIDTH = 1e-25

_CURE = "multiply the numbers, and their bounds, by a public constant"


def check_text(value: object, what: str) -> None:
    """Raise for text that no file can hold: half a character of UTF-16.

    The value is public: it is shown. What is no text passes. ``what`` begins the message.
    """
    if not isinstance(value, str):
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidParameterError(
            f"{what} holds {value!r}, which is no Unicode text (a lone surrogate) and cannot be "
            "saved: rename it, or read the file that it comes from in its own encoding."
        ) from error


def refuse_yaml(path: str | os.PathLike[str]) -> None:
    """Raise for the name of a YAML file, which nothing here reads."""
    shown = os.fspath(path)
    if str(shown).lower().endswith((".yaml", ".yml")):
        raise InvalidParameterError(
            f"The file {shown!r} is YAML, which is not read: write the same as JSON (for instance "
            "json.dump(yaml.safe_load(open(path)), open('schema.json', 'w'))), or a data "
            "dictionary as CSV."
        )


def by_column(name: str, value: Any) -> dict[Column, Any]:
    """Return ``value`` as a dict with text or non-negative positions as keys."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refuse(name, "Schema", "a dict from column name or position to its value", value)
    result: dict[Column, Any] = {}
    for key, item in value.items():
        if isinstance(key, str):
            check_text(key, f"The {name!r} parameter of Schema")
            result[key] = item
        elif isinstance(key, (int, np.integer)) and not isinstance(key, bool) and key >= 0:
            result[int(key)] = item
        else:
            raise refuse(name, "Schema", "keyed by column names or positions from 0", key)
    return result


def columns(name: str, value: Any) -> tuple[Column, ...]:
    """Return distinct names or positions of columns."""
    if value is None:
        return ()
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, "Schema", "a list of column names or positions from 0", value)
    listed = list(value)
    keys = tuple(by_column(name, dict.fromkeys(listed)))
    if len(keys) < len(listed):
        twice = next(item for item in listed if listed.count(item) > 1)
        raise InvalidParameterError(f"The {name!r} of Schema lists the column {twice!r} twice.")
    return keys


def from_pairs(name: str, pairs: Any) -> dict[Column, Any]:
    """Return a list of ``[column, value]`` pairs as a dict."""
    must = "a dict, or a list of [column, value] pairs"
    if isinstance(pairs, str) or not isinstance(pairs, Sequence):
        raise refuse(name, "Schema", must, pairs)
    result: dict[Column, Any] = {}
    for pair in pairs:
        sound = isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], (str, int))
        if isinstance(pair, str) or not sound:
            raise refuse(name, "Schema", must, pair)
        if pair[0] in result:
            raise InvalidParameterError(f"The {name!r} of Schema declare {pair[0]!r} twice.")
        result[pair[0]] = pair[1]
    return result


def finite_numbers(name: str, value: Any, must: str, owner: str = "Schema") -> list[float]:
    """Return real, finite numbers as floats, dates and durations in days.

    ``must`` completes the error's sentence.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, owner, must, value)
    result = []
    for each in value:
        of_date = day_number(each)
        item = each if of_date is None else of_date
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, numbers.Real):
            raise refuse(name, owner, must, value)
        try:
            number = float(item)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise refuse(name, owner, must, value)
        result.append(number)
    return result


def interval(name: str, value: Any) -> tuple[float, float]:
    """Return (lower, upper) with ``lower <= upper``."""
    must = "(lower, upper), two finite numbers with lower <= upper"
    pair = finite_numbers(name, value, must)
    if len(pair) != 2 or pair[0] > pair[1]:
        raise refuse(name, "Schema", must, value)
    _check_size(name, "Schema", value, pair)
    return pair[0], pair[1]


def label_range(name: str, owner: str, value: Any) -> tuple[float, float]:
    """Return (lower, upper) with ``lower < upper``, of a size that models can hold.

    InvalidParameterError, about the parameter ``name`` of ``owner``, for anything else, for bounds
    beyond `LARGEST_BOUND` and for bounds closer than `LEAST_WIDTH`.
    """
    must = "(lower, upper) with lower < upper, two finite numbers"
    pair = finite_numbers(name, value, must, owner)
    if len(pair) != 2 or not pair[0] < pair[1]:
        raise refuse(name, owner, must, value)
    _check_size(name, owner, value, pair)
    if pair[1] - pair[0] < LEAST_WIDTH:
        raise refuse(name, owner, f"at least {LEAST_WIDTH:g} apart: {_CURE}", value)
    return pair[0], pair[1]


def borders_between_bins(name: str, value: Any) -> tuple[float, ...]:
    """Return strictly increasing borders, few enough for 255 bins."""
    must = f"1 to {MAX_VALUE_BINS - 1} finite, strictly increasing numbers"
    borders = finite_numbers(name, value, must)
    increasing = all(left < right for left, right in zip(borders, borders[1:], strict=False))
    if not 1 <= len(borders) < MAX_VALUE_BINS or not increasing:
        raise refuse(name, "Schema", must, value)
    _check_size(name, "Schema", value, borders)
    return tuple(borders)


def _check_size(name: str, owner: str, value: Any, numbers: Iterable[float]) -> None:
    if any(abs(number) > LARGEST_BOUND for number in numbers):
        raise refuse(
            name, owner, f"numbers from {-LARGEST_BOUND:g} to {LARGEST_BOUND:g}: {_CURE}", value
        )


def values_or_none(name: str, value: Any) -> tuple[Category, ...]:
    """Return distinct values, none where they are left to be learned."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return ()
    return distinct_values(name, value)


def distinct_values(name: str, value: Any) -> tuple[Category, ...]:
    """Return distinct text, numbers or booleans as plain Python values, in the given order."""
    must = "a non-empty list of distinct text, finite numbers or booleans"
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refuse(name, "Schema", must, value)
    result: list[Category] = []
    for item in value:
        plain = item.item() if isinstance(item, np.generic) else item
        if isinstance(plain, float) and not math.isfinite(plain):
            raise refuse(name, "Schema", must, item)
        if not isinstance(plain, (str, int, float)):
            raise refuse(name, "Schema", must, item)
        check_text(plain, f"The {name!r} parameter of Schema")
        result.append(plain)
    if not result:
        raise refuse(name, "Schema", must, value)
    if len(set(result)) < len(result):
        twice = next(item for item in result if result.count(item) > 1)
        raise InvalidParameterError(f"The {name!r} parameter of Schema lists {twice!r} twice.")
    return tuple(result)


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_DAY = datetime.timedelta(days=1)
_ARROW = ("date32", "date64", "timestamp", "duration")


def day_number(value: Any) -> float | None:
    """Return a date, a time of a day or a duration in days, None for what is none of them.

    The value is an object of ``datetime``, numpy or pandas, or a date as ISO text. Without a time
    zone it is taken as it is, with one in UTC.
    """
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return float(in_days(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
        return float((aware - _EPOCH) / _DAY)
    if isinstance(value, datetime.date):
        return float((value - _EPOCH.date()) / _DAY)
    if isinstance(value, datetime.timedelta):
        return float(value / _DAY)
    return None


def iso_text(days: float) -> str:
    """Return days since 1970-01-01 as ISO text, with a time where it is not midnight."""
    found = (_EPOCH + days * _DAY).replace(tzinfo=None)
    return found.date().isoformat() if days == int(days) else found.isoformat()


def in_days(array: NDArray[Any]) -> NDArray[np.float64]:
    """Return an array of numpy's dates or durations in days, NaN where they are missing."""
    unit, _ = np.datetime_data(array.dtype)
    if unit in ("Y", "M", "W"):
        array = array.astype(f"{array.dtype.kind}8[D]")
    elif unit == "generic":
        return np.full(array.shape, np.nan)
    a_day = float(np.timedelta64(1, "D") / np.ones((), f"m8[{_step(array)}]"))
    return np.where(np.isnat(array), np.nan, array.astype(np.int64) / a_day)


def _step(array: NDArray[Any]) -> str:
    """Return the step in which an array counts, as numpy writes it: ``25s``."""
    unit, count = np.datetime_data(array.dtype)
    return f"{count}{unit}"


def is_date(dtype: Any) -> bool:
    """Return whether a column of a pandas type holds dates, times with a date, or durations."""
    if type(dtype).__name__ == "ArrowDtype":
        return str(dtype).startswith(_ARROW)
    return getattr(dtype, "kind", "") in ("m", "M")


def column_in_days(column: Any) -> NDArray[np.float64]:
    """Return a Series of such a type in days, those with a time zone in UTC."""
    dtype = column.dtype
    if type(dtype).__name__ != "ArrowDtype":
        if getattr(dtype, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        return in_days(column.to_numpy())
    import pyarrow as pa

    kind = dtype.pyarrow_dtype
    array = column.array.__arrow_array__()
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if len(array) else pa.array([], kind)
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    ticks = array.cast(whole).cast(pa.int64()).fill_null(np.iinfo(np.int64).min)
    letter = "m" if pa.types.is_duration(kind) else "M"
    return in_days(ticks.to_numpy(zero_copy_only=False).view(f"{letter}8[{unit}]"))
