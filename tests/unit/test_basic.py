"""Modules of LightGBM under our name."""

import importlib

import lightgbm
import numpy as np
import pytest

import dpboost

X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
Y = X[:, 0]


@pytest.mark.parametrize("library", [lightgbm, dpboost])
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("basic", ["Booster", "Dataset", "LightGBMError", "Sequence", "register_logger"]),
        ("callback", ["CallbackEnv", "EarlyStopException", "early_stopping"]),
        ("compat", ["PANDAS_INSTALLED", "LGBMNotFittedError"]),
        ("engine", ["CVBooster", "train"]),
        ("plotting", ["plot_importance"]),
        ("sklearn", ["LGBMClassifier", "LGBMModel", "LGBMRanker", "LGBMRegressor"]),
    ],
)
def test_what_users_import_is_there(library, module, names):
    found = importlib.import_module(f"{library.__name__}.{module}")
    assert getattr(library, module) is found
    for name in names:
        assert getattr(found, name) is not None
        assert getattr(library, name, getattr(found, name)) is getattr(found, name)


@pytest.mark.parametrize("module", ["basic", "compat"])
def test_a_name_that_nobody_has_is_missing(module):
    with pytest.raises(AttributeError, match="not_there"):
        _ = getattr(dpboost, module).not_there


def test_what_holds_rows_or_models_is_ours():
    assert dpboost.basic.Dataset is dpboost.Dataset is not lightgbm.Dataset
    assert dpboost.basic.Booster is dpboost.Booster is not lightgbm.Booster


@pytest.mark.parametrize("library", [lightgbm, dpboost])
def test_bad_parameters_are_errors_of_lightgbm(library):
    with pytest.raises(library.basic.LightGBMError):
        library.train({"learning_rate": -1.0, "verbosity": -1}, library.Dataset(X, Y), 1)
    with pytest.raises(library.basic.LightGBMError):
        library.Booster(model_str="no model")
