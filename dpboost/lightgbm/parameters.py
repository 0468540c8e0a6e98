"""Resolution of LightGBM's parameters and aliases.

Privacy
-------
Parameters are public. This module reads no rows.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, RefusedError, is_default
from dpboost._utils.warnings import warn_user
from dpboost.lightgbm.installed import parameter_aliases
from dpboost.lightgbm.treatments import OF_ESTIMATORS, Treatment, is_neutral, treatment_of
from dpboost.recipes.recipe import LARGEST_FACTOR

MOST_BINS = 255  # a bin is one byte, and one of them is for missing values
#: What LightGBM accepts and we do not reach: the lowest above 0, the highest, and why.
RANGES: dict[str, tuple[float | None, float, str]] = {
    "n_estimators": (None, 100_000, "there are at most {} rounds here"),
    "learning_rate": (None, 1.0, "steps are shrunk by their noise, and never lengthened"),
    "reg_lambda": (1e-6, 1e12, "a sum of hessians may be zero, and noise is divided by it"),
    "max_bin": (None, MOST_BINS, "a feature has at most {} bins here"),
    "path_smooth": (None, 1e300, "a larger one would not be a number in the steps of a leaf"),
    "max_delta_step": (None, 1e300, "no step is as large"),
}
#: Arguments of LightGBM's estimators that are ours in name only: they show its defaults, and are
#: read as under any of its names where they are given.
SHOWN = (
    "boosting_type",
    "num_leaves",
    "subsample_for_bin",
    "min_split_gain",
    "min_child_weight",
    "min_child_samples",
    "subsample",
    "subsample_freq",
    "colsample_bytree",
    "reg_alpha",
)
#: Names that no misspelt one may stand for without an error.
OF_THE_GUARANTEE = frozenset(
    {
        *("epsilon", "delta", "recipe", "schema", "neighbors", "assume_public", "noise_seed"),
        *("rows_per_user", "user_ids", "max_weight", "gradient_bound", "hessian_bound"),
        *("score_bounds", "gradient_clip", "budget", "fraction", "holdout"),
    }
)
#: Arguments of ``fit`` and of ``train``, which are of rows or of a budget.
OF_FIT = {
    **dict.fromkeys(("budget", "fraction"), "fit(..., {0}=...), or train(..., {0}=...)"),
    "user_ids": "fit(..., {0}=...), or Dataset(..., {0}=...) for train",
    "holdout": "fit(..., {0}=...)",
}
# What names of other libraries for the same have in them.
_LIKE = {
    "epsilon": "epsilon",
    "privacy": "epsilon",
    "delta": "delta",
    "noise": "epsilon",
    "neighbor": "neighbors",
    "neighbour": "neighbors",
    "bound": "schema",
    "clip": "gradient_clip",
}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_SWITCHES = {"true": True, "+": True, "false": False, "-": False}


class ParameterWarning(UserWarning):
    """A parameter has no effect, or a different effect than in LightGBM."""


@lru_cache(maxsize=1)
def canonical_names() -> dict[str, str]:
    """Return LightGBM's canonical name of every name it knows, as the installed one lists them."""
    names: dict[str, str] = {}
    for canonical, aliases in parameter_aliases().items():
        names[canonical] = canonical
        names.update(dict.fromkeys(aliases, canonical))
    return names


def value_of(params: Mapping[str, Any], canonical: str) -> Any:
    """Return a parameter under any of its names, None if it is not given."""
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


def is_silent(params: Mapping[str, Any]) -> bool:
    """Return whether parameters ask for no advice: a verbosity below 0, which is 1 by default."""
    # What is given under another name beats the default of an estimator.
    aliases = {name: each for name, each in params.items() if name != "verbosity"}
    found = value_of(aliases, "verbosity")
    found = params.get("verbosity") if found is None else found
    level: Any = _from_text(found) if isinstance(found, str) else found
    return _is_number(level) and level < 0


def read_text(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters whose numbers and switches may be written out, as in a ``train.conf``.

    Numbers and booleans are what LightGBM reads as such; other text is as it was.
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


def check_names(names: Iterable[str], arguments: Iterable[str], owner: str) -> list[str]:
    """Return a remark on each name that no one knows; raise for one like a name of the guarantee.

    ``names`` are what the user wrote, ``arguments`` the owner's own. LightGBM goes on with a
    warning as well. InvalidParameterError for the first unknown name that may have been meant for
    what the guarantee rests on: a fit with the default in its place would have another guarantee
    than the user believes.
    """
    own = set(arguments)
    remarks = []
    for name in names:
        if name in own or name in canonical_names() or name in OF_ESTIMATORS:
            continue
        if name in OF_FIT:
            raise InvalidParameterError(
                f"{owner} has no parameter {name!r}: give it as {OF_FIT[name].format(name)}."
            )
        known = sorted({*canonical_names(), *own, *OF_THE_GUARANTEE})
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.7)
        meant = [each for each in near if each in OF_THE_GUARANTEE]
        meant += [known for word, known in _LIKE.items() if word in str(name).lower()]
        meant += ["epsilon"] * bool({"eps", "dp"} & set(str(name).lower().split("_")))
        if meant:
            raise InvalidParameterError(
                f"{owner} has no parameter {name!r}. Did you mean {meant[0]!r}? The name "
                "resembles a parameter of the guarantee, so it is not ignored: use "
                f"{meant[0]!r}, or remove it."
            )
        hint = nearest_names(name, {*canonical_names(), *own})
        remarks.append(f"{name} is an unknown parameter and has no effect.{hint}")
    return remarks


def nearest_names(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of the nearest known names, or an empty text."""
    near = difflib.get_close_matches(str(name), sorted(known), n=2, cutoff=0.7)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """Parameters by their canonical names."""

    #: Values of the owner's own arguments.
    arguments: dict[str, Any]
    #: What ``fit`` reads, by LightGBM's canonical names.
    fit: dict[str, Any]


def resolve(
    given: Mapping[str, Any],
    extra: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any],
    owner: str,
    most_depth: int | None = None,
) -> Resolved:
    """Bring LightGBM's names to ours, warn of what has no effect and refuse what would matter.

    ``given`` are all of the owner's own arguments, ``defaults`` their default values, ``extra``
    what the user gave under other names; the recipe allows ``most_depth`` levels of splits.
    InvalidParameterError for names like those of the guarantee, and for values that would change
    the model in a way that is not available. One ParameterWarning for all parameters that have no
    effect, all that were given twice, all that are capped and all unknown names.
    """
    remarks = check_names(extra, given, owner)
    unknown = set(extra) - set(given) - set(canonical_names()) - set(OF_ESTIMATORS)
    own = {name: value for name, value in given.items() if name not in SHOWN}
    shown = {name: given[name] for name in SHOWN if name in given and not is_default(given[name])}
    given, extra = read_text(_decided(own)), read_text({**shown, **extra})
    defaults = _decided(defaults)
    arguments = dict(given)
    fit: dict[str, Any] = {}
    asked = {
        name: value
        for name, value in given.items()
        if name in defaults and not _equal(value, defaults[name])
    }
    taken: dict[str, str] = {}
    for name, value in sorted((asked | dict(extra)).items(), key=lambda item: _rank(item[0])):
        canonical = canonical_names().get(name, name)
        if name in unknown:
            continue
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
        elif treatment.kind == "argument" or _weighs_no_class(canonical, given):
            if not is_neutral(value, treatment.neutral):
                remarks.append(f"{name}={value!r} has no effect: {owner} does not read it.")
        elif treatment.kind in ("fit", "public"):
            fit.setdefault(canonical, value)
        elif not is_neutral(value, treatment.neutral):
            _without_argument(name, value, treatment, owner, remarks)
    _within_ranges(arguments, most_depth, remarks)
    _controls_within_ranges(fit, remarks)
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


def _decided(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with None, the recipe's rule, instead of LightGBM's defaults."""
    return {name: None if is_default(value) else value for name, value in values.items()}


def _within_ranges(arguments: dict[str, Any], most_depth: int | None, remarks: list[str]) -> None:
    """Read LightGBM's values for "no limit" as the rule of the recipe, and cap the others."""
    for canonical in ("max_depth", "lambda_l2"):
        treatment = treatment_of(canonical)
        value: Any = arguments.get(treatment.argument)
        no_limit = canonical == "max_depth" and _is_number(value) and value <= 0
        if not isinstance(value, bool) and (is_neutral(value, treatment.neutral) or no_limit):
            arguments[treatment.argument] = None
            remarks.append(f"{treatment.argument}={value!r}: {treatment.note}.")
    _cap_all(arguments, remarks)
    if most_depth is not None:
        depth: Any = arguments.get("max_depth")
        if _is_number(depth) and depth > most_depth and math.isfinite(depth):
            # In LightGBM it is a limit beside num_leaves, and one that is never reached is none.
            arguments["max_depth"] = None
            remarks.append(
                f"max_depth={depth!r} exceeds the limit of {most_depth} levels and is ignored: the "
                "rule of the recipe sets the depth. Pass a value within the limit."
            )


def _weighs_no_class(canonical: str, given: Mapping[str, Any]) -> bool:
    """Return whether a parameter weighs classes, and there are none to be weighed."""
    if canonical != "scale_pos_weight" or "class_weight" in given:
        return False
    return given.get("objective") not in ("binary", "cross_entropy", "xentropy")


def _controls_within_ranges(fit: dict[str, Any], remarks: list[str]) -> None:
    """Leave out LightGBM's values for "no limit", and cap what is too large."""
    step: Any = fit.get("max_delta_step")
    if _is_number(step) and step < 0:
        del fit["max_delta_step"]
    _cap_all(fit, remarks)
    factors: Any = fit.get("feature_contri")
    with suppress(TypeError, ValueError):
        parts = factors.split(",") if isinstance(factors, str) else factors or ()
        numbers = [float(part) for part in parts]
        if any(LARGEST_FACTOR < number < math.inf for number in numbers):
            fit["feature_contri"] = [min(number, LARGEST_FACTOR) for number in numbers]
            remarks.append(f"feature_contri: factors above {LARGEST_FACTOR:g} count as that.")


def _cap_all(values: dict[str, Any], remarks: list[str]) -> None:
    for name, (low, high, why) in RANGES.items():
        _cap(values, name, low, high, why, remarks)


def _cap(
    arguments: dict[str, Any],
    name: str,
    low: float | None,
    high: float,
    why: str,
    remarks: list[str],
) -> None:
    """Bring a number that LightGBM accepts into the range that we have."""
    value: Any = arguments.get(name)
    if not _is_number(value) or not math.isfinite(value):
        return
    capped = high if value > high else low if low is not None and 0 < value < low else value
    if capped != value:
        arguments[name] = capped
        remarks.append(f"{name}={value!r} counts as {capped!r}: {why.format(capped)}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
