"""The model in training, as callbacks see it."""

import copy
import pickle
import warnings

import lightgbm
import numpy as np
import pytest

from dpboost import Booster, DPBoostRegressor, InvalidParameterError, ParameterWarning
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
    with pytest.warns(ParameterWarning, match=r"reset_parameter\(lambda=1\) has no effect"):
        booster.reset_parameter({"lambda": 1, "learning_rate": 0.5})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster.reset_parameter({"lambda": 2})  # was said
    assert booster.learning_rate == 0.5
    for params in ({"app": "l1"}, {"epsilon": 3}, {"learning_rate": 0.5, "num_classes": 1}):
        with pytest.raises(InvalidParameterError, match="reset_parameter cannot set"):
            booster.reset_parameter(params)
    with pytest.warns(ParameterWarning, match=r"learning_rate=2.0\) counts as 1"):
        booster.reset_parameter({"learning_rate": 2.0})
    assert booster.learning_rate == 1
    with pytest.warns(ParameterWarning, match="a_name is an unknown parameter"):
        booster.reset_parameter({"a_name": 2.0})
    for value in (0, "fast", float("nan"), float("inf")):
        with pytest.raises(InvalidParameterError, match="'learning_rate'"):
            booster.reset_parameter({"learning_rate": value})


@pytest.mark.parametrize("name", ["epsilon", "num_class", "objective"])
def test_what_no_round_may_change_is_refused_before_a_draw(name, no_release):
    calls = [lightgbm.reset_parameter(**{name: [1] * 4})]
    with pytest.raises(InvalidParameterError, match=f"cannot set '{name}'"):
        DPBoostRegressor(schema=SCHEMA, **FAST).fit(X, Y, callbacks=calls)


def test_what_lightgbm_lets_change_does_not_end_training():
    calls = [lightgbm.reset_parameter(bagging_fraction=[0.7, 0.7, 0.6, 0.6])]
    silent = {**FAST, "verbosity": -1}
    with pytest.warns(ParameterWarning, match=r"bagging_fraction=0.7\) has no effect"):
        model = DPBoostRegressor(schema=SCHEMA, **silent).fit(X, Y, callbacks=calls)
    assert model.booster_.num_trees() == 4
