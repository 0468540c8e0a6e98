"""Modules of LightGBM under our name: nothing that trains without privacy comes from them."""

import importlib

import lightgbm
import pytest

import dpboost

MODULES = ["basic", "callback", "compat", "engine", "plotting", "sklearn"]
TRAINS = ("train", "cv", "Dataset", "Booster", "CVBooster", "LGBMModel", "LGBMClassifier")


@pytest.mark.parametrize("name", MODULES)
def test_every_name_is_found(name):
    theirs = importlib.import_module(f"lightgbm.{name}")
    ours = importlib.import_module(f"dpboost.{name}")
    missing = [each for each in vars(theirs) if not hasattr(ours, each)]
    assert missing == []
    with pytest.raises(AttributeError, match="no_such_name"):
        ours.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_what_trains_is_ours(name):
    ours = importlib.import_module(f"dpboost.{name}")
    theirs = importlib.import_module(f"lightgbm.{name}")
    for each in (*TRAINS, "LGBMRegressor", "LGBMRanker"):
        if hasattr(theirs, each):
            assert getattr(ours, each) is getattr(dpboost, each)
            assert getattr(ours, each) is not getattr(lightgbm, each)


def test_dask_is_like_the_others():
    pytest.importorskip("dask.distributed")
    ours = importlib.import_module("dpboost.dask")
    theirs = importlib.import_module("lightgbm.dask")
    assert [each for each in vars(theirs) if not hasattr(ours, each)] == []
    assert ours.DaskLGBMClassifier is dpboost.DaskLGBMClassifier
    assert ours.LGBMModel is dpboost.LGBMModel
