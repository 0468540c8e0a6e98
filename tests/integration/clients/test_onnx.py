"""onnxmltools turns the booster into an ONNX graph, which predicts in single precision."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier

HINT = "pip install dpboost[clients]"
onnxmltools = pytest.importorskip("onnxmltools", reason=f"onnxmltools is not installed: {HINT}")
onnxruntime = pytest.importorskip("onnxruntime", reason=f"onnxruntime is not installed: {HINT}")
pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")


def test_predictions_are_those_of_lightgbm_in_single_precision(any_case):
    """`convert_lightgbm(model.booster_)`: the same predictions in single precision"""
    # Thresholds are rounded to single precision as well: a value on the border of two bins may
    # change sides, so the rows of this test have none there but categories.
    from onnxmltools.convert.common.data_types import FloatTensorType

    X = any_case.X.astype(np.float32)
    graph = onnxmltools.convert_lightgbm(
        any_case.booster,
        initial_types=[("rows", FloatTensorType([None, X.shape[1]]))],
        zipmap=False,
    )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # it warns of shapes that the converter writes
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"rows": X})[-1]
    expected = any_case.booster.predict(X)
    if any_case.task == "binary":
        found = found[:, 1]
    found = found.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_an_estimator_is_converted_as_lightgbms(is_on_the_page):
    """`convert_lightgbm(model.to_lightgbm())`: the estimator; ours is refused by its type"""
    from onnxmltools.convert.common.data_types import FloatTensorType

    X = np.random.default_rng(0).uniform(size=(200, 2)).astype(np.float32)
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    model = DPBoostClassifier(schema=schema, n_estimators=5, verbosity=-1)
    model.fit(X, (X[:, 0] > 0.5).astype(int))
    types = [("rows", FloatTensorType([None, 2]))]
    graph = onnxmltools.convert_lightgbm(model.to_lightgbm(), initial_types=types, zipmap=False)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    near = np.abs(session.run(None, {"rows": X})[-1] - model.predict_proba(X)) < 1e-5
    assert near.mean() > 0.95
    with pytest.raises(ValueError, match="DPBoostClassifier") as error:
        onnxmltools.convert_lightgbm(model, initial_types=types)
    assert is_on_the_page(error)
