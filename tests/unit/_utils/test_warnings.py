"""Warnings point outside of the library."""

import warnings

from dpboost._utils.warnings import warn_user


def test_a_warning_points_at_the_line_outside_whatever_is_between():
    # A frame of the library that calls one outside, as a decorator of numpy does, and back.
    inner = {"__name__": "dpboost.inner", "warn_user": warn_user}
    exec("def warn(): warn_user('so', UserWarning)", inner)
    between = {"__name__": "contextlib", "warn": inner["warn"]}
    exec("def call(): warn()", between)
    outer = {"__name__": "dpboost.outer", "call": between["call"]}
    exec("def fit(): call()", outer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outer["fit"]()
    assert [warning.filename for warning in caught] == [__file__]
