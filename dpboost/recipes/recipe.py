"""A recipe: strategies over the one engine, built from public facts and found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.data.binner import Binner
from dpboost.growing.column_choice import ChoicePlan
from dpboost.growing.growth import Growth
from dpboost.losses import Loss
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.neighbors import Neighbors
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.recipes.hyperparameters import (
    CONSTRAINTS,
    Given,
    Parameters,
    check_given,
    constraints_of,
)
from dpboost.trees.constraints import Constraints

#: Tasks of recipes that learn numbers as well as classes.
BOTH_TASKS = frozenset({"regression", "classification"})


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
    given : mapping
        What the user has set.
    budget : Fraction or inf
        What is left for the trees.
    accountant : Accountant
        How releases add up.
    neighbors : Neighbors
    max_rows : int, optional
        The declared most rows.
    n_classes : int, default=0
        Of the public list; 0 in a regression.
    weighted : bool, default=False
        Whether rows have weights, in units of 2^-16.
    """

    epsilon: float
    delta: float
    n_rows: float | None
    n_features: int
    loss: Loss
    given: Given
    budget: PrivacyCost
    accountant: Accountant
    neighbors: Neighbors
    max_rows: int | None = None
    n_classes: int = 0
    weighted: bool = False


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Everything a recipe's strategies are built from.

    Parameters
    ----------
    hyper : Parameters
        Of the recipe's own kind, all set.
    loss : Loss
    binner : Binner
        Public or released bins.
    facts : PublicFacts
    public : numpy.random.Generator
        Public randomness.
    n_threads : int
    weighted : bool, default=False
        Whether rows have weights.
    choice : ChoicePlan, optional
        Which columns are to be chosen before the first tree.
    """

    hyper: Any
    loss: Loss
    binner: Binner
    facts: PublicFacts
    public: np.random.Generator
    n_threads: int
    weighted: bool = False
    choice: ChoicePlan | None = None

    @property
    def constraints(self) -> Constraints:
        """What the model may not do."""
        return constraints_of(self.hyper.values(), self.binner.feature_names, "fit")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What is known of a fit before any row is counted.

    Parameters
    ----------
    delta : float
    task : {"regression", "classification"}
    neighbors : Neighbors
    n_features : int
    weighted : bool, default=False
        Whether rows have weights, in units of 2^-16.
    """

    delta: float
    task: str
    neighbors: Neighbors
    n_features: int
    weighted: bool = False


def _one_ensemble(hyper: Any) -> int:
    return 1


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """An algorithm as strategies of the engine; an entry of the registry.

    What a recipe can do it declares here; nothing is guessed from its name or its parts.

    Parameters
    ----------
    name : str
        What users write in ``recipe=``.
    parameters : type
        A kind of ``Parameters``: the values that mean something to the algorithm. Setting
        another one is refused.
    max_bin : int
        Bins of a numeric feature where the user sets none.
    accountant : callable
        ``accountant(epsilon, delta)``: how releases add up.
    defaults : callable
        ``defaults(facts)``: the rule for values that the user leaves open; returns
        ``parameters``.
    build : callable
        ``build(setting)``: the strategies.
    least_epsilon : callable
        ``least_epsilon(given, terms)``: below it some release could not be drawn exactly; a fit
        refuses it before anything is charged.
    constraints : frozenset of str
        What the user may forbid a model, beyond ``parameters``.
    tasks : frozenset of {"regression", "classification"}
        What it learns.
    choices : mapping, optional
        Values of parameters that the algorithm knows, where these are not all there are.
    single : bool, default=False
        Whether it grows one tree, whose released counts people read.
    start_share : callable, optional
        ``start_share(loss, delta)``: part of the training budget for a released start value and
        row count; without it scores start from a public constant.
    rows_share : Fraction or float, default=0
        Part of the training budget for a released number of rows alone, without a start value.
    bins_share : callable, optional
        ``bins_share(delta)``: part of the training budget for released bins; 0 keeps equal bins.
    columns_to_choose : callable, optional
        ``columns_to_choose(facts)``: how many columns are chosen before the first tree; None for
        none. Where rows show exact sums to the gate.
    planned : callable, optional
        ``planned(facts)``: noise, sensitivity and number of the releases of trees, for a check
        before anything is drawn that they can be accounted for; where noise may be Gaussian.
    useful_budget : callable, optional
        ``useful_budget(hyper, loss, neighbors)``: the training budget below which the noise of a
        leaf is larger than all that a leaf can say, however many rows there are; a fit then warns.
    without_facts : callable, optional
        ``without_facts(given)``: what ``defaults`` begins with before anything is released, with
        what the user has set. Values that divide the budget stay as they are there. Where a
        recipe of boosting needs exact sums.
    n_ensembles : callable, optional
        ``n_ensembles(hyper)``: ensembles in sequence, among which the budget is divided.
    most_depth : int, default=12
        Levels of splits that a user may ask for; a complete tree of one level more has twice as
        many leaves.
    most_classes : int, default=2
        How many classes it can learn.
    objectives : bool, default=False
        Whether it learns every objective, with initial scores and weights of classes.
    weights : bool, default=False
        Whether rows may have weights.
    needs_exact_sums : bool, default=True
        Whether it computes something that does not add up over sites, so that one process has
        to be trusted with sums without noise. The others also run where rows lie at parties.
    """

    name: str
    parameters: type[Parameters]
    max_bin: int
    accountant: Callable[[float, float], Accountant]
    defaults: Callable[[PublicFacts], Parameters]
    build: Callable[[Setting], Growth]
    least_epsilon: Callable[[Given, Terms], float]
    constraints: frozenset[str] = CONSTRAINTS
    tasks: frozenset[str] = BOTH_TASKS
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    single: bool = False
    start_share: Callable[[Loss, float], float] | None = None
    rows_share: Any = 0
    bins_share: Callable[[float], float] | None = None
    columns_to_choose: Callable[[PublicFacts], ChoicePlan | None] | None = None
    planned: Callable[[PublicFacts], tuple[Noise, Sensitivity, int]] | None = None
    useful_budget: Callable[[Any, Loss, Neighbors], float] | None = None
    without_facts: Callable[[Given], Parameters] | None = None
    n_ensembles: Callable[[Any], int] = _one_ensemble
    most_depth: int = 12
    most_classes: int = 2
    objectives: bool = False
    weights: bool = False
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
