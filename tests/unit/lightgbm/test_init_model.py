"""Models that continue a released one."""

import math
import warnings
from fractions import Fraction

import lightgbm
import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor, InvalidParameterError, NotPrivateWarning
from dpboost.lightgbm import check_model_text
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.reporting.privacy_report import PrivacyReport

SCHEMA = {"bounds": dict.fromkeys(range(3), (0.0, 1.0)), "label_bounds": (-3.0, 5.0)}
QUICK = {"epsilon": 2.0, "n_estimators": 40, "n_jobs": 1, "verbosity": 0, "random_state": 0}


def table(n_rows=3000):
    random = np.random.default_rng(0)
    X = random.uniform(size=(n_rows, 3))
    truth = 2 * X[:, 0] + np.sin(6 * X[:, 1])
    return X, truth + random.normal(0, 0.4, n_rows)


@pytest.fixture(scope="module")
def first():
    X, y = table()
    return DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y)


@pytest.fixture(scope="module")
def model_file(first, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "first.txt"
    first.booster_.save_model(path)
    return path


@pytest.mark.parametrize("form", ["estimator", "booster", "file", "text of a path"])
def test_trees_are_kept_and_budgets_add_up(form, first, model_file):
    X, y = table()
    source = {
        "estimator": first,
        "booster": first.booster_,
        "file": model_file,
        "text of a path": str(model_file),
    }[form]
    model = DPBoostRegressor(schema=SCHEMA, **{**QUICK, "epsilon": 1.5}).fit(
        X, y, init_model=source
    )
    assert model.booster_.num_trees() == 80
    assert len(model.ensemble_.trees) == 40
    np.testing.assert_allclose(
        model.predict(X, num_iteration=40), first.predict(X), rtol=0, atol=1e-12
    )
    assert np.mean((model.predict(X) - y) ** 2) < np.mean((first.predict(X) - y) ** 2)
    text = model.booster_.model_to_string()
    check_model_text(text)
    stock = lightgbm.Booster(model_str=text)
    np.testing.assert_array_equal(stock.predict(X), model.predict(X))
    report = model.privacy_report_
    assert report.private
    assert (report.earlier_epsilon, report.earlier_delta) == (2, Fraction(1, 10**6))
    assert "epsilon = 3.5, delta = 2e-06" in report.guarantee
    assert "earlier fits" in report.details()


def test_a_chain_of_three_adds_all_up(first):
    X, y = table(500)
    second = DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y, init_model=first)
    third = DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y, init_model=second.booster_)
    assert third.privacy_report_.earlier_epsilon == 4
    assert "epsilon = 6, delta = 3e-06" in third.privacy_report_.guarantee
    assert third.booster_.privacy_report == third.privacy_report_
    assert third.booster_.num_trees() == 120


def test_pure_and_approximate_make_approximate(first):
    X, y = table(500)
    model = DPBoostRegressor(schema=SCHEMA, delta=0.0, **QUICK).fit(X, y, init_model=first)
    assert model.privacy_report_.kind == "approximate"
    assert "delta = 1e-06" in model.privacy_report_.guarantee


def test_what_has_no_guarantee_gives_none():
    X, y = table(500)
    stock = lightgbm.LGBMRegressor(n_estimators=5, verbosity=-1).fit(X, y)
    with pytest.warns(UserWarning, match="not private"):
        noiseless = DPBoostRegressor(schema=SCHEMA, **{**QUICK, "epsilon": math.inf}).fit(X, y)
    with pytest.warns(UserWarning, match="not private"):
        seeded = DPBoostRegressor(schema=SCHEMA, noise_seed=0, **QUICK).fit(X, y)
    for source, reason in (
        (stock, "without a privacy report"),
        (noiseless, "infinite"),
        (seeded, "seed"),
    ):
        model = DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y, init_model=source)
        assert not model.privacy_report_.private
        assert reason in model.privacy_report_.guarantee
        np.testing.assert_allclose(
            model.predict(X, num_iteration=source.booster_.num_trees()), source.predict(X)
        )


@pytest.mark.usefixtures("one_process")
@pytest.mark.parametrize("form", ["estimator", "booster", "file", "train"])
def test_a_model_without_a_report_is_a_condition_that_no_verbosity_silences(form, tmp_path):
    X, y = table(500)
    stock = lightgbm.LGBMRegressor(n_estimators=5, verbosity=-1).fit(X, y)
    stock.booster_.save_model(tmp_path / "stock.txt")
    source = {"estimator": stock, "file": tmp_path / "stock.txt"}.get(form, stock.booster_)
    quiet = {**QUICK, "schema": SCHEMA, "verbosity": -1}
    fit = {
        "train": lambda: dpboost.train(quiet, dpboost.Dataset(X, y), init_model=source),
    }.get(form, lambda: DPBoostRegressor(**quiet).fit(X, y, init_model=source))
    with pytest.warns(NotPrivateWarning, match=r"without a privacy report.*'init_model'\)"):
        fit()


PUBLIC = ("column_types", "classes", "init_model")


@pytest.mark.parametrize("form", ["stock", "noiseless"])
def test_a_model_of_public_rows_is_public_by_the_users_statement(form):
    X, y = table(500)
    source = lightgbm.LGBMRegressor(n_estimators=5, verbosity=-1).fit(*table(400))
    if form == "noiseless":
        source = DPBoostRegressor(schema=SCHEMA, **{**QUICK, "epsilon": math.inf})
        with pytest.warns(UserWarning, match="not private"):
            source.fit(*table(400))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPrivateWarning)
        model = DPBoostRegressor(schema=SCHEMA, assume_public=PUBLIC, **QUICK)
        model.fit(X, y, init_model=source)
    report = model.privacy_report_
    assert report.private
    assert (report.epsilon, report.earlier_epsilon) == (QUICK["epsilon"], 0)
    (line,) = [line for line in report.assumed_public if "init_model" in line]
    assert line in report.details()
    certificate = report.certificate(model=model)
    assert certificate["accounting"]["earlier"]["epsilon"] == "0"
    again = dpboost.replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()


def test_a_private_model_adds_up_whatever_the_user_states(first):
    X, y = table(500)
    model = DPBoostRegressor(schema=SCHEMA, assume_public=PUBLIC, **QUICK)
    model.fit(X, y, init_model=first)
    assert model.privacy_report_.earlier_epsilon == 2
    assert not any("init_model" in line for line in model.privacy_report_.assumed_public)


def test_the_cure_for_a_model_of_public_rows_is_private():
    X, y = table(500)
    public = lightgbm.LGBMRegressor(n_estimators=5, verbosity=-1).fit(*table(400))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotPrivateWarning)
        model = DPBoostRegressor(schema=SCHEMA, **QUICK)
        model.fit(X, y, init_score=public.predict(X, raw_score=True))
    assert model.privacy_report_.private
    assert np.mean((public.predict(X) + model.predict(X) - y) ** 2) < np.mean((y - y.mean()) ** 2)


def test_a_model_with_a_reason_in_its_report_warns_with_that_reason(first):
    X, y = table(500)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y, init_model=first)
    assert not any(issubclass(each.category, NotPrivateWarning) for each in caught)
    with pytest.warns(NotPrivateWarning):
        seeded = DPBoostRegressor(schema=SCHEMA, noise_seed=0, **QUICK).fit(X, y)
    with pytest.warns(NotPrivateWarning, match="the model that it continues is not.*seed"):
        DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y, init_model=seeded)


def test_classes_are_continued():
    X, y = table()
    y = np.digitize(y, [0.7, 1.7])
    schema = {"bounds": SCHEMA["bounds"], "classes": [0, 1, 2]}
    first = DPBoostClassifier(schema=schema, **QUICK).fit(X, y)
    model = DPBoostClassifier(schema=schema, **QUICK).fit(X, y, init_model=first)
    assert model.booster_.num_trees() == 240
    assert (model.predict(X) == y).mean() >= (first.predict(X) == y).mean() - 0.01
    with pytest.raises(InvalidParameterError, match="same classes"):
        DPBoostClassifier(**QUICK).fit(X, y + 1, init_model=first)
    with pytest.raises(InvalidParameterError, match="It has 3 instead of 1"):
        DPBoostClassifier(**QUICK).fit(X, y > 1, init_model=first.booster_)


@pytest.mark.parametrize("objective", ["l1", "huber", "poisson"])
def test_another_objective_goes_on_from_the_raw_scores(objective, first):
    X, y = table()
    model = DPBoostRegressor(schema=SCHEMA, objective=objective, **QUICK)
    model.fit(X, np.abs(y), init_model=first)
    before = {"raw_score": True, "num_iteration": first.booster_.num_trees()}
    np.testing.assert_allclose(model.predict(X, **before), first.predict(X))
    assert lightgbm.Booster(model_str=model.booster_.model_to_string()).num_trees() == 80
    assert model.objective_ == {"l1": "regression_l1"}.get(objective, objective)
    assert "epsilon = 4" in str(model.privacy_report_)


def test_a_regression_is_continued_as_a_classification():
    X, y = table()
    first = DPBoostRegressor(schema={**SCHEMA, "label_bounds": (-1, 1)}, **QUICK)
    first.fit(X, np.where(y > 1, 1, -1))
    model = DPBoostClassifier(schema={"bounds": SCHEMA["bounds"], "classes": [0, 1]}, **QUICK)
    model.fit(X, y > 1, init_model=first)
    assert ((model.predict_proba(X)[:, 1] > 0.5) == (y > 1)).mean() > 0.8
    assert model.booster_.num_trees() == 80


def test_frames_with_categories():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["d"] = pd.Categorical(np.where(X[:, 2] > 0.5, "x", "y"), categories=["x", "y"])
    schema = {"bounds": dict.fromkeys("abc", (0.0, 1.0)), "label_bounds": (-3.0, 5.0)}
    first = DPBoostRegressor(schema=schema, **QUICK).fit(frame, y)
    for source in (first, first.booster_):
        model = DPBoostRegressor(schema=schema, **QUICK).fit(frame, y, init_model=source)
        np.testing.assert_allclose(model.predict(frame, num_iteration=40), first.predict(frame))
    declared = {**schema, "categories": {"d": ["y", "x"]}}
    with pytest.raises(InvalidParameterError, match="categories"):
        DPBoostRegressor(schema=declared, **QUICK).fit(frame, y, init_model=first)


def test_the_categories_of_the_model_are_known_to_what_continues_it():
    X, y = table()
    kind = np.where(X[:, 2] > 0.5, "x", "y")
    kind[0] = "a name"
    frame = pd.DataFrame({"a": X[:, 0], "d": pd.Categorical(kind)})
    schema = {"bounds": {"a": (0.0, 1.0)}, "label_bounds": (-3.0, 5.0)}
    first = DPBoostRegressor(schema=schema, **QUICK).fit(frame, y)
    assert first.booster_.pandas_categorical == [["x", "y"]]
    frame["d"] = frame["d"].cat.set_categories(["y", "another name", "x", "a name"])
    for source in (first, first.booster_):
        model = DPBoostRegressor(schema=schema, **QUICK).fit(frame, y, init_model=source)
        assert model.booster_.pandas_categorical == [["x", "y"]]
        assert "categories" not in model.privacy_report_.facts["learned"]
    few = DPBoostRegressor(schema=schema, **QUICK).fit(frame[:3], y[:3])
    assert few.booster_.pandas_categorical == [[]]
    with pytest.raises(InvalidParameterError, match=r"knows categories of the column 'd'"):
        DPBoostRegressor(schema=schema, **QUICK).fit(frame, y, init_model=few)


def test_what_does_not_fit_is_refused_before_anything_is_charged(first, no_release, tmp_path):
    X, y = table(50)
    broken = tmp_path / "broken.txt"
    broken.write_text("no tree")
    cases = [
        ({"schema": SCHEMA, "neighbors": "replace"}, X, "neighbors"),
        ({}, X[:, :2], "features"),
        ({"schema": SCHEMA, "recipe": "dpboost"}, X, "recipe='best'"),
    ]
    for parameters, rows, message in cases:
        with pytest.raises(InvalidParameterError, match=message):
            DPBoostRegressor(**parameters).fit(rows, y, init_model=first)
    bagged = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5, "verbosity": -1}
    forest = lightgbm.train(bagged, lightgbm.Dataset(*table()), 2)
    with pytest.raises(InvalidParameterError, match="averages them"):
        DPBoostRegressor(schema=SCHEMA).fit(X, y, init_model=forest)
    for source in (17, DPBoostRegressor(), lightgbm.LGBMRegressor(), tmp_path / "missing.txt"):
        with pytest.raises(InvalidParameterError, match="init_model"):
            DPBoostRegressor(schema=SCHEMA).fit(X, y, init_model=source)
    with pytest.raises(ValueError, match="model text"):
        DPBoostRegressor(schema=SCHEMA).fit(X, y, init_model=broken)


def test_integer_rows_are_predicted_as_doubles():
    X = np.array([[2**24 + 1, 0], [2**24, 1]] * 200)
    y = np.array([1.0, -1.0] * 200)
    schema = {"edges": {0: [2.0**24]}, "bounds": {1: (0, 1)}, "label_bounds": (-1, 1)}
    first = DPBoostRegressor(schema=schema, **QUICK).fit(X, y)
    from dpboost.data.table import read_table

    earlier = EarlierModel.of(first.booster_)
    np.testing.assert_array_equal(
        earlier.raw_scores(X, read_table(X)), first.ensemble_.predict_raw(read_table(X))
    )


def test_a_report_of_before_continued_models_is_read():
    X, y = table(200)
    plain = DPBoostRegressor(schema=SCHEMA, **QUICK).fit(X, y).privacy_report_.to_dict()
    for name in (
        "earlier_epsilon",
        "earlier_delta",
        "earlier_epsilon_float",
        "earlier_delta_float",
    ):
        plain.pop(name, None)
    assert PrivacyReport.from_dict(plain).earlier_epsilon == 0


@pytest.mark.filterwarnings("ignore")
def test_evaluation_and_early_stopping_go_on_where_the_model_was(first):
    X, y = table()
    model = DPBoostRegressor(schema=SCHEMA, **QUICK).fit(
        X,
        y,
        init_model=first,
        eval_set=[(X.copy(), y.copy())],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    scores = model.evals_result_["valid_0"]["l2"]
    assert model.best_iteration_ == 40 + int(np.argmin(scores)) + 1
    # Later rounds are not kept, as in LightGBM.
    assert model.booster_.num_trees() == model.best_iteration_
    best = model.booster_.predict(X, num_iteration=model.best_iteration_)
    assert min(scores) == pytest.approx(np.mean((best - y) ** 2), rel=1e-6)
    np.testing.assert_array_equal(model.predict(X), best)
