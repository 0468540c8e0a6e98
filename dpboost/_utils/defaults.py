"""LightGBM's defaults, which differ from the same values given by a user.

``get_params`` shows what LightGBM's own estimators show, so that code which computes with these
numbers runs. A recipe decides what was not given, so that a default and the same value given are
two things; a copy, a clone and a pickle keep the difference.
"""

from __future__ import annotations

from typing import Any


class Default:
    """A value that stands where the user has given none; comes first in the bases."""

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
    """A whole number that nobody gave."""


class _DefaultFloat(Default, float):
    """A number that nobody gave."""


class _DefaultStr(Default, str):
    """A word that nobody gave."""

    __slots__ = ()


_KINDS: dict[type, type] = {int: _DefaultInt, float: _DefaultFloat, str: _DefaultStr}


def default(value: Any) -> Any:
    """Return a number or a word, equal to `value`, that counts as not given.

    Parameters
    ----------
    value : int, float or str
    """
    return _KINDS[type(value)](value)


def is_default(value: Any) -> bool:
    """Return whether a value is one of `default`."""
    return isinstance(value, Default)
