"""Recipe best's rules: fixed functions of public facts."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import AffineBins, CategoryBins
from dpboost.growing.feature_sampler import Preference
from dpboost.losses import (
    LogisticLoss,
    LogLinkLoss,
    OneVsRestLoss,
    QuantilesLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from dpboost.privacy.accounting import GDPAccountant, PureAccountant
from dpboost.privacy.exact_arithmetic import divide
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.best import BEST, build, defaults, planned
from dpboost.recipes.best_rules import (
    BY_SIGN,
    BY_SIZE,
    MOST_ROUNDS,
    RATE_OF_ROUNDS,
    BlendRule,
    LineRule,
    StepRule,
    columns_to_choose,
    rules_of,
    share_of_linear,
)
from dpboost.recipes.recipe import PublicFacts, Setting

SQUARED = SquaredLoss.from_label_bounds(-1, 1)
BINARY = LogisticLoss()
SOFTMAX = SoftmaxLoss(n_outputs=4)


def facts(rows_times_epsilon, loss=SQUARED, delta=1e-6, n_features=5):
    return PublicFacts(
        epsilon=1.0,
        delta=delta,
        n_rows=rows_times_epsilon,
        n_features=n_features,
        loss=loss,
        given={},
        budget=Fraction(1),
        accountant=GDPAccountant() if delta else PureAccountant(),
        neighbors=Neighbors.ADD_REMOVE,
    )


def test_a_rule_is_a_constant_steps_or_a_line_on_logarithmic_axes():
    line = LineRule({10: 1.0, 1000: 100.0})
    assert [line(known) for known in (0, 10, 1000, math.inf)] == [1.0, 1.0, 100.0, 100.0]
    assert line(100) == pytest.approx(10.0, rel=1e-12)
    blend = BlendRule({10: 0.0, 1000: 1.0})
    assert [blend(known) for known in (0, 100, 1000)] == [0.0, pytest.approx(0.5), 1.0]
    steps = StepRule({0: 7, 10: 8, 100: line})
    assert [steps(known) for known in (0, 9.99, 10, 99.9)] == [7, 7, 8, 8]
    assert steps(100) == line(100)


@pytest.mark.parametrize("loss", [SQUARED, LogisticLoss(), SOFTMAX], ids=lambda loss: loss.name)
@pytest.mark.parametrize("shared", [1, 8])
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_leaves_are_regularized_by_the_noise_of_their_hessian_sums(loss, shared, neighbors):
    given = {"trees_per_ensemble": shared, "n_estimators": 64}
    for budget in (Fraction(1, 10), Fraction(2), Fraction(40), math.inf):
        chosen = replace(facts(1e5, loss), given=given, budget=budget, neighbors=neighbors)
        hyper = BEST.settle(chosen)
        # What the learner draws in a round, from its own scale.
        loop = build(setting_of(chosen, hyper))
        noise = chosen.accountant.noise(divide(budget, [1] * (64 // shared))[0])
        bounds = loop.learner.scale.bounds(neighbors)
        drawn = noise.noise_stddev(bounds[1])
        drawn *= loop.learner.scale.hessian_unit_value
        assert hyper.reg_lambda == loop.learner.leaf.reg_lambda
        assert hyper.reg_lambda == pytest.approx(min(100.0, max(5.0, drawn)), rel=1e-12)
    assert hyper.reg_lambda == 5.0, "without noise"


def test_less_budget_regularises_more_and_rules_of_a_loss_come_first():
    some = facts(1e5, LogisticLoss())
    budgets = (Fraction(1, 100), Fraction(1), Fraction(10))
    found = [defaults(replace(some, budget=budget)).reg_lambda for budget in budgets]
    assert found[0] == 100.0 > found[1] > found[2] > 5.0
    poisson = LogLinkLoss.poisson(0.0, 9.0)
    assert defaults(facts(1e5, poisson)).reg_lambda == poisson.rules["reg_lambda"]


@pytest.mark.parametrize("share", [0.03, 0.24, 0.5, 0.9])
def test_steps_are_as_large_as_gradients_at_the_released_start(share):
    loss = LogisticLoss().starting_at(share)
    size = math.sqrt(share * (1 - share))
    assert defaults(facts(5e4, loss)).step_prior == pytest.approx(size, rel=1e-5)
    assert defaults(facts(math.sqrt(5e3 * 5e4), loss)).step_prior == pytest.approx(
        math.sqrt(0.5 * size), rel=1e-5
    )
    assert defaults(facts(5e3, loss)).step_prior == 0.5
    assert defaults(facts(1e6, loss, delta=0.0)).step_prior == 0.7


@pytest.mark.parametrize(
    ("n_features", "epsilon", "rounds", "rate"),
    [
        (10, 1.0, 800, 0.13),
        (123, 1.0, 1230, 0.13),
        (300, 1.0, 3000, 0.3),
        (60_000, 1.0, MOST_ROUNDS, 0.3),
        (60_000, 0.1, 1600, 0.3),  # more could not be drawn
    ],
)
def test_many_features_ask_for_many_rounds(n_features, epsilon, rounds, rate):
    many = replace(facts(4e4, LogisticLoss(), n_features=n_features), epsilon=epsilon)
    found = defaults(replace(many, n_rows=4e4 / epsilon))
    assert (found.n_estimators, found.learning_rate) == (rounds, rate)
    for other in (
        facts(4e4, SQUARED, n_features=n_features),
        facts(7e3, LogisticLoss(), n_features=min(n_features, 400)),
        facts(4e4, LogisticLoss(), delta=0.0, n_features=n_features),
    ):
        assert defaults(other) == defaults(replace(other, n_features=2))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("loss", [SQUARED, LogisticLoss(), SOFTMAX], ids=lambda loss: loss.name)
@pytest.mark.parametrize("n_features", [5, 40])
def test_no_more_rounds_are_planned_than_can_be_drawn(loss, delta, n_features):
    some = facts(1e5, loss, delta, n_features)
    usual = defaults(some)
    choice = columns_to_choose(some)
    left = 1 - (choice.share if choice else 0) - share_of_linear(some)

    def drawn(n_rounds, budget):
        given = {"n_estimators": n_rounds}
        noise, bound, _ = planned(replace(some, given=given, budget=budget * left))
        return noise.parameters(bound)

    seen = set()
    for budget in (Fraction(1, 2**power) for power in range(23 if delta else 12)):
        found = defaults(replace(some, budget=budget))
        if found.n_estimators == usual.n_estimators:
            assert found.learning_rate == usual.learning_rate
        else:
            rate = RATE_OF_ROUNDS(found.n_estimators)
            assert found.learning_rate == max(usual.learning_rate, rate)
            with pytest.raises(InvalidParameterError, match="too large to be drawn"):
                drawn(found.n_estimators + 1, budget)
        if found.n_estimators > 1:
            drawn(found.n_estimators, budget)
        own = replace(some, budget=budget, given={"n_estimators": 50})
        assert planned(own)[2] == 50
        seen.add(found.n_estimators)
    assert usual.n_estimators in seen
    assert min(seen) < usual.n_estimators / 8


def setting_of(chosen, hyper):
    binner = Binner(
        features=(
            AffineBins(lower=0.0, upper=1.0, n_cells=8, table=bytes(range(8))),
            CategoryBins(codes=(0, 1, 2)),
        ),
        feature_names=("number", "category"),
    )
    return Setting(
        hyper=hyper,
        loss=chosen.loss,
        binner=binner,
        facts=chosen,
        public=np.random.default_rng(0),
        n_threads=1,
    )


def learner(chosen):
    return build(setting_of(chosen, defaults(chosen))).learner


def test_released_gains_are_followed_further_where_they_are_sure():
    def preference(known, **others):
        return learner(facts(known, **others)).queue.preference

    assert (preference(2e3), preference(8e3)) == (BY_SIZE, BY_SIGN)
    assert preference(1e6, delta=0.0) == BY_SIZE
    between = preference(4e3)
    assert between.doubt == pytest.approx(1.0)
    assert between.power == pytest.approx((BY_SIZE.power + BY_SIGN.power) / 2)
    assert between.floor == pytest.approx((BY_SIZE.floor + BY_SIGN.floor) / 2)


def test_features_meet_again_where_rows_are_many():
    def chance(known, loss, delta=1e-6):
        return learner(facts(known, loss, delta=delta)).queue.again

    for loss in (LogisticLoss(), SOFTMAX):
        assert (chance(49_999, loss), chance(50_000, loss)) == (0, 0.5)
    found = [chance(known, SQUARED) for known in (4e3, math.sqrt(4e3 * 2e4), 2e4)]
    assert found == pytest.approx([0, 0.25, 0.5])
    assert {chance(1e6, loss, 0) for loss in (SQUARED, LogisticLoss(), SOFTMAX)} == {0}


def test_steps_follow_the_signal_of_two_classes_with_more_doubt_where_rows_are_few():
    for n_rows, doubt in ((1e2, 32.0), (1e3, 16.0), (8e3, 2.0), (1e6, 2.0)):
        some = facts(n_rows, LogisticLoss())
        assert learner(some).signal.n_rows == n_rows
        assert learner(some).signal.entropy == pytest.approx(math.log(2))
        assert learner(some).signal.doubt == pytest.approx(doubt)
    own = replace(some, given={"learning_rate": 0.1})
    pure = facts(1e6, LogisticLoss(), delta=0)
    for other in (own, pure, facts(1e6, SQUARED), facts(1e6, SOFTMAX)):
        assert learner(other).signal is None


def test_scores_of_the_model_are_smaller_with_few_rows_and_then_a_little_larger():
    def stretch(known, loss=BINARY, continued=False, **given):
        some = replace(facts(known, loss), continued=continued, given=given)
        return build(setting_of(some, BEST.settle(some))).stretch

    found = [stretch(known) for known in (10, 250, 2e3, 3e3, 8e3, 4e4, 1e6)]
    assert found == [0.2, 0.4, 1.0, 1.05, 1.05, 1.0, 1.0]
    assert 0.6 < stretch(1e3) < 1.0 < stretch(2.5e3) < 1.05
    for given in ({"learning_rate": 0.1}, {"max_delta_step": 0.5}):
        assert stretch(5e3, **given) == 1.0, "what the user says"
    assert stretch(5e3, monotone_constraints="1,0") == stretch(5e3, continued=True) == 1.0
    assert stretch(5e3, SQUARED) == stretch(5e3, SOFTMAX) == 1.0


def test_between_two_depths_a_part_of_the_rounds_has_a_level_less():
    def levels(**given):
        some = replace(facts(math.sqrt(2e3 * 1.2e4)), given=given)
        return learner(some).depth, learner(some).shallow

    assert levels() == (5, pytest.approx(0.082, abs=0.001))
    some = learner(facts(3e3))
    assert (some.depth, some.shallow) == (5, pytest.approx(0.674, abs=0.001))
    assert levels(max_depth=3)[1] == 0, "what the user says"
    loop = build(setting_of(facts(3e3), defaults(facts(3e3))))
    found = [loop.learner._partition(None).n_leaves for _ in range(300)]
    assert max(found) <= 32
    assert 0.2 < np.mean(np.array(found) > 16) < 0.6


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("loss", [SQUARED, LogisticLoss()], ids=lambda loss: loss.name)
def test_rules_of_numbers_and_two_classes_hardly_jump(loss, delta):
    """Only what cannot lie between two values does: see the run best-cliffs."""
    known = np.geomspace(250, 1e6, 2000)
    found = [rules_of(facts(n_rows, loss, delta=delta)) for n_rows in known]
    for name, first in found[0].items():
        if isinstance(first, bool) or name in ("max_depth", "shallow", "signal_doubt"):
            continue
        values = [rules[name] for rules in found]
        if isinstance(first, Preference):
            values = [(value.doubt, value.power, value.floor) for value in values]
        largest = np.ptp(np.array(values, dtype=float), axis=0)
        steps = np.abs(np.diff(np.array(values, dtype=float), axis=0)).max(axis=0)
        jumps = {"n_estimators", "sets_again"} if delta else {}
        if name not in jumps:
            assert (steps <= 0.03 * largest).all(), name
    levels = [rules["max_depth"] - rules["shallow"] for rules in found]
    assert sum(np.abs(np.diff(levels)) > 0.02) == (
        1 if delta and isinstance(loss, LogisticLoss) else 0
    )


@pytest.mark.parametrize("loss", [SQUARED, LogisticLoss(), SOFTMAX], ids=lambda loss: loss.name)
def test_few_rows_keep_few_rounds_whatever_the_epsilon(loss):
    for n_rows, epsilon, rounds, depth in (
        (25_000, 50.0, 800, 6),
        (75_000, 1.0, 800, 6),
        (90_000, 8.0, 1600, 7),
        (1e7, 1.0, 1600, 7),
    ):
        hyper = defaults(replace(facts(n_rows, loss), epsilon=epsilon))
        found = (hyper.n_estimators, hyper.max_depth, hyper.learning_rate)
        assert found == (rounds, depth, 0.13 if isinstance(loss, LogisticLoss) else 0.2)


def test_few_rows_of_two_classes_have_shallow_trees():
    depths = {
        known: defaults(facts(known, LogisticLoss())).max_depth
        for known in (499, 1_000, 3_000, 8_000)
    }
    assert depths == {499: 4, 1_000: 3, 3_000: 3, 8_000: 5}
    assert defaults(facts(7_999, SOFTMAX)).max_depth == 5


@pytest.mark.parametrize("loss", [SOFTMAX, OneVsRestLoss(n_outputs=4)], ids=lambda loss: loss.name)
def test_few_rows_of_each_of_several_classes_have_shallow_trees(loss):
    assert [defaults(facts(known, loss)).max_depth for known in (239, 240)] == [3, 4]
    assert defaults(facts(239, loss, delta=0.0)).max_depth == 4


def test_several_quantiles_are_no_classes():
    loss = QuantilesLoss.of(SQUARED, (0.1, 0.5, 0.9))
    assert learner(facts(3e3, loss)).depth == learner(facts(3e3)).depth


def test_steps_of_two_classes_grow_where_rows_are_few_without_a_jump():
    known = np.geomspace(250, 16_000, 100)
    rates = [defaults(facts(n_rows, LogisticLoss())).learning_rate for n_rows in known]
    assert (rates[0], rates[-1]) == (0.25, 0.13)
    assert (np.diff(rates) <= 0).all()
    assert np.abs(np.diff(rates)).max() < 0.01


@pytest.mark.parametrize(
    ("loss", "n_rows", "rounds", "depth", "rate"),
    [
        (LogisticLoss(), 32_000, 1000, 6, 0.13),
        (SOFTMAX, 40_000, 1250, 7, 0.2),
        (SQUARED, 25_600, 800, 6, 0.2),
        (SQUARED, 32_000, 1600, 7, 0.1),
        (SQUARED, 44_800, 1600, 7, 0.2 * (7 / 8) ** 2),
        (SQUARED, 51_200, 1600, 7, 0.2),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_more_rows_buy_more_rounds_of_classes_and_larger_steps_of_numbers(
    loss, n_rows, rounds, depth, rate
):
    hyper = defaults(replace(facts(n_rows, loss), epsilon=8.0))
    assert (hyper.n_estimators, hyper.max_depth) == (rounds, depth)
    assert hyper.learning_rate == pytest.approx(rate, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "delta", "known"),
    [
        (SQUARED, 1e-6, 2e3),
        (LogisticLoss(), 1e-6, 1.5e4),
        (SOFTMAX, 1e-6, 1.5e4),
        (LogisticLoss(), 0.0, 1.5e4),
        (SQUARED, 0.0, math.inf),
    ],
)
def test_categories_are_ordered_where_a_round_for_each_feature_pays(loss, delta, known):
    some = facts(min(known, 1e6), loss, delta=delta)
    assert learner(some).to_order == ([1] if known < math.inf else [])
    assert learner(replace(some, n_rows=some.n_rows - 1)).to_order == []


@pytest.mark.parametrize(
    ("loss", "delta", "n_estimators", "depth"),
    [
        (LogisticLoss(), 0.0, 28, 4),
        (LogisticLoss(), 0.0, 4, 4),
        (LogisticLoss(), 0.0, 3, 0),  # two features would take most of the rounds
        (LogisticLoss(), 1e-6, 28, 0),
        (SQUARED, 0.0, 28, 0),
        (SOFTMAX, 0.0, 28, 0),
    ],
)
def test_with_two_classes_and_a_pure_epsilon_features_are_cut_alone_first(
    loss, delta, n_estimators, depth
):
    def alone(**given):
        chosen = replace(facts(1e4, loss, delta), given=given)
        return build(setting_of(chosen, BEST.settle(chosen))).learner.depth_alone

    assert alone(n_estimators=n_estimators) == depth
    assert alone(n_estimators=n_estimators, max_depth=2) == min(depth, 2)


def test_a_small_pure_epsilon_buys_few_rounds():
    def rounds(known, loss):
        found = defaults(facts(known, loss, delta=0.0))
        return found.n_estimators, pytest.approx(found.learning_rate)

    for loss, few, enough in ((LogisticLoss(), 8e3, 4e4), (SQUARED, 2e3, 8e3)):
        assert rounds(few, loss) == (28, 0.7)
        assert rounds(enough, loss) == (56, 0.5)
        assert rounds(4 * enough, loss) == (112, 0.3)


def test_trees_of_two_classes_are_deep_under_any_pure_epsilon():
    depths = [defaults(facts(n, LogisticLoss(), delta=0.0)).max_depth for n in (100, 1_999, 2_000)]
    assert depths == [6, 6, 6]
    assert defaults(facts(1_999, SOFTMAX, delta=0.0)).max_depth == 4
