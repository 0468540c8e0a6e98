"""Several quantiles at once: one structure, one budget, and predictions that do not cross."""

import copy
import pickle

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost import DPBoostRegressor
from dpboost._utils.validation import InvalidParameterError

ALPHAS = [0.1, 0.5, 0.9]
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (-3, 5)}


def table(n_rows=3000, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 2))
    return X, 2 * X[:, 0] + (0.1 + X[:, 1]) * random.normal(size=n_rows)


def regressor(**options):
    settings = {
        "objective": "quantile",
        "alpha": ALPHAS,
        "epsilon": 4.0,
        "schema": SCHEMA,
        "random_state": 0,
        "verbosity": 0,
        "n_jobs": 1,
    }
    return DPBoostRegressor(**{**settings, **options})


@pytest.fixture(scope="module")
def fitted():
    return regressor().fit(*table(8000))


def test_quantiles_are_in_order_and_cover(fitted):
    X, y = table(4000, 1)
    found = fitted.predict(X)
    assert found.shape == (4000, 3)
    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_allclose((y[:, np.newaxis] <= found).mean(axis=0), ALPHAS, atol=0.08)
    wide = found[:, 2] - found[:, 0]
    assert wide[X[:, 1] > 0.8].mean() > 1.5 * wide[X[:, 1] < 0.2].mean()


def test_one_structure_and_one_budget(fitted):
    trees = fitted.ensemble_.trees
    assert len(trees) == 3 * fitted.n_estimators_
    for first, *others in zip(trees[::3], trees[1::3], trees[2::3], strict=True):
        for other in others:
            np.testing.assert_array_equal(first.feature, other.feature)
            np.testing.assert_array_equal(first.leaf_count, other.leaf_count)
    assert fitted.privacy_report_.epsilon == pytest.approx(4.0)
    assert fitted.privacy_report_.facts["alpha"] == "0.1, 0.5, 0.9"


def test_scores_that_cross_are_shown_raw_and_predictions_are_their_order():
    model = regressor(alpha=[0.4999, 0.5, 0.5001], n_estimators=40).fit(*table(300))
    X, _ = table(500, 2)
    raw = model.predict(X, raw_score=True)
    assert (np.diff(raw, axis=1) < 0).any()
    np.testing.assert_array_equal(model.predict(X), np.sort(raw, axis=1))
    np.testing.assert_array_equal(model.booster_.predict(X), raw)
    stock = lightgbm.Booster(model_str=model.booster_.model_to_string())
    np.testing.assert_array_equal(stock.predict(X), raw)
    # The tables of the ensemble, which large predictions take.
    large = model.ensemble_.link(raw.copy())
    np.testing.assert_array_equal(large, model.predict(X))


def test_a_pickle_and_a_copy_predict_alike(fitted):
    X, _ = table(50, 3)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))


def test_a_fit_goes_on(fitted):
    X, y = table(500)
    more = regressor(n_estimators=10).fit(X, y, init_model=fitted)
    assert more.booster_.num_trees() == 3 * (fitted.n_estimators_ + 10)
    assert more.predict(X[:5]).shape == (5, 3)


def test_it_explains_itself(fitted):
    X, _ = table(20, 4)
    found = fitted.explain(pairs=1)
    assert found.intercept.shape == (3,)
    assert np.isfinite(found.shape("Column_0").error).all()
    spread = fitted.prediction_std(X)
    assert spread.shape == (20, 3)
    assert (spread > 0).all()
    assert len(fitted.reason_codes(X[:2], k=1, output=2)) == 2


def test_pure_epsilon_weights_users_and_directions():
    X, y = table(1000)
    common = {"n_estimators": 12}
    regressor(delta=0.0, **common).fit(X, y)
    regressor(neighbors="replace", max_weight=2.0, **common).fit(X, y, sample_weight=1 + X[:, 0])
    regressor(rows_per_user=2, **common).fit(X, y, user_ids=np.arange(1000) // 2)
    model = regressor(monotone_constraints=[1, 0], **common).fit(X, y)
    assert dpboost.check_constraints(model, [1, 0])
    grid = np.column_stack([np.linspace(0, 1, 50), np.full(50, 0.4)])
    assert (np.diff(model.predict(grid), axis=0) >= 0).all()


def test_train_takes_a_list():
    X, y = table(500)
    params = {
        "objective": "quantile",
        "alpha": ALPHAS,
        "epsilon": 4.0,
        "schema": SCHEMA,
        "verbosity": -1,
    }
    booster = dpboost.train(params, dpboost.Dataset(X, y), num_boost_round=5)
    assert booster.predict(X).shape == (500, 3)


@pytest.mark.parametrize(
    ("options", "fit", "message"),
    [
        ({"alpha": [0.5, 0.5]}, {}, "ascending"),
        ({"alpha": [0.9, 0.1]}, {}, "ascending"),
        ({"alpha": [0.5]}, {}, "one number"),
        ({"alpha": []}, {}, "one number"),
        ({"alpha": [0.5, 1.0]}, {}, "'alpha'"),
        ({"alpha": [0.5, None]}, {}, "'alpha'"),
        ({"alpha": [[0.1], [0.5]]}, {}, "'alpha'"),
        ({"objective": "huber"}, {}, "one number"),
        ({"recipe": "dpboost"}, {}, "recipe='best'"),
        ({}, {"conformal": 0.9}, "one alpha"),
        ({}, {"eval_set": [table(50, 5)]}, "one alpha"),
        ({}, {"init_score": np.zeros(100)}, "init_score"),
    ],
)
def test_what_does_not_work_is_refused_before_anything_is_drawn(options, fit, message):
    with pytest.raises(InvalidParameterError, match=message):
        regressor(**options).fit(*table(100), **fit)


def test_what_takes_one_number_a_row_refuses(fitted):
    X, y = table(100)
    with pytest.raises(InvalidParameterError, match="several quantiles"):
        dpboost.evaluate(fitted, X, y, budget=dpboost.Budget(epsilon=9, delta=1e-5), fraction=0.5)
    params = {"objective": "quantile", "alpha": ALPHAS, "epsilon": 1.0, "schema": SCHEMA}
    with pytest.raises(InvalidParameterError, match="'alpha'"):
        dpboost.cv(params, dpboost.Dataset(X, y))
