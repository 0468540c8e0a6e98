"""A recipe: strategies over the one engine, built from public facts and found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
)
from dpboost.boosting.loop import BoostingLoop
from dpboost.data.binner import Binner
from dpboost.growing.selectors import SELECTIONS
from dpboost.losses import Loss
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.trees.constraints import Constraints


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """What the user has set; ``None`` leaves a value to the recipe's rule.

    Parameters
    ----------
    n_estimators : int, optional
        Number of trees, or of rounds with one tree for each class.
    learning_rate : float, optional
        Shrinkage, in (0, 1].
    max_depth : int, optional
        Levels of internal nodes, 0 to 12.
    reg_lambda : float, optional
        L2 regularisation, greater than 0.
    max_bin : int, optional
        Bins of a numeric feature, 2 to 255.
    trees_per_ensemble : int, optional
        Trees that share the rows of one ensemble.
    selection : {"exponential", "permute_and_flip"}, optional
        Mechanism of the split choice.
    features_per_tree : int, optional
        Features of a random partition, 1 to 3.
    gradient_clip : float, optional
        Public clip of a row's gradient, 0.001 to 1.
    step_prior : float, optional
        Typical size of a leaf's step, by which noisy steps are shrunk.
    hessian_share : float, optional
        Part of a tree's budget that goes to hessian sums, in (0, 1).
    max_interaction : int, optional
        Most features of a tree, 1 to 3.
    monotone_constraints, interaction_constraints : any, optional
        As the user gave them; LightGBM's text by positions once the columns are known
        (`on_columns`).
    """

    n_estimators: int | None = None
    learning_rate: float | None = None
    max_depth: int | None = None
    reg_lambda: float | None = None
    max_bin: int | None = None
    trees_per_ensemble: int | None = None
    selection: str | None = None
    features_per_tree: int | None = None
    gradient_clip: float | None = None
    step_prior: float | None = None
    hessian_share: float | None = None
    max_interaction: int | None = None
    monotone_constraints: Any = None
    interaction_constraints: Any = None

    def validate(self, owner: str) -> None:
        """Raise ``InvalidParameterError`` for a value outside its interval."""
        integers = {
            "n_estimators": (1, 100_000),
            "max_depth": (0, 12),
            "max_bin": (2, 255),
            "trees_per_ensemble": (1, 100_000),
            "features_per_tree": (1, 3),
            "max_interaction": (1, 3),
        }
        for name, (low, high) in integers.items():
            value = getattr(self, name)
            if value is not None:
                check_integer(name, owner, value, low=low, high=high)
        reals = {
            "learning_rate": (0.0, 1.0),
            "step_prior": (0.0, 100.0),
            "hessian_share": (0.0, 0.99),
        }
        for name, (above, most) in reals.items():
            value = getattr(self, name)
            if value is not None:
                check_real(name, owner, value, low=above, high=most, low_open=True)
        if self.gradient_clip is not None:
            # Below it the grid of gradients would round most of them to nothing.
            check_real("gradient_clip", owner, self.gradient_clip, low=0.001, high=1.0)
        if self.reg_lambda is not None:
            check_real("reg_lambda", owner, self.reg_lambda, low=1e-6, high=1e12)
        if self.selection is not None:
            check_choice("selection", owner, self.selection, tuple(SELECTIONS))

    def filled(self, defaults: Hyperparameters) -> Hyperparameters:
        """Return these values with ``defaults`` in the place of every None."""
        values = {}
        for field in fields(self):
            own = getattr(self, field.name)
            values[field.name] = getattr(defaults, field.name) if own is None else own
        return Hyperparameters(**values)

    def on_columns(self, names: Sequence[str], owner: str) -> Hyperparameters:
        """Return these values with constraints by the positions of columns.

        Raises
        ------
        InvalidParameterError
            For constraints that do not fit the columns.
        """
        found = self.constraints(names, owner)
        return replace(
            self,
            monotone_constraints=found.monotone_text,
            interaction_constraints=found.interaction_text,
        )

    def constraints(self, names: Sequence[str], owner: str = "fit") -> Constraints:
        """Return what a model of these columns may not do."""
        return Constraints.of(self.monotone_constraints, self.interaction_constraints, names, owner)

    def given(self) -> dict[str, int | float | str]:
        """Return the values that are set, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


#: What the user may forbid a model, in every recipe.
CONSTRAINTS = frozenset({"max_interaction", "monotone_constraints", "interaction_constraints"})


@dataclass(frozen=True, kw_only=True)
class PublicFacts:
    """What a recipe's rules may look at.

    Parameters
    ----------
    epsilon, delta : float
        The budget of the fit.
    n_rows : float or None
        A released or declared number of rows; None where the recipe releases none.
    n_features : int
    loss : Loss
        Public bounds of gradients and hessians; its labels are not in it.
    given : Hyperparameters
        What the user has set.
    budget : Fraction or inf
        What is left for the trees.
    accountant : Accountant
        How releases add up.
    neighbours : Neighbours
    """

    epsilon: float
    delta: float
    n_rows: float | None
    n_features: int
    loss: Loss
    given: Hyperparameters
    budget: PrivacyCost
    accountant: Accountant
    neighbours: Neighbours


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything a recipe's strategies are built from.

    Parameters
    ----------
    hyper : Hyperparameters
        Filled in.
    loss : Loss
    binner : Binner
        Public or released bins.
    facts : PublicFacts
    public : numpy.random.Generator
        Public randomness.
    n_threads : int
    """

    hyper: Hyperparameters
    loss: Loss
    binner: Binner
    facts: PublicFacts
    public: np.random.Generator
    n_threads: int

    @property
    def constraints(self) -> Constraints:
        """What the model may not do."""
        hyper = self.hyper
        if hyper.monotone_constraints is None and hyper.interaction_constraints is None:
            return Constraints()
        return hyper.constraints(self.binner.feature_names)


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An algorithm as strategies of the engine; an entry of the registry.

    Parameters
    ----------
    name : str
        What users write in ``recipe=``.
    used : frozenset of str
        Hyper-parameters that mean something to the algorithm; setting another one is refused.
    max_bin : int
        Bins of a numeric feature where the user sets none.
    accountant : callable
        ``accountant(epsilon, delta)``: how releases add up.
    defaults : callable
        ``defaults(facts)``: the rule for values that the user leaves open.
    build : callable
        ``build(setting)``: the strategies.
    least_epsilon : callable
        ``least_epsilon(hyper, delta, task, neighbours)``: below it some release could not be
        drawn exactly; a fit refuses it before anything is charged. ``hyper`` is what the user
        has set.
    start_share : callable, optional
        ``start_share(loss, delta)``: part of the training budget for a released start value and
        row count; without it scores start from a public constant.
    bins_share : callable, optional
        ``bins_share(delta)``: part of the training budget for released bins; 0 keeps equal bins.
    planned : callable, optional
        ``planned(facts)``: noise, sensitivity and number of the releases of trees, for a check
        before anything is drawn that they can be accounted for; where noise may be Gaussian.
    useful_budget : callable, optional
        ``useful_budget(hyper, loss, neighbours)``: the training budget below which the noise of a
        leaf is larger than all that a leaf can say, however many rows there are; a fit then warns.
    multiclass : bool, default=False
        Whether rounds may have a tree for each of several classes.
    objectives : bool, default=False
        Whether it learns every objective, with weights and initial scores.
    """

    name: str
    used: frozenset[str]
    max_bin: int
    accountant: Callable[[float, float], Accountant]
    defaults: Callable[[PublicFacts], Hyperparameters]
    build: Callable[[Setting], BoostingLoop]
    least_epsilon: Callable[[Hyperparameters, float, str, Neighbours], float]
    start_share: Callable[[Loss, float], float] | None = None
    bins_share: Callable[[float], float] | None = None
    planned: Callable[[PublicFacts], tuple[Noise, Sensitivity, int]] | None = None
    useful_budget: Callable[[Hyperparameters, Loss, Neighbours], float] | None = None
    multiclass: bool = False
    objectives: bool = False

    def check(self, request: Hyperparameters, owner: str) -> None:
        """Raise for a value that the algorithm would ignore."""
        for name, value in request.given().items():
            if name not in self.used and name not in CONSTRAINTS:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {owner} has no meaning for recipe="
                    f"{self.name!r}. Got {value!r}; leave it at None."
                )


class Registry:
    """Recipes by name."""

    def __init__(self, *recipes: Recipe) -> None:
        self._recipes = {recipe.name: recipe for recipe in recipes}

    @property
    def names(self) -> tuple[str, ...]:
        """Names that ``recipe=`` accepts."""
        return tuple(self._recipes)

    def find(self, name: Any, owner: str) -> Recipe:
        """Return the recipe of this name, or raise with the names there are.

        A ``Recipe`` is returned as it is: whoever makes one answers for its guarantee.
        """
        if isinstance(name, Recipe):
            return name
        if not isinstance(name, str) or name not in self._recipes:
            raise refuse("recipe", owner, "one of " + ", ".join(map(repr, self.names)), name)
        return self._recipes[name]
