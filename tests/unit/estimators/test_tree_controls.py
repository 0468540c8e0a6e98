"""LightGBM's controls of trees: each recipe follows them, everywhere alike, or refuses them."""

import math
import warnings

import numpy as np
import pytest

import dpboost
from dpboost import Budget, DPBoostClassifier, DPBoostRegressor, InvalidParameterError
from dpboost.growing.partition_learner import WEIGHT_UNITS
from dpboost.privacy.ledger import Ledger
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.recipe import CONTROLS
from dpboost.training.privacy_params import NotPrivateWarning

# By an alias where LightGBM has one.
ASKED = {
    "max_delta_step": {"max_tree_output": 0.01},
    "path_smooth": {"path_smooth": 200.0},
    "min_sum_hessian_in_leaf": {"min_child_weight": 60.0},
    "feature_fraction": {"colsample_bytree": 0.4},
    "feature_contri": {"feature_contrib": "1,0,1"},
    "bagging_fraction": {"subsample": 0.3, "subsample_freq": 1},
}
OF_ALL = {"max_delta_step", "feature_fraction", "bagging_fraction"}
SCHEMA = {"bounds": dict.fromkeys(range(3), (-3, 3)), "label_bounds": (-4, 4)}
FAST = {"n_estimators": 6, "max_depth": 3, "max_bin": 16, "n_jobs": 1, "verbosity": -1}
SEEDED = {"noise_seed": 1, "random_state": 2}

pytestmark = pytest.mark.filterwarnings("ignore", category=NotPrivateWarning)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 3))
Y = X[:, 0] - X[:, 2] + 0.3 * RANDOM.normal(size=400)


def fitted(**options):
    return DPBoostRegressor(**{"schema": SCHEMA, **FAST, **options}).fit(X, Y)


def text_of(model):
    return model.booster_.model_to_string()


def leaves_of(model):
    """Largest step of a leaf in raw scores, learning rate included."""
    ensemble = model.ensemble_
    return max(np.abs(tree.leaf_value).max() for tree in ensemble.trees) * ensemble.unit


def test_every_control_is_tried():
    assert set(ASKED) == CONTROLS


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("name", ASKED)
def test_what_costs_nothing_is_followed_or_refused(name, recipe, delta, monkeypatch):
    options = {"recipe": recipe, "delta": delta, **SEEDED}
    if recipe != "best" and name not in OF_ALL:
        monkeypatch.setattr(Ledger, "release", lambda *a, **k: pytest.fail("released"))
        with pytest.raises(InvalidParameterError, match=f"'{name}' parameter .*'{recipe}'"):
            fitted(**options, **ASKED[name])
        return
    usual, model = fitted(**options), fitted(**options, **ASKED[name])
    assert not np.array_equal(usual.predict(X), model.predict(X))
    # What it costs is what it cost before.
    before, report = usual.privacy_report_, model.privacy_report_
    assert (report.spent, len(report.releases)) == (before.spent, len(before.releases))
    assert set(report.facts) - set(before.facts) == {name}
    assert f"[{name}: " in text_of(model)
    assert f"[{name}: " not in text_of(usual)


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
def test_values_that_ask_for_nothing_change_nothing(recipe):
    neutral = {
        "max_delta_step": 0.0,
        "path_smooth": 0,
        "min_child_weight": 1e-3,
        "feature_fraction": 1.0,
        "feature_contri": None,
        "subsample": 1.0,
        "subsample_freq": 5,
        "extra_trees": False,
    }
    options = {"recipe": recipe, **SEEDED}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*has no effect", dpboost.ParameterWarning)
        assert text_of(fitted(**options)) == text_of(fitted(**options, **neutral))
    # Without a frequency there is no bagging.
    assert text_of(fitted(**options)) == text_of(fitted(**options, subsample=0.3))


@pytest.mark.parametrize("recipe", ALGORITHMS.names)
@pytest.mark.parametrize("epsilon", [math.inf, 0.5])
def test_released_steps_stay_below_max_delta_step(recipe, epsilon):
    options = {"recipe": recipe, "epsilon": epsilon, "learning_rate": 0.5}
    model = fitted(**options, max_delta_step=0.05)
    assert leaves_of(model) <= 0.5 * 0.05 + model.ensemble_.unit
    assert leaves_of(model) > 0.9 * 0.5 * 0.05
    assert leaves_of(fitted(**options)) > 0.05


def test_a_feature_without_contribution_is_never_used():
    model = fitted(feature_contri=[1, 0, 1], n_estimators=30)
    used = {feature for tree in model.ensemble_.trees for feature in tree.feature.tolist()}
    assert used == {0, 2}


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_a_tree_of_other_recipes_keeps_to_its_part_of_the_features(recipe):
    model = fitted(recipe=recipe, feature_fraction=0.34, n_estimators=60)
    used = [set(tree.feature.tolist()) for tree in model.ensemble_.trees]
    assert {len(own) for own in used} == {1}
    assert set().union(*used) == {0, 1, 2}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("feature_contri", value) for value in ([1, 1], [0, 0, 0], [-1, 0, 0], "1,x,1", 3)],
        ("feature_contri", [1, math.nan, 1]),
        ("feature_fraction", 0.0),
        ("feature_fraction", 1.5),
        ("path_smooth", "much"),
        ("min_child_weight", math.inf),
        ("bagging_freq", 0.5),
        ("bagging_freq", "often"),
    ],
)
def test_wrong_values_are_refused_before_a_draw(name, value, no_release):
    known = {"min_child_weight": "min_sum_hessian_in_leaf"}.get(name, name)
    with pytest.raises(InvalidParameterError, match=known):
        fitted(**{name: value})
    if name.startswith("bagging"):
        return
    with pytest.raises(InvalidParameterError, match=known):
        fitted(**{name: value}, interaction_constraints=[[0, 1], [2]])


def test_factors_and_groups_must_leave_a_feature():
    with pytest.raises(InvalidParameterError, match="feature_contri"):
        fitted(feature_contri=[0, 0, 1], interaction_constraints=[[0, 1]])


def test_rows_take_part_by_coins():
    options = {"epsilon": math.inf, "n_estimators": 20}
    model = fitted(**options, bagging_fraction=0.3, bagging_freq=1)
    seen = [tree.leaf_count.sum() / WEIGHT_UNITS for tree in model.ensemble_.trees]
    assert len(set(seen)) > 5
    assert np.mean(seen) == pytest.approx(0.3 * len(X), rel=0.1)
    grouped = fitted(**options, bagging_fraction=0.3, bagging_freq=1, trees_per_ensemble=10)
    seen = [tree.leaf_count.sum() / WEIGHT_UNITS for tree in grouped.ensemble_.trees]
    assert np.sum(seen) == pytest.approx(2 * 0.3 * len(X), rel=0.15)


@pytest.mark.parametrize("recipe", ["dpboost", "para", "seq"])
def test_thresholds_that_rows_choose_are_not_drawn_at_random(recipe):
    assert fitted(extra_trees=True).booster_.num_trees() == FAST["n_estimators"]
    with pytest.raises(InvalidParameterError, match="extra_trees.*recipe='best'"):
        fitted(recipe=recipe, extra_trees=True)


def test_where_steps_are_mixed_no_reasons_are_given():
    assert fitted().reason_codes(X[:1])
    assert fitted(max_delta_step=0.5).reason_codes(X[:1])
    model = fitted(path_smooth=10)
    assert not model.is_explainable
    with pytest.raises(InvalidParameterError, match="path_smooth"):
        model.reason_codes(X[:1])


def test_new_leaves_keep_to_the_controls_of_the_model():
    model = fitted(max_delta_step=0.01, path_smooth=30.0, n_estimators=40)
    budget = Budget(epsilon=4, delta=1e-6)
    new = dpboost.refit_leaves(model, X, -Y, budget=budget, fraction=1)
    assert leaves_of(new) <= 0.01 * new.learning_rate_ + new.ensemble_.unit
    assert not new.is_explainable
    assert new.get_params()["path_smooth"] == 30.0


def test_classes_and_constraints_go_with_controls():
    labels = np.digitize(Y, [-0.5, 0.5])
    model = DPBoostClassifier(
        schema={"bounds": SCHEMA["bounds"], "classes": [0, 1, 2]},
        **FAST,
        monotone_constraints=[1, 0, 0],
        path_smooth=5,
        min_child_weight=3,
        feature_fraction=0.7,
        feature_contri=[1, 0.5, 2],
        subsample=0.8,
        subsample_freq=1,
    ).fit(X, labels)
    assert model.predict_proba(X).shape == (len(X), 3)


def test_train_reads_them_as_text():
    params = {**FAST, **SEEDED, "schema": SCHEMA, "feature_fraction": "0.4", "path_smooth": "9"}
    booster = dpboost.train(params, dpboost.Dataset(X, Y))
    model = fitted(**SEEDED, feature_fraction=0.4, path_smooth=9)
    assert np.array_equal(booster.predict(X), model.predict(X))
