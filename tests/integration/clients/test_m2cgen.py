"""m2cgen writes a released model as code."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor

m2cgen = pytest.importorskip("m2cgen", reason="m2cgen is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1))}


@pytest.mark.parametrize("recipe", ["best", "dpboost"])
def test_code_of_a_regressor_predicts_the_same_doubles(recipe):
    """`m2cgen.export_to_python(model.to_lightgbm())` of a regressor: the same numbers"""
    model = DPBoostRegressor(
        schema=BOUNDS | {"label_bounds": (-2, 2)}, recipe=recipe, n_estimators=8, verbosity=-1
    ).fit(X, X[:, 0] - X[:, 1])
    code = {}
    exec(m2cgen.export_to_python(model.to_lightgbm()), code)
    found = [code["score"](row.tolist()) for row in X]
    np.testing.assert_allclose(found, model.predict(X), rtol=0, atol=1e-12)


def test_code_of_a_classifier_predicts_the_same_probabilities():
    """of a classifier: the same probabilities"""
    model = DPBoostClassifier(
        schema=BOUNDS | {"classes": [0, 1]}, n_estimators=8, verbosity=-1
    ).fit(X, (X[:, 0] > 0).astype(int))
    code = {}
    exec(m2cgen.export_to_python(model.to_lightgbm()), code)
    found = [code["score"](row.tolist()) for row in X]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=1e-12)


def test_it_asks_for_the_type(is_on_the_page):
    """the estimator itself is refused by its type: hand it `to_lightgbm()`"""
    model = DPBoostClassifier(schema=BOUNDS | {"classes": [0, 1]}, n_estimators=2, verbosity=-1)
    with pytest.raises(NotImplementedError) as error:
        m2cgen.export_to_python(model.fit(X, (X[:, 0] > 0).astype(int)))
    assert is_on_the_page(error)
