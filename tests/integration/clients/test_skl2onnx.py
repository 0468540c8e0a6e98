"""skl2onnx turns a pipeline that ends in an estimator of ours into an ONNX graph."""

import lightgbm
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dpboost import DPBoostClassifier, DPBoostRegressor

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxmltools", reason="onnxmltools is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
# Values of single precision, which the graph computes in.
X = np.random.default_rng(0).uniform(-1, 1, (300, 3)).astype(np.float32)
BOUNDS = {"bounds": dict.fromkeys(range(3), (-3, 3))}


def registered(kind):
    """Tell skl2onnx of an estimator, as its documentation does for LightGBM's."""
    from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
    from skl2onnx.common.shape_calculator import (
        calculate_linear_classifier_output_shapes,
        calculate_linear_regressor_output_shapes,
    )

    classifies = issubclass(kind, lightgbm.LGBMClassifier)
    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]} if classifies else None
    shapes = (
        calculate_linear_classifier_output_shapes
        if classifies
        else calculate_linear_regressor_output_shapes
    )
    skl2onnx.update_registered_converter(
        kind, kind.__name__ + "Dpboost", shapes, convert_lightgbm, options=options
    )


@pytest.mark.parametrize("stock", [True, False], ids=["to_lightgbm()", "ours"])
@pytest.mark.parametrize("kind", [DPBoostClassifier, DPBoostRegressor])
def test_a_pipeline_predicts_the_same_in_single_precision(kind, stock):
    """`convert_sklearn` of a pipeline, with our estimator or `to_lightgbm()`, registered once"""
    from skl2onnx.common.data_types import FloatTensorType

    scale = StandardScaler().fit(X)
    rows, classifies = scale.transform(X), kind is DPBoostClassifier
    labels = (X[:, 0] > 0).astype(int) if classifies else X[:, 0].astype(float)
    schema = BOUNDS | ({"classes": [0, 1]} if classifies else {"label_bounds": (-1, 1)})
    model = kind(schema=schema, n_estimators=8, verbosity=-1).fit(rows, labels)
    last = model.to_lightgbm() if stock else model
    registered(type(last))
    graph = skl2onnx.convert_sklearn(
        make_pipeline(scale, last),
        initial_types=[("rows", FloatTensorType([None, 3]))],
        options={id(last): {"zipmap": False}} if classifies else None,
        target_opset={"": 15, "ai.onnx.ml": 2},
    )
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"rows": X})[-1]
    expected = model.predict_proba(rows) if classifies else model.predict(rows)
    near = np.abs(found.reshape(expected.shape) - expected) < 1e-5
    # A value on the border of two bins may change sides.
    assert near.mean() > 0.95


class Unregistered(DPBoostRegressor):
    """No other test registers it."""


def test_it_asks_for_a_registration(is_on_the_page):
    """an estimator that is not registered is refused by its type"""
    model = Unregistered(schema=BOUNDS | {"label_bounds": (-1, 1)}, n_estimators=2, verbosity=-1)
    with pytest.raises(RuntimeError, match="update_registered_converter") as error:
        skl2onnx.to_onnx(model.fit(X, X[:, 0].astype(float)), X[:1])
    assert is_on_the_page(error)
