"""Warnings point outside of the library."""

import threading
import warnings

import pytest

from dpboost._utils.warnings import PrivacyWarning, one_warning, warn_user


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


class First(PrivacyWarning):
    pass


class Second(PrivacyWarning):
    pass


@one_warning
def fit(*kinds, inner=None, fails=False):
    """Fit."""
    for kind in kinds:
        warn_user(getattr(kind, "line", kind.__name__.lower()), kind)
    if inner is not None:
        inner()
    if fails:
        raise RuntimeError("no model")
    return len(kinds)


def told(*arguments, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(*arguments, **options)
    assert {one.filename for one in caught} <= {__file__}
    return [(one.category, str(one.message)) for one in caught]


def test_one_condition_has_its_own_class_and_several_are_one_warning():
    assert told() == []
    assert told(First) == [(First, "first")]
    assert told(First, First) == [(First, "first")]
    ((category, message),) = told(First, Second)
    assert category is PrivacyWarning
    assert message.endswith(":\n* first\n* second")


class Advice(UserWarning):
    pass


class Always(PrivacyWarning):
    every_time = True


def test_conditions_and_advice_are_one_block_of_the_classes_of_all_lines(one_process):
    ((category, message),) = told(First, Advice, Second)
    assert message == "Of this fit:\n* first\n* advice\n* second"
    assert issubclass(category, PrivacyWarning)
    assert issubclass(category, Advice)
    assert told(Advice) == []  # said in this process


class Several(UserWarning):
    line = "several:\n* one\n* two"


def test_a_line_that_is_a_list_is_set_in(one_process):
    ((_, message),) = told(First, Several)
    assert message == "Of this fit:\n* first\n* several:\n  * one\n  * two"


def test_a_filter_of_advice_takes_its_line_out_and_leaves_the_conditions():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", Advice)
        fit(First, Advice)
    assert [(one.category, str(one.message)) for one in caught] == [(First, "first")]
    with warnings.catch_warnings():
        warnings.simplefilter("error", Advice)
        with pytest.raises(Advice, match="^advice$"):
            fit(First, Advice, inner=lambda: pytest.fail("the fit went on"))


def test_what_is_of_every_fit_is_said_again(one_process):
    assert told(Always) == told(Always) == [(Always, "always")]
    assert told(Always, First)[0][1].endswith("\n* always\n* first")
    assert told(Always, First) == [(Always, "always")]


def test_outside_of_a_fit_a_condition_is_told_at_once():
    with pytest.warns(First, match="^first$") as caught:
        warn_user("first", First)
    assert caught[0].filename == __file__


def test_a_fit_inside_another_one_leaves_the_warning_to_it():
    assert [category for category, _ in told(First, inner=lambda: fit(Second))] == [PrivacyWarning]


def test_a_fit_that_fails_says_nothing_and_the_next_one_begins_anew():
    with pytest.raises(RuntimeError, match="no model"):
        told(First, fails=True)
    assert told(Second) == [(Second, "second")]


def test_filters_act_on_single_conditions():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "sec", Second)
        fit(First, Second)
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."), category=First)
        fit(First, Second)
    assert [str(one.message) for one in caught] == ["first"]


def test_a_condition_that_is_an_error_raises_where_it_is_known():
    with warnings.catch_warnings():
        warnings.simplefilter("error", Second)
        with pytest.raises(Second):
            fit(Second, inner=lambda: pytest.fail("the fit went on"))
    assert told(First) == [(First, "first")]


def test_threads_do_not_hear_of_each_other():
    def other():
        with pytest.warns(Second):
            fit(Second)

    def inside():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    assert told(First, inner=inside)[0] == (First, "first")


def test_a_function_that_tells_keeps_its_name_and_outcome():
    assert fit.__name__ == "fit"
    assert fit.__doc__ == "Fit."
    assert fit() == 0
