"""Warnings that point to the user's code; a fit collects its warnings into one.

Each warning appears once for each process and table, which is identified by the names and types of
its columns, because the fits of a cross-validation repeat them. A registered logger gets all.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, wraps
from types import FrameType
from typing import Any, ParamSpec, TypeVar

_PACKAGE = __name__.partition(".")[0]

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)

P = ParamSpec("P")
R = TypeVar("R")

_without_advice: ContextVar[bool] = ContextVar("without_advice", default=False)


@dataclass(kw_only=True, eq=False)
class _Fit:
    """The warnings of the running fit, and its table."""

    told: list[tuple[str, type[Warning]]] = field(default_factory=list)
    table: Hashable = None


# None outside of fits.
_running: ContextVar[_Fit | None] = ContextVar("running", default=None)

# What was said in this process: the class, the text without its numbers, and the table.
_SAID: set[tuple[type[Warning], str, Hashable]] = set()
_LOGGERS: list[Callable[[str], Any]] = []
_DIGITS = re.compile(r"[0-9][0-9.e+-]*")


class PrivacyWarning(UserWarning):
    """Conditions of the guarantee of a fit: one line for each, with what to do.

    Each condition has a subclass. A filter that ignores the subclass removes its line from the
    warning; a filter that turns it into an error raises as soon as the condition is known.

    Privacy
    -------
    Lines depend on what was declared, assumed or released, never on another number of the rows.
    Labels that are assumed to be public are listed.
    """

    #: Whether it is said of every fit; otherwise once in a process of a table.
    every_time = False


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line that called the library: at the end of the fit that is running, or at once.

    What is no condition of a guarantee is advice: a fit gives it once in a process and for a table,
    and not at all where `without_advice` says so and the class does not object by ``even_silent``.
    The message is made of public values and ends with a cure; the category is of this kind of line
    alone, where it is a condition of a guarantee.
    """
    if _quiet.get():
        return
    fit = _running.get()
    told = issubclass(category, PrivacyWarning) or getattr(category, "even_silent", False)
    if not told and _without_advice.get():
        _log(message)
    elif fit is None:
        _log(message)
        _warn(message, category)
    else:
        _keep(fit, message, category)


def warn_once(message: str, category: type[Warning], table: Hashable = None) -> None:
    """Warn as `warn_user` does, but once in this process of a table.

    The message is made of public values; texts that differ in their numbers alone are one.
    ``table`` has names and types of columns.
    """
    if _quiet.get():
        return
    _log(message)
    if _is_new(message, category, table):
        _warn(message, category)


def _keep(fit: _Fit, message: str, category: type[Warning]) -> None:
    """Keep a line for the end of the fit; raise where a filter makes it an error."""
    action = _action(message, category)
    if action == "error":
        _log(message)
        _warn(message, category)
    elif action == "ignore":
        _log(message)
    else:
        fit.told.append((message, category))


def _warn(message: str, category: type[Warning]) -> None:
    depth, _ = _users_line()
    warnings.warn(message, category, stacklevel=depth)


def _is_new(message: str, category: type[Warning], table: Hashable) -> bool:
    """Return whether this was not said yet, and take note of it, unless it is an error."""
    said = category, _DIGITS.sub("#", message), table
    if said in _SAID and _action(message, category) != "error":
        return False
    _SAID.add(said)
    return True


def _log(message: str) -> None:
    for log in _LOGGERS:
        log(f"[dpboost] [Warning] {message}")


def log_warnings(log: Callable[[str], Any]) -> None:
    """Have a function get the text of every warning, also of those that are not shown."""
    _LOGGERS[:] = [log]


def forget() -> None:
    """Say everything again, as in a new process."""
    _SAID.clear()


@contextmanager
def without_advice(silent: bool) -> Iterator[None]:
    """Show conditions of guarantees alone, where asked to be silent."""
    token = _without_advice.set(silent or _without_advice.get())
    try:
        yield
    finally:
        _without_advice.reset(token)


def of_table(table: Hashable) -> None:
    """Say of which table the fit that is running is.

    It is named by names and types of its columns, which are public; never by anything of its cells.
    """
    fit = _running.get()
    if fit is not None:
        fit.table = table


def is_quiet() -> bool:
    """Return whether nothing is said."""
    return _quiet.get()


@contextmanager
def quiet() -> Iterator[None]:
    """Say nothing here: the same fit runs elsewhere in this process, and says it."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def one_warning(fit: Callable[P, R]) -> Callable[P, R]:
    """Have a function that fits warn of everything new at once, when it has succeeded.

    Inside another such function it leaves the warning to that one.
    """

    @wraps(fit)
    def fit_and_warn(*args: P.args, **kwargs: P.kwargs) -> R:
        if _running.get() is not None:
            return fit(*args, **kwargs)
        running = _Fit()
        token = _running.set(running)
        try:
            outcome = fit(*args, **kwargs)
        finally:
            _running.reset(token)
        if _quiet.get():
            return outcome
        for line, _ in dict.fromkeys(running.told):
            _log(line)
        told = [
            (line, category)
            for line, category in dict.fromkeys(running.told)
            if getattr(category, "every_time", False) or _is_new(line, category, running.table)
        ]
        if len(told) == 1:
            _warn(*told[0])
        elif told:
            # A line that is a list itself stands one step to the right.
            lines = "".join("\n* " + line.replace("\n", "\n  ") for line, _ in told)
            category = _block_of(frozenset(category for _, category in told))
            conditions = category is PrivacyWarning
            head = "The guarantee of this fit has conditions" if conditions else "Of this fit"
            _warn(f"{head}:{lines}", category)
        return outcome

    return fit_and_warn


class FitWarning(UserWarning):
    """Several lines of one fit, of different subclasses."""


@cache
def _block_of(categories: frozenset[type[Warning]]) -> type[Warning]:
    """Return the class of several lines: anyone who asks for that of one of them gets the block.

    Filters have acted on each line before, so that none of them acts on the lines of others.
    """
    if len(categories) == 1:
        return next(iter(categories))
    if all(issubclass(each, PrivacyWarning) for each in categories):
        return PrivacyWarning
    # Classes before those that they derive from.
    bases = sorted(categories, key=lambda each: (-len(each.__mro__), each.__name__))
    # Other processes know the name alone.
    plain = {"__module__": __name__, "__reduce__": lambda self: (FitWarning, self.args)}
    return type(FitWarning.__name__, (*bases, FitWarning), plain)


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
