"""Recipes beside the literal algorithms of their papers, and the algorithms themselves."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dpboost import DPTreeClassifier
from dpboost.privacy.mechanisms import PermuteAndFlip
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.trees.growing_tree import GrowingTree
from tests.oracles import (
    boosting,
    cases,
    dp_topdown,
    federated_trees,
    friedman_schuster,
    leaf_labels,
    lpdt,
)

CASES = cases.cases()


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(own, marks=() if own.quick else pytest.mark.nightly, id=own.name)
        for own in CASES
    ],
)
def test_a_recipe_is_not_worse_than_the_literal_algorithm(case):
    found = case.compare()
    assert found.not_worse or case.explained, found
    assert np.isfinite([found.ours, found.theirs]).all()


def test_names_of_points_differ():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {case.name.split(",")[0].split(" ")[0] for case in CASES if case.quick} == {
        case.name.split(",")[0].split(" ")[0] for case in CASES
    }


@pytest.fixture
def numbers():
    """Whole numbers below six in five columns, and classes that depend on three of them."""
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (2000, 5))
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 2) + random.integers(0, 3, 2000) > 5).astype(int)
    return X, y


INFINITE = float("inf")


def test_the_literal_topdown_is_best_first_cart_without_noise(numbers):
    X, y = numbers
    splits = (X[:, :, np.newaxis] <= np.arange(5)).reshape(len(X), -1)
    random = np.random.default_rng(0)
    cart = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=13, random_state=0).fit(X, y)
    for private_split in (dp_topdown.SingleMachine(), dp_topdown.NoisyCounts()):
        tree = dp_topdown.dp_topdown(
            splits, y, 2, INFINITE, private_split, random, n_splits=12, error=0.0, min_gain=0.0
        )
        assert (tree.predict(splits) == cart.predict(X)).mean() > 0.999
    assert max(tree.depth.values()) > 3


def test_the_literal_federated_trees_are_cart_without_noise(numbers):
    X, y = numbers
    parts = list(zip(np.array_split(X + 0.5, 3), np.array_split(y, 3), strict=True))
    cart = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    for saving in (False, True):
        settings = federated_trees.Settings(
            epsilon=INFINITE, max_depth=3, low=0, high=6, n_bins=6, min_samples=1, saving=saving
        )
        tree = federated_trees.Tree(parts, settings, np.random.default_rng(0))
        assert (tree.predict(X + 0.5) == cart.predict(X)).mean() > 0.99


def test_gamma_noises_of_parties_add_up_to_laplace():
    random = np.random.default_rng(0)
    parts = [np.empty(0)] * 5
    drawn = np.array(
        [federated_trees.histogram(parts, np.array([0, 1]), 0.5, random)[0] for _ in range(4000)]
    )
    assert np.abs(drawn.mean()) < 0.2
    assert drawn.var() == pytest.approx(2 / 0.5**2, rel=0.15)
    assert np.mean(np.abs(drawn) > 2) == pytest.approx(np.exp(-1), abs=0.03)


def test_the_literal_tree_of_gradients_is_a_regression_tree_without_noise(numbers):
    X, y = numbers
    gradients = 1.0 - 2.0 * y
    tree = boosting.Tree(
        X,
        gradients,
        n_bins=6,
        depth=3,
        reg_lambda=1e-9,
        epsilon=INFINITE,
        clip=1.0,
        random=np.random.default_rng(0),
    )
    cart = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, -gradients)
    assert tree.predict(X) == pytest.approx(cart.predict(X), abs=1e-6)


def test_the_literal_boxes_hold_every_row_once(numbers):
    X = numbers[0][:, :2] / 6 + 0.01
    y = numbers[1].astype(float)
    for rule in ("max_edge", "variance"):
        low, high = lpdt.partition(X, y, 4, 20, rule)
        inside = ((X[:, np.newaxis] >= low) & (X[:, np.newaxis] < high)).all(axis=2)
        assert (inside.sum(axis=1) == 1).all()
        assert np.bincount(lpdt.cells(X, (low, high))).min() >= 20
        # Without noise to speak of leaves hold means.
        found = lpdt.lpdt(X, y, X, (low, high), 400.0, 1.0, np.random.default_rng(0))
        of = lpdt.cells(X, (low, high))
        means = np.bincount(of, y) / np.bincount(of)
        assert np.abs(found - means[of]).max() < 0.01


@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("n_values", [2, 5])
@pytest.mark.parametrize("recipe", ["sulq_id3", "diffp_id3"])
def test_without_noise_the_recipes_are_id3(recipe, n_values, depth):
    """Nodes of one class are leaves, and empty branches take the class of their parent."""
    random = np.random.default_rng(0)
    X = random.integers(0, n_values, (3000, 6))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > n_values).astype(int) ^ (random.random(3000) < 0.05)
    test = random.integers(0, n_values, (20_000, 6))
    domain = friedman_schuster.Domain((n_values,) * 6, 2)
    counted = recipe == "sulq_id3"
    tree = friedman_schuster.Induction(domain, depth, INFINITE, "entropy", counted, 1, random)
    literal = tree.build(X, y)
    with pytest.warns(match="private"):
        model = DPTreeClassifier(
            recipe=recipe,
            epsilon=INFINITE,
            criterion="entropy",
            max_depth=depth,
            schema={
                "categories": dict.fromkeys(range(6), tuple(range(n_values))),
                "classes": (0, 1),
            },
        ).fit(X, y)
    assert np.mean(model.predict(test) == friedman_schuster.predict(literal, test)) > 0.999


@pytest.mark.parametrize("pruned", [False, True])
def test_without_noise_the_recipe_is_c45_with_information_gain(numbers, pruned):
    X, y = numbers
    X = X[:, :3] + 0.5
    domain = friedman_schuster.Domain(((0.0, 6.0),) * 3, 2)
    random = np.random.default_rng(0)
    literal = friedman_schuster.Induction(domain, 4, INFINITE, "entropy", False, 1, random).build(
        X, y
    )
    if pruned:
        friedman_schuster.prune(literal)
    with pytest.warns(match="private"):
        model = DPTreeClassifier(
            recipe="diffp_c45",
            epsilon=INFINITE,
            criterion="entropy",
            prune=pruned,
            max_depth=4,
            max_bin=6,
            schema={"bounds": dict.fromkeys(range(3), (0.0, 6.0)), "classes": (0, 1)},
        ).fit(X, y)
    assert model.get_n_leaves() == friedman_schuster.n_leaves(literal)
    assert (model.predict(X) == friedman_schuster.predict(literal, X)).all()


def test_the_continuous_exponential_mechanism_draws_by_width_and_score():
    """Ranges between the values of the rows, of one score each, weighed by their width."""
    column, y = np.array([2.0, 5.0]), np.array([0, 1])
    random = np.random.default_rng(0)
    drawn = np.array(
        [
            friedman_schuster.threshold(column, y, (0.0, 10.0), 2, "max", 2.0, 10, random)
            for _ in range(6000)
        ]
    )
    weights = np.array([2 * np.exp(1), 3 * np.exp(2), 5 * np.exp(1)])
    found = np.histogram(drawn, [0, 2, 5, 10])[0] / len(drawn)
    assert found == pytest.approx(weights / weights.sum(), abs=0.02)


def test_the_class_of_a_leaf_has_the_law_of_report_noisy_max():
    """Line 14 of DP-TopDown: the largest count with Lap(1 / epsilon) is that of noisy counts.

    Counts move one way with a row, so that the noisy maximum takes no more noise than the counts
    themselves: releasing all of them costs the same, and the class is the same draw.
    """
    y = np.repeat([0, 1], [30, 25])
    schema = {"bounds": {0: (0.0, 1.0)}, "classes": (0, 1)}
    options = {"recipe": "dp_topdown", "epsilon": 0.2, "max_depth": 0, "schema": schema}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = [
            DPTreeClassifier(noise_seed=seed, **options).fit(np.zeros((55, 1)), y).predict([[0.0]])
            for seed in range(400)
        ]
    # The difference of two Laplace variables of scale b is above d so often.
    b, d = 1 / 0.2, 5
    expected = (0.5 + d / (4 * b)) * np.exp(-d / b)
    assert np.mean(drawn) == pytest.approx(expected, abs=3.5 * (expected / 400) ** 0.5)


def test_exponential_noise_on_counts_is_permute_and_flip():
    growing, counts, epsilon = GrowingTree(), np.array([[3.0, 5.0, 4.0]]), 0.6
    random = np.random.default_rng(0)
    drawn = [
        leaf_labels.by_permute_and_flip(growing, counts, epsilon, random)[0] for _ in range(20_000)
    ]
    # A row moves one count by one, and all counts one way.
    bound = Sensitivity(kind="range", constant=1, reason="a row is of one class")
    mechanism = PermuteAndFlip(epsilon=Fraction(3, 5))
    scores = counts.astype(np.int64)
    for label in range(3):
        expected = np.exp(mechanism.log_probability(np.array([label]), scores, bound))
        error = (expected * (1 - expected) / len(drawn)) ** 0.5
        assert np.mean(np.equal(drawn, label)) == pytest.approx(expected, abs=4 * error)
