import pytest

from dpboost import InvalidParameterError
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Terms, check_given
from dpboost.recipes.single_tree import TREE_ALGORITHMS

BAD = {
    "n_splits": [0, 4096],
    "leaf_share": [0, 1, 2, "a"],
    "target_error": [-0.1, 1.5],
    "min_gain": [-1, float("nan")],
    "depth_budget": ["half"],
    "threshold_draws": ["both"],
    "criterion": ["mse", 0],
    "prune": [1, "yes"],
    "preset": ["best", True],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, bad in BAD.items() for v in bad])
def test_values_outside_their_interval_are_refused(name, value):
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter of Tree"):
        check_given({name: value}, "Tree")


def test_the_gain_ratio_is_refused_with_its_reason():
    with pytest.raises(
        InvalidParameterError,
        match="no bound holds for what one row changes",
    ):
        check_given({"criterion": "gain_ratio"}, "Tree")


MEANINGLESS = [
    ("best", "preset", "paper"),
    ("diffp_id3", "preset", "paper"),
    ("best", "n_splits", 5),
    ("best", "prune", True),
    ("dp_topdown", "threshold_draws", "joint"),
    ("sulq_id3", "selection", "exponential"),
    ("diffp_id3", "leaf_share", 0.5),
    ("diffp_c45", "depth_budget", "decay"),
]


@pytest.mark.parametrize(("recipe", "name", "value"), MEANINGLESS)
def test_values_without_a_meaning_are_refused(recipe, name, value):
    with pytest.raises(InvalidParameterError, match="has no meaning for recipe"):
        TREE_ALGORITHMS[recipe].check({name: value}, "Tree")


def test_criteria_belong_to_recipes():
    for recipe in TREE_ALGORITHMS.values():
        for criterion in ("gini", "entropy", "max", "root_gini"):
            request = {"criterion": criterion}
            if criterion in recipe.choices["criterion"]:
                recipe.check(request, "Tree")
            else:
                with pytest.raises(InvalidParameterError, match="criterion"):
                    recipe.check(request, "Tree")


@pytest.mark.parametrize("recipe", list(TREE_ALGORITHMS))
def test_the_least_epsilon_grows_with_what_divides_it(recipe):
    algorithm = TREE_ALGORITHMS[recipe]

    def least(neighbors=Neighbors.ADD_REMOVE, **given):
        terms = Terms(delta=0.0, task="classification", neighbors=neighbors, n_features=10)
        return algorithm.least_epsilon(given, terms)

    assert 0 < least(max_depth=2) < least(max_depth=12) < 0.2
    add, replaced = map(least, Neighbors)
    assert replaced == 2 * add


@pytest.mark.parametrize("recipe", list(TREE_ALGORITHMS))
def test_recipes_declare_what_they_can_do(recipe):
    algorithm = TREE_ALGORITHMS[recipe]
    assert algorithm.single
    assert algorithm.tasks == {"classification"}
    assert algorithm.most_classes == 255
    assert algorithm.needs_exact_sums == (
        recipe in ("best", "dp_topdown", "diffp_id3", "diffp_c45")
    )
    with pytest.raises(InvalidParameterError, match="learns a regression"):
        algorithm.check_task("regression", "Tree")
