"""DP-TopDown: best-first growth, its two budgets, its tests, and its records."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpboost import DPTreeClassifier
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Terms
from dpboost.recipes.single_tree.dp_topdown import DP_TOPDOWN, level_weights

pytestmark = pytest.mark.filterwarnings("ignore")

RECIPE = {"recipe": "dp_topdown", "preset": "paper", "max_bin": 6}
NO_TESTS = {"target_error": 0.0, "min_gain": 0.0}


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_splits", [1, 6, 20])
def test_without_noise_it_is_best_first_cart(
    whole_numbers, fit, same_partition, criterion, n_classes, n_splits
):
    X, y = whole_numbers(n_classes=n_classes)
    ours = fit(X, y, criterion=criterion, n_splits=n_splits, **RECIPE, **NO_TESTS)
    cart = DecisionTreeClassifier(
        criterion=criterion, max_leaf_nodes=n_splits + 1, max_depth=10, random_state=0
    ).fit(X, y)
    assert same_partition(ours, cart, X)


def root_gini(counts):
    share = counts / max(counts.sum(), 1)
    return counts.sum() * np.sqrt(share * (1 - share)).sum()


def test_the_first_split_by_root_gini_is_the_best_one(whole_numbers, fit):
    X, y = whole_numbers()
    model = fit(X, y, criterion="root_gini", n_splits=1, **RECIPE, **NO_TESTS)

    def impurity(feature, value):
        sides = X[:, feature] <= value
        return sum(root_gini(np.bincount(y[part], minlength=2)) for part in (sides, ~sides))

    best = min((impurity(f, v), f, v) for f in range(X.shape[1]) for v in range(6))
    splits = model.tree_.splits
    assert [splits.feature[0], splits.split_bin[0]] == [best[1], best[2]]


def test_what_is_left_open_is_the_recipes_own_or_the_papers(whole_numbers, fit):
    X, y = whole_numbers(300)
    own = fit(X, y, recipe="dp_topdown")
    assert (own.max_depth_, own.depth_budget_, own.leaf_share_) == (3, "uniform", 0.1)
    paper = fit(X, y, recipe="dp_topdown", preset="paper")
    assert (paper.max_depth_, paper.depth_budget_, paper.leaf_share_) == (512, "decay", 0.5)
    mixed = fit(X, y, recipe="dp_topdown", preset="paper", max_depth=2)
    assert (mixed.max_depth_, mixed.depth_budget_) == (2, "decay")


@pytest.mark.parametrize(("epsilon", "deepest"), [(0.125, 15), (1.0, 18), (64.0, 24)])
def test_the_depth_of_the_paper_ends_where_no_draw_would_be_exact(
    whole_numbers, fit, epsilon, deepest
):
    """A part of the budget that has no exact sampler is of no use: the depth has no other cap."""
    X, y = whole_numbers(2000)
    free = {"target_error": 0.0, "min_gain": 0.0}
    model = fit(X, y, epsilon=epsilon, **RECIPE | free)
    assert model.max_depth_ == deepest
    assert model.privacy_report_.epsilon_spent <= epsilon
    assert fit(X, y, epsilon=epsilon, n_splits=3, **RECIPE).max_depth_ == 3


def test_without_noise_only_the_number_of_splits_bounds_the_depth(fit):
    X = np.repeat(np.arange(250.0), 8)[:, np.newaxis]
    y = (X[:, 0] % 2).astype(int)
    schema = {"bounds": {0: (-0.5, 249.5)}, "classes": (0, 1)}
    model = DPTreeClassifier(
        recipe="dp_topdown",
        preset="paper",
        epsilon=float("inf"),
        max_bin=250,
        schema=schema,
        **NO_TESTS,
    ).fit(X, y)
    assert model.max_depth_ == 512
    assert model.get_depth() > 12
    assert (model.predict(X) == y).all()


@pytest.mark.parametrize("depth_budget", ["uniform", "decay"])
def test_weights_of_rows_leave_fewer_depths(whole_numbers, depth_budget):
    X, y = whole_numbers(400)
    schema = {"bounds": dict.fromkeys(range(5), (-0.5, 5.5)), "classes": (0, 1)}
    options = {"recipe": "dp_topdown", "preset": "paper", "depth_budget": depth_budget}
    plain, weighted = (
        DPTreeClassifier(epsilon=20.0, schema=schema, max_weight=weight, **options).fit(
            X, y, sample_weight=None if weight is None else np.ones(len(y))
        )
        for weight in (None, 1.0)
    )
    assert 10 <= weighted.max_depth_ < plain.max_depth_ <= 512 or (
        depth_budget == "uniform" and plain.max_depth_ == 512
    )


def test_its_own_values_bear_smaller_budgets_than_those_of_the_paper():
    terms = Terms(delta=0.0, task="classification", neighbors=Neighbors.ADD_REMOVE, n_features=3)
    least = DP_TOPDOWN.least_epsilon
    assert least({}, terms) < least({"preset": "paper"}, terms)
    assert least({"max_depth": 6}, terms) == pytest.approx(2 * least({}, terms))


def test_weights_of_the_depths_add_up_to_at_most_one():
    assert level_weights("uniform", 4) == [Fraction(1, 4)] * 4
    assert level_weights("uniform", 0) == level_weights("decay", 0) == []
    decay = level_weights("decay", 4)
    assert decay == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16)]


@pytest.mark.parametrize("depth_budget", ["decay", "uniform"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_records(whole_numbers, fit, depth_budget, neighbors):
    X, y = whole_numbers()
    model = fit(
        X,
        y,
        epsilon=4.0,
        max_depth=3,
        leaf_share=0.25,
        depth_budget=depth_budget,
        neighbors=neighbors,
        **RECIPE,
    )
    report = model.privacy_report_
    assert report.epsilon_spent <= 4.0
    shares = {release.label: release.share for release in report.releases}
    assert shares["leaf counts"] == Fraction(1, 4)
    # The root alone has half of a node's budget for its size, and it is always looked at.
    root = Fraction(3, 4) * (Fraction(1, 2) if depth_budget == "decay" else Fraction(1, 3))
    assert shares["node sizes"] >= root / 2
    assert shares["split choice"] == shares["split gain"]
    assert model.get_depth() <= 3


def test_nodes_of_a_depth_cost_what_one_of_them_costs(whole_numbers, fit):
    X, y = whole_numbers()
    model = fit(X, y, epsilon=100.0, max_depth=4, leaf_share=0.5, **RECIPE, **NO_TESTS)
    report = model.privacy_report_
    choices = next(r for r in report.releases if r.label == "split choice")
    assert choices.releases > 4
    weights = sum(level_weights("decay", 4))
    assert report.spent <= 100 * (Fraction(1, 2) + Fraction(1, 2) * weights)


@pytest.mark.parametrize("recipe", ["dp_topdown", "noisy_counts", "local_rnm"])
def test_the_tests_on_released_numbers_keep_the_tree_small(whole_numbers, fit, recipe):
    X, y = whole_numbers()
    own = RECIPE if recipe == "dp_topdown" else {"recipe": recipe, "max_depth": 8, "max_bin": 6}
    free = fit(X, y, n_splits=60, **own, **NO_TESTS)
    gains = fit(X, y, n_splits=60, target_error=0.0, min_gain=0.3, **own)
    sizes = fit(X, y, n_splits=60, target_error=1.0, min_gain=0.0, **own)
    assert free.get_n_leaves() == 61
    assert gains.get_n_leaves() < 61
    # Nodes of fewer than a sixtieth of the rows stay leaves.
    inner = sizes.tree_.counts[sizes.tree_.splits.node].sum(axis=1)
    assert inner.min() >= len(X) / 60
    assert free.tree_.counts[free.tree_.splits.node].sum(axis=1).min() < len(X) / 60


def test_little_budget_gives_a_tree_all_the_same(whole_numbers, fit):
    X, y = whole_numbers(50)
    model = fit(X, y, epsilon=0.1, **RECIPE)
    assert model.get_n_leaves() <= 513
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("recipe", ["dp_topdown", "local_rnm", "noisy_counts"])
def test_noise_that_hides_the_gain_does_not_end_the_tree_at_its_root(whole_numbers, fit, recipe):
    """The paper tests the largest of all noisy gains, which noise hardly ever makes small."""
    X, y = whole_numbers(1000)
    preset = {"preset": "paper"} if recipe == "dp_topdown" else {}
    options = {"recipe": recipe, "epsilon": 0.5, "max_bin": 6, **preset}
    leaves = [fit(X, y, noise_seed=seed, **options).get_n_leaves() for seed in range(12)]
    assert sum(found > 1 for found in leaves) >= 10
