"""Dates, times and durations as numbers: days, of dates those since 1970-01-01 in UTC."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_DAY = datetime.timedelta(days=1)
_ARROW = ("date32", "date64", "timestamp", "duration")


def day_number(value: Any) -> float | None:
    """Return a date, a time of a day or a duration in days, None for what is none of them.

    Parameters
    ----------
    value : any object
        Of ``datetime``, numpy or pandas, or a date as ISO text. Without a time zone it is taken
        as it is, with one in UTC.
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
