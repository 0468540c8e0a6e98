"""The interface of recipes: strategies of the engine, from public facts and user settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
)
from dpboost.data.binner import Binner
from dpboost.growing.column_choice import ChoicePlan
from dpboost.growing.growth import Growth
from dpboost.growing.selectors import SELECTIONS
from dpboost.losses import Loss
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
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
    """Parameters of a recipe, with all values set; each recipe has a subclass."""

    #: Most features of a tree.
    max_interaction: int | None = None
    #: LightGBM's text, by the positions of columns.
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
    """Parameters of all boosting recipes, with LightGBM's parameters that all of them use.

    Privacy
    -------
    ``max_delta_step`` bounds released values, which is post-processing, and where a recipe clips
    leaves before their release the sensitivity is that of the smaller clip. ``feature_fraction`` is
    a public draw. Coins of ``bagging_fraction`` are a row's own; what they leave out is not
    counted as saved.
    """

    #: Largest raw score of a leaf, before the learning rate.
    max_delta_step: float | None = None
    #: Part of the features, drawn at random, that a tree may use.
    feature_fraction: float | None = None
    #: Chance of a row, by its secret random assignment, to take part in an ensemble.
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


def unchanged(kind: type[Parameters]) -> Callable[[PublicFacts], Any]:
    """Return the rule that leaves parameters at the values of their class."""
    return lambda facts: kind()


def check_given(given: Given, owner: str) -> None:
    """Raise for a name that no recipe has, or a value outside its domain."""
    for name, value in given.items():
        if name not in DOMAINS:
            raise refuse("hyper", owner, "parameters of recipes by name", dict(given))
        DOMAINS[name](name, owner, value)


def constraints_of(given: Given, names: Sequence[str], owner: str) -> Constraints:
    """Return what a model of these columns may not do."""
    return Constraints.of(
        given.get("monotone_constraints"), given.get("interaction_constraints"), names, owner
    )


def contributions_of(values: Given, n_features: int, owner: str) -> tuple[float, ...] | None:
    """Return the factor of every feature, None if none are given."""
    name = "feature_contri"
    if values.get(name) is None:
        return None
    factors = _read_factors(name, owner, values[name])
    if len(factors) != n_features or not any(factors):
        must = f"{n_features} numbers, one for each feature and some of them above 0"
        raise refuse(name, owner, must, values[name])
    return factors


def on_columns(values: Given, names: Sequence[str], owner: str) -> dict[str, Any]:
    """Return the values with constraints and factors by the positions of columns."""
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


#: Tasks of recipes that learn numbers as well as classes.
BOTH_TASKS = frozenset({"regression", "classification"})


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """Public facts that the rules of a recipe may use."""

    #: The budget of the fit.
    epsilon: float
    delta: float
    #: A released or declared number of rows; None if the recipe releases none.
    n_rows: float | None
    n_features: int
    #: Public bounds of gradients and hessians; its labels are not in it.
    loss: Loss
    #: What the user has set.
    given: Given
    #: What is left for the trees.
    budget: PrivacyCost
    #: How releases add up.
    accountant: Accountant
    neighbors: Neighbors
    #: The declared most rows.
    max_rows: int | None = None
    #: Of the public list; 0 in a regression.
    n_classes: int = 0
    #: Whether rows have weights, in units of 2^-16.
    weighted: bool = False
    #: Whether the fit goes on from another model.
    continued: bool = False


@dataclass(frozen=True, kw_only=True)
class Setting:
    """All inputs of a recipe's strategies."""

    #: Of the recipe's own kind, all set.
    hyper: Any
    loss: Loss
    #: Public or released bins.
    binner: Binner
    facts: PublicFacts
    #: Public randomness.
    public: np.random.Generator
    n_threads: int
    #: Whether rows have weights.
    weighted: bool = False
    #: Which columns are to be chosen before the first tree.
    choice: ChoicePlan | None = None
    #: Released rows in the bins of features, each of shape (n_bins + 1,), the missing last.
    masses: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def constraints(self) -> Constraints:
        """What the model may not do."""
        return constraints_of(self.hyper.values(), self.binner.feature_names, "fit")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms of a fit before rows are counted."""

    delta: float
    #: One of "regression", "classification".
    task: str
    neighbors: Neighbors
    n_features: int
    #: Whether rows have weights, in units of 2^-16.
    weighted: bool = False


def _one_ensemble(hyper: Any) -> int:
    return 1


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An algorithm as strategies of the engine; a registry entry.

    A recipe declares its capabilities here.
    """

    #: What users write in ``recipe=``.
    name: str
    #: A kind of ``Parameters``: the values that mean something to the algorithm. Setting
    #: another one is refused.
    parameters: type[Parameters]
    #: Bins of a numeric feature where the user sets none.
    max_bin: int
    #: ``accountant(epsilon, delta)``: how releases add up.
    accountant: Callable[[float, float], Accountant]
    #: ``defaults(facts)``: the rule for values that the user leaves open; returns
    #: ``parameters``.
    defaults: Callable[[PublicFacts], Parameters]
    #: ``build(setting)``: the strategies.
    build: Callable[[Setting], Growth]
    #: ``least_epsilon(given, terms)``: below it some release could not be drawn exactly; a fit
    #: refuses it before anything is charged.
    least_epsilon: Callable[[Given, Terms], float]
    #: What the user may forbid a model, beyond ``parameters``.
    constraints: frozenset[str] = CONSTRAINTS
    #: What it learns.
    tasks: frozenset[str] = BOTH_TASKS
    #: Values of parameters that the algorithm knows, where these are not all there are.
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Whether it grows one tree, whose released counts people read.
    single: bool = False
    #: ``start_share(loss, delta)``: part of the training budget for a released start value and
    #: row count; without it scores start from a public constant.
    start_share: Callable[[Loss, float], float] | None = None
    #: Part of the training budget, a Fraction or a float, for a released number of rows alone,
    #: without a start value.
    rows_share: Any = 0
    #: ``bins_share(delta)``: part of the training budget for released bins; 0 keeps equal bins.
    bins_share: Callable[[float], float] | None = None
    #: ``columns_to_choose(facts)``: how many columns are chosen before the first tree; None for
    #: none. Where rows show exact sums to the gate.
    columns_to_choose: Callable[[PublicFacts], ChoicePlan | None] | None = None
    #: ``planned(facts)``: noise, sensitivity and number of the releases of trees, for a check
    #: before anything is drawn that they can be accounted for; where noise may be Gaussian.
    planned: Callable[[PublicFacts], tuple[Noise, Sensitivity, int]] | None = None
    #: ``useful_budget(hyper, loss, neighbors)``: the training budget below which the noise of a
    #: leaf is larger than all that a leaf can say, however many rows there are; a fit then warns.
    useful_budget: Callable[[Any, Loss, Neighbors], float] | None = None
    #: ``without_facts(given)``: what ``defaults`` begins with before anything is released, with
    #: what the user has set. Values that divide the budget stay as they are there. Where a
    #: recipe of boosting needs exact sums.
    without_facts: Callable[[Given], Parameters] | None = None
    #: ``n_ensembles(hyper)``: ensembles in sequence, among which the budget is divided.
    n_ensembles: Callable[[Any], int] = _one_ensemble
    #: Levels of splits that a user may ask for; a complete tree of one level more has twice as
    #: many leaves.
    most_depth: int = 12
    #: How many classes it can learn.
    most_classes: int = 2
    #: Whether it learns every objective, with initial scores and weights of classes.
    objectives: bool = False
    #: Whether rows may have weights.
    weights: bool = False
    #: Whether it computes something that does not add up over sites, so that one process has
    #: to be trusted with sums without noise. The others also run where rows lie at parties.
    needs_exact_sums: bool = True

    @property
    def multiclass(self) -> bool:
        """Whether it learns more than two classes."""
        return self.most_classes > 2

    def check(self, request: Given, owner: str) -> None:
        """Raise for a value that is none, or that the algorithm would ignore or does not know."""
        check_given(request, owner)
        for name, value in request.items():
            parameters = self.parameters
            if name not in parameters.names() | parameters.controls() | self.constraints:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {owner} has no meaning for recipe="
                    f"{self.name!r}. Got {value!r}; leave it at None."
                )
            if name == "max_depth":
                check_integer(name, owner, value, low=0, high=self.most_depth)
            known = self.choices.get(name)
            if known is not None and value not in known:
                must = f"one of {', '.join(map(repr, known))} for recipe={self.name!r}"
                raise refuse(name, owner, must, value)

    def check_task(self, task: str, owner: str) -> None:
        """Raise for a task that the algorithm does not learn."""
        if task not in self.tasks:
            raise refuse("recipe", owner, f"one that learns a {task}", self.name)

    def settle(self, facts: PublicFacts) -> Parameters:
        """Return all values: the recipe's rule, and what the user has set in its place."""
        return replace(self.defaults(facts), **facts.given)


class Registry(Mapping[str, Recipe]):
    """Recipes by name."""

    def __init__(self, *recipes: Recipe) -> None:
        self._recipes = {recipe.name: recipe for recipe in recipes}

    def __getitem__(self, name: str) -> Recipe:
        return self._recipes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names that ``recipe=`` accepts."""
        return tuple(self._recipes)

    def find(self, name: Any, owner: str) -> Recipe:
        """Return the recipe of this name, or raise with the names there are.

        A ``Recipe`` is returned as it is: anyone who makes one answers for its guarantee.
        """
        if isinstance(name, Recipe):
            return name
        if not isinstance(name, str) or name not in self._recipes:
            raise refuse("recipe", owner, "one of " + ", ".join(map(repr, self.names)), name)
        return self._recipes[name]


def step_limit(max_delta_step: float | None, loss: Loss) -> float:
    """Return the largest step of a leaf in the unit of the loss, for one of raw scores."""
    if max_delta_step is None:
        return math.inf
    return max_delta_step / math.sqrt(loss.squared_step)
