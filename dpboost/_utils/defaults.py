"""LightGBM's defaults, which differ from the same values given by a user.

``get_params`` shows what LightGBM's own estimators show, so that code which computes with these
numbers runs. A recipe decides what was not given, so that a default and the same value given are
two things; a copy, a clone and a pickle keep the difference.
"""

from __future__ import annotations

from typing import Any


class Default:
    """A value that takes effect if the user has given none; comes first in the bases."""

    def __call__(self) -> Any:
        """Return the plain value; scikit-learn asks of a default of another type that it can."""
        return next(kind(self) for kind in _KINDS if isinstance(self, kind))

    def __copy__(self) -> Default:
        return self

    def __deepcopy__(self, memo: Any) -> Default:
        return self


class _DefaultInt(Default, int):
    """A whole number that no one gave."""


class _DefaultFloat(Default, float):
    """A number that no one gave."""


class _DefaultStr(Default, str):
    """A word that no one gave."""

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
