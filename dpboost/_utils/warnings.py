"""Warnings that point at the user's own line, and one for all conditions of a guarantee."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FrameType
from typing import ParamSpec, TypeVar

_PACKAGE = __name__.partition(".")[0]

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)

P = ParamSpec("P")
R = TypeVar("R")

# What the fit that is running has to say of its guarantee; None outside of fits.
_conditions: ContextVar[list[tuple[str, type[Warning]]] | None] = ContextVar(
    "conditions", default=None
)


class PrivacyWarning(UserWarning):
    """What the guarantee of a fit rests on, or lacks: a line for each condition, with its cure.

    Each condition has a class derived from this one. A filter that ignores the class takes its
    line out of the warning; one that turns it into an error raises as soon as the condition is
    known.

    Privacy
    -------
    Lines depend on what was declared, assumed or released, never on another number of the rows.
    Labels that are assumed to be public are listed.
    """


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library.

    Parameters
    ----------
    message : str
        Made of public values.
    category : type of Warning
    """
    if _quiet.get():
        return
    depth, _ = _users_line()
    warnings.warn(message, category, stacklevel=depth)


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing here: the same fit runs elsewhere in this process, and says it."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def warn_of_guarantee(line: str, category: type[PrivacyWarning]) -> None:
    """Say a condition of the guarantee: at the end of the fit that is running, or at once.

    Parameters
    ----------
    line : str
        Made of public values; ends with a cure.
    category : type of PrivacyWarning
        Of this condition alone.
    """
    told = _conditions.get()
    if told is None:
        warn_user(line, category)
        return
    action = _action(line, category)
    if action == "error":
        warn_user(line, category)
    if action != "ignore":
        told.append((line, category))


def one_warning(fit: Callable[P, R]) -> Callable[P, R]:
    """Have a function that fits warn of all conditions at once, when it has succeeded.

    Parameters
    ----------
    fit : callable
        Inside another such function it leaves the warning to that one.
    """

    @wraps(fit)
    def fit_and_warn(*args: P.args, **kwargs: P.kwargs) -> R:
        if _conditions.get() is not None:
            return fit(*args, **kwargs)
        told: list[tuple[str, type[Warning]]] = []
        token = _conditions.set(told)
        try:
            outcome = fit(*args, **kwargs)
        finally:
            _conditions.reset(token)
        told = list(dict.fromkeys(told))  # the fits of a cross-validation say the same
        if len(told) == 1:
            warn_user(*told[0])
        elif told:
            lines = "".join(f"\n* {line}" for line, _ in told)
            warn_user(f"The guarantee of this fit has conditions:{lines}", PrivacyWarning)
        return outcome

    return fit_and_warn


def _users_line() -> tuple[int, FrameType | None]:
    """Return the stack level of the user's frame for who asks, and that frame if there is one."""
    here = inspect.currentframe()
    frame = None if here is None else here.f_back
    depth, users_depth = 0, 1
    users = None
    while frame is not None:
        depth += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
            users_depth, users = depth, frame.f_back
        frame = frame.f_back
    return users_depth + 1, users


def _action(text: str, category: type[Warning]) -> str:
    """Return what the filters of warnings make of a text at the user's line."""
    _, users = _users_line()
    module = "" if users is None else str(users.f_globals.get("__name__", ""))
    line = 0 if users is None else users.f_lineno
    for action, message, kind, position, number in warnings.filters:
        fits = _matches(message, text) and _matches(position, module) and number in (0, line)
        if fits and issubclass(category, kind):
            return action
    return "default"


def _matches(pattern: str | re.Pattern[str] | None, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern in (None, text)
    return pattern.match(text) is not None
