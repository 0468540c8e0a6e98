"""The checked conversion from floats to integer units: whatever comes, what goes is in range."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost._utils.integer_units import LARGEST_UNITS, to_integer_units

ODD = [np.nan, np.inf, -np.inf, 5e-324, -0.0, 1e308, -1e308, 2.0**63, -(2.0**63), 1.5, 2.5, -0.5]


@pytest.mark.parametrize("toward_zero", [False, True])
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@given(data=st.data())
def test_every_number_becomes_an_integer_between_the_bounds(dtype, toward_zero, data):
    kinds = np.iinfo(dtype)
    ends = st.integers(max(int(kinds.min), -LARGEST_UNITS), min(int(kinds.max), LARGEST_UNITS))
    low, high = sorted((data.draw(ends), data.draw(ends)))
    values = data.draw(st.lists(st.floats() | st.sampled_from(ODD), max_size=8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = to_integer_units(values, low, high, dtype=dtype, toward_zero=toward_zero)
    assert found.dtype == dtype
    for value, unit in zip(values, found.tolist(), strict=True):
        assert low <= unit <= high
        if np.isnan(value):
            assert unit == min(max(0, low), high)
        elif low < value < high:
            assert abs(unit - value) <= (1 if toward_zero else 0.5)


def test_ties_go_to_even_and_fractions_are_dropped_where_asked():
    assert to_integer_units([0.5, 1.5, -2.5], -9, 9).tolist() == [0, 2, -2]
    assert to_integer_units([0.9, 1.5, -2.9], -9, 9, toward_zero=True).tolist() == [0, 1, -2]


def test_the_numbers_that_came_stay_as_they_were():
    values = np.array([np.nan, 7.7])
    to_integer_units(values, 0, 1)
    np.testing.assert_array_equal(values, [np.nan, 7.7])


@pytest.mark.parametrize(
    ("low", "high", "dtype"),
    [(1, 0, np.int64), (0, 2**53 + 1, np.int64), (0, 256, np.uint8), (-1, 1, np.uint8)],
)
def test_bounds_that_integers_or_doubles_do_not_hold_are_refused(low, high, dtype):
    with pytest.raises(ValueError, match="bounds"):
        to_integer_units([0.0], low, high, dtype=dtype)
