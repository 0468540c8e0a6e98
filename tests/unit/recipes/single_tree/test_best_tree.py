"""Our own tree without noise is CART; with noise its records are those of its rule."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpboost.recipes.single_tree.best_tree import depth_rule

N_VALUES = 6


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_without_noise_it_is_cart(whole_numbers, fit, same_partition, criterion, n_classes, seed):
    X, y = whole_numbers(n_classes=n_classes, seed=seed)
    ours = fit(X, y, max_depth=4, max_bin=N_VALUES, criterion=criterion)
    cart = DecisionTreeClassifier(criterion=criterion, max_depth=4, random_state=0).fit(X, y)
    assert same_partition(ours, cart, X)


def test_single_categories_are_the_splits_of_one_hot_columns(whole_numbers, fit, same_partition):
    X, y = whole_numbers(n_features=3)
    ours = fit(X, y, nominal=range(3), max_depth=4)
    columns = (X[:, :, np.newaxis] == np.arange(N_VALUES)).reshape(len(X), -1).astype(float)
    cart = DecisionTreeClassifier(max_depth=4, random_state=0).fit(columns, y)
    assert same_partition(ours, cart, X, columns)


def test_released_counts_without_noise_are_those_of_the_rows(whole_numbers, fit):
    X, y = whole_numbers(n_classes=3)
    model = fit(X, y, max_depth=3)
    leaves = model.apply(X)
    counts = np.zeros((model.get_n_leaves(), 3))
    np.add.at(counts, (leaves, y), 1)
    of_leaves = np.setdiff1d(np.arange(model.tree_.n_nodes), model.tree_.splits.node)
    assert np.array_equal(model.tree_.counts[of_leaves], counts)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_the_records(whole_numbers, fit, depth, neighbors):
    X, y = whole_numbers()
    model = fit(X, y, epsilon=1.0, max_depth=depth, neighbors=neighbors)
    report = model.privacy_report_
    assert report.epsilon_spent == 1.0
    assert report.kind == "pure"
    shares = {release.label: (release.releases, release.share) for release in report.releases}
    assert shares["row count"] == (1, Fraction(1, 50))
    rest = Fraction(49, 50)
    leaves = rest if depth == 0 else rest * Fraction(1, 5)
    assert shares["leaf counts"] == (1, leaves)
    assert sum(share for _, share in shares.values()) == 1
    if depth:
        assert shares["split choice"] == (depth, rest * Fraction(4, 5))
    assert model.get_depth() == depth
    assert model.get_n_leaves() == 2**depth


def test_depth_follows_rows_and_budget(whole_numbers, fit):
    depths = [depth_rule(information) for information in (0, 300, 2e3, 3e4, 1e9)]
    assert depths == sorted(depths)
    assert depths[0] == 1
    X, y = whole_numbers(600)
    models = [fit(X, y, epsilon=epsilon) for epsilon in (0.05, 50.0)]
    assert models[0].max_depth_ < models[1].max_depth_
    assert all(model.max_depth_ == model.get_depth() for model in models)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_much_budget_is_nearly_no_noise(whole_numbers, fit, neighbors):
    X, y = whole_numbers()
    exact = fit(X, y, max_depth=3)
    noisy = fit(X, y, max_depth=3, epsilon=200.0, neighbors=neighbors)
    assert np.abs(noisy.predict_proba(X) - exact.predict_proba(X)).mean() < 0.03
