"""Parameters under any name that LightGBM knows, and what becomes of them.

Privacy
-------
Parameters are public. No decision here looks at a row.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, RefusedError
from dpboost._utils.warnings import warn_user
from dpboost.lightgbm.compat import parameter_aliases
from dpboost.lightgbm.treatments import Treatment, is_neutral, treatment_of

MOST_BINS = 255  # a bin is one byte, and one of them is for missing values
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SWITCHES = {"true": True, "+": True, "false": False, "-": False}


class ParameterWarning(UserWarning):
    """A parameter has no effect here, or another one than its user may expect."""


@lru_cache(maxsize=1)
def canonical_names() -> dict[str, str]:
    """Return LightGBM's canonical name of every name it knows, as the installed one lists them."""
    names: dict[str, str] = {}
    for canonical, aliases in parameter_aliases().items():
        names[canonical] = canonical
        names.update(dict.fromkeys(aliases, canonical))
    return names


def value_of(params: Mapping[str, Any], canonical: str) -> Any:
    """Return a parameter under any of its names, None where it is not given."""
    names = canonical_names()
    found = [name for name in params if names.get(name) == canonical]
    return params[min(found, key=_rank)] if found else None


def _rank(name: str) -> int:
    """Return the position of a name among those of its parameter, by which LightGBM decides."""
    return _ranks().get(name, -1)


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    """Return the canonical name first and then the aliases, as the installed LightGBM sorts."""
    return {
        name: position
        for canonical, aliases in parameter_aliases().items()
        for position, name in enumerate([canonical, *(a for a in aliases if a != canonical)])
    }


def read_text(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters whose numbers and switches may be written out, as in a ``train.conf``.

    Parameters
    ----------
    params : mapping

    Returns
    -------
    dict
        With numbers and booleans where LightGBM reads such; other text is as it was.
    """
    return {
        name: _from_text(value) if isinstance(value, str) else value
        for name, value in params.items()
    }


def _from_text(value: str) -> Any:
    text = value.strip()
    if text.lower() in _SWITCHES:
        return _SWITCHES[text.lower()]
    if not _NUMBER.fullmatch(text):
        return value
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def check_names(names: Iterable[str], arguments: Iterable[str], owner: str) -> None:
    """Raise for a name that neither LightGBM nor the owner knows, with the nearest ones.

    Parameters
    ----------
    names : iterable of str
        What the user wrote.
    arguments : iterable of str
        The owner's own arguments.
    owner : str
        For the message.

    Raises
    ------
    InvalidParameterError
        For the first unknown name.
    """
    own = set(arguments)
    for name in names:
        if name in own or name in canonical_names():
            continue
        hint = nearest_names(name, {*canonical_names(), *own})
        raise InvalidParameterError(
            f"{owner} has no parameter {name!r}, and LightGBM knows none of that name.{hint}"
        )


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return a question with the known names that are nearest, or nothing."""
    near = difflib.get_close_matches(str(name), sorted(known), n=2, cutoff=0.7)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Parameters by their meaning.

    Parameters
    ----------
    arguments : dict
        Values of the owner's own arguments.
    fit : dict
        What ``fit`` reads, by LightGBM's canonical names.
    """

    arguments: dict[str, Any]
    fit: dict[str, Any]


def resolve(
    given: Mapping[str, Any],
    extra: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any],
    owner: str,
) -> Resolved:
    """Bring LightGBM's names to ours, warn of what has no effect and refuse what would matter.

    Parameters
    ----------
    given : mapping
        The owner's own arguments, all of them.
    extra : mapping
        What the user gave under other names.
    defaults : mapping
        Default value of every own argument.
    owner : str
        Name of the caller in messages.

    Returns
    -------
    Resolved

    Raises
    ------
    InvalidParameterError
        For unknown names, and for values that would change the model in a way that is not
        available.

    Warns
    -----
    ParameterWarning
        Once, for all parameters that have no effect and all that were given twice.
    """
    check_names(extra, given, owner)
    given, extra = read_text(given), read_text(extra)
    arguments = dict(given)
    fit: dict[str, Any] = {}
    remarks: list[str] = []
    asked = {
        name: value
        for name, value in given.items()
        if name in defaults and not _equal(value, defaults[name])
    }
    taken: dict[str, str] = {}
    for name, value in sorted((asked | dict(extra)).items(), key=lambda item: _rank(item[0])):
        canonical = canonical_names().get(name, name)
        treatment = treatment_of(canonical)
        argument = name if name in given else treatment.argument
        if argument in given:
            winner = taken.setdefault(argument, name)
            if winner == name:
                arguments[argument] = value
            elif not _equal(value, arguments[argument]):
                remarks.append(
                    f"{name}={value!r} has no effect beside {winner}={arguments[argument]!r}."
                )
        elif treatment.kind in ("fit", "public"):
            fit.setdefault(canonical, value)
        elif not is_neutral(value, treatment.neutral):
            _without_argument(name, value, treatment, owner, remarks)
    _neutral_arguments(arguments, remarks)
    if remarks:
        warn_user(" ".join(remarks), ParameterWarning)
    return Resolved(arguments=arguments, fit=fit)


def _equal(left: Any, right: Any) -> bool:
    if left is right:
        return True
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return bool(np.array_equal(left, right))
    return type(left) is type(right) and bool(left == right)


def _without_argument(
    name: str, value: Any, treatment: Treatment, owner: str, remarks: list[str]
) -> None:
    """Warn of a parameter that asks for something, or refuse it."""
    if treatment.kind == "accepted":
        return
    if treatment.kind == "ignored":
        remarks.append(f"{name}={value!r} has no effect: {treatment.note}.")
        return
    note = treatment.note or "it is not available"
    raise RefusedError(
        f"The {name!r} parameter of {owner} cannot be {value!r} in private training: {note}."
    )


def _neutral_arguments(arguments: dict[str, Any], remarks: list[str]) -> None:
    """Read LightGBM's values for "no limit" as the rule of the recipe."""
    for canonical in ("max_depth", "lambda_l2"):
        treatment = treatment_of(canonical)
        value = arguments.get(treatment.argument)
        if not isinstance(value, bool) and is_neutral(value, treatment.neutral):
            arguments[treatment.argument] = None
            remarks.append(f"{treatment.argument}={value!r}: {treatment.note}.")
    n_bins = arguments.get("max_bin")
    if isinstance(n_bins, (int, np.integer)) and n_bins > MOST_BINS:
        arguments["max_bin"] = MOST_BINS
        remarks.append(f"max_bin={n_bins!r}: a feature has at most {MOST_BINS} bins here.")
