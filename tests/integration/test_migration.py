"""Scripts written for LightGBM, run again with only the import changed."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import dpboost

pytestmark = pytest.mark.filterwarnings("ignore")

PATTERNS = {}


def pattern(script):
    """Collect a script: a function of the imported module that returns what it shows."""
    PATTERNS[script.__name__.replace("_", " ")] = script
    return script


def table(n_rows=3000, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    X[random.random(X.shape) < 0.02] = np.nan
    filled = np.nan_to_num(X)
    return X, filled[:, 0] + np.where(filled[:, 1] > 0, 1.0, -1.0)


def split(X, y):
    return X[:2000], X[2000:], y[:2000], y[2000:]


@pattern
def regression(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
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
        num_boost_round=100,
        valid_sets=lgb_eval,
        callbacks=[lgb.early_stopping(stopping_rounds=20, verbose=False)],
    )
    gbm.save_model(str(folder / "model.txt"))
    loaded = lgb.Booster(model_file=str(folder / "model.txt"))
    y_pred = loaded.predict(X_test, num_iteration=gbm.best_iteration)
    error = mean_squared_error(y_test, y_pred)
    return {"y_pred": y_pred, "metrics": sorted(gbm.best_score["valid_0"])}, error < y_test.var()


@pattern
def binary_classification(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
    names = np.array(["bad", "good"])
    model = lgb.LGBMClassifier(num_leaves=31, learning_rate=0.1, n_estimators=60, random_state=42)
    model.fit(X_train, names[(y_train > 0).astype(int)])
    proba = model.predict_proba(X_test)
    area = roc_auc_score(y_test > 0, proba[:, 1])
    shown = {
        "classes": list(model.classes_),
        "proba": proba,
        "labels": model.predict(X_test).dtype.kind,
        "importances": model.feature_importances_,
        "n_features": model.n_features_in_,
    }
    return shown, area > 0.7


@pattern
def multiclass(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
    cuts = [-1.0, 1.0]
    params = {"objective": "multiclass", "num_class": 3, "metric": "multi_logloss", "verbose": -1}
    train_set = lgb.Dataset(X_train, label=np.digitize(y_train, cuts))
    bst = lgb.train(params, train_set, 40)
    probabilities = bst.predict(X_test)
    accuracy = accuracy_score(np.digitize(y_test, cuts), probabilities.argmax(axis=1))
    return {"probabilities": probabilities, "trees": bst.num_trees()}, accuracy > 0.4


@pattern
def callbacks(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
    evals_result, seen = {}, []

    def every_ten_rounds(env):
        if env.iteration % 10 == 0:
            seen.append((env.iteration, env.model.num_trees(), env.evaluation_result_list[0][0]))

    bst = lgb.train(
        {"objective": "regression", "metric": "rmse", "verbose": -1},
        lgb.Dataset(X_train, y_train),
        num_boost_round=30,
        valid_sets=[lgb.Dataset(X_test, y_test)],
        valid_names=["test"],
        callbacks=[
            lgb.log_evaluation(period=10),
            lgb.record_evaluation(evals_result),
            lgb.reset_parameter(learning_rate=lambda i: 0.3 * 0.99**i),
            every_ten_rounds,
        ],
    )
    rmse = evals_result["test"]["rmse"]
    mine = np.sqrt(mean_squared_error(y_test, bst.predict(X_test)))
    return {"rounds": len(rmse), "seen": seen}, abs(mine - rmse[-1]) < 1e-5


@pattern
def early_stopping(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
    gbm = lgb.LGBMRegressor(num_leaves=31, learning_rate=0.3, n_estimators=500, verbose=-1)
    gbm.fit(
        X_train,
        y_train,
        eval_set=[(X_test, y_test)],
        eval_metric="l1",
        callbacks=[lgb.early_stopping(3, verbose=False)],
    )
    used = gbm.predict(X_test)
    best = gbm.predict(X_test, num_iteration=gbm.best_iteration_)
    shown = {
        "metrics": sorted(gbm.evals_result_["valid_0"]),
        "best": sorted(gbm.best_score_["valid_0"]),
        "objective": gbm.objective_,
    }
    stopped = 0 < gbm.best_iteration_ <= gbm.booster_.current_iteration() <= 500
    return shown, stopped and np.array_equal(used, best)


@pattern
def categorical_pandas(lgb, folder):
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    city = pd.Categorical.from_codes(
        np.arange(len(X)) % 5, ["Bonn", "Kiel", "Ulm", "Trier", "Jena"]
    )
    frame["city"] = city
    frame["month"] = np.arange(len(X)) // 5 % 12
    y = y + 3.0 * (city == "Ulm") - 3.0 * (frame["month"] == 3)
    gbm = lgb.LGBMRegressor(n_estimators=150, verbose=-1)
    gbm.fit(frame[:2000], y[:2000], categorical_feature=["city", "month"])
    test = frame[2000:].reset_index(drop=True)
    shuffled = test.assign(city=test["city"].cat.reorder_categories(sorted(city.categories)))
    y_pred = gbm.predict(test)
    same = np.array_equal(gbm.predict(shuffled), y_pred)
    unseen = test.assign(city=test["city"].astype(str).replace("Ulm", "Rome").astype("category"))
    is_ulm = (test["city"] == "Ulm").to_numpy()
    shown = {"y_pred": y_pred, "names": gbm.feature_name_, "unseen": gbm.predict(unseen)}
    return shown, same and y_pred[is_ulm].mean() > y_pred[~is_ulm].mean()


@pattern
def sparse_text(lgb, folder):
    random = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(50)])
    liked = random.random(2000) < 0.5
    texts = [" ".join([*random.choice(words, 8), "great" if good else "awful"]) for good in liked]
    model = make_pipeline(
        HashingVectorizer(n_features=256, norm=None, alternate_sign=False),
        lgb.LGBMClassifier(n_estimators=200, verbose=-1),
    )
    model.fit(texts[:1500], liked[:1500])
    proba = model.predict_proba(texts[1500:])
    area = roc_auc_score(liked[1500:], proba[:, 1])
    return {"proba": proba, "classes": model.classes_.tolist()}, area > 0.6


@pattern
def custom_metric(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())

    def rmsle_like(y_true, y_pred):
        return "log error", float(np.mean(np.log1p(np.abs(y_true - y_pred)))), False

    gbm = lgb.LGBMRegressor(n_estimators=20, verbose=-1)
    gbm.fit(X_train, y_train, eval_set=[(X_test, y_test)], eval_metric=rmsle_like)
    last = gbm.evals_result_["valid_0"]["log error"][-1]
    expected = rmsle_like(y_test, gbm.predict(X_test))[1]
    return {"metrics": sorted(gbm.evals_result_["valid_0"])}, abs(last - expected) < 1e-5


@pattern
def shap_values(lgb, folder):
    X_train, X_test, y_train, _ = split(*table())
    bst = lgb.train({"verbose": -1}, lgb.Dataset(X_train, y_train), 30)
    contributions = bst.predict(X_test[:50], pred_contrib=True)
    total = contributions.sum(axis=1)
    close = np.allclose(total, bst.predict(X_test[:50], raw_score=True), atol=1e-6)
    return {"contributions": contributions, "leaves": bst.predict(X_test, pred_leaf=True)}, close


@pattern
def cross_validation(lgb, folder):
    X, y = table()
    results = lgb.cv(
        {"objective": "binary", "metric": "binary_logloss", "verbose": -1},
        lgb.Dataset(X, (y > 0).astype(int)),
        num_boost_round=30,
        nfold=3,
        return_cvbooster=True,
    )
    boosters = results.pop("cvbooster").boosters
    loss = results["valid binary_logloss-mean"][-1]
    scores = cross_val_score(lgb.LGBMRegressor(n_estimators=20, verbose=-1), X, y, cv=2)
    search = GridSearchCV(
        lgb.LGBMRegressor(n_estimators=20, verbose=-1), {"learning_rate": [0.1, 0.3]}, cv=2
    ).fit(X, y)
    shown = {
        "keys": sorted(results),
        "models": len(boosters),
        "predictions": boosters[0].predict(X),
        "scores": scores,
        "best": sorted(search.best_params_),
    }
    return shown, 0 < loss < 1.5


@pattern
def plotting(lgb, folder):
    pytest.importorskip("matplotlib").use("Agg")
    X_train, X_test, y_train, y_test = split(*table())
    evals_result = {}
    bst = lgb.train(
        {"metric": ["l1", "l2"], "verbose": -1},
        lgb.Dataset(X_train, y_train, feature_name=["a", "b", "c", "d"]),
        num_boost_round=10,
        valid_sets=[lgb.Dataset(X_test, y_test)],
        callbacks=[lgb.record_evaluation(evals_result)],
    )
    axes = [
        lgb.plot_metric(evals_result, metric="l1"),
        lgb.plot_importance(bst, max_num_features=4),
        lgb.plot_split_value_histogram(bst, feature="a", bins=5),
    ]
    frame = bst.trees_to_dataframe()
    shown = {
        "titles": [axis.get_title() for axis in axes],
        "columns": list(frame.columns),
        "model": sorted(bst.dump_model()),
    }
    return shown, set(frame["split_feature"].dropna()) <= {"a", "b", "c", "d"}


@pattern
def custom_objective(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())

    def log_cosh(y_true, y_pred):
        slope = np.tanh(y_pred - y_true)
        return slope, 1.0 - slope**2

    # The bound of the gradient is for dpboost; LightGBM ignores what it does not know.
    gbm = lgb.LGBMRegressor(objective=log_cosh, n_estimators=60, verbose=-1, gradient_bound=1.0)
    gbm.fit(X_train, y_train)
    y_pred = gbm.predict(X_test)
    return {"y_pred": y_pred}, mean_squared_error(y_test, y_pred) < np.mean(y_test**2)


@pattern
def continued_training(lgb, folder):
    X_train, X_test, y_train, y_test = split(*table())
    params = {"objective": "regression", "verbose": -1}
    gbm = lgb.train(params, lgb.Dataset(X_train, y_train), num_boost_round=20)
    gbm.save_model(str(folder / "model.txt"))
    gbm = lgb.train(
        params,
        lgb.Dataset(X_train, y_train),
        num_boost_round=10,
        init_model=str(folder / "model.txt"),
    )
    y_pred = gbm.predict(X_test)
    return {"y_pred": y_pred, "trees": gbm.num_trees()}, np.isfinite(y_pred).all()


def shape_of(shown):
    """Return what two libraries must have in common: names, lengths, shapes, kinds of numbers.

    Importances are gains here and counts of splits there: where cuts are random, every feature
    is cut as often.
    """
    return {
        name: (value.shape, "" if name == "importances" else value.dtype.kind)
        if isinstance(value, np.ndarray)
        else value
        for name, value in shown.items()
    }


@pytest.mark.parametrize("name", PATTERNS)
def test_a_script_runs_with_only_the_import_changed(name, tmp_path):
    shown = {}
    for library in (lightgbm, dpboost):
        for _ in range(1 if library is lightgbm else 3):
            # Noise may hide the one word that matters in 1,500 texts, in one of twenty fits.
            shown[library], good = PATTERNS[name](library, tmp_path)
            if good:
                break
        assert good, library.__name__
    assert shape_of(shown[dpboost]) == shape_of(shown[lightgbm])


def test_there_are_more_than_ten_patterns():
    assert len(PATTERNS) > 10
