"""Dates and durations in days, against Python's own arithmetic."""

import datetime

import numpy as np
import pandas as pd
import pytest

from dpboost import InvalidParameterError, Schema
from dpboost._utils.schema_checks import day_number, in_days

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
EAST = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "days"),
    [
        ("1970-01-02", 1.0),
        ("1969-12-31T12:00", -0.5),
        ("1970-01-01T02:00+02:00", 0.0),
        (datetime.date(2024, 2, 29), 19782.0),
        (datetime.datetime(2024, 2, 29, 6), 19782.25),
        (datetime.datetime(1970, 1, 1, 2, tzinfo=EAST), 0.0),
        (pd.Timestamp("2024-02-29 06:00"), 19782.25),
        (np.datetime64("2024-02-29"), 19782.0),
        (np.datetime64("2024-02"), 19754.0),
        (datetime.timedelta(hours=36), 1.5),
        (np.timedelta64(36, "h"), 1.5),
    ],
)
def test_one_date_or_duration(value, days):
    assert day_number(value) == days


@pytest.mark.parametrize("value", [1, 1.5, None, "", "1", "tomorrow", True, (1970, 1, 1)])
def test_what_is_no_date(value):
    assert day_number(value) is None


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
def test_arrays_of_every_unit(unit):
    array = np.array(["2001-01-01", "NaT", "1969-01-01"], dtype="M8[D]").astype(f"M8[{unit}]")
    days = [
        (stamp.replace(tzinfo=UTC) - EPOCH) / datetime.timedelta(days=1)
        for stamp in array[[0, 2]].astype("M8[s]").tolist()
    ]
    np.testing.assert_array_equal(in_days(array), [days[0], np.nan, days[1]])


def test_bounds_are_declared_as_dates():
    schema = Schema(bounds={"day": ("2024-01-01", datetime.date(2024, 12, 31))})
    assert schema.bounds == {"day": (19723.0, 20088.0)}
    assert Schema.from_dict(schema.to_dict()) == schema
    for wrong in (("2024-12-31", "2024-01-01"), ("soon", "2024-01-01"), (pd.NaT, "2024-01-01")):
        with pytest.raises(InvalidParameterError, match="bounds"):
            Schema(bounds={"day": wrong})
