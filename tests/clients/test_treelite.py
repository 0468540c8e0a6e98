"""treelite reads the model text and predicts in doubles."""

import numpy as np
import pytest

treelite = pytest.importorskip(
    "treelite", reason="treelite is not installed: pip install dpboost[clients]"
)
pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


def test_predictions_are_those_of_lightgbm(case, tmp_path):
    path = tmp_path / "model.txt"
    path.write_text(case.text)
    model = treelite.frontend.load_lightgbm_model(path)
    found = treelite.gtil.predict(model, case.X)
    expected = case.booster.predict(case.X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-12)
