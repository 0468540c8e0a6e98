"""Typical scripts of LightGBM's users with only the import changed: they end with usable results.

Each has the form of a public one, with small generated data in the place of its files.
"""

import json
import os
import pickle
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)

import dpboost

pytestmark = [
    pytest.mark.usefixtures("one_process"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

SCRIPTS = {}


def script(function):
    """Collect a function of the imported module; it returns whether its result is usable."""
    SCRIPTS[function.__name__.replace("_", " ")] = function
    return function


def numbers(n_rows=1500, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, (n_rows, 4))
    return X, 2 * X[:, 0] + np.sign(X[:, 1]) + 0.2 * random.normal(size=n_rows)


def classes(n_rows=1500, seed=0):
    X, y = numbers(n_rows, seed)
    return X, (y > 0).astype(int)


def parts(X, y):
    return train_test_split(X, y, test_size=0.3, random_state=42)


@script
def simple_example(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*numbers())
    lgb_train = lgb.Dataset(X_train, y_train)
    lgb_eval = lgb.Dataset(X_test, y_test, reference=lgb_train)
    params = {
        "boosting_type": "gbdt",
        "objective": "regression",
        "metric": {"l2", "l1"},
        "num_leaves": 31,
        "learning_rate": 0.05,
        "feature_fraction": 0.9,
        "bagging_fraction": 0.8,
        "bagging_freq": 5,
        "verbose": 0,
    }
    gbm = lgb.train(
        params,
        lgb_train,
        num_boost_round=20,
        valid_sets=lgb_eval,
        callbacks=[lgb.early_stopping(stopping_rounds=5)],
    )
    gbm.save_model(str(folder / "model.txt"))
    y_pred = gbm.predict(X_test, num_iteration=gbm.best_iteration)
    return mean_squared_error(y_test, y_pred) < y_test.var()


@script
def logistic_regression(lgb, folder):
    X, y = numbers()
    found = {}
    for objective, label in (("xentropy", 1 / (1 + np.exp(-y))), ("binary", (y > 0).astype(int))):
        params = {"objective": objective, "metric": "None", "verbose": -1, "learning_rate": 0.1}
        gbm = lgb.train(params, lgb.Dataset(X, label, init_score=np.zeros(len(y))), 30)
        found[objective] = roc_auc_score(y > 0, gbm.predict(X))
    return min(found.values()) > 0.75


@script
def sklearn_example(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*numbers())
    gbm = lgb.LGBMRegressor(num_leaves=31, learning_rate=0.05, n_estimators=20)
    gbm.fit(
        X_train,
        y_train,
        eval_set=[(X_test, y_test)],
        eval_metric="l1",
        callbacks=[lgb.early_stopping(5)],
    )
    good = mean_squared_error(y_test, gbm.predict(X_test, num_iteration=gbm.best_iteration_)) < 4
    importances = list(gbm.feature_importances_)

    def rmsle(y_true, y_pred):
        return "RMSLE", np.sqrt(np.mean((y_true - y_pred) ** 2)), False

    gbm.fit(
        X_train,
        y_train,
        eval_set=[(X_test, y_test)],
        eval_metric=rmsle,
        callbacks=[lgb.early_stopping(5)],
    )
    grid = {"learning_rate": [0.01, 0.1, 1], "n_estimators": [20, 40]}
    search = GridSearchCV(lgb.LGBMRegressor(num_leaves=31), grid, cv=3)
    search.fit(X_train, y_train)
    return good and len(importances) == 4 and search.best_params_["learning_rate"] > 0.01


@script
def advanced_example(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*classes())
    weight = np.random.default_rng(1).uniform(0.5, 1, len(y_train))
    lgb_train = lgb.Dataset(X_train, y_train, weight=weight, free_raw_data=False)
    lgb_eval = lgb.Dataset(X_test, y_test, reference=lgb_train, free_raw_data=False)
    params = {
        "boosting_type": "gbdt",
        "objective": "binary",
        "metric": "binary_logloss",
        "num_leaves": 31,
        "learning_rate": 0.05,
        "feature_fraction": 0.9,
        "bagging_fraction": 0.8,
        "bagging_freq": 5,
        "verbose": 0,
    }
    gbm = lgb.train(params, lgb_train, num_boost_round=10, valid_sets=lgb_train)
    gbm.save_model(str(folder / "model.txt"))
    dumped = json.dumps(gbm.dump_model())
    loaded = pickle.loads(pickle.dumps(gbm))
    assert np.array_equal(loaded.predict(X_test), gbm.predict(X_test))
    gbm = lgb.train(
        params, lgb_train, 10, init_model=str(folder / "model.txt"), valid_sets=lgb_eval
    )
    gbm = lgb.train(
        params,
        lgb_train,
        num_boost_round=10,
        init_model=gbm,
        valid_sets=lgb_eval,
        callbacks=[lgb.reset_parameter(learning_rate=lambda i: 0.05 * (0.99**i))],
    )
    gbm = lgb.train(
        params,
        lgb_train,
        num_boost_round=10,
        init_model=gbm,
        valid_sets=lgb_eval,
        callbacks=[lgb.reset_parameter(bagging_fraction=[0.7] * 5 + [0.6] * 5)],
    )
    return gbm.num_trees() == 40 and len(dumped) > 100 and len(gbm.feature_name()) == 4


@script
def plot_example(lgb, folder):
    pytest.importorskip("matplotlib").use("Agg")
    X_train, X_test, y_train, y_test = parts(*numbers())
    lgb_train = lgb.Dataset(X_train, y_train)
    lgb_test = lgb.Dataset(X_test, y_test, reference=lgb_train)
    params = {"num_leaves": 5, "metric": ("l1", "l2"), "verbose": 0}
    evals_result = {}
    gbm = lgb.train(
        params,
        lgb_train,
        num_boost_round=30,
        valid_sets=[lgb_train, lgb_test],
        callbacks=[lgb.log_evaluation(10), lgb.record_evaluation(evals_result)],
    )
    drawn = [
        lgb.plot_metric(evals_result, metric="l1"),
        lgb.plot_importance(gbm, max_num_features=10),
        lgb.plot_split_value_histogram(gbm, feature=0, bins="auto"),
    ]
    return all(drawn) and {len(v) for own in evals_result.values() for v in own.values()} == {30}


def suggested(random):
    return {
        "lambda_l1": float(10 ** random.uniform(-8, 1)),
        "lambda_l2": float(10 ** random.uniform(-8, 1)),
        "num_leaves": int(random.integers(2, 256)),
        "feature_fraction": float(random.uniform(0.4, 1.0)),
        "bagging_fraction": float(random.uniform(0.4, 1.0)),
        "bagging_freq": int(random.integers(1, 7)),
        "min_child_samples": int(random.integers(5, 100)),
        "max_depth": int(random.integers(3, 20)),
    }


@script
def a_search_by_optuna(lgb, folder):
    random = np.random.default_rng(1)
    X, y = classes()
    found = []
    for _ in range(4):
        train_x, valid_x, train_y, valid_y = train_test_split(X, y, test_size=0.25, random_state=0)
        dtrain = lgb.Dataset(train_x, label=train_y)
        param = {"objective": "binary", "metric": "binary_logloss", "verbosity": -1}
        param |= {"boosting_type": "gbdt", **suggested(random)}
        gbm = lgb.train(param, dtrain)
        found.append(accuracy_score(valid_y, np.rint(gbm.predict(valid_x))))
    return max(found) > 0.7


@script
def training_that_mlflow_logs(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*classes())
    train_set, valid = lgb.Dataset(X_train, label=y_train), lgb.Dataset(X_test, label=y_test)
    params = {
        "objective": "multiclass",
        "num_class": 2,
        "learning_rate": 0.1,
        "metric": "multi_logloss",
        "colsample_bytree": 1.0,
        "subsample": 1.0,
        "seed": 42,
        "verbose": -1,
    }
    logged = []
    model = lgb.train(
        params,
        train_set,
        num_boost_round=20,
        valid_sets=[train_set, valid],
        valid_names=["train", "test"],
        callbacks=[lambda env: logged.append([tuple(each) for each in env.evaluation_result_list])],
    )
    y_proba = model.predict(X_test)
    names = {(line[0], line[1]) for line in logged[0]}
    assert names == {("train", "multi_logloss"), ("test", "multi_logloss")}
    return len(logged) == 20 and accuracy_score(y_test, y_proba.argmax(axis=1)) > 0.6


@script
def an_estimator_that_mlflow_logs(lgb, folder):
    # What its autologging reads of a fit: parameters, metrics of rounds, importances, the model.
    X_train, X_test, y_train, y_test = parts(*classes())
    model = lgb.LGBMClassifier(n_estimators=20, learning_rate=0.2)
    model.fit(X_train, y_train, eval_set=[(X_test, y_test)])
    logged = {name: str(value) for name, value in model.get_params().items()}
    importance = dict(zip(model.booster_.feature_name(), model.feature_importances_, strict=True))
    again = pickle.loads(pickle.dumps(model))
    same = np.array_equal(again.predict(X_test), model.predict(X_test))
    metric = model.evals_result_["valid_0"]["binary_logloss"]
    if find_spec("mlflow") is not None:
        metric = metrics_that_autolog_sees(lgb, folder)
    return same and logged["num_leaves"] == "31" and len(importance) == 4 and len(metric) == 20


def metrics_that_autolog_sees(lgb, folder):
    """Run the script itself, where MLflow is installed."""
    import mlflow

    X_train, X_test, y_train, y_test = parts(*classes())
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    mlflow.set_tracking_uri(f"file://{folder}/runs")
    mlflow.lightgbm.autolog(silent=True)
    try:
        model = lgb.LGBMClassifier(n_estimators=20, learning_rate=0.2)
        model.fit(X_train, y_train, eval_set=[(X_test, y_test)])
        run = mlflow.last_active_run()
    finally:
        mlflow.lightgbm.autolog(disable=True)
        mlflow.set_tracking_uri(None)
    assert run.data.params["learning_rate"] == "0.2"
    return range(20) if "valid_0-binary_logloss" in run.data.metrics else ()


def folds_of_a_competition(lgb, sets_of, rounds):
    X, y = numbers(900)
    test = numbers(300, seed=9)
    predictions = np.zeros(300)
    for train, valid in KFold(5, shuffle=True, random_state=15).split(X):
        trn_data = lgb.Dataset(X[train], label=y[train])
        val_data = lgb.Dataset(X[valid], label=y[valid])
        clf = lgb.train(
            {"objective": "regression", "metric": "rmse", "learning_rate": 0.01, "verbosity": -1},
            trn_data,
            rounds,
            valid_sets=sets_of(trn_data, val_data),
            callbacks=[lgb.early_stopping(100, verbose=False), lgb.log_evaluation(200)],
        )
        predictions += clf.predict(test[0], num_iteration=clf.best_iteration) / 5
    return mean_squared_error(test[1], predictions) < 0.9 * test[1].var()


@script
def folds_with_the_training_set_among_the_valid_sets(lgb, folder):
    return folds_of_a_competition(lgb, lambda train, valid: [train, valid], 10_000)


@script
def folds_with_a_valid_set(lgb, folder):
    return folds_of_a_competition(lgb, lambda train, valid: [valid], 10_000)


@script
def a_custom_objective_and_metric(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*classes())

    def loglikelihood(preds, train_data):
        labels = train_data.get_label()
        preds = 1.0 / (1.0 + np.exp(-preds))
        return preds - labels, preds * (1.0 - preds)

    def binary_error(preds, train_data):
        labels = train_data.get_label()
        preds = 1.0 / (1.0 + np.exp(-preds))
        return "error", np.mean(labels != (preds > 0.5)), False

    def fit(**more):
        return lgb.train(
            {"verbose": -1, "objective": loglikelihood, "learning_rate": 0.2, **more},
            lgb.Dataset(X_train, y_train),
            num_boost_round=40,
            valid_sets=lgb.Dataset(X_test, y_test),
            feval=binary_error,
        )

    with pytest.raises(dpboost.InvalidParameterError, match=r"Schema\(label_bounds=...\)"):
        fit()  # the bounds of undeclared labels are not public
    gbm = fit(schema={"label_bounds": (0, 1)}, score_bounds=(-6, 6))
    return roc_auc_score(y_test, gbm.predict(X_test)) > 0.75


@script
def a_cross_validation_with_a_metric_of_ones_own(lgb, folder):
    X, y = classes()

    def lgb_f1(preds, data):
        predicted = preds > 0.5
        return "f1", 2 * np.mean(predicted * data.get_label()) / np.mean(predicted + 1), True

    found = lgb.cv(
        {"objective": "binary", "metric": "auc", "verbose": -1},
        lgb.Dataset(X, y),
        num_boost_round=40,
        nfold=3,
        feval=lgb_f1,
        stratified=True,
        seed=1,
    )
    return len(found["valid f1-mean"]) == 40 and max(found["valid auc-mean"]) > 0.6


@script
def the_number_of_rounds_by_cross_validation(lgb, folder):
    X_train, X_test, y_train, y_test = parts(*classes(4000))
    params = {"objective": "binary", "metric": "auc", "verbose": -1, "learning_rate": 0.2}
    cv_results = lgb.cv(
        params,
        lgb.Dataset(X_train, y_train),
        num_boost_round=200,
        folds=StratifiedKFold(5, shuffle=True, random_state=0),
        callbacks=[lgb.early_stopping(stopping_rounds=60, verbose=False)],
    )
    n_rounds = len(cv_results["valid auc-mean"])
    model = lgb.train(params, lgb.Dataset(X_train, y_train), num_boost_round=n_rounds)
    score = roc_auc_score(y_test, model.predict(X_test))
    return 10 <= n_rounds <= 200 and score > 0.8


@script
def categories_of_adult(lgb, folder):
    random = np.random.default_rng(0)
    n_rows = 3000
    frame = pd.DataFrame(
        {
            "age": random.integers(17, 90, n_rows),
            "workclass": random.choice(["Private", "State-gov", "?"], n_rows),
            "education": random.choice(["HS-grad", "Bachelors", "Masters"], n_rows),
            "hours-per-week": random.integers(10, 80, n_rows),
        }
    )
    label = ((frame["education"] != "HS-grad") & (frame["age"] > 35)).astype(int)
    for column in ("workclass", "education"):
        frame[column] = frame[column].astype("category")
    X_train, X_test, y_train, y_test = parts(frame, label)
    clf = lgb.LGBMClassifier()
    clf.fit(X_train, y_train)
    return roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1]) > 0.75


@script
def a_grid_search(lgb, folder):
    X, y = classes(900)
    grid = {"num_leaves": [15, 31], "learning_rate": [0.05, 0.1]}
    search = GridSearchCV(
        lgb.LGBMClassifier(n_estimators=20, verbose=-1), grid, scoring="roc_auc", cv=3, n_jobs=-1
    )
    search.fit(X, y)
    return set(search.best_params_) == set(grid) and search.best_score_ > 0.6


@script
def a_ranking(lgb, folder):
    X, y = numbers(200)
    if lgb is dpboost:  # says what to do instead
        with pytest.raises(dpboost.InvalidParameterError, match="Rank pointwise"):
            lgb.LGBMRanker(objective="lambdarank")
        return True
    ranker = lgb.LGBMRanker(objective="lambdarank", verbose=-1)
    ranker.fit(X, np.digitize(y, [-1, 1]), group=[10] * 20)
    return len(ranker.predict(X)) == 200


@script
def counts_with_dates_and_categories(lgb, folder):
    random = np.random.default_rng(0)
    n_rows = 3000
    date = pd.date_range("2024-01-01", periods=n_rows, freq="3h")
    frame = pd.DataFrame({"date": date, "store": random.choice(["a", "b", "c"], n_rows)})
    frame["temperature"] = random.uniform(-10, 30, n_rows)
    mean = np.exp(0.5 + (frame["store"] == "a") + frame["temperature"] / 30)
    sales = random.poisson(mean)
    frame["month"] = frame["date"].dt.month
    frame["dayofweek"] = frame["date"].dt.dayofweek
    frame["store"] = frame["store"].astype("category")
    frame = frame.drop(columns="date")
    X_train, X_test, y_train, y_test = parts(frame, sales)
    model = lgb.LGBMRegressor(objective="poisson", n_estimators=200, learning_rate=0.05)
    model.fit(X_train, y_train, categorical_feature=["store"])
    predicted = model.predict(X_test)
    return (predicted > 0).all() and mean_squared_error(y_test, predicted) < 0.95 * y_test.var()


@script
def a_learning_curve_of_two_sets(lgb, folder):
    pytest.importorskip("matplotlib").use("Agg")
    X_train, X_valid, y_train, y_valid = parts(*classes())
    model = lgb.LGBMClassifier(n_estimators=30, learning_rate=0.09, max_depth=-5, random_state=42)
    model.fit(
        X_train,
        y_train,
        eval_set=[(X_valid, y_valid), (X_train, y_train)],
        eval_metric="logloss",
    )
    axes = lgb.plot_metric(model)
    curves = {line.get_label() for line in axes.get_lines()}
    return (
        curves == {"training", "valid_0"} and roc_auc_score(y_valid, model.predict(X_valid)) > 0.6
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_with_usable_results(name, tmp_path):
    # Noise may be the larger part of one fit in many.
    assert any(SCRIPTS[name](dpboost, tmp_path) for _ in range(3))


def test_there_are_eighteen():
    assert len(SCRIPTS) == 18


def test_a_typical_script_prints_four_warnings_at_most():
    X, y = classes(900)
    X_train, X_valid, y_train, y_valid = parts(X, y)
    quiet = {"verbose": -1, "n_estimators": 20}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        train_set = dpboost.Dataset(X_train, y_train)
        dpboost.train(
            {"objective": "binary", "num_leaves": 31, **quiet},
            train_set,
            valid_sets=[train_set, dpboost.Dataset(X_valid, y_valid)],
            callbacks=[dpboost.early_stopping(10, verbose=False)],
        )
        dpboost.LGBMClassifier(num_leaves=31, **quiet).fit(X_train, y_train)
        cross_val_score(dpboost.LGBMClassifier(**quiet), X, y, cv=5)
    texts = [str(each.message) for each in caught]
    assert len(texts) <= 4
    assert any("the fits so far add up to" in text for text in texts)
    assert any("5 fits of epsilon=1 add up to as much as 5" in text for text in texts)
