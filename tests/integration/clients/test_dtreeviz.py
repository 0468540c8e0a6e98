"""dtreeviz reads the trees of a released model."""

import lightgbm
import numpy as np
import pytest

import dpboost

dtreeviz = pytest.importorskip("dtreeviz", reason="dtreeviz is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_its_tree_is_that_of_the_model(fitted):
    """`dtreeviz.model(model.booster_.to_lightgbm(), tree_index=0, ...)` reads the same splits"""
    case = fitted("binary", "best", "numbers")
    stock = dpboost.Booster(model_str=case.text).to_lightgbm()
    assert type(stock) is lightgbm.Booster
    # Drawn are public rows: a picture shows every row that it is given.
    public = np.random.default_rng(1).normal(size=(30, 4))
    viz = dtreeviz.model(
        stock,
        tree_index=0,
        X_train=public,
        y_train=(public[:, 0] > 0).astype(int),
        feature_names=list("abcd"),
        target_name="target",
        class_names=[0, 1],
    )
    own = case.booster.trees_to_dataframe().query("tree_index == 0")
    splits = own[own.split_feature.notna()]
    shown = [each for each in viz.shadow_tree.get_thresholds() if each != -1]
    assert sorted(map(float, shown)) == pytest.approx(
        sorted(splits.threshold.astype(float)), abs=0.006
    )


def test_it_asks_for_the_type(fitted, is_on_the_page):
    """`model.booster_` itself is refused by its type: hand it `to_lightgbm()`"""
    case = fitted("binary", "best", "numbers")
    public = np.zeros((4, 4))
    with pytest.raises(ValueError, match="lightgbm") as error:
        dtreeviz.model(
            dpboost.Booster(model_str=case.text),
            tree_index=0,
            X_train=public,
            y_train=np.arange(4) % 2,
            feature_names=list("abcd"),
            target_name="target",
            class_names=[0, 1],
        )
    assert is_on_the_page(error)
