"""lleaves compiles the model text to machine code and predicts in doubles."""

import numpy as np
import pytest

HINT = "pip install dpboost[lleaves] in an environment of its own"
lleaves = pytest.importorskip("lleaves", reason=f"lleaves is not installed: {HINT}")
binding = pytest.importorskip("llvmlite.binding")
pytestmark = [
    pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning"),
    pytest.mark.skipif(
        not hasattr(binding, "PassManagerBuilder"),
        reason=f"lleaves needs llvmlite before 0.45: {HINT}",
    ),
]


# The complete trees of other recipes take a second each to compile.
@pytest.fixture(params=["regression", "binary", "multiclass"])
def model(request):
    return request.param, "best"


def test_predictions_are_those_of_lightgbm(case, tmp_path):
    """`lleaves.Model(model_file=...)`: the same predictions, to 1e-12"""
    path = tmp_path / "model.txt"
    path.write_text(case.text)
    model = lleaves.Model(model_file=str(path))
    model.compile()
    found, expected = model.predict(case.X), case.booster.predict(case.X)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-12)
