"""What users may set: the names, their domains, and the values that a recipe works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

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


def _whole(low: int, high: int) -> Callable[[str, str, Any], Any]:
    return partial(check_integer, low=low, high=high)


def _real(low: float, high: float, *, low_open: bool = False) -> Callable[[str, str, Any], Any]:
    return partial(check_real, low=low, high=high, low_open=low_open)


def _choice(*names: str) -> Callable[[str, str, Any], Any]:
    return partial(check_choice, choices=names)


#: Checks by parameter, in the order in which reports list the values.
DOMAINS: dict[str, Callable[[str, str, Any], Any]] = {
    "n_estimators": _whole(1, 100_000),
    "learning_rate": _real(0.0, 1.0, low_open=True),
    "max_depth": _whole(0, 12),
    "criterion": _criterion,
    "reg_lambda": _real(1e-6, 1e12),
    "max_bin": _whole(2, 255),
    "trees_per_ensemble": _whole(1, 100_000),
    "selection": _choice(*SELECTIONS),
    "features_per_tree": _whole(1, 3),
    # Below it the grid of gradients would round most of them to nothing.
    "gradient_clip": _real(0.001, 1.0),
    "step_prior": _real(0.0, 100.0, low_open=True),
    "hessian_share": _real(0.0, 0.99, low_open=True),
    "leaf_share": _real(0.001, 0.999),
    "n_splits": _whole(1, 4095),
    "depth_budget": _choice("decay", "uniform"),
    "target_error": _real(0.0, 1.0),
    "least_gain": _real(0.0, 1.0),
    "threshold_draws": _choice("joint", "per_feature"),
    "prune": _flag,
    "least_rows": _whole(1, 2**31),
    "bounds_share": _real(0.001, 0.999),
    "max_interaction": _whole(1, 3),
    "monotone_constraints": _on_columns,
    "interaction_constraints": _on_columns,
}

#: What the user may forbid a model of boosting, in every recipe.
CONSTRAINTS = frozenset({"max_interaction", "monotone_constraints", "interaction_constraints"})

#: What the user may forbid a single tree: leaves are brought into order after their release.
DIRECTIONS = frozenset({"monotone_constraints"})

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
        """Return the names of the parameters, constraints apart."""
        return frozenset(field.name for field in fields(cls)) - CONSTRAINTS

    def values(self) -> dict[str, bool | int | float | str]:
        """Return the values by name, in the order of reports."""
        known = {field.name for field in fields(self)}
        return given({name: getattr(self, name) for name in DOMAINS if name in known})


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is set among values of which None leaves one to the recipe."""
    return {name: value for name, value in values.items() if value is not None}


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


def on_columns(values: Given, names: Sequence[str], owner: str) -> dict[str, Any]:
    """Return the values with constraints by the positions of columns.

    Raises
    ------
    InvalidParameterError
        For constraints that do not fit the columns.
    """
    found = constraints_of(values, names, owner)
    texts = {
        "monotone_constraints": found.monotone_text,
        "interaction_constraints": found.interaction_text,
    }
    return given({**values, **texts})
