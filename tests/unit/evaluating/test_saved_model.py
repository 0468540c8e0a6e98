import numpy as np
import pytest

from dpboost import Booster, DPBoostRegressor, Schema
from dpboost.evaluating.evaluate import quantile_level
from dpboost.evaluating.saved_model import saved_model

SCHEMA = Schema(bounds={"Column_0": (0, 1)}, label_bounds=(0, 1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("learned", "level"),
    [({"objective": "quantile", "alpha": 0.8}, 0.8), ({"objective": "quantile"}, 0.9), ({}, None)],
)
def test_a_saved_model_is_judged_by_its_own_level(learned, level):
    X = np.linspace(0, 1, 300)[:, np.newaxis]
    model = DPBoostRegressor(schema=SCHEMA, n_estimators=2, **learned).fit(X, X[:, 0])
    text = model.booster_.model_to_string()
    saved = saved_model(Booster(model_str=text), SCHEMA, "the target")
    assert quantile_level(saved) == quantile_level(model) == level
