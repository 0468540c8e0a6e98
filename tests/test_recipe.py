from dataclasses import FrozenInstanceError, asdict, fields, replace

import pytest

from dpboost import InvalidParameterError
from dpboost.algorithms import ALGORITHMS
from dpboost.boosting.schedule import EnsembleOfEnsembles, HalfOfTheUnused, Sequential
from dpboost.losses import LogisticLoss, SquaredLoss
from dpboost.privacy.relation import Neighbours
from dpboost.recipe import Hyperparameters

LOSS = SquaredLoss.from_label_bounds(0.0, 1.0)

ENDS = {
    "n_estimators": (1, 100_000),
    "max_depth": (0, 12),
    "max_bin": (2, 255),
    "trees_per_ensemble": (1, 100_000),
}


@pytest.mark.parametrize("name", ENDS)
def test_integers_are_taken_up_to_both_ends(name):
    low, high = ENDS[name]
    for value in (low, high, None):
        Hyperparameters(**{name: value}).validate("X")
    for value in (low - 1, high + 1, float(low), True, "1"):
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of X"):
            Hyperparameters(**{name: value}).validate("X")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("learning_rate", [1e-9, 0.5, 1, 1.0], [0, -0.1, 1.01, float("nan"), "0.1", True]),
        ("reg_lambda", [1e-6, 1, 1e12], [0, 9e-7, 2e12, float("inf"), "1"]),
        ("selection", ["exponential", "permute_and_flip"], ["argmax", 1, ""]),
    ],
)
def test_other_parameters_are_checked_by_name(name, good, bad):
    for value in [*good, None]:
        Hyperparameters(**{name: value}).validate("X")
    for value in bad:
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of X"):
            Hyperparameters(**{name: value}).validate("X")


def test_a_rule_fills_only_what_is_open():
    rule = Hyperparameters(n_estimators=50, max_depth=6, learning_rate=0.1)
    request = Hyperparameters(n_estimators=1, max_depth=0)
    filled = request.filled(rule)
    assert filled == Hyperparameters(n_estimators=1, max_depth=0, learning_rate=0.1)
    assert request.n_estimators == 1, "a request is not changed"
    with pytest.raises(FrozenInstanceError):
        filled.max_depth = 3


@pytest.mark.parametrize("name", ALGORITHMS.names)
@pytest.mark.parametrize("loss", [LOSS, LogisticLoss()], ids=lambda loss: loss.name)
def test_every_recipe_uses_what_it_says(name, loss):
    algorithm = ALGORITHMS.find(name, "X")
    values = {
        "n_estimators": 7,
        "learning_rate": 0.3,
        "max_depth": 2,
        "reg_lambda": 5.0,
        "max_bin": 9,
        "trees_per_ensemble": 3,
        "selection": "permute_and_flip",
    }
    assert set(values) == {field.name for field in fields(Hyperparameters)}
    recipe = algorithm.recipe(Hyperparameters(**values), loss, 2)
    assert recipe.name == name
    assert asdict(recipe.hyperparameters) == values
    loop = recipe.loop
    assert (loop.n_estimators, loop.learning_rate) == (7, 0.3)
    assert loop.grower.max_depth == 2
    assert loop.grower.selector.selection == "permute_and_flip"
    assert loop.grower.selector.criterion.reg_lambda == loop.leaf.reg_lambda == 5.0
    assert loop.grower.selector.criterion.hessian == loop.leaf.hessian == loss.hessian
    assert loop.grower.selector.criterion.n_threads == 2
    assert loop.gradient_bound == loop.leaf.gradient_bound == loss.gradient_bound


@pytest.mark.parametrize("name", ALGORITHMS.names)
def test_rules_are_complete_but_for_what_the_recipe_does_not_have(name):
    algorithm = ALGORITHMS.find(name, "X")
    algorithm.defaults.validate("X")
    open_values = {key for key, value in asdict(algorithm.defaults).items() if value is None}
    assert open_values == ({"trees_per_ensemble"} if name == "para" else set())


def test_recipes_differ_in_how_trees_share_rows_and_clip_leaves():
    request = Hyperparameters(learning_rate=0.5, trees_per_ensemble=4)
    loops = {
        name: ALGORITHMS.find(name, "X").recipe(request, LOSS, 1).loop for name in ALGORITHMS.names
    }
    assert loops["dpboost"].schedule == EnsembleOfEnsembles(trees_per_ensemble=4, learning_rate=0.5)
    assert loops["para"].schedule == HalfOfTheUnused()
    assert loops["seq"].schedule == Sequential()
    assert [loops["dpboost"].clip.at(index) for index in range(3)] == [1.0, 0.5, 0.25]
    for name in ("para", "seq"):
        assert [loops[name].clip.at(index) for index in range(3)] == [1.0] * 3


def test_a_clip_that_decays_to_nothing_is_still_charged():
    """A learning rate of 1 leaves no share and no leaf value to all trees but the first."""
    recipe = ALGORITHMS.find("dpboost", "X").recipe(Hyperparameters(learning_rate=1.0), LOSS, 1)
    leaf = replace(recipe.loop.leaf, clip=recipe.loop.clip.at(1))
    assert leaf.clip == 0.0
    assert [leaf.bound(relation).constant for relation in Neighbours] == [1, 2]


def test_an_unknown_recipe_is_refused_with_the_names_there_are():
    for wrong in ("best_", "DPBoost", None, 3, ["seq"]):
        with pytest.raises(InvalidParameterError) as caught:
            ALGORITHMS.find(wrong, "X")
        for name in ALGORITHMS.names:
            assert repr(name) in str(caught.value)
