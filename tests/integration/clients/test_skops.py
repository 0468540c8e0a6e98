"""skops keeps a fitted estimator without a pickle."""

import numpy as np
import pytest

from dpboost import DPBoostClassifier

io = pytest.importorskip("skops.io", reason="skops is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
    schema = {"bounds": dict.fromkeys(range(3), (-1, 1)), "classes": [0, 1]}
    model = DPBoostClassifier(schema=schema, n_estimators=4, verbosity=-1)
    return model.fit(X, (X[:, 0] > 0).astype(int)), X


def test_the_estimator_comes_back_once_its_types_are_trusted(model, tmp_path, is_on_the_page):
    """`load(path, trusted=get_untrusted_types(file=path))`: the estimator, with its report"""
    fitted, X = model
    path = tmp_path / "model.skops"
    io.dump(fitted, path)
    with pytest.raises(io.exceptions.UntrustedTypesFoundException) as error:
        io.load(path)
    assert is_on_the_page(error)
    again = io.load(path, trusted=io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.privacy_report_ == fitted.privacy_report_


def test_lightgbms_own_estimator_needs_two_types(model, tmp_path):
    """`model.to_lightgbm()` needs no type of ours to be trusted"""
    fitted, X = model
    path = tmp_path / "model.skops"
    io.dump(fitted.to_lightgbm(), path)
    untrusted = io.get_untrusted_types(file=path)
    assert all(name.startswith("lightgbm.") for name in untrusted)
    again = io.load(path, trusted=untrusted)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
