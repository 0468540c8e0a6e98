"""shap's TreeExplainer on the released booster."""

import numpy as np
import pytest

shap = pytest.importorskip("shap", reason="shap is not installed: pip install dpboost[clients]")
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore:LightGBM binary classifier with TreeExplainer"),
]


def test_values_add_up_to_the_raw_score(any_case):
    """`shap.TreeExplainer(model.booster_)`: values add up to the raw score, to 1e-12"""
    raw = any_case.booster.predict(any_case.X, raw_score=True)
    explanation = shap.TreeExplainer(any_case.booster)(any_case.X)
    sums = explanation.values.sum(axis=1) + explanation.base_values
    np.testing.assert_allclose(sums, raw, rtol=0, atol=1e-12)
    own = any_case.booster.predict(any_case.X, pred_contrib=True).reshape(
        len(raw), -1, any_case.X.shape[1] + 1
    )
    found = explanation.values.reshape(len(raw), any_case.X.shape[1], -1)
    np.testing.assert_allclose(found, own[:, :, :-1].swapaxes(1, 2), rtol=0, atol=1e-12)
