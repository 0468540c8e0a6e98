"""What users may set: the names, their domains, and the values that a recipe works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
)
from dpboost.growing.selectors import SELECTIONS
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.trees.constraints import Constraints

#: Largest factor of what a feature has shown.
LARGEST_FACTOR = 1e6

#: Criteria of class counts by the names that users write.
CRITERIA = {
    "entropy": Impurity.ENTROPY,
    "gini": Impurity.GINI,
    "max": Impurity.ERRORS,
    "root_gini": Impurity.ROOT_GINI,
}


def _criterion(name: str, owner: str, value: Any) -> None:
    if value == "gain_ratio":
        raise InvalidParameterError(
            f"The 'criterion' parameter of {owner} cannot be 'gain_ratio': its split "
            "information may come as near to zero as it likes, so no bound holds for what "
            "one row changes. Use 'max', 'gini' or 'entropy'."
        )
    check_choice(name, owner, value, tuple(CRITERIA))


def _flag(name: str, owner: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise refuse(name, owner, "True, False or None", value)


def _on_columns(name: str, owner: str, value: Any) -> None:
    """Leave constraints to `on_columns`, which knows the columns."""


def _factors(name: str, owner: str, value: Any) -> None:
    _read_factors(name, owner, value)


def _read_factors(name: str, owner: str, value: Any) -> tuple[float, ...]:
    """Read factors from numbers, or from LightGBM's text; one below 0 counts as 0."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError):
        raise refuse(name, owner, "a list of numbers, one for each feature", value) from None
    for number in numbers:
        check_real(name, owner, number, low=-LARGEST_FACTOR, high=LARGEST_FACTOR)
    return tuple(max(number, 0.0) for number in numbers)


def _rounds(name: str, owner: str, value: Any) -> Any:
    """Refuse as LightGBM does what is no number of rounds."""
    if isinstance(value, (int, np.integer)) and value <= 0:
        raise InvalidParameterError(
            f"Number of boosting rounds must be greater than 0. Got {value}. It is the {name!r} "
            f"parameter of {owner}."
        )
    return check_integer(name, owner, value, low=1, high=100_000)


def _whole(low: int, high: int) -> Callable[[str, str, Any], Any]:
    return partial(check_integer, low=low, high=high)


def _real(low: float, high: float, *, low_open: bool = False) -> Callable[[str, str, Any], Any]:
    return partial(check_real, low=low, high=high, low_open=low_open)


def _choice(*names: str) -> Callable[[str, str, Any], Any]:
    return partial(check_choice, choices=names)


#: The settings of a paper's experiments, by the name that asks for them.
PAPER = "paper"

#: Checks by parameter, in the order in which reports list the values.
DOMAINS: dict[str, Callable[[str, str, Any], Any]] = {
    "preset": _choice(PAPER),
    "n_estimators": _rounds,
    "learning_rate": _real(0.0, 1.0, low_open=True),
    "max_depth": _whole(0, 512),
    "criterion": _criterion,
    "reg_lambda": _real(1e-6, 1e12),
    "max_bin": _whole(2, 255),
    "trees_per_ensemble": _whole(1, 100_000),
    "selection": _choice(*SELECTIONS),
    "features_per_tree": _whole(1, 3),
    # Below it the grid of gradients would round most of them to nothing.
    "gradient_clip": _real(0.001, 1.0),
    # The square of a smaller one vanishes beside a gain of one.
    "step_prior": _real(1e-6, 100.0),
    "hessian_share": _real(0.0, 0.99, low_open=True),
    "leaf_share": _real(0.001, 0.999),
    "n_splits": _whole(1, 4095),
    "depth_budget": _choice("decay", "uniform"),
    "target_error": _real(0.0, 1.0),
    "min_gain": _real(0.0, 1.0),
    "threshold_draws": _choice("joint", "per_feature"),
    "prune": _flag,
    "min_rows": _whole(1, 2**31),
    "bounds_share": _real(0.001, 0.999),
    "max_interaction": _whole(1, 3),
    "monotone_constraints": _on_columns,
    "interaction_constraints": _on_columns,
    "max_delta_step": _real(0.0, 1e300, low_open=True),
    "path_smooth": _real(0.0, 1e300),
    "min_sum_hessian_in_leaf": _real(0.0, 1e300),
    "feature_fraction": _real(0.0, 1.0, low_open=True),
    "feature_contri": _factors,
    "bagging_fraction": _real(0.0, 1.0, low_open=True),
}

#: What the user may forbid a model of boosting, in every recipe.
CONSTRAINTS = frozenset({"max_interaction", "monotone_constraints", "interaction_constraints"})

#: What the user may forbid a single tree: leaves are brought into order after their release.
DIRECTIONS = frozenset({"monotone_constraints"})

#: What users set under LightGBM's names alone. None of it costs anything, and no rule sets it: a
#: recipe whose parameters have the name follows it where it is given.
CONTROLS = frozenset(
    {
        "max_delta_step",
        "path_smooth",
        "min_sum_hessian_in_leaf",
        "feature_fraction",
        "feature_contri",
        "bagging_fraction",
    }
)

#: What users set themselves, by name; what is not there is left to the recipe's rule.
Given = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Values that a recipe works with; each recipe has its own kind, with all of them set.

    Parameters
    ----------
    max_interaction : int, optional
        Most features of a tree.
    monotone_constraints, interaction_constraints : str, optional
        LightGBM's text, by the positions of columns.
    """

    max_interaction: int | None = None
    monotone_constraints: str | None = None
    interaction_constraints: str | None = None

    @classmethod
    def names(cls) -> frozenset[str]:
        """Return the names of the parameters that the recipe's rule sets."""
        return frozenset(field.name for field in fields(cls)) - CONSTRAINTS - CONTROLS

    @classmethod
    def controls(cls) -> frozenset[str]:
        """Return those of LightGBM's own names that the recipe follows where they are given."""
        return frozenset(field.name for field in fields(cls)) & CONTROLS

    def values(self) -> dict[str, bool | int | float | str]:
        """Return the values by name, in the order of reports."""
        known = {field.name for field in fields(self)}
        return given({name: getattr(self, name) for name in DOMAINS if name in known})


@dataclass(frozen=True, kw_only=True)
class BoostingParameters(Parameters):
    """Values of every recipe of boosting, with LightGBM's controls that all of them follow.

    Parameters
    ----------
    max_delta_step : float, optional
        Largest raw score of a leaf, before the learning rate.
    feature_fraction : float, optional
        Part of the features, drawn at random, that a tree may use.
    bagging_fraction : float, optional
        Chance of a row, by its secret random assignment, to take part in an ensemble.

    Privacy
    -------
    ``max_delta_step`` bounds released values, which is post-processing, and where a recipe clips
    leaves before their release the sensitivity is that of the smaller clip. ``feature_fraction`` is
    a public draw. Coins of ``bagging_fraction`` are a row's own; what they leave out is not
    counted as saved.
    """

    max_delta_step: float | None = None
    feature_fraction: float | None = None
    bagging_fraction: float | None = None


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is set among values of which None leaves one to the recipe.

    Numbers of NumPy become Python's, which reports and model texts hold.
    """
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in values.items()
        if value is not None
    }


def check_given(given: Given, owner: str) -> None:
    """Raise for a name that no recipe has, or a value outside its domain.

    Parameters
    ----------
    given : mapping
    owner : str
        Name of the caller in error messages.

    Raises
    ------
    InvalidParameterError
    """
    for name, value in given.items():
        if name not in DOMAINS:
            raise refuse("hyper", owner, "parameters of recipes by name", dict(given))
        DOMAINS[name](name, owner, value)


def constraints_of(given: Given, names: Sequence[str], owner: str) -> Constraints:
    """Return what a model of these columns may not do.

    Raises
    ------
    InvalidParameterError
        For constraints that do not fit the columns.
    """
    return Constraints.of(
        given.get("monotone_constraints"), given.get("interaction_constraints"), names, owner
    )


def contributions_of(values: Given, n_features: int, owner: str) -> tuple[float, ...] | None:
    """Return the factor of every feature, None where none are given.

    Raises
    ------
    InvalidParameterError
        For factors that do not fit the columns, and where no feature is left.
    """
    name = "feature_contri"
    if values.get(name) is None:
        return None
    factors = _read_factors(name, owner, values[name])
    if len(factors) != n_features or not any(factors):
        must = f"{n_features} numbers, one for each feature and some of them above 0"
        raise refuse(name, owner, must, values[name])
    return factors


def on_columns(values: Given, names: Sequence[str], owner: str) -> dict[str, Any]:
    """Return the values with constraints and factors by the positions of columns.

    Raises
    ------
    InvalidParameterError
        For what does not fit the columns.
    """
    found = constraints_of(values, names, owner)
    factors = contributions_of(values, len(names), owner)
    if factors is not None and not (found.allowed(len(names)) & (np.array(factors) > 0)).any():
        must = "above 0 for some feature that 'interaction_constraints' allows"
        raise refuse("feature_contri", owner, must, values["feature_contri"])
    texts = {
        "monotone_constraints": found.monotone_text,
        "interaction_constraints": found.interaction_text,
        "feature_contri": None if factors is None else ",".join(map(str, factors)),
    }
    return given({**values, **texts})
