import math
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.data.feature_bins import CategoryBins, EdgeBins
from dpboost.growing.boosting_loop import EnsembleOfEnsembles, HalfOfTheUnused, Sequential
from dpboost.growing.partition_learner import PartitionLearner
from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.growing.split_learner import SplitLearner
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.privacy.accounting import GDPAccountant, PureAccountant
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import CONTROLS, PublicFacts, Setting, check_given, given
from dpboost.recipes.single_tree import TREE_ALGORITHMS

LOSS = SquaredLoss.from_label_bounds(0.0, 1.0)

ENDS = {
    "n_estimators": (1, 100_000),
    "max_depth": (0, 512),
    "max_bin": (2, 255),
    "trees_per_ensemble": (1, 100_000),
    "features_per_tree": (1, 3),
    "max_interaction": (1, 3),
}

# None is what a recipe would choose for the facts below.
VALUES = {
    "preset": "paper",
    "n_estimators": 7,
    "learning_rate": 0.3,
    "max_depth": 2,
    "reg_lambda": 5.0,
    "max_bin": 9,
    "trees_per_ensemble": 3,
    "selection": "permute_and_flip",
    "features_per_tree": 2,
    "gradient_clip": 0.4,
    "step_prior": 0.02,
    "hessian_share": 0.07,
}
OF_BEST = {"features_per_tree", "gradient_clip", "step_prior", "hessian_share"}
UNUSED = {
    "best": {"preset", "selection"},
    "dpboost": OF_BEST,
    "para": OF_BEST | {"preset", "trees_per_ensemble"},
    "seq": OF_BEST | {"preset", "trees_per_ensemble"},
}


@pytest.mark.parametrize("name", ENDS)
def test_integers_are_taken_up_to_both_ends(name):
    low, high = ENDS[name]
    for value in (low, high, None):
        check_given(given({name: value}), "X")
    for value in (low - 1, high + 1, float(low), True, "1"):
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of X"):
            check_given(given({name: value}), "X")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("learning_rate", [1e-9, 0.5, 1, 1.0], [0, -0.1, 1.01, float("nan"), "0.1", True]),
        ("reg_lambda", [1e-6, 1, 1e12], [0, 9e-7, 2e12, float("inf"), "1"]),
        ("gradient_clip", [0.001, 0.2, 1], [0, 1e-9, -0.1, 1.01, float("nan"), "0.1", True]),
        ("step_prior", [1e-6, 0.03, 100], [0, 5e-324, -1, 100.1, float("inf"), "0.1"]),
        ("hessian_share", [1e-9, 0.1, 0.99], [0, -0.1, 1.0, float("nan"), "0.1"]),
        ("selection", ["exponential", "permute_and_flip"], ["argmax", 1, ""]),
    ],
)
def test_other_parameters_are_checked_by_name(name, good, bad):
    for value in [*good, None]:
        check_given(given({name: value}), "X")
    for value in bad:
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of X"):
            check_given(given({name: value}), "X")


def test_a_rule_fills_only_what_is_open():
    request = given({"n_estimators": 1, "max_depth": 0, "learning_rate": None})
    assert request == {"n_estimators": 1, "max_depth": 0}, "0 is given, None is not"
    filled = ALGORITHMS["dpboost"].settle(replace(public_facts(), given=request))
    assert (filled.n_estimators, filled.max_depth, filled.learning_rate) == (1, 0, 0.2)
    with pytest.raises(FrozenInstanceError):
        filled.max_depth = 3


def test_names_that_no_recipe_has_are_refused():
    with pytest.raises(InvalidParameterError, match="parameters of recipes by name"):
        check_given({"depth": 3}, "X")


def public_facts(loss=LOSS, *, epsilon=1.0, delta=1e-6, n_rows=1000.0):
    return PublicFacts(
        epsilon=epsilon,
        delta=delta,
        n_rows=n_rows,
        n_features=3,
        loss=loss,
        given={},
        budget=Fraction(1) if epsilon < math.inf else math.inf,
        accountant=GDPAccountant() if delta else PureAccountant(),
        neighbors=Neighbors.ADD_REMOVE,
    )


def build(name, request, loss=LOSS, *, delta=1e-6):
    """Return the strategies of a recipe over two numeric features and a categorical one."""
    recipe = ALGORITHMS.find(name, "X")
    facts = replace(public_facts(loss, delta=delta), given=request)
    setting = Setting(
        hyper=recipe.settle(facts),
        loss=loss,
        binner=Binner(
            features=(
                EdgeBins(edges=(0.0,)),
                EdgeBins(edges=(0.5, 1.0)),
                CategoryBins(codes=(0, 1)),
            ),
            feature_names=("a", "b", "c"),
            labels={},
        ),
        facts=facts,
        public=np.random.default_rng(0),
        n_threads=2,
    )
    return recipe.build(setting)


@pytest.mark.parametrize("name", ALGORITHMS.names)
def test_a_value_that_the_recipe_does_not_use_is_refused_by_name(name):
    recipe = ALGORITHMS.find(name, "X")
    used = recipe.parameters.names()
    assert used == set(VALUES) - UNUSED[name]
    recipe.check({}, "X")
    for key, value in VALUES.items():
        request = {key: value}
        if key in used:
            recipe.check(request, "X")
        else:
            with pytest.raises(InvalidParameterError, match=f"'{key}' parameter of X") as caught:
                recipe.check(request, "X")
            assert f"recipe={name!r}" in str(caught.value)


@pytest.mark.parametrize("name", ALGORITHMS.names)
@pytest.mark.parametrize("loss", [LOSS, LogisticLoss()], ids=lambda loss: loss.name)
def test_every_recipe_uses_what_it_says(name, loss):
    recipe = ALGORITHMS.find(name, "X")
    assert recipe.name == name
    used = recipe.parameters.names()
    values = {key: value for key, value in VALUES.items() if key in used}
    filled = recipe.settle(replace(public_facts(loss), given=values))
    assert filled.values() == values
    loop = build(name, values, loss)
    learner = loop.learner
    assert (loop.n_rounds, learner.learning_rate) == (7, 0.3)
    assert learner.loss is loss
    if "trees_per_ensemble" in used:
        assert loop.schedule == EnsembleOfEnsembles(trees_per_ensemble=3, learning_rate=0.3)
    if name == "best":
        assert isinstance(learner, PartitionLearner)
        assert (learner.depth, learner.features_per_tree) == (2, 2)
        assert learner.leaf == ShrunkenLeaf(reg_lambda=5.0, prior=0.02)
        assert (learner.scale.gradient_limit, learner.scale.hessian_share) == (0.4, 0.07)
        assert learner.scale.gradient_reach == loss.gradient_reach(0.4)
        assert learner.scale.hessian_reach == loss.hessian_reach
        assert learner.scale.hessian_unit == loss.hessian_unit
        return
    assert isinstance(learner, SplitLearner)
    assert learner.grower.max_depth == 2
    assert learner.grower.selector.selection == "permute_and_flip"
    assert learner.grower.selector.criterion.reg_lambda == learner.leaf.reg_lambda == 5.0
    assert learner.grower.selector.criterion.hessian == learner.leaf.hessian == loss.hessian
    assert learner.grower.selector.criterion.n_threads == 2
    assert learner.gradient_bound == learner.leaf.gradient_bound == loss.gradient_bound


@pytest.mark.parametrize("name", ALGORITHMS.names)
@pytest.mark.parametrize("loss", [LOSS, LogisticLoss()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_rules_are_complete_and_valid(name, loss, delta):
    recipe = ALGORITHMS.find(name, "X")
    for epsilon in (1e-3, 0.5, 10.0, math.inf):
        for n_rows in (1.0, 1e3, 1e5, 1e8):
            facts = public_facts(loss, epsilon=epsilon, delta=delta, n_rows=n_rows)
            rule = recipe.defaults(facts)
            check_given(rule.values(), "X")
            # A preset is there where the user has asked for one.
            assert recipe.parameters.names() - {"preset"} == set(rule.values())
            assert rule.max_bin == recipe.max_bin


def test_recipes_differ_in_how_trees_share_rows_and_clip_leaves():
    request = {"learning_rate": 0.5}
    grouped = request | {"trees_per_ensemble": 4}
    loops = {
        name: build(
            name,
            grouped if "trees_per_ensemble" in ALGORITHMS[name].parameters.names() else request,
        )
        for name in ALGORITHMS.names
    }
    four = EnsembleOfEnsembles(trees_per_ensemble=4, learning_rate=0.5)
    assert loops["best"].schedule == loops["dpboost"].schedule == four
    assert build("best", request).schedule == Sequential()
    assert loops["para"].schedule == HalfOfTheUnused()
    assert loops["seq"].schedule == Sequential()
    clips = {
        name: [loops[name].learner.clip.at(index) for index in range(3)]
        for name in ("dpboost", "para", "seq")
    }
    assert clips["dpboost"] == [1.0, 0.5, 0.25]
    for name in ("para", "seq"):
        assert clips[name] == [1.0] * 3


@pytest.mark.parametrize(("delta", "norm"), [(0.0, "l1"), (1e-6, "l2")])
def test_noise_of_best_follows_delta(delta, norm):
    assert build("best", {}, delta=delta).learner.scale.norm == norm


def test_a_clip_that_decays_to_nothing_is_still_charged():
    """A learning rate of 1 leaves no share and no leaf value to all trees but the first."""
    learner = build("dpboost", {"learning_rate": 1.0}).learner
    leaf = replace(learner.leaf, clip=learner.clip.at(1))
    assert leaf.clip == 0.0
    assert [leaf.bound(relation).constant for relation in Neighbors] == [1, 2]


def test_a_limit_of_steps_is_a_smaller_clip_with_a_smaller_sensitivity():
    for name in ("dpboost", "para", "seq"):
        weak = {"reg_lambda": 0.1}
        usual, small = (build(name, weak | own).learner for own in ({}, {"max_delta_step": 0.01}))
        bounds = [
            replace(learner.leaf, clip=learner.clip.at(0)).bound(Neighbors.ADD_REMOVE).constant
            for learner in (usual, small)
        ]
        # Labels between 0 and 1: a step of 0.01 is one of 0.02 of half their width.
        assert small.clip.at(0) == pytest.approx(0.02)
        assert bounds[1] == math.ceil(2 * 0.02 / small.leaf.unit) + 1 < bounds[0]
        values = np.array([-(2**20), -3, 2**20])
        assert small.clip.limited(values, small.leaf.unit).tolist() == [-20971, -3, 20971]
        assert usual.clip.limited(values, 1.0) is values


def test_recipes_follow_controls_of_lightgbm():
    of_all = {"max_delta_step", "feature_fraction", "bagging_fraction"}
    for name in ALGORITHMS.names:
        known = ALGORITHMS[name].parameters.controls()
        assert known == (CONTROLS if name == "best" else of_all)
        assert not known & ALGORITHMS[name].parameters.names()


@pytest.mark.parametrize("recipes", [ALGORITHMS, TREE_ALGORITHMS])
def test_an_unknown_recipe_is_refused_with_the_names_there_are(recipes):
    for wrong in ("best_", "DPBoost", None, 3, ["seq"]):
        with pytest.raises(InvalidParameterError) as caught:
            recipes.find(wrong, "X")
        for name in recipes.names:
            assert repr(name) in str(caught.value)


@pytest.mark.parametrize("recipes", [ALGORITHMS, TREE_ALGORITHMS])
def test_a_recipe_of_ones_own_is_found_as_it_is(recipes):
    own = replace(recipes.find("best", "X"), name="own")
    assert recipes.find(own, "X") is own
    assert "own" not in recipes.names
