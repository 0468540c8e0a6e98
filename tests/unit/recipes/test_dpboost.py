import math
from dataclasses import replace

import numpy as np
import pytest

from dpboost import DPBoostRegressor, InvalidParameterError
from dpboost.federated import FederatedBoostingRegressor
from dpboost.growing.clipped_leaves import LEAF_UNIT
from dpboost.losses import SquaredLoss
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import DPBOOST
from dpboost.recipes.dpboost import DPBoostParameters, first_leaf
from dpboost.recipes.recipe import PublicFacts, Terms

pytestmark = pytest.mark.filterwarnings("ignore")

LOSS = SquaredLoss.from_label_bounds(-1.0, 1.0)
PAPER = {
    "n_estimators": 50,
    "trees_per_ensemble": 50,
    "learning_rate": 0.1,
    "max_depth": 6,
    "reg_lambda": 0.1,
}
SCHEMA = {"bounds": {0: (0.0, 1.0), 1: (0.0, 1.0)}, "label_bounds": (-1.0, 1.0)}


def facts(epsilon=1.0, neighbors=Neighbors.ADD_REMOVE, **given):
    return PublicFacts(
        epsilon=epsilon,
        delta=0.0,
        n_rows=None,
        n_features=3,
        loss=LOSS,
        given=given,
        budget=epsilon,
        accountant=PureAccountant(),
        neighbors=neighbors,
    )


@pytest.mark.parametrize("n_trees", [1, 20, 333])
def test_all_trees_share_the_rows_of_one_ensemble(n_trees):
    assert DPBOOST.n_ensembles(DPBOOST.settle(facts(n_estimators=n_trees))) == 1
    halves = {"n_estimators": n_trees, "trees_per_ensemble": -(-n_trees // 2)}
    assert DPBOOST.n_ensembles(DPBOOST.settle(facts(**halves))) == min(2, n_trees)


@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_noise_of_a_leaf_is_at_most_a_tenth_of_the_gradients(neighbors):
    for epsilon in (0.01, 0.3, 1.0, 8.0, 50.0):
        hyper = DPBOOST.settle(facts(epsilon, neighbors))
        sensitivity = first_leaf(hyper, 1.0, LOSS.hessian).bound(neighbors).constant * LEAF_UNIT
        noise_stddev = math.sqrt(2) * sensitivity / (epsilon / 2)
        assert noise_stddev <= 0.1
        if epsilon <= 8:
            assert noise_stddev >= 0.07, "nor is there more regularization than that takes"


def test_without_noise_there_is_hardly_any_regularization():
    assert DPBOOST.settle(facts(math.inf)).reg_lambda == 0.1


def test_the_preset_brings_back_the_values_of_the_paper():
    for epsilon in (0.1, 1.0, 8.0):
        found = DPBOOST.settle(facts(epsilon, preset="paper"))
        assert found == DPBoostParameters(preset="paper", **PAPER)
    assert DPBOOST.settle(facts(preset="paper", max_depth=2)).max_depth == 2


def test_the_least_epsilon_is_that_of_the_ensembles_there_are():
    terms = Terms(delta=0.0, task="regression", neighbors=Neighbors.ADD_REMOVE, n_features=3)
    one = DPBOOST.least_epsilon({}, terms)
    assert DPBOOST.least_epsilon({"n_estimators": 1000}, terms) == one
    paper = DPBOOST.least_epsilon({"preset": "paper"}, terms)
    many = DPBOOST.least_epsilon({"preset": "paper", "n_estimators": 1000}, terms)
    assert many == 20 * paper > one


@pytest.mark.parametrize("kind", [DPBoostRegressor, FederatedBoostingRegressor])
def test_estimators_take_the_preset_and_tell_of_it(kind):
    random = np.random.default_rng(0)
    X, y = random.uniform(size=(200, 2)), random.uniform(-1, 1, 200)
    given = [([(X[::2], y[::2]), (X[1::2], y[1::2])],), (X, y)][kind is DPBoostRegressor]
    common = {"recipe": "dpboost", "delta": 0.0, "schema": SCHEMA, "noise_seed": 3, "verbosity": 0}
    few = {"n_estimators": 3, "trees_per_ensemble": 3}
    models = {
        name: kind(**common, **settings).fit(*given)
        for name, settings in {
            "paper": {"preset": "paper", **few},
            "in full": PAPER | few,
            "own": few,
        }.items()
    }
    trees = {name: repr(model.booster_.dump_model()) for name, model in models.items()}
    assert trees["paper"] == trees["in full"] != trees["own"]
    assert models["paper"].preset_ == "paper"
    assert models["own"].preset_ is None
    assert (models["own"].max_depth_, models["own"].learning_rate_) == (3, 0.2)


def test_other_recipes_have_no_preset():
    for recipe in ("best", "para", "seq"):
        model = DPBoostRegressor(recipe=recipe, preset="paper", schema=SCHEMA)
        with pytest.raises(InvalidParameterError, match="'preset' parameter"):
            model.fit(np.zeros((5, 2)), np.zeros(5))
    model = DPBoostRegressor(recipe="dpboost", preset="thesis", schema=SCHEMA)
    with pytest.raises(InvalidParameterError, match="'preset' parameter"):
        model.fit(np.zeros((5, 2)), np.zeros(5))


def test_what_the_user_sets_stands_beside_both():
    given = {name: value * 2 for name, value in PAPER.items() if name != "trees_per_ensemble"}
    for preset in ({}, {"preset": "paper"}):
        found = DPBOOST.settle(replace(facts(), given=given | preset))
        assert {name: getattr(found, name) for name in given} == given
