"""onnxmltools turns the booster into an ONNX graph, which predicts in single precision."""

import numpy as np
import pytest

HINT = "pip install dpboost[clients]"
onnxmltools = pytest.importorskip("onnxmltools", reason=f"onnxmltools is not installed: {HINT}")
onnxruntime = pytest.importorskip("onnxruntime", reason=f"onnxruntime is not installed: {HINT}")
pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


def test_predictions_are_those_of_lightgbm_in_single_precision(case):
    # Thresholds are rounded to single precision as well: a value on the border of two bins may
    # change sides, so the rows of this test have none there but categories.
    from onnxmltools.convert.common.data_types import FloatTensorType

    X = case.X.astype(np.float32)
    graph = onnxmltools.convert_lightgbm(
        case.booster,
        initial_types=[("rows", FloatTensorType([None, X.shape[1]]))],
        zipmap=False,
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns of shapes that the converter writes
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"rows": X})[-1]
    expected = case.booster.predict(X)
    if case.task == "binary":
        found = found[:, 1]
    found = found.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
