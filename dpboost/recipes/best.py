"""The default recipe: random partitions, noisy sums, shrinkage by the known noise.

Its parts:

* a tree is a random partition over a few features, so its structure uses no budget;
* a leaf releases its gradient and hessian sums, whose noise does not grow with the number of
  rows, instead of their ratio, whose noise does not shrink with it;
* each step is multiplied by the weight of its posterior mean under the known noise, so deep
  partitions and empty leaves do no harm;
* many trees on all rows under Gaussian composition if delta > 0, few trees under pure epsilon;
  with two classes, the first of these split one feature each;
* start value, row count and bins are released from the same budget, and released gains determine
  which features are split more often.

The leaf sums follow the DP-EBM of Nori et al. (ICML 2021) and the vector release of Maddock et
al. (CCS 2022); free random structure goes back to the latter and to random decision trees.
The rules in `best_rules` depend on public facts only: epsilon, delta, the released number of rows,
the loss.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.growing.boosting_loop import (
    BoostingLoop,
    EnsembleOfEnsembles,
    Schedule,
    Sequential,
    bagged,
)
from dpboost.growing.column_choice import ColumnChoice
from dpboost.growing.feature_sampler import FeatureQueue
from dpboost.growing.linear_start import N_STEPS, LinearStart
from dpboost.growing.listed_parts import ListedParts
from dpboost.growing.partition_learner import (
    LearnedPrior,
    PartitionLearner,
    SignalRate,
)
from dpboost.growing.pooled_shapes import PooledShapes
from dpboost.growing.refit_learner import RefitLearner, partitions_of
from dpboost.growing.shrunken_leaves import LeafRules, ShrunkenLeaf
from dpboost.losses import (
    GRADIENT_ONE,
    LabelRangeLoss,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from dpboost.losses.softmax import MOST_CLASSES
from dpboost.privacy.accounting import (
    Accountant,
    GDPAccountant,
    PureAccountant,
    UnsupportedReleaseError,
    ZCDPAccountant,
)
from dpboost.privacy.mechanisms import Noise
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.recipes.best_rules import (
    CLIP_OF_LINEAR,
    CLIP_OF_SPREAD,
    EPSILON_OF_ROUNDS,
    GAUSSIAN_ROUNDS,
    LEAST_EPSILON,
    LEAST_PURE_EPSILON,
    MOST_LINEAR,
    MOST_SHARE_OF_LINEAR,
    PRIOR_OF_SPREAD,
    PURE_ROUNDS,
    RATE_OF_ROUNDS,
    ROUNDS_OF_LINEAR,
    clip_of_choice,
    columns_to_choose,
    rules_of,
    score_by_chance,
    share_of_linear,
)
from dpboost.recipes.recipe import (
    BoostingParameters,
    Given,
    PublicFacts,
    Recipe,
    Setting,
    Terms,
    contributions_of,
    step_limit,
)
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.column_scores import MOST_CELLS, cells_of
from dpboost.rows.linear_sums import GradientMoments, LinearColumns, SecondMoments
from dpboost.trees.random_partition import MAX_FEATURES, PartitionGrid
from dpboost.trees.tree import WEIGHT_UNITS, SlopeNoise, Tree

# Beyond this epsilon a Gaussian release may need less noise than the lattice allows.
LARGEST_GDP_EPSILON = 10.0
# A leaf is regularized by the standard deviation of the noise of its hessian sum, within these.
LEAST_LAMBDA, MOST_LAMBDA = 5.0, 100.0
# The part of the rounds that may cut one feature each before others follow.
MOST_ALONE = 0.6


@dataclass(frozen=True, kw_only=True)
class BestParameters(BoostingParameters):
    """Parameters of the recipe.

    Privacy
    -------
    Rules of leaves are post-processing of released sums. Factors multiply released gains.
    """

    n_estimators: int
    learning_rate: float
    max_depth: int
    reg_lambda: float
    max_bin: int
    trees_per_ensemble: int
    features_per_tree: int
    gradient_clip: float
    step_prior: float
    hessian_share: float
    #: LightGBM's, over released sums: see `LeafRules`.
    path_smooth: float | None = None
    min_sum_hessian_in_leaf: float | None = None
    #: LightGBM's factors of what the features show, by the positions of columns.
    feature_contri: str | None = None


def accountant(epsilon: float, delta: float) -> Accountant:
    """Return Gaussian accounting when delta > 0, pure epsilon otherwise."""
    if delta == 0:
        return PureAccountant()
    if LARGEST_GDP_EPSILON < epsilon < math.inf:
        return ZCDPAccountant()
    return GDPAccountant()


def start_share(loss: Loss, delta: float) -> float:
    """Return the part of the budget that the start value and the row count get."""
    if not isinstance(loss, LabelRangeLoss):
        return 0.01
    return 0.03 if delta > 0 else 0.05


def bins_share(_delta: float) -> float:
    """Return the part of the budget that the bins get."""
    return 0.05


def defaults(facts: PublicFacts) -> BestParameters:
    """Return the rules for everything that the user leaves open."""
    rules = _rules(facts)
    if "reg_lambda" not in rules:
        used = BestParameters(**{"reg_lambda": LEAST_LAMBDA, **rules, **facts.given})
        noise = _hessian_noise(used, facts)
        rules["reg_lambda"] = min(max(noise, LEAST_LAMBDA), MOST_LAMBDA)
    return BestParameters(**rules)


def _hessian_noise(hyper: BestParameters, facts: PublicFacts) -> float:
    """Return the standard deviation of the noise of a leaf's hessian sum; a public number."""
    noise, bound, _ = _leaf_releases(hyper, facts)
    scale = _sum_scale(hyper, facts)
    measured = facts.loss.n_outputs if scale.one_hessian else 1
    return noise.noise_stddev(bound) * scale.hessian_unit_value / math.sqrt(measured)


def planned(facts: PublicFacts) -> tuple[Noise, Sensitivity, int]:
    """Return noise, sensitivity and number of the releases of leaf sums; public numbers."""
    return _planned(_rules(facts), facts)


def _planned(rules: dict[str, Any], facts: PublicFacts) -> tuple[Noise, Sensitivity, int]:
    """Return noise, sensitivity and number of the releases of leaf sums by these rules."""
    used = BestParameters(**{"reg_lambda": LEAST_LAMBDA, **rules, **facts.given})
    return _leaf_releases(used, facts)


def _leaf_releases(hyper: BestParameters, facts: PublicFacts) -> tuple[Noise, Sensitivity, int]:
    n_ensembles = len(_schedule(hyper).plan(hyper.n_estimators))
    noise = facts.accountant.noise(facts.budget * Fraction(1, n_ensembles))
    l1, l2 = _sum_scale(hyper, facts).bounds(facts.neighbors)
    return noise, l1 if noise.needs == "l1" else l2, n_ensembles


def _sum_scale(hyper: BestParameters, facts: PublicFacts) -> SumScale:
    """Return how one release is divided between gradient and hessian sums."""
    return SumScale.of(
        facts.loss,
        gradient_limit=hyper.gradient_clip,
        hessian_share=hyper.hessian_share,
        norm="l2" if facts.delta > 0 else "l1",
    )


def _schedule(hyper: BestParameters) -> Schedule:
    """Return how rounds share rows."""
    part = bagged(hyper.bagging_fraction)
    if hyper.trees_per_ensemble > 1:
        return EnsembleOfEnsembles(
            trees_per_ensemble=hyper.trees_per_ensemble,
            learning_rate=hyper.learning_rate,
            part=part,
        )
    return Sequential(part=part)


def _rules(facts: PublicFacts) -> dict[str, Any]:
    """Return the rules for all, or for all but the regularization, which their noise decides."""
    names = BestParameters.names()
    rules = {name: value for name, value in rules_of(facts).items() if name in names}
    loss = facts.loss
    if not isinstance(loss, SquaredLoss) or loss.spread is None:
        return _drawable(rules, facts)
    rules["step_prior"] = PRIOR_OF_SPREAD * rules["step_prior"] * loss.spread
    near = rules | {"gradient_clip": CLIP_OF_SPREAD * rules["gradient_clip"] * loss.spread}
    near = _drawable(near, facts)
    noise, bound, _ = _planned(near, facts)
    try:
        facts.accountant.cost(noise, bound)
    except UnsupportedReleaseError:
        # Few trees of a large budget; whether they may have the wider clip was checked before.
        return rules
    return near


def _drawable(rules: dict[str, Any], facts: PublicFacts) -> dict[str, Any]:
    """Return the rules with no more rounds than can be drawn, unless the user gives a number.

    The noise of a round grows with their number. Fewer rounds have larger steps.
    """
    choice = columns_to_choose(facts)
    # A choice of columns and a linear model take their parts before the trees.
    before = (choice.share if choice else Fraction(0)) + share_of_linear(facts)
    left = replace(facts, budget=facts.budget * (1 - before))

    def too_many(n_rounds: int) -> bool:
        noise, bound, _ = _planned(rules | {"n_estimators": n_rounds}, left)
        try:
            noise.parameters(bound)
        except InvalidParameterError:
            return True
        return False

    usual: int = rules["n_estimators"]
    if "n_estimators" in facts.given or not too_many(usual):
        return rules
    n_rounds = max(1, bisect_left(range(1, usual), True, key=too_many))
    rate = max(rules["learning_rate"], RATE_OF_ROUNDS(n_rounds))
    return rules | {"n_estimators": n_rounds, "learning_rate": rate}


def build(setting: Setting) -> BoostingLoop:
    """Build the strategies for filled hyper-parameters."""
    hyper, facts, binner = setting.hyper, setting.facts, setting.binner
    rules = rules_of(facts)
    nominal = binner.is_categorical * np.uint8(rules["category_cuts"])
    grid = PartitionGrid(n_bins=binner.n_bins, is_nominal=nominal)
    few = binner.n_features <= MOST_ALONE * hyper.n_estimators
    begins_alone = few and rules["depth_alone"] > 0
    orders = rules["orders_categories"] and (facts.delta > 0 or begins_alone)
    constraints = setting.constraints
    factors = contributions_of(hyper.values(), binner.n_features, "fit")
    allowed = constraints.allowed(binner.n_features)
    if factors is not None:
        allowed &= np.array(factors) > 0
    leaf = _leaf(hyper, facts.loss)
    queue = FeatureQueue(
        binner.n_features,
        rules["preference"],
        setting.public,
        groups=constraints.groups,
        paired=np.array(constraints.monotone) != 0 if constraints.monotone else None,
        alone=rules["monotone_alone"],
        fraction=1.0 if hyper.feature_fraction is None else hyper.feature_fraction,
        factors=factors,
        again=rules["sets_again"],
    )
    listed = None
    if binner.is_categorical.any():
        listed = ListedParts(n_bins=binner.n_bins, is_nominal=binner.is_categorical)
    to_order = np.flatnonzero(allowed & (binner.is_categorical == 1) & (binner.n_bins > 2))
    learner = PartitionLearner(
        loss=setting.loss,
        grid=grid,
        queue=queue,
        scale=_sum_scale(hyper, facts),
        leaf=leaf,
        features_per_tree=min(
            hyper.features_per_tree, hyper.max_interaction or MAX_FEATURES, binner.n_features
        ),
        depth=hyper.max_depth,
        learning_rate=hyper.learning_rate,
        to_order=to_order[::-1].tolist() if orders else [],
        public=setting.public,
        rules=_rules_of_leaves(hyper, leaf),
        depth_alone=min(rules["depth_alone"], hyper.max_depth) if begins_alone else 0,
        shallow=0.0 if "max_depth" in facts.given else rules["shallow"],
        signal=_signal(facts, rules["signal_doubt"]),
        prior=LearnedPrior() if facts.continued else None,
        listed=listed,
    )
    start, share = None, share_of_linear(facts)
    if share and _drawable_start(share, hyper, facts):
        place = binner, setting.masses, lambda: queue.to_begin_with
        start = _start(share, hyper, setting.loss, *place)
    order = None
    if constraints.monotone:
        noise = WEIGHT_UNITS * _hessian_noise(hyper, facts)
        order = PooledShapes.of(constraints.monotone, binner, noise)
    return BoostingLoop(
        n_rounds=hyper.n_estimators,
        schedule=_schedule(hyper),
        learner=learner,
        order=order,
        choice=_choice(setting, np.flatnonzero(allowed), queue),
        start=start,
        listed=listed,
        stretch=1.0 if _keeps_steps(setting) else rules["stretch"],
    )


def _keeps_steps(setting: Setting) -> bool:
    """Return whether a model's leaves must be as large as those that the rows train on.

    So where the user sets the size of steps, and where later fits or corrections of sums go by the
    scores of the rows.
    """
    facts = setting.facts
    by_user = {"learning_rate", "max_delta_step"} & facts.given.keys()
    return bool(setting.constraints.monotone or facts.continued or by_user)


def _drawable_start(share: Fraction, hyper: BestParameters, facts: PublicFacts) -> bool:
    """Return whether the noise of a linear model can be drawn and accounted for.

    Whatever its number of columns is, which a choice decides.
    """
    noise = facts.accountant.noise(facts.budget * share / (2 * N_STEPS))
    for n_columns in (2, min(MOST_LINEAR, facts.n_features)):
        columns = np.arange(n_columns, dtype=np.int32)
        design = LinearColumns.of_length_one(columns, np.zeros((n_columns, 256), dtype=np.int64))
        for query in (
            SecondMoments(design=design, loss=facts.loss),
            GradientMoments(design=design, loss=facts.loss, gradient_limit=_limit_of_linear(hyper)),
        ):
            try:
                facts.accountant.cost(noise, query.bounds(facts.neighbors)[0])
            except InvalidParameterError:
                return False
    return True


def _limit_of_linear(hyper: BestParameters) -> float:
    """Return the bound of gradients of the linear model."""
    return min(1.0, CLIP_OF_LINEAR * hyper.gradient_clip)


def _start(
    share: Fraction,
    hyper: BestParameters,
    loss: Loss,
    binner: Binner,
    masses: Mapping[int, NDArray[np.float64]],
    first: Callable[[], NDArray[np.integer]],
) -> LinearStart:
    """Return the linear model that comes before the first round."""
    return LinearStart(
        first=first,
        most_columns=min(MOST_LINEAR, int(ROUNDS_OF_LINEAR * hyper.n_estimators)),
        binner=binner,
        masses=masses,
        loss=loss,
        share=share,
        gradient_limit=_limit_of_linear(hyper),
        prior=hyper.gradient_clip,
    )


def _choice(
    setting: Setting, allowed: NDArray[np.integer], queue: FeatureQueue
) -> ColumnChoice | None:
    """Return what chooses columns before the first tree."""
    if setting.choice is None:
        return None
    facts, loss = setting.facts, setting.facts.loss
    assert facts.n_rows is not None
    clip = clip_of_choice(loss, setting.hyper.gradient_clip)
    return ColumnChoice(
        plan=setting.choice,
        cells=cells_of(setting.binner),
        gradient_limit=clip,
        by_chance=round(score_by_chance(loss, clip, facts.n_rows, MOST_CELLS) * GRADIENT_ONE),
        allowed=allowed,
        queue=queue,
    )


def _signal(facts: PublicFacts, doubt: float | None) -> SignalRate | None:
    """Return what makes the rule's steps smaller where two classes can hardly be distinguished."""
    if doubt is None or "learning_rate" in facts.given:
        return None
    assert facts.n_rows is not None
    assert isinstance(facts.loss, LogisticLoss)
    return SignalRate.of_classes(facts.n_rows, 1 / (1 + math.exp(-facts.loss.start)), doubt)


def _leaf(hyper: BestParameters, loss: Loss) -> ShrunkenLeaf:
    """Return what makes steps of sums."""
    leaf = ShrunkenLeaf(reg_lambda=hyper.reg_lambda, prior=hyper.step_prior)
    return replace(leaf, largest=min(leaf.largest, step_limit(hyper.max_delta_step, loss)))


def _rules_of_leaves(hyper: BestParameters, leaf: ShrunkenLeaf) -> LeafRules | None:
    return LeafRules.of(leaf, hyper.path_smooth, hyper.min_sum_hessian_in_leaf)


def build_refit(
    hyper: BestParameters,
    facts: PublicFacts,
    trees: Sequence[Tree],
    binner: Binner,
    masses: Mapping[int, NDArray[np.float64]],
) -> BoostingLoop:
    """Build a loop that gives released trees of this recipe new leaves.

    Trees, bins, rows in the bins (``masses``) and ``hyper`` are of the fit that made the trees,
    except that the regularization follows the noise of this one, of which ``facts`` are.
    """
    rate, reg_lambda = hyper.learning_rate, hyper.reg_lambda
    n_outputs = facts.loss.n_outputs
    hyper = replace(hyper, n_estimators=len(trees) // n_outputs)
    if "reg_lambda" not in facts.given and facts.delta > 0:
        reg_lambda = min(max(_hessian_noise(hyper, facts), LEAST_LAMBDA), MOST_LAMBDA)
    leaf = _leaf(replace(hyper, reg_lambda=reg_lambda), facts.loss)
    # The trees of a linear model are learned together again, with Gaussian noise.
    linear = [tree for tree in trees if isinstance(tree.noise, SlopeNoise) and facts.delta > 0]
    start = None
    if linear:
        columns = np.array([tree.feature[0] for tree in linear])
        share = Fraction(f"{MOST_SHARE_OF_LINEAR:.4f}")
        start = _start(share, hyper, facts.loss, binner, masses, lambda: columns)
    learner = RefitLearner(
        loss=facts.loss,
        scale=_sum_scale(hyper, facts),
        leaf=leaf,
        learning_rate=rate,
        partitions=partitions_of(trees[len(linear) :], n_outputs, binner.n_bins),
        rules=_rules_of_leaves(hyper, leaf),
    )
    n_rounds = len(trees) // n_outputs
    return BoostingLoop(n_rounds=n_rounds, schedule=_schedule(hyper), learner=learner, start=start)


def least_epsilon(given: Given, terms: Terms) -> float:
    """Return the least epsilon for which every release can be drawn exactly.

    The rule plans no more trees than can be drawn. A number that the user gives is kept.
    """
    n_trees: int = given.get("n_estimators", 1)
    if terms.delta == 0:
        return max(LEAST_PURE_EPSILON, EPSILON_OF_ROUNDS * n_trees / PURE_ROUNDS)
    return max(LEAST_EPSILON, EPSILON_OF_ROUNDS * math.sqrt(n_trees / GAUSSIAN_ROUNDS))


BEST = Recipe(
    name="best",
    parameters=BestParameters,
    max_bin=64,
    accountant=accountant,
    defaults=defaults,
    build=build,
    least_epsilon=least_epsilon,
    start_share=start_share,
    bins_share=bins_share,
    columns_to_choose=columns_to_choose,
    planned=planned,
    most_classes=MOST_CLASSES,
    objectives=True,
    weights=True,
    needs_exact_sums=False,
)
