"""treelite reads the model text and predicts in doubles."""

import numpy as np
import pytest

treelite = pytest.importorskip(
    "treelite", reason="treelite is not installed: pip install dpboost[clients]"
)
pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


def test_predictions_are_those_of_lightgbm(any_case, tmp_path):
    """`treelite.frontend.load_lightgbm_model`: the same predictions, to 1e-12"""
    path = tmp_path / "model.txt"
    path.write_text(any_case.text)
    model = treelite.frontend.load_lightgbm_model(path)
    for raw in (True, False):
        expected = any_case.booster.predict(any_case.X, raw_score=raw)
        found = treelite.gtil.predict(model, any_case.X, pred_margin=raw).reshape(expected.shape)
        # Its softmax, alone of all, works in single precision.
        single = any_case.task == "multiclass" and not raw
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 if single else 1e-12)
