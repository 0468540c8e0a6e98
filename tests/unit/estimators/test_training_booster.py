"""The model in training, as callbacks see it."""

import copy
import pickle

import lightgbm
import numpy as np
import pytest

from dpboost import Booster, DPBoostRegressor, InvalidParameterError
from dpboost.estimators.training_booster import TrainingBooster

FAST = {"n_estimators": 4, "max_depth": 2, "n_jobs": 1, "verbosity": 0}
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-2, 2)}
X = np.random.default_rng(0).uniform(-1, 1, (200, 2))
Y = X[:, 0] - X[:, 1]


def watched(look):
    seen = []
    model = DPBoostRegressor(schema=SCHEMA, **FAST)
    model.fit(X, Y, callbacks=[lambda env: seen.append(look(env.model))])
    return seen, model


def test_it_holds_the_released_rounds():
    seen, model = watched(lambda booster: (booster.num_trees(), booster.predict(X)))
    for number, (n_trees, predicted) in enumerate(seen, start=1):
        assert n_trees == number
        np.testing.assert_array_equal(predicted, model.predict(X, num_iteration=number))


def test_lightgbms_tools_take_it():
    seen, _ = watched(
        lambda booster: (
            isinstance(booster, lightgbm.Booster),
            booster.feature_importance().sum(),
            len(booster.dump_model()["tree_info"]),
            booster.current_iteration(),
        )
    )
    assert [line[2:] for line in seen] == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert all(line[0] for line in seen)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_is_a_released_model(duplicate):
    seen, model = watched(duplicate)
    assert {type(booster) for booster in seen} == {Booster}
    assert [booster.num_trees() for booster in seen] == [1, 2, 3, 4]
    np.testing.assert_array_equal(seen[-1].predict(X), model.predict(X))


def test_it_cannot_be_trained():
    with pytest.raises(lightgbm.basic.LightGBMError, match="accounting"):
        watched(lambda booster: booster.update())


def test_only_the_learning_rate_can_be_set():
    booster = TrainingBooster(lambda: None, "fit")
    assert booster.reset_parameter({"eta": 0.25}) is booster
    assert booster.learning_rate == 0.25
    for params in ({"max_depth": 3}, {"epsilon": 3}, {"learning_rate": 0.5, "lambda": 1}):
        with pytest.raises(InvalidParameterError, match="reset_parameter cannot set"):
            booster.reset_parameter(params)
    for value in (0, 2.0, "fast", float("nan")):
        with pytest.raises(InvalidParameterError, match="'learning_rate'"):
            booster.reset_parameter({"learning_rate": value})
