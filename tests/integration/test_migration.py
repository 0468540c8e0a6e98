"""Scripts written for LightGBM, run again with only the import changed: both show arrays alike.

Scripts of other kinds are in `test_unedited_scripts.py` and `test_same_behaviour.py`.
"""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import dpboost

pytestmark = pytest.mark.filterwarnings("ignore")

PATTERNS = {}


def pattern(script):
    """Collect a script: it returns what it shows, and whether that is usable."""
    PATTERNS[script.__name__.replace("_", " ")] = script
    return script


def table(n_rows=3000, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    X[random.random(X.shape) < 0.02] = np.nan
    filled = np.nan_to_num(X)
    return X, filled[:, 0] + np.where(filled[:, 1] > 0, 1.0, -1.0)


@pattern
def categorical_pandas(lgb):
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
def sparse_text(lgb):
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
def custom_objective(lgb):
    X, y = table()

    def log_cosh(y_true, y_pred):
        slope = np.tanh(y_pred - y_true)
        return slope, 1.0 - slope**2

    # The bound of the gradient is for dpboost; LightGBM ignores what it does not know.
    gbm = lgb.LGBMRegressor(objective=log_cosh, n_estimators=60, verbose=-1, gradient_bound=1.0)
    y_pred = gbm.fit(X[:2000], y[:2000]).predict(X[2000:])
    return {"y_pred": y_pred}, np.mean((y_pred - y[2000:]) ** 2) < np.mean(y[2000:] ** 2)


def shape_of(shown):
    """Return what two libraries must have in common: names, lengths, shapes, kinds of numbers."""
    return {
        name: (value.shape, value.dtype.kind) if isinstance(value, np.ndarray) else value
        for name, value in shown.items()
    }


@pytest.mark.parametrize("name", PATTERNS)
def test_a_script_runs_with_only_the_import_changed(name):
    shown = {}
    for library in (lightgbm, dpboost):
        for _ in range(1 if library is lightgbm else 3):
            # Noise may hide the one word that matters in 1,500 texts, in one of twenty fits.
            shown[library], good = PATTERNS[name](library)
            if good:
                break
        assert good, library.__name__
    assert shape_of(shown[dpboost]) == shape_of(shown[lightgbm])
