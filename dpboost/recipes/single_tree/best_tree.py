"""The default single tree: few levels, one private choice for each, leaves shrunk by their noise.

It combines parts of the other recipes: all thresholds and single categories are candidates of one
choice, no budget is used for sizes or stopping, and a small leaf has the value of its parent, so
the depth hardly matters. A classification tree counts classes and splits by impurity; a regression
tree sums labels and splits by the gain of DPBoost.

With delta > 0 releases add up in zCDP: counts and sums get Gaussian noise, and the charge of the
exponential mechanism is a quarter of that of permute-and-flip. Choices are not Gaussian releases,
so Gaussian accounting does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree, ShrunkenProbability, release_leaf_counts
from dpboost.growing.class_selectors import JointChoice, SplitSelector
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.label_leaves import ShrunkenMean, release_label_sums
from dpboost.growing.monotone_leaves import MonotoneLeaves
from dpboost.growing.selectors import GainChoice
from dpboost.growing.single_tree_growth import ClassResponse, NumberResponse, SingleTree
from dpboost.losses import GRADIENT_ONE
from dpboost.privacy.accounting import Accountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import PrivacyCost, split_tree
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.bound import ContributionBound
from dpboost.privacy.sensitivity.impurities import LEAST_ROWS, MOST_ROWS
from dpboost.recipes.recipe import (
    CRITERIA,
    DIRECTIONS,
    Given,
    Parameters,
    PublicFacts,
    Recipe,
    Setting,
    Terms,
)
from dpboost.recipes.single_tree.least_epsilon import least_of_parts
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.class_queries import MOST_CLASSES
from dpboost.rows.row_attributes import WEIGHT_ONE
from dpboost.trees.gain import GradientGain
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates

# Below it, over the root of the leaves' part, the Gaussian noise of some release would be wider
# than its sampler draws, for any delta of at least 1e-15.
LEAST_EPSILON_OF_ZCDP = 0.02


@dataclass(frozen=True, kw_only=True)
class ClassTreeParameters(Parameters):
    """Parameters of a classification tree."""

    max_depth: int
    criterion: str
    max_bin: int
    selection: str
    leaf_share: float


@dataclass(frozen=True, kw_only=True)
class NumberTreeParameters(Parameters):
    """Parameters of a regression tree."""

    max_depth: int
    reg_lambda: float
    max_bin: int
    selection: str
    leaf_share: float
    hessian_share: float
    step_prior: float


@dataclass(frozen=True, kw_only=True)
class DepthWiseBudgets:
    """Split every node of every level, down to a public depth.

    Privacy
    -------
    One array of splits a level and one of leaf counts. A row is in one node of each level and in
    one leaf: levels and leaves add up, nodes of a level do not.
    """

    selector: SplitSelector
    max_depth: int
    #: Part of the budget for the leaves; the levels share the rest equally.
    leaf_share: Fraction
    #: Clip of the impurities of all nodes.
    row_limit: int
    #: ``release_leaves(rows, leaves, budget=..., ledger=...)``: numbers of all leaves, and the
    #: standard deviation of their noise.
    release_leaves: Callable[..., tuple[NDArray[np.float64], float]] = release_leaf_counts

    def learn(self, rows: Any, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        levels = iter(shares.levels)
        candidates = rows.candidates

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            level = next(levels, None)
            if level is None:
                return Splits.none()
            chosen = self.selector.choose(
                rows,
                nodes,
                np.full(len(nodes), self.row_limit, dtype=np.int64),
                np.ones((len(nodes), candidates.n_features), dtype=bool),
                budget=level,
                ledger=ledger,
            )
            return Splits.of(candidates, nodes, chosen)

        growing = grow(propose_splits, rows.split, DepthWise())
        counts, noise_stddev = self.release_leaves(
            rows, growing.leaves, budget=shares.leaves, ledger=ledger
        )
        return GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev)


def accountant(epsilon: float, delta: float) -> Accountant:
    """Return zCDP when delta > 0, pure epsilon otherwise."""
    return ZCDPAccountant() if delta > 0 else PureAccountant()


def depth_rule(information: float) -> int:
    """Return the depth for a released number of rows times epsilon."""
    steps = (200.0, 1_000.0, 6_000.0, 12_000.0, 24_000.0, 64_000.0, 160_000.0)
    return 1 + sum(information >= step for step in steps)


def defaults(facts: PublicFacts) -> ClassTreeParameters:
    """Return the rules of a tree of classes for everything that the user leaves open."""
    assert facts.n_rows is not None
    return ClassTreeParameters(
        max_depth=depth_rule(facts.n_rows * min(facts.epsilon, 100.0)),
        criterion="gini",
        max_bin=64,
        selection=selection_rule(facts),
        leaf_share=0.2,
    )


def number_defaults(facts: PublicFacts) -> NumberTreeParameters:
    """Return the rules of a tree of numbers for everything that the user leaves open."""
    assert facts.n_rows is not None
    return NumberTreeParameters(
        max_depth=depth_rule(facts.n_rows * min(facts.epsilon, 100.0)),
        reg_lambda=4.0,
        max_bin=64,
        selection=selection_rule(facts),
        leaf_share=0.2,
        hessian_share=0.3,
        step_prior=0.2,
    )


def selection_rule(facts: PublicFacts) -> str:
    """Return the mechanism of choices that is the better one in the accountant's unit."""
    return "permute_and_flip" if facts.accountant.privacy_measure == "epsilon" else "exponential"


def build(setting: Setting) -> SingleTree:
    """Our single tree of classes."""
    hyper: ClassTreeParameters = setting.hyper
    facts = setting.facts
    assert facts.n_rows is not None
    learner = DepthWiseBudgets(
        selector=JointChoice(measure=CRITERIA[hyper.criterion], selection=hyper.selection),
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        row_limit=max(LEAST_ROWS, min(int(facts.n_rows) + 1, MOST_ROWS)),
    )
    response = ClassResponse(
        n_classes=facts.n_classes,
        probability=ShrunkenProbability(),
        weighted=setting.weighted,
        monotone=MonotoneLeaves.of(setting.constraints.monotone, setting.binner),
    )
    return SingleTree(learner=learner, response=response, candidates=Candidates.of(setting.binner))


def build_numbers(setting: Setting) -> SingleTree:
    """Our single tree of numbers."""
    hyper: NumberTreeParameters = setting.hyper
    one = ContributionBound.single(GRADIENT_ONE)
    scale = SumScale(
        gradient_limit=1.0,
        gradient_reach=one,
        hessian_reach=ContributionBound.single(WEIGHT_ONE),
        hessian_unit=1 / WEIGHT_ONE,
        hessian_share=hyper.hessian_share,
        norm="l1" if setting.facts.accountant.privacy_measure == "epsilon" else "l2",
    )
    criterion = GradientGain(
        hessian=1.0,
        reg_lambda=hyper.reg_lambda,
        gradient_limit=GRADIENT_ONE,
        n_threads=setting.n_threads,
        row_units=WEIGHT_ONE,
    )
    learner = DepthWiseBudgets(
        selector=GainChoice(criterion=criterion, selection=hyper.selection),
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        row_limit=MOST_ROWS,
        release_leaves=partial(release_label_sums, scale=scale),
    )
    response = NumberResponse(
        mean=ShrunkenMean(prior=hyper.step_prior),
        monotone=MonotoneLeaves.of(setting.constraints.monotone, setting.binner),
    )
    return SingleTree(learner=learner, response=response, candidates=Candidates.of(setting.binner))


def parts(given: Given, n_features: int) -> float:
    """Return into how many parts the smallest release divides the budget."""
    depth, leaf_share = given.get("max_depth", 12), given.get("leaf_share", 0.2)
    return float(1.1 * max(depth, 1) / (1 - leaf_share))


def least_epsilon(given: Given, terms: Terms) -> float:
    """Return the least epsilon for which every release can be drawn exactly."""
    if terms.delta > 0:
        return LEAST_EPSILON_OF_ZCDP / math.sqrt(given.get("leaf_share", 0.2))
    return least_of_parts(parts, histograms=False)(given, terms)


def least_epsilon_of_numbers(given: Given, terms: Terms) -> float:
    """Return the least epsilon for which every release can be drawn exactly.

    A gain has 2^18 units and two, and a row 2^20 in the sums of a leaf, with what is added for
    the number of rows.
    """
    leaf_share, rows_part = given.get("leaf_share", 0.2), given.get("hessian_share", 0.3)
    if terms.delta > 0:
        return LEAST_EPSILON_OF_ZCDP / math.sqrt(leaf_share * (1 - rows_part))
    of_leaves = 1.3 * 2**20 / (1 - rows_part) / leaf_share
    of_splits = 1.2 * (2**18 + 2) * parts(given, terms.n_features)
    return float(terms.neighbors.rows * max(of_splits, of_leaves) / 2.0**32)


BEST_TREE = Recipe(
    name="best",
    parameters=ClassTreeParameters,
    choices={"criterion": ("gini", "max", "entropy", "root_gini")},
    max_bin=64,
    accountant=accountant,
    defaults=defaults,
    build=build,
    least_epsilon=least_epsilon,
    constraints=DIRECTIONS,
    tasks=frozenset({"classification"}),
    single=True,
    rows_share=Fraction(1, 50),
    most_classes=MOST_CLASSES,
    weights=True,
)

BEST_NUMBER_TREE = replace(
    BEST_TREE,
    parameters=NumberTreeParameters,
    choices={},
    defaults=number_defaults,
    build=build_numbers,
    least_epsilon=least_epsilon_of_numbers,
    tasks=frozenset({"regression"}),
    most_classes=0,
)
