"""A recipe of single trees: strategies over the one engine, built from public facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Protocol

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
from dpboost.growing.class_leaves import ClassProbability, GrownTree
from dpboost.growing.monotone_leaves import check_ordered
from dpboost.growing.selectors import SELECTIONS
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.constraints import Constraints
from dpboost.trees.split_candidates import Candidates

#: Criteria by the names that users write.
CRITERIA = {
    "entropy": Impurity.ENTROPY,
    "gini": Impurity.GINI,
    "max": Impurity.ERRORS,
    "root_gini": Impurity.ROOT_GINI,
}


@dataclass(frozen=True, kw_only=True)
class TreeHyperparameters:
    """What the user has set; ``None`` leaves a value to the recipe's rule.

    Parameters
    ----------
    max_depth : int, optional
        Levels of splits, 0 to 12.
    criterion : {"entropy", "gini", "max", "root_gini"}, optional
        Impurity that splits lower.
    max_bin : int, optional
        Bins of a numeric feature, 2 to 255.
    selection : {"exponential", "permute_and_flip"}, optional
        Mechanism of the split choice.
    leaf_share : float, optional
        Part of the budget for the class counts of the leaves, in (0, 1).
    n_splits : int, optional
        Splits in all.
    depth_budget : {"decay", "uniform"}, optional
        Whether a level gets half of what the one above it gets, or as much.
    target_error : float, optional
        Nodes of fewer than this part of the rows, divided by ``n_splits``, stay leaves.
    least_gain : float, optional
        Splits of no larger released gain a row are not made.
    threshold_draws : {"joint", "per_feature"}, optional
        One choice among all splits, or one for each numeric feature and one among features.
    prune : bool, optional
        Whether subtrees are cut by their released counts.
    least_rows : int, optional
        Nodes of fewer rows by their released histograms stay leaves.
    bounds_share : float, optional
        Part of a node's budget for bounds of what each feature can do, in (0, 1).
    monotone_constraints : any, optional
        As the user gave them; LightGBM's text by positions once the columns are known. Every
        recipe takes them: leaves are brought into order after their release.
    """

    max_depth: int | None = None
    criterion: str | None = None
    max_bin: int | None = None
    selection: str | None = None
    leaf_share: float | None = None
    n_splits: int | None = None
    depth_budget: str | None = None
    target_error: float | None = None
    least_gain: float | None = None
    threshold_draws: str | None = None
    prune: bool | None = None
    least_rows: int | None = None
    bounds_share: float | None = None
    monotone_constraints: Any = None

    def validate(self, owner: str) -> None:
        """Raise ``InvalidParameterError`` for a value outside its interval."""
        integers = {
            "max_depth": (0, 12),
            "max_bin": (2, 255),
            "n_splits": (1, 4095),
            "least_rows": (1, 2**31),
        }
        for name, (low, high) in integers.items():
            value = getattr(self, name)
            if value is not None:
                check_integer(name, owner, value, low=low, high=high)
        for name in ("leaf_share", "bounds_share"):
            if getattr(self, name) is not None:
                check_real(name, owner, getattr(self, name), low=0.001, high=0.999)
        if self.target_error is not None:
            check_real("target_error", owner, self.target_error, low=0.0, high=1.0)
        if self.least_gain is not None:
            check_real("least_gain", owner, self.least_gain, low=0.0, high=1.0)
        choices = {
            "selection": tuple(SELECTIONS),
            "depth_budget": ("decay", "uniform"),
            "threshold_draws": ("joint", "per_feature"),
        }
        for name, among in choices.items():
            if getattr(self, name) is not None:
                check_choice(name, owner, getattr(self, name), among)
        if self.criterion == "gain_ratio":
            raise InvalidParameterError(
                f"The 'criterion' parameter of {owner} cannot be 'gain_ratio': its split "
                "information may come as near to zero as it likes, so no bound holds for what "
                "one row changes. Use 'max', 'gini' or 'entropy'."
            )
        if self.criterion is not None:
            check_choice("criterion", owner, self.criterion, tuple(CRITERIA))
        if self.prune is not None and not isinstance(self.prune, bool):
            raise refuse("prune", owner, "True, False or None", self.prune)

    def on_columns(
        self, names: Sequence[str], is_categorical: NDArray[np.bool_], owner: str
    ) -> TreeHyperparameters:
        """Return these values with constraints by the positions of columns.

        Raises
        ------
        InvalidParameterError
            For constraints that do not fit the columns.
        """
        found = Constraints.of(self.monotone_constraints, None, names, owner)
        check_ordered(found.monotone, is_categorical, names)
        return replace(self, monotone_constraints=found.monotone_text)

    def filled(self, defaults: TreeHyperparameters) -> TreeHyperparameters:
        """Return these values with ``defaults`` in the place of every None."""
        values = {}
        for field in fields(self):
            own = getattr(self, field.name)
            values[field.name] = getattr(defaults, field.name) if own is None else own
        return TreeHyperparameters(**values)

    def given(self) -> dict[str, bool | int | float | str]:
        """Return the values that are set, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class TreeFacts:
    """What a recipe's rules may look at.

    Parameters
    ----------
    epsilon : float
        Budget of the fit.
    neighbours : Neighbours
    n_rows : float or None
        A released number of rows; None where the recipe releases none before growth.
    max_rows : int or None
        Declared.
    n_classes : int
        Of the public list.
    candidates : Candidates
        The public set of splits.
    """

    epsilon: float
    neighbours: Neighbours
    n_rows: float | None
    max_rows: int | None
    n_classes: int
    candidates: Candidates


class TreeLearner(Protocol):
    """Grows one tree through the gate."""

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree within the budget."""


@dataclass(frozen=True, kw_only=True)
class TreeRecipe:
    """An algorithm for one tree as strategies of the engine.

    Parameters
    ----------
    name : str
        What users write in ``recipe=``.
    criteria : tuple of str
        Criteria that the algorithm knows; the first one is its default.
    used : frozenset of str
        Hyper-parameters that mean something to the algorithm; setting another one is refused.
    max_bin : int
        Bins of a numeric feature where the user sets none.
    defaults : callable
        ``defaults(facts)``: the rule for values that the user leaves open.
    candidates : callable
        ``candidates(binner)``: the public set of splits.
    build : callable
        ``build(hyper, facts)``: the strategies, for filled hyper-parameters.
    parts : callable
        ``parts(hyper, n_features)``: into how many parts the smallest release divides the budget
        at most, for the least epsilon that can be drawn exactly.
    probability : ClassProbability
        From released counts to class probabilities.
    rows_share : Fraction
        Part of the training budget for a released number of rows; 0 for none.
    sums_alone : bool
        Whether it asks for released sums and for released choices of each place only, so that
        the rows may lie at parties.
    """

    name: str
    criteria: tuple[str, ...]
    used: frozenset[str]
    max_bin: int
    defaults: Callable[[TreeFacts], TreeHyperparameters]
    candidates: Callable[[Binner], Candidates]
    build: Callable[[TreeHyperparameters, TreeFacts], TreeLearner]
    parts: Callable[[TreeHyperparameters, int], float]
    probability: ClassProbability
    rows_share: Fraction = Fraction(0)
    sums_alone: bool = False

    def check(self, request: TreeHyperparameters, owner: str) -> None:
        """Raise for a value that the algorithm would ignore or does not know."""
        for name, value in request.given().items():
            if name not in self.used and name != "monotone_constraints":
                raise InvalidParameterError(
                    f"The {name!r} parameter of {owner} has no meaning for recipe="
                    f"{self.name!r}. Got {value!r}; leave it at None."
                )
        if request.criterion is not None and request.criterion not in self.criteria:
            raise refuse(
                "criterion",
                owner,
                f"one of {', '.join(map(repr, self.criteria))} for recipe={self.name!r}",
                request.criterion,
            )

    def least_epsilon(
        self, hyper: TreeHyperparameters, n_features: int, neighbours: Neighbours
    ) -> float:
        """Return the least epsilon for which every release can be drawn exactly.

        The samplers take 32-bit rationals, a score has 2^10 units and two, and a tenth of the
        budget may go elsewhere.
        """
        units = 1026.0 * neighbours.rows
        return 1.2 * units * self.parts(hyper, n_features) / 2.0**32


def find_tree_recipe(recipes: dict[str, TreeRecipe], name: Any, owner: str) -> TreeRecipe:
    """Return the recipe of this name, or raise with the names there are.

    A ``TreeRecipe`` is returned as it is: whoever makes one answers for its guarantee.
    """
    if isinstance(name, TreeRecipe):
        return name
    if not isinstance(name, str) or name not in recipes:
        raise refuse("recipe", owner, "one of " + ", ".join(map(repr, recipes)), name)
    return recipes[name]
