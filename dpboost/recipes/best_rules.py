"""The rules of recipe `best`: default values from public facts of a fit.

A rule is a constant, or a function of the released number of rows times epsilon, because the
signal-to-noise ratio of a leaf grows with that product. One table has all rules of one kind of fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpboost.growing.column_choice import ChoicePlan
from dpboost.growing.feature_sampler import Preference
from dpboost.losses import LabelRangeLoss, LogisticLoss, LogLinkLoss, Loss, SquaredLoss
from dpboost.recipes.recipe import PublicFacts


@dataclass(frozen=True)
class StepRule:
    """A step function: a value or a rule from each of its keys on."""

    values: Mapping[float, Any]

    def __call__(self, known: float) -> Any:
        """Return the value that holds at ``known``."""
        return at(self.values[max(key for key in self.values if key <= known)], known)


@dataclass(frozen=True)
class LineRule:
    """Linear interpolation between points on logarithmic axes, constant outside."""

    points: Mapping[float, Any]

    def __call__(self, known: float) -> Any:
        """Return the value at ``known``."""
        keys = sorted(self.points)
        if not keys[0] < known < keys[-1]:
            return self.points[keys[0] if known <= keys[0] else keys[-1]]
        right = next(key for key in keys if known < key)
        left = keys[keys.index(right) - 1]
        part = math.log(known / left) / math.log(right / left)
        return self._between(self.points[left], self.points[right], part)

    def _between(self, left: Any, right: Any, part: float) -> Any:
        return left * math.pow(right / left, part)


@dataclass(frozen=True)
class BlendRule(LineRule):
    """The same with a linear axis of values: numbers, zero too, or preferences."""

    def _between(self, left: Any, right: Any, part: float) -> Any:
        if isinstance(left, Preference):
            return left.toward(right, part)
        return left + part * (right - left)


def at(rule: Any, known: float) -> Any:
    """Return the value of a rule where so much is known."""
    return rule(known) if isinstance(rule, (StepRule, LineRule)) else rule


# Where gains are noisy, features are preferred by their size; where they are sure, all that have
# shown any gain are.
BY_SIZE = Preference(doubt=0.0, power=0.5, floor=0.2)
BY_SIGN = Preference(doubt=2.0, power=0.2, floor=0.05)

# What a linear model of numbers has of the budget of the trees, at most.
MOST_SHARE_OF_LINEAR = 0.05

# Names of hyper-parameters, and of what `build` sets the learner to. Keys are rows times epsilon.
ALWAYS = {
    "max_bin": 64,
    "trees_per_ensemble": 1,
    "features_per_tree": 3,
    # Of few rows, what a monotone feature does together with another is mostly noise.
    "monotone_alone": StepRule({0: True, 8e3: False}),
    "depth_alone": 0,
    "signal_doubt": None,
    "stretch": 1.0,
    "linear_share": 0.0,
}
CLASSES = ALWAYS | {
    "n_estimators": StepRule({0: 400, 8e3: 800, 1.5e5: 1600}),
    "learning_rate": StepRule({0: 0.25, 8e3: 0.2}),
    "max_depth": StepRule({0: 4, 2e3: 5, 8e3: 6, 1.5e5: 7}),
    "gradient_clip": 0.5,
    "step_prior": 0.5,
    "hessian_share": StepRule({0: 0.1, 2e3: 0.05}),
    "preference": StepRule({0: BY_SIZE, 8e3: BY_SIGN}),
    # Features that have shown much together are cut together again, so often.
    "sets_again": StepRule({0: 0.0, 5e4: 0.5}),
    # A round for each feature with categories orders these.
    "orders_categories": StepRule({0: False, 1.5e4: True}),
    # Random subsets of categories help where their noise is small, single categories else.
    "category_cuts": 2,
}
TWO_CLASSES = CLASSES | {
    "n_estimators": StepRule({0: LineRule({8e3: 400, 3.2e4: 800}), 1.5e5: 1600}),
    # Of few rows, deep leaves are mostly noise; of fewer still, the rule for all classes holds.
    "max_depth": StepRule(
        {0: BlendRule({500: 4, 1e3: 3, 3e3: 3, 8e3: 5, 2e4: 5, 5e4: 6}), 1.5e5: 7}
    ),
    "hessian_share": LineRule({2e3: 0.1, 8e3: 0.05}),
    "preference": BlendRule({4e3: BY_SIZE, 1.6e4: BY_SIGN}),
    # Steps get the size of a gradient at the released share of class 1, to this power.
    "start_power": BlendRule({5e3: 0.0, 5e4: 1.0}),
    # With many features there are so many rounds for each.
    "rounds_per_feature": LineRule({8e3: 1.0, 3.2e4: 10.0}),
    # Of few rows, what the first rounds show is noise: so many deviations of it are in doubt.
    "signal_doubt": LineRule({500: 32.0, 8e3: 2.0}),
    # Of few rows, what smaller steps cannot learn in these rounds is more than their noise.
    "learning_rate": LineRule({500: 0.25, 8e3: 0.13}),
    # Scores of the model beside those that the rows train on. Of very few rows they are mostly
    # noise; then shrunken steps leave them too small.
    "stretch": LineRule({50: 0.2, 250: 0.4, 500: 0.6, 2e3: 1.0, 3e3: 1.05, 8e3: 1.05, 4e4: 1.0}),
}
NUMBERS = CLASSES | {
    "n_estimators": StepRule({0: LineRule({4e3: 400, 1.6e4: 800}), 1.5e5: 1600}),
    "learning_rate": LineRule({4e3: 0.25, 1.6e4: 0.2}),
    "max_depth": BlendRule({1e3: 3, 1.2e4: 6, 8e4: 6, 2.8e5: 7}),
    "gradient_clip": 0.2,
    "step_prior": LineRule({1.5e3: 0.06, 6e3: 0.03}),
    "hessian_share": LineRule({1e3: 0.1, 4e3: 0.05}),
    "preference": BlendRule({2e3: BY_SIZE, 8e3: BY_SIGN}),
    "sets_again": BlendRule({4e3: 0.0, 2e4: 0.5}),
    "orders_categories": StepRule({0: False, 2e3: True}),
    # Part of the trees' budget for a linear model of the numeric columns, before the first round.
    "linear_share": BlendRule({250: 0.0, 1e3: MOST_SHARE_OF_LINEAR}),
}
# Under pure epsilon the noise of a tree grows with their number.
PURE_CLASSES = ALWAYS | {
    "n_estimators": StepRule({0: 28, 2e3: LineRule({4e4: 56, 49 * 4e4: 7 * 56})}),
    "max_depth": StepRule({0: 4, 2e3: 6}),
    "reg_lambda": StepRule({0: 100.0, 4e4: 30.0}),
    "gradient_clip": 0.5,
    "step_prior": 0.7,
    "hessian_share": StepRule({0: 0.12, 4e4: 0.08}),
    "preference": BY_SIZE,
    "sets_again": 0.0,
    "orders_categories": False,
    "category_cuts": 1,
}
PURE_TWO_CLASSES = PURE_CLASSES | {
    "n_estimators": LineRule({8e3: 28, 4e4: 56, 49 * 4e4: 7 * 56}),
    "max_depth": 6,
    "reg_lambda": LineRule({2e4: 100.0, 8e4: 30.0}),
    "hessian_share": LineRule({2e4: 0.12, 8e4: 0.08}),
    # Each feature is cut alone first, to so many levels: what it shows then has the least noise.
    "depth_alone": 4,
    "orders_categories": StepRule({0: False, 1.5e4: True}),
}
PURE_NUMBERS = PURE_CLASSES | {
    "n_estimators": LineRule({2e3: 28, 8e3: 56, 49 * 8e3: 7 * 56}),
    "max_depth": BlendRule({2.5e3: 4, 1e4: 5}),
    "reg_lambda": 30.0,
    "gradient_clip": 0.25,
    "step_prior": 0.06,
    "hessian_share": 0.08,
}
# What few rounds can learn takes large steps.
RATE_OF_ROUNDS = LineRule({28: 0.7, 56: 0.5, 112: 0.3, 224: 0.2})
# A large epsilon does not keep many rounds and deep trees from fitting few rows: their most.
ROUNDS_OF_ROWS = LineRule({25_600: 800, 51_200: 1600})
DEEP_FROM_ROUNDS, MOST_DEPTH_OF_FEWER = 1200, 6
# With fewer rows times epsilon for each of several classes, trees have this many levels at most.
FEW_OF_A_CLASS, DEPTH_OF_FEW = 60, 3
# Where gradients go far beyond typical ones the loss has its own depth; it is at least this.
DEPTH_OF_TAILS = StepRule({0: 0, 5e4: 5})
# Rounds for many features: the most, and the rate of twice the usual.
MOST_ROUNDS, RATE_OF_MANY_ROUNDS = 3200, 0.3
# Clip and prior of squared loss where the spread of labels is released: so many times those for
# half-widths.
CLIP_OF_SPREAD, PRIOR_OF_SPREAD = 0.7, 1.5
# From so many columns on some are chosen before the first tree: the first ones in any case, more of
# them for several classes; not where these are a quarter of the columns. Then others follow until
# no more tells anything, up to this number and to this part of the columns, and as long as there
# are so many rows times epsilon for each. Each has this part of the budget of the trees.
LEAST_COLUMNS, MOST_COLUMNS = 20, 4096
FIRST_CHOSEN, FIRST_OF_A_CLASS, MOST_PART_FIRST = 4, 2, 0.25
MOST_CHOSEN, MOST_PART_CHOSEN, ROWS_OF_A_CHOICE = LineRule({1280: 6, 8000: 24}), 0.6, 30
SHARE_OF_A_CHOICE, MOST_SHARE_OF_CHOICES = LineRule({800: 1 / 30, 46_080: 1 / 240}), 0.2
# The linear model of numbers has at most so many columns, and at most this part of the rounds. Its
# gradients are clipped so many times less than those of leaves.
MOST_LINEAR, ROUNDS_OF_LINEAR, CLIP_OF_LINEAR = 64, 0.25, 2
# Where one of these is given, all rounds are those of the user.
NO_LINEAR = frozenset(
    {
        "learning_rate",
        "max_delta_step",
        "max_depth",
        "monotone_constraints",
        "bagging_fraction",
        "trees_per_ensemble",
    }
)
# Standard deviation of a gradient at the start, as a part of its clip, where no share tells it;
# rather too large.
DEVIATION_OF_CLIPPED = 0.8
# Gradients are clipped less for that than for leaves: their mean has to stay near zero.
CLIP_OF_CHOICE = 2.5
# Below this epsilon of a row, with Gaussian noise and under pure epsilon, a release before the
# trees could not be drawn.
LEAST_EPSILON, LEAST_PURE_EPSILON = 0.02, 0.03
# At this epsilon of a row so many trees can be drawn, whatever the loss and the usual delta. The
# number grows with epsilon squared under Gaussian accounting, with epsilon under pure accounting.
EPSILON_OF_ROUNDS, GAUSSIAN_ROUNDS, PURE_ROUNDS = 0.05, 400, 56


def table_of(loss: Loss, delta: float) -> Mapping[str, Any]:
    """Return the table for a loss under Gaussian accounting, or under pure epsilon."""
    if isinstance(loss, LabelRangeLoss):
        return NUMBERS if delta > 0 else PURE_NUMBERS
    if isinstance(loss, LogisticLoss):
        return TWO_CLASSES if delta > 0 else PURE_TWO_CLASSES
    return CLASSES if delta > 0 else PURE_CLASSES


def rules_of(facts: PublicFacts) -> dict[str, Any]:
    """Return the value of every rule, without what the noise and the spread of labels decide."""
    assert facts.n_rows is not None
    known, loss = facts.n_rows * facts.epsilon, facts.loss
    rules = {name: at(rule, known) for name, rule in table_of(loss, facts.delta).items()}
    if facts.delta == 0:
        rules["n_estimators"] = round(rules["n_estimators"])
        rules["learning_rate"] = RATE_OF_ROUNDS(rules["n_estimators"])
        return _of_whole_levels(rules | loss.rules)
    _limit_by_rows(rules, facts.n_rows, numbers=isinstance(loss, LabelRangeLoss))
    n_classes = 1 if isinstance(loss, LabelRangeLoss) else loss.n_outputs
    if n_classes > 1 and known < FEW_OF_A_CLASS * n_classes:
        rules["max_depth"] = min(rules["max_depth"], DEPTH_OF_FEW)
    rules |= loss.rules
    if isinstance(loss, LogLinkLoss) and loss.gaussian_rules:
        rules |= loss.gaussian_rules
        rules["max_depth"] = max(rules["max_depth"], DEPTH_OF_TAILS(known))
    if isinstance(loss, LogisticLoss):
        rules["step_prior"] *= (2 * start_deviation(loss)) ** rules["start_power"]
        _add_rounds_for_features(rules, facts.n_features, facts.epsilon)
    return _of_whole_levels(rules)


def _of_whole_levels(rules: dict[str, Any]) -> dict[str, Any]:
    """Give a part of the rounds a level less, where a rule lies between two depths."""
    depth = math.ceil(rules["max_depth"])
    return rules | {"max_depth": depth, "shallow": depth - rules["max_depth"]}


def _limit_by_rows(rules: dict[str, Any], n_rows: float, *, numbers: bool) -> None:
    """Limit rounds and depth by the number of rows alone."""
    usual, most = ROUNDS_OF_ROWS.points.values()
    allowed = ROUNDS_OF_ROWS(n_rows)
    rounds = round(min(rules["n_estimators"], allowed))
    deep = allowed > usual if numbers else rounds >= DEEP_FROM_ROUNDS
    if numbers and rounds > usual:
        # The most rounds at once; where rows are fewer, their steps are smaller instead.
        rules["learning_rate"] *= max((rounds / most) ** 2, 0.5)
        rounds = round(most)
    rules["n_estimators"] = rounds
    if not deep:
        rules["max_depth"] = min(rules["max_depth"], MOST_DEPTH_OF_FEWER)


def _add_rounds_for_features(rules: dict[str, Any], n_features: int, epsilon: float) -> None:
    """Give many features enough rounds, in few of which each of them is cut."""
    drawable = math.floor(GAUSSIAN_ROUNDS * min(epsilon / EPSILON_OF_ROUNDS, 100.0) ** 2)
    rounds = min(round(rules["rounds_per_feature"] * n_features), MOST_ROUNDS, drawable)
    if rounds >= 2 * rules["n_estimators"]:
        rules["learning_rate"] = RATE_OF_MANY_ROUNDS
    rules["n_estimators"] = max(rules["n_estimators"], rounds)


def columns_to_choose(facts: PublicFacts) -> ChoicePlan | None:
    """Return how many columns are chosen before the first tree, and for which part of the budget.

    None if there are few columns, or where rows are too few for that.
    """
    n_features = facts.n_features
    if facts.n_rows is None or not LEAST_COLUMNS <= n_features <= MOST_COLUMNS:
        return None
    known = facts.n_rows * facts.epsilon
    of_classes = FIRST_OF_A_CLASS * facts.loss.n_outputs if facts.loss.n_outputs > 1 else 0
    n_first, more_than_half = FIRST_CHOSEN + of_classes, int(MOST_PART_CHOSEN * n_features)
    most = min(MOST_CHOSEN(known) + of_classes, more_than_half, known / ROWS_OF_A_CHOICE)
    if n_first > min(most, MOST_PART_FIRST * n_features):
        return None
    share = min(int(most) * SHARE_OF_A_CHOICE(known), MOST_SHARE_OF_CHOICES)
    return ChoicePlan(
        n_first=n_first,
        n_most=int(most),
        share=Fraction(f"{share:.4f}"),
        all_alike_from=more_than_half,
    )


def share_of_linear(facts: PublicFacts) -> Fraction:
    """Return the part of the trees' budget for a linear model before the first round; 0 for none.

    It is for squared loss under Gaussian accounting.
    """
    assert facts.n_rows is not None
    if not isinstance(facts.loss, SquaredLoss) or facts.continued or NO_LINEAR & facts.given.keys():
        return Fraction(0)
    rule = table_of(facts.loss, facts.delta)["linear_share"]
    return Fraction(f"{at(rule, facts.n_rows * facts.epsilon):.4f}")


def clip_of_choice(loss: Loss, gradient_clip: float) -> float:
    """Return the part of a gradient's bound at which gradients are clipped for the choice.

    At the start no gradient of two classes is larger than the share of the more frequent one.
    """
    if isinstance(loss, LogisticLoss):
        share = 1 / (1 + math.exp(-loss.start))
        return max(share, 1 - share)
    return min(1.0, CLIP_OF_CHOICE * gradient_clip)


def score_by_chance(loss: Loss, clip: float, n_rows: float, n_cells: int) -> float:
    """Return the score of a column of noise in each output, if gradients have mean zero.

    Sums of the gradients of as many rows are normal, in cells of equal size.
    """
    if isinstance(loss, LogisticLoss):
        deviation = start_deviation(loss)
    elif loss.n_outputs > 1:
        deviation = clip * math.sqrt(loss.n_outputs - 1) / loss.n_outputs
    else:
        deviation = DEVIATION_OF_CLIPPED * clip
    return deviation * math.sqrt(2 / math.pi * n_cells * n_rows)


def start_deviation(loss: LogisticLoss) -> float:
    """Return the standard deviation of a label at the released share of class 1.

    A gradient has that size at the start. Where one class is rare, steps are smaller in it.
    """
    share = 1 / (1 + math.exp(-loss.start))
    return math.sqrt(share * (1 - share))
