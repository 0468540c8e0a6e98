"""The error type for invalid input, shared checks, and the arguments of constructors.

``get_params`` returns the same defaults as LightGBM's estimators, so that code that uses these
numbers works. A recipe chooses the value of a parameter that was not given, so a default differs
from the same value given by the user; copies, clones and pickles keep the difference.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from lightgbm.basic import LightGBMError


class InvalidParameterError(LightGBMError, ValueError, TypeError):
    """A parameter or an input is invalid.

    It is a ``LightGBMError``, which LightGBM raises, and a ``ValueError``, which scikit-learn
    expects. The message names the parameter, its value and what to do. It never contains a cell,
    a row number or a count of the private table.
    """


class RefusedError(InvalidParameterError):
    """A feature of LightGBM that has no private equivalent.

    The message names an alternative.
    """


def keep_arguments(estimator: Any, given: Mapping[str, Any]) -> None:
    """Store what a constructor takes, its ``locals()``, under the same names, unchanged."""
    for name, value in given.items():
        if name not in ("self", "__class__", "kwargs"):
            setattr(estimator, name, value)


def refuse(name: str, owner: str, must: str, got: Any) -> InvalidParameterError:
    """Build the error in the one sentence shape of the library."""
    return InvalidParameterError(
        f"The {name!r} parameter of {owner} must be {must}. Got {got!r} instead."
    )


def check_real(
    name: str,
    owner: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    low_open: bool = False,
    high_open: bool = False,
    infinite: bool = False,
) -> float:
    """Return ``value`` as a float inside the given interval, or raise."""
    if type(value) is float and low < value < high:
        return value  # wide tables ask this many thousand times
    left = "(" if low_open else "["
    right = ")" if high_open else "]"
    must = f"a real number in {left}{low}, {high}{right}"
    if not infinite:
        must += ", finite"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise refuse(name, owner, must, value)
    number = float(value)
    too_low = number <= low if low_open else number < low
    too_high = number >= high if high_open else number > high
    if math.isnan(number) or too_low or too_high or (not infinite and math.isinf(number)):
        raise refuse(name, owner, must, value)
    return number


def check_integer(
    name: str, owner: str, value: Any, *, low: int | None = None, high: int | None = None
) -> int:
    """Return ``value`` as an int inside the given closed interval, or raise."""
    fits = type(value) is int and (low is None or value >= low)
    if fits and (high is None or value <= high):
        return value
    bounds = []
    if low is not None:
        bounds.append(f"at least {low}")
    if high is not None:
        bounds.append(f"at most {high}")
    must = " and ".join(["an integer", *bounds]) if bounds else "an integer"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise refuse(name, owner, must, value)
    number = int(value)
    if (low is not None and number < low) or (high is not None and number > high):
        raise refuse(name, owner, must, value)
    return number


def check_choice(name: str, owner: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return ``value`` when it is one of ``choices``, or raise."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise refuse(name, owner, f"one of {listed}", value)
    return value


class Default:
    """A default that the user has not given; the first base class."""

    def __call__(self) -> Any:
        """Return the plain value; scikit-learn asks of a default of another type that it can."""
        if isinstance(self, str):
            return "".join(self)
        return next(kind(self) for kind in _KINDS if isinstance(self, kind))

    def __repr__(self) -> str:
        return f"default({self()!r})"  # else the same value given would not show

    def __str__(self) -> str:
        return str(self())

    def __copy__(self) -> Default:
        return self

    def __deepcopy__(self, memo: Any) -> Default:
        return self


class _DefaultInt(Default, int):
    """An integer that the user has not given."""


class _DefaultFloat(Default, float):
    """A float that the user has not given."""


class _DefaultStr(Default, str):
    """A string that the user has not given."""

    __slots__ = ()


_KINDS: dict[type, type] = {int: _DefaultInt, float: _DefaultFloat, str: _DefaultStr}


def default(value: Any) -> Any:
    """Return a number or a word, equal to `value`, that counts as not given."""
    return _KINDS[type(value)](value)


def is_default(value: Any) -> bool:
    """Return whether a value is one of `default`."""
    return isinstance(value, Default)


# -- the interface in use: messages name parameters of Python or options of the command line ------

_IS_COMMAND_LINE = ContextVar("is_command_line", default=False)


@contextmanager
def command_line(here: bool = True) -> Iterator[None]:
    """Have messages say options and lines of a data dictionary, in the place of Python."""
    token = _IS_COMMAND_LINE.set(here)
    try:
        yield
    finally:
        _IS_COMMAND_LINE.reset(token)


def is_command_line() -> bool:
    """Return whether messages are for users of the command line."""
    return _IS_COMMAND_LINE.get()


def worded(python: str, command: str) -> str:
    """Return the words of the interface in use.

    ``python`` is for users of the functions, ``command`` for users of the command line.
    """
    return command if _IS_COMMAND_LINE.get() else python
