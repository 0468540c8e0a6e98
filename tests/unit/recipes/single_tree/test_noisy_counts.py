"""NoisyCounts and LocalRNM: the tree without noise, the records, and what the sites decide."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost.recipes.single_tree.dp_topdown import level_weights

NO_TESTS = {"target_error": 0.0, "min_gain": 0.0}
BOTH = pytest.mark.parametrize("recipe", ["noisy_counts", "local_rnm"])


@BOTH
@pytest.mark.parametrize("criterion", ["gini", "entropy", "root_gini"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_splits", [1, 6, 20])
def test_without_noise_it_is_dp_topdown(
    whole_numbers, fit, same_partition, recipe, criterion, n_classes, n_splits
):
    X, y = whole_numbers(n_classes=n_classes)
    options = {"criterion": criterion, "n_splits": n_splits, "max_bin": 6, **NO_TESTS}
    ours = fit(X, y, recipe=recipe, max_depth=6, nominal=(3,), **options)
    other = fit(X, y, recipe="dp_topdown", max_depth=6, nominal=(3,), **options)
    assert same_partition(ours, other, X)
    assert ours.get_n_leaves() == other.get_n_leaves() == n_splits + 1
    assert sorted(ours.tree_.counts.tolist()) == sorted(other.tree_.counts.tolist())


@BOTH
@pytest.mark.parametrize("depth_budget", ["decay", "uniform"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_the_records(whole_numbers, fit, recipe, depth_budget, neighbors):
    X, y = whole_numbers()
    model = fit(
        X,
        y,
        recipe=recipe,
        epsilon=40.0,
        max_depth=3,
        leaf_share=0.25,
        depth_budget=depth_budget,
        neighbors=neighbors,
        **NO_TESTS,
    )
    report = model.privacy_report_
    used = sum(level_weights(depth_budget, 3))
    assert report.spent == 40 * (Fraction(1, 4) + Fraction(3, 4) * used)
    shares = {release.label: release.share for release in report.releases}
    assert shares["leaf counts"] == Fraction(1, 4)
    assert shares["node sizes"] == Fraction(3, 4) * used / 2
    assert shares["class counts"] == shares["node sizes"] / (2 if recipe == "local_rnm" else 1)
    (counts,) = [release for release in report.releases if release.label == "class counts"]
    rows = 2 if neighbors == "replace" else 1
    # A histogram for each of five features, or one for the feature of the one site's choice.
    assert counts.largest == rows * (5 if recipe == "noisy_counts" else 1)


@BOTH
def test_with_much_budget_it_learns_the_rule(whole_numbers, fit, recipe):
    X, y = whole_numbers()
    model = fit(X, y, recipe=recipe, epsilon=200.0, max_depth=4, max_bin=6)
    bare = fit(X, y, recipe="dp_topdown", max_depth=4, max_bin=6)
    assert np.mean(model.predict(X) == y) > np.mean(bare.predict(X) == y) - 0.05
