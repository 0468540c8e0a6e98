"""SuLQ-ID3, DiffPID3 and DiffPC4.5: what they choose without noise, and what they pay."""

from fractions import Fraction

import numpy as np
import pytest

from dpboost import DPTreeClassifier
from tests.oracles import friedman_schuster as literal

pytestmark = pytest.mark.filterwarnings("ignore")

NAMES = ["sulq_id3", "diffp_id3", "diffp_c45"]
CRITERIA = ["max", "gini", "entropy"]


def groups_of(node, X, rows):
    """Return the groups of rows in the leaves of a literal tree."""
    if not node.children:
        return {frozenset(rows.tolist())}
    values = X[rows, node.attribute]
    return {
        group
        for value, child in enumerate(node.children)
        for group in groups_of(child, X, rows[values == value])
        if group
    }


def groups(model, X):
    leaves = model.apply(X)
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in np.unique(leaves)}


@pytest.mark.parametrize("recipe", ["sulq_id3", "diffp_id3"])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_without_noise_they_are_id3(whole_numbers, fit, recipe, criterion, n_classes):
    X, y = whole_numbers(1500, n_classes=n_classes, n_features=4)
    model = fit(X, y, nominal=range(4), recipe=recipe, criterion=criterion, max_depth=2)
    domain = literal.Domain((6,) * 4, n_classes)
    id3 = literal.Induction(domain, 2, float("inf"), criterion, False, len(y), None)
    assert groups(model, X) == groups_of(id3.build(X, y), X, np.arange(len(y)))


@pytest.mark.parametrize("recipe", ["sulq_id3", "diffp_id3"])
def test_numeric_features_are_discretized(whole_numbers, fit, recipe):
    X, y = whole_numbers(n_features=3)
    options = {"recipe": recipe, "max_depth": 2, "max_bin": 6}
    assert groups(fit(X, y, **options), X) == groups(fit(X, y, nominal=range(3), **options), X)


def test_no_feature_splits_twice_into_all_its_bins(whole_numbers, fit):
    X, y = whole_numbers(n_features=3)
    X = X[:, :2]
    model = fit(X, y, nominal=range(2), recipe="diffp_id3", max_depth=6)
    assert model.get_depth() == 2


@pytest.mark.parametrize("draws", ["joint", "per_feature"])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_c45_takes_the_best_threshold_or_all_categories(whole_numbers, fit, draws, criterion):
    X, y = whole_numbers(n_features=4)
    model = fit(
        X,
        y,
        nominal=[3],
        recipe="diffp_c45",
        criterion=criterion,
        max_depth=1,
        max_bin=6,
        prune=False,
        threshold_draws=draws,
    )

    def score(sides):
        return -literal.score(literal.table(sides.astype(int), y, 6, 2), criterion)

    by_threshold = [(score(X[:, f] <= v), f, v) for f in range(3) for v in range(6)]
    best = min([*by_threshold, (score(X[:, 3]), 3, 0)])
    splits = model.tree_.splits
    assert [splits.feature[0], splits.split_bin[0]] == [best[1], best[2]]


def share_of(model, label):
    return next(r.share for r in model.privacy_report_.releases if r.label == label)


@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize(
    ("recipe", "options", "parts"),
    [
        ("sulq_id3", {}, 2 * 3 + 2),
        ("diffp_id3", {}, 2 * 3 + 2),
        ("diffp_c45", {}, 2 * 3 + 2),
        # Four numeric features: (2 + n) d + 2 of the paper.
        ("diffp_c45", {"threshold_draws": "per_feature"}, (2 + 4) * 3 + 2),
    ],
)
def test_the_books(whole_numbers, fit, recipe, options, parts, neighbors):
    X, y = whole_numbers(20_000)
    nominal = [4] if recipe == "diffp_c45" else range(5)
    model = fit(
        X,
        y,
        nominal=nominal,
        recipe=recipe,
        epsilon=20.0,
        max_depth=3,
        neighbors=neighbors,
        **options,
    )
    report = model.privacy_report_
    part = Fraction(1, parts)
    assert share_of(model, "leaf counts") == part
    assert share_of(model, "node sizes") == (model.privacy_report_.releases[0].releases) * part
    assert report.epsilon_spent <= 20.0
    assert model.get_depth() == 3
    if recipe == "sulq_id3":
        assert share_of(model, "class counts") == share_of(model, "cell sizes") == 3 * part / 2
    else:
        assert share_of(model, "split choice") == 3 * part
    assert report.spent == 20


def test_small_nodes_stay_leaves(whole_numbers, fit):
    """N / (t |C|) < sqrt(2) / epsilon on released sizes, of which the noise is the same."""
    X, y = whole_numbers(400)
    model = fit(X, y, nominal=range(5), recipe="diffp_id3", epsilon=1.0, max_depth=5)
    least = 2**0.5 * 12 * 6 * 2
    inner = model.tree_.sizes[model.tree_.splits.node]
    assert (inner >= 0.99 * least).all()
    assert model.get_n_leaves() < 8


def test_pruning_is_a_matter_of_released_counts(whole_numbers, fit):
    X, y = whole_numbers()
    rule = X[:, 0] > 2  # one split says it all, but for every twentieth row
    y = np.where(np.arange(len(X)) % 20 == 0, ~rule, rule).astype(int)
    options = {"recipe": "diffp_c45", "max_bin": 6, "max_depth": 4}
    whole = fit(X, y, **options)
    pruned = fit(X, y, prune=True, **options)
    assert whole.prune_ is False
    assert pruned.get_n_leaves() < whole.get_n_leaves()
    assert (pruned.predict(X) == rule).all()


@pytest.mark.parametrize("recipe", ["best", *NAMES])
def test_without_noise_nodes_of_one_class_are_leaves(whole_numbers, fit, recipe):
    X, _ = whole_numbers()
    rule = (X[:, 0] > 2).astype(int)
    criterion = {"criterion": "entropy"} if recipe != "best" else {}
    model = fit(X, rule, recipe=recipe, max_bin=6, max_depth=3, **criterion)
    assert model.tree_.depth == 1
    assert (model.predict(X) == rule).all()


@pytest.mark.parametrize("recipe", ["sulq_id3", "diffp_id3"])
def test_without_noise_an_empty_branch_takes_the_class_of_its_parent(fit, recipe):
    X = np.repeat([[0.0, 0], [1, 0], [1, 1]], [60, 40, 15], axis=0)
    y = np.repeat([0, 1, 0], [60, 40, 15])
    model = fit(X, y, recipe=recipe, criterion="entropy", max_depth=2, nominal=(0, 1))
    assert (model.predict(X) == y).all()
    # The second feature has no row of value 5: 40 of 55 rows above are of class 1.
    assert model.predict([[1, 5]]).tolist() == [1]
    assert model.predict([[3, 0]]).tolist() == [0]


@pytest.mark.parametrize("recipe", NAMES)
def test_the_score_that_is_left_open_is_that_of_the_paper(whole_numbers, fit, recipe):
    """Algorithm 1 counts for the information gain; the experiments favor "max" in Algorithm 2."""
    X, y = whole_numbers(100)
    preset = {"preset": "paper"} if recipe == "diffp_c45" else {}
    expected = "entropy" if recipe == "sulq_id3" else "max"
    assert fit(X, y, recipe=recipe, **preset).criterion_ == expected


@pytest.mark.parametrize("n_values", [6, 2])
def test_a_node_stays_a_leaf_by_the_largest_of_the_attributes_that_remain(fit, n_values):
    """The rule N / (t |C|) < sqrt(2) / epsilon, whose t is that of the attributes left."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 6, 6000), random.integers(0, n_values, (6000, 2))])
    y = (X[:, 0] > 2).astype(int)
    schema = {
        "categories": {0: range(6), 1: range(n_values), 2: range(n_values)},
        "classes": (0, 1),
    }
    # A node below the root has 1000 rows. The deviation of a size is 6 sqrt(2) / epsilon = 127.
    model = DPTreeClassifier(
        recipe="diffp_id3", epsilon=6 * 2**0.5 / 127, schema=schema, max_depth=2, noise_seed=1
    ).fit(X.astype(float), y)
    split = model.tree_.splits.feature
    assert split[0] == 0
    assert (len(split) > 1) == (n_values == 2)


def test_c45_splits_by_gini_and_prunes_only_as_the_paper_does(whole_numbers, fit):
    X, y = whole_numbers(100)
    own = fit(X, y, recipe="diffp_c45")
    assert (own.criterion_, own.prune_, own.preset_) == ("gini", False, None)
    paper = fit(X, y, recipe="diffp_c45", preset="paper")
    assert (paper.criterion_, paper.prune_, paper.preset_) == ("max", True, "paper")
    mixed = fit(X, y, recipe="diffp_c45", preset="paper", criterion="entropy")
    assert (mixed.criterion_, mixed.prune_) == ("entropy", True)


def test_c45_finds_a_rule_that_the_majority_hides(fit):
    random = np.random.default_rng(0)
    X = random.integers(0, 6, (4000, 3)).astype(float)
    # No side of any split has more of the second class than of the first.
    y = (random.random(4000) < np.where(X[:, 0] > 2, 0.45, 0.05)).astype(int)
    found = {
        preset: fit(X, y, recipe="diffp_c45", preset=preset, max_depth=1).tree_.depth
        for preset in (None, "paper")
    }
    assert found == {None: 1, "paper": 0}
