"""Recipe best from the outside: records, reproducibility, LightGBM, hyper-parameters, quality."""

import warnings
from fractions import Fraction

import lightgbm
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from dpboost import (
    DPBoostClassifier,
    DPBoostRegressor,
    InvalidParameterError,
    NotPrivateWarning,
    UndeclaredWarning,
)
from dpboost.data.table import read_table
from dpboost.privacy.accounting import GDPAccountant
from dpboost.recipes.best import BEST
from dpboost.recipes.best_rules import LEAST_EPSILON, LEAST_PURE_EPSILON

CATEGORIES = [0, 1, 2, 3, 4]
DECLARED = {
    "bounds": {0: (-3, 3), 1: (-3, 3)},
    "categories": {2: CATEGORIES},
    "label_bounds": (-3, 3),
}
CLASSES = {"bounds": DECLARED["bounds"], "categories": {2: CATEGORIES}, "classes": [0, 1]}
SMALL = {"recipe": "best", "n_estimators": 6, "max_depth": 3, "max_bin": 16, "n_jobs": 1}
EFFECTS = np.array([0.8, -0.8, 0.3, -0.5, 0.0])


def rows(n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    X[:, 2] = random.integers(0, 5, n_rows)
    y = 0.8 * X[:, 0] + EFFECTS[X[:, 2].astype(int)] + 0.2 * random.normal(size=n_rows)
    X[random.random((n_rows, 3)) < 0.1] = np.nan
    return X, y


def fitted(X, y, *, estimator=DPBoostRegressor, **options):
    schema = CLASSES if estimator is DPBoostClassifier else DECLARED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        return estimator(**{"schema": schema, **SMALL, **options}).fit(X, y)


def tasks():
    X, y = rows()
    return (DPBoostRegressor, X, y), (DPBoostClassifier, X, (y > 0).astype(int))


# -- the entries ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dpboost.UndeclaredWarning")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.3])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("per_ensemble", [1, 4])
def test_the_records_close_at_exactly_the_capacity(epsilon, delta, neighbors, per_ensemble):
    options = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors}
    for estimator, X, y in tasks():
        for declared in (True, False):
            schema = {} if declared else {"schema": None}
            model = fitted(
                X, y, estimator=estimator, trees_per_ensemble=per_ensemble, **options, **schema
            )
            report = model.privacy_report_
            assert report.private
            assert report.spent == report.capacity
            assert sum(line.share for line in report.releases) == 1
            if delta == 0:
                assert report.capacity == Fraction(str(epsilon))
            else:
                asked = GDPAccountant().capacity(Fraction(str(epsilon)), Fraction(str(delta)))
                assert report.privacy_measure == GDPAccountant.privacy_measure
                assert report.capacity == asked
            assert report.neighbors == neighbors


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(LEAST_PURE_EPSILON, 0.0), (LEAST_EPSILON, 1e-6), (100.0, 0.0), (100.0, 1e-6)],
)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_small_and_large_budgets_can_be_drawn(epsilon, delta, neighbors):
    for estimator, X, y in tasks():
        options = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors}
        model = fitted(X, y, estimator=estimator, n_estimators=20, **options)
        report = model.privacy_report_
        assert report.spent == report.capacity


def test_rounds_that_could_not_be_drawn_are_left_out():
    X, y = rows(600)
    labels = np.digitize(y, [-1, -0.3, 0.3, 1])
    schema = {**CLASSES, "classes": [0, 1, 2, 3, 4]}
    usual = {"schema": schema, "n_jobs": 1, "verbosity": -1, "neighbors": "replace"}
    # At the least epsilon, and at one that used to fail once the number of rows was released.
    for epsilon in (LEAST_EPSILON, 0.05):
        model = DPBoostClassifier(epsilon=epsilon, delta=1e-9, **usual).fit(X, labels)
        report = model.privacy_report_
        assert report.private
        assert report.spent == report.capacity
        assert 1 <= model.n_estimators_ < 400
        assert model.booster_.num_trees() == 5 * model.n_estimators_


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_report_shows_every_kind_of_release(delta):
    for estimator, X, y in tasks():
        report = fitted(X, y, estimator=estimator, delta=delta, epsilon=8.0).privacy_report_
        lines = {line.label: line for line in report.releases}
        expected = {"start value": 1, "fine histograms": 1, "leaf sums": 6}
        looks = lines.pop("label range", None)
        assert (looks is not None) == (report.facts["learned"] != "nothing")
        assert {label: line.releases for label, line in lines.items()} == expected
        assert all(f"{label} " in report.details() for label in expected)
        assert report.facts["recipe"] == "best"
        assert lines["leaf sums"].share >= Fraction(7 if looks else 9, 10)
        assert lines["leaf sums"].kind == ("l2" if delta else "l1")


def test_replaced_rows_cost_more():
    # Classes: the clip of numbers follows a released spread, which differs from fit to fit.
    _, (estimator, X, y) = tasks()
    for delta, kinds in (
        (0.0, {"start value", "fine histograms", "leaf sums"}),
        (1e-6, {"fine histograms"}),
    ):
        bounds = [
            {
                line.label: line.largest
                for line in fitted(
                    X, y, estimator=estimator, delta=delta, neighbors=name
                ).privacy_report_.releases
            }
            for name in ("add_remove", "replace")
        ]
        for label in kinds:
            factor = 2 if delta == 0 else np.sqrt(2)
            assert bounds[1][label] == pytest.approx(factor * bounds[0][label], rel=1e-5)


# -- randomness -----------------------------------------------------------------------------------


def text_of(model):
    return model.booster_.model_to_string()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_two_seeds_reproduce_the_model_on_any_number_of_threads(delta):
    for estimator, X, y in tasks():
        options = {"estimator": estimator, "delta": delta, "noise_seed": 1, "random_state": 2}
        first = fitted(X, y, **options)
        assert text_of(first) == text_of(fitted(X, y, **options))
        assert text_of(first) == text_of(fitted(X, y, **options | {"n_jobs": 2}))
        assert text_of(first) != text_of(fitted(X, y, **options | {"noise_seed": 3}))
        assert text_of(first) != text_of(fitted(X, y, **options | {"random_state": 3}))
        assert not first.privacy_report_.private


def test_threads_change_nothing_where_there_is_enough_work_for_two():
    X, y = rows(40_000)
    options = {"noise_seed": 1, "random_state": 2}
    one, two = (text_of(fitted(X, y, n_jobs=n, **options)) for n in (1, 2))
    assert one == two


def test_random_state_alone_fixes_no_noise():
    X, y = rows()
    one, two = (fitted(X, y, random_state=0, max_bin=8) for _ in range(2))
    assert one.privacy_report_.private
    assert not np.array_equal(one.predict(X), two.predict(X))
    # Public randomness is the same until released gains come in.
    first, second = (model.ensemble_.trees[0].feature for model in (one, two))
    assert np.array_equal(first, second)


# -- LightGBM -------------------------------------------------------------------------------------


def strange(X):
    """Rows that training has not shown: unknown categories, far values, all missing."""
    more = X[:12].copy()
    more[:4, 2] = [9, -1, 2.5, 1e9]
    more[4:8, :2] = [[np.inf, 1], [-np.inf, 1], [1e300, -1e300], [0, -0.0]]
    more[8] = np.nan
    return np.vstack([X, more])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("estimator", [DPBoostRegressor, DPBoostClassifier])
def test_stock_lightgbm_predicts_exactly_what_the_ensemble_says(estimator, delta):
    X, y = rows(6000)
    if estimator is DPBoostClassifier:
        y = (y > 0).astype(int)
    model = fitted(
        X,
        y,
        estimator=estimator,
        epsilon=10.0,
        delta=delta,
        n_estimators=40,
        max_depth=5,
        noise_seed=0,
        random_state=0,
    )
    ensemble = model.ensemble_
    missing_sides, category_sets = set(), []
    for tree in ensemble.trees:
        for feature, inside in zip(tree.feature.tolist(), tree.sets(), strict=True):
            if feature == 2:
                category_sets.append(inside)
            else:
                missing_sides.add(inside >> int(ensemble.binner.n_bins[feature]) & 1)
    assert missing_sides == {0, 1}
    assert not any(inside >> 5 for inside in category_sets), "missing categories go right"
    if delta:
        # One round with a leaf for every category, then cuts of the order that it showed.
        assert set(ensemble.trees[0].feature.tolist()) == {2}
        assert any(inside.bit_count() > 1 for inside in category_sets)
    rows_to_predict = strange(X)
    exact = ensemble.predict_raw(read_table(rows_to_predict, schema=model.schema_))
    stock = lightgbm.Booster(model_str=text_of(model))
    assert np.array_equal(stock.predict(rows_to_predict, raw_score=True), exact)
    assert len(np.unique(exact)) > 100


# -- hyper-parameters -----------------------------------------------------------------------------

OTHER = {
    "n_estimators": 9,
    "learning_rate": 0.05,
    "max_depth": 2,
    "reg_lambda": 5000.0,
    "max_bin": 5,
    "trees_per_ensemble": 3,
    "features_per_tree": 1,
    "gradient_clip": 0.07,
    "step_prior": 1.7,
    "hessian_share": 0.6,
}


def test_every_hyper_parameter_of_the_recipe_is_tried():
    assert set(OTHER) == BEST.parameters.names()


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("name", OTHER)
def test_a_hyper_parameter_that_is_set_is_used(name, delta):
    X, y = rows()
    options = {"delta": delta, "noise_seed": 1, "random_state": 2}
    usual, model = fitted(X, y, **options), fitted(X, y, **options | {name: OTHER[name]})
    assert not np.array_equal(usual.predict(X), model.predict(X))
    assert model.privacy_report_.facts[name] == OTHER[name]
    trees = model.ensemble_.trees
    assert len(trees) == (9 if name == "n_estimators" else 6)
    depth = 2 if name == "max_depth" else 3
    assert 2 ** (depth - 1) < max(tree.n_leaves for tree in trees) <= 2**depth
    if name == "features_per_tree":
        assert all(len(set(tree.feature.tolist())) == 1 for tree in trees)
    if name == "max_bin":
        assert max(model.ensemble_.binner.n_bins[:2]) <= 5 < max(usual.ensemble_.binner.n_bins)
    if name == "gradient_clip":
        lines = [m.privacy_report_.releases[-1] for m in (usual, model)]
        assert lines[1].largest < 0.6 * lines[0].largest


@pytest.mark.parametrize("options", [{"selection": "exponential"}, {"features_per_tree": 4}])
def test_what_has_no_meaning_is_refused(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        fitted(*rows(), **options)


def test_parameters_of_this_recipe_are_refused_by_others():
    for name in ("features_per_tree", "gradient_clip", "step_prior", "hessian_share"):
        with pytest.raises(InvalidParameterError, match=name):
            fitted(*rows(), **{"recipe": "dpboost", "max_bin": None, name: OTHER[name]})


# -- quality --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delta", "n_estimators"), [(0.0, 40), (1e-6, 150)])
def test_a_private_model_beats_a_constant_clearly(delta, n_estimators):
    X, y = rows(6000)
    options = {"epsilon": 8.0, "delta": delta, "n_estimators": n_estimators, "max_depth": 5}
    train, test = slice(0, 4000), slice(4000, None)
    model = fitted(X[train], y[train], random_state=0, **options)
    assert model.privacy_report_.private
    assert model.score(X[test], y[test]) > 0.5
    classes = (y > 0).astype(int)
    model = fitted(X[train], classes[train], estimator=DPBoostClassifier, random_state=0, **options)
    assert roc_auc_score(classes[test], model.predict_proba(X[test])[:, 1]) > 0.85


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_nothing_declared_works(delta):
    X, y = rows(5000)
    for estimator, labels in ((DPBoostRegressor, y), (DPBoostClassifier, (y > 0).astype(int))):
        with pytest.warns(UndeclaredWarning):
            model = fitted(
                X,
                labels,
                estimator=estimator,
                schema=None,
                epsilon=8.0,
                delta=delta,
                n_estimators=40,
                random_state=0,
            )
        assert model.privacy_report_.spent == model.privacy_report_.capacity
        if estimator is DPBoostRegressor:
            assert model.score(X, labels) > 0.3
        else:
            assert model.score(X, labels) > max(labels.mean(), 1 - labels.mean()) + 0.1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_is_set_aside_for_bins_goes_to_trees_where_none_are_released(delta, monkeypatch):
    monkeypatch.setattr("dpboost.training.private_bins.MOST_FEATURES", 1)
    X, y = rows()
    report = fitted(X, y, delta=delta).privacy_report_
    assert "fine histograms" not in {line.label for line in report.releases}
    assert report.spent == report.capacity
