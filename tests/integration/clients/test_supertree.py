"""supertree draws a tree of a released model."""

import json

import numpy as np
import pytest

from dpboost import DPBoostRegressor

supertree = pytest.importorskip("supertree", reason="supertree is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(-1, 1, (300, 3))
PUBLIC = np.random.default_rng(1).uniform(-1, 1, (30, 3))  # a picture shows every row it is given


@pytest.fixture(scope="module")
def model():
    schema = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-2, 2)}
    return DPBoostRegressor(schema=schema, n_estimators=4, verbosity=-1).fit(X, X[:, 0])


def drawn(model, path):
    tree = supertree.SuperTree(model, PUBLIC, PUBLIC[:, 0], list("abc"), "target")
    tree.save_json_tree(str(path))
    return json.loads(path.read_text(encoding="utf-8"))["node_data"]


def test_it_draws_a_tree(model, tmp_path):
    """`supertree.SuperTree(model.booster_, ...)` and `model.to_lightgbm()`: the same tree"""
    first, second = (
        drawn(each, tmp_path / "tree.json") for each in (model.booster_, model.to_lightgbm())
    )
    assert first == second != {}


def test_it_asks_for_the_type(model, tmp_path, is_on_the_page):
    """the estimator itself is refused by its type"""
    with pytest.raises(TypeError, match="Invalid model type") as error:
        drawn(model, tmp_path / "tree.json")
    assert is_on_the_page(error)
