"""Rounds and learning rates of models without noise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import dpboost
from dpboost import ParameterWarning
from dpboost.training.released_warnings import warn_of_settings


@dataclass(frozen=True)
class Rule:
    n_estimators: int = 800
    learning_rate: float = 0.2
    max_depth: int = 6


@dataclass(frozen=True)
class Facts:
    given: dict
    delta: float


RULE = Rule()


def told(given, *, pure=False, rule=RULE):
    """Return the text of the warning, empty where there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        facts = Facts(given=given, delta=0.0 if pure else 1e-6)
        warn_of_settings(facts, SimpleNamespace(name="best", defaults=lambda facts: rule))
    assert len(caught) <= 1
    assert all(each.category is ParameterWarning for each in caught)
    return str(caught[0].message) if caught else ""


def test_few_small_steps_are_told_with_the_values_of_the_rule():
    message = told({"n_estimators": 100, "learning_rate": 0.05})
    assert "n_estimators=100 and learning_rate=0.05" in message
    assert "n_estimators=800 and learning_rate=0.2" in message


@pytest.mark.parametrize(("name", "value"), [("n_estimators", 200), ("learning_rate", 0.05)])
def test_only_what_is_set_is_named(name, value):
    message = told(dict(**{name: value}))
    assert f"{name}={value}" in message
    other = {"n_estimators": "learning_rate", "learning_rate": "n_estimators"}[name]
    assert other not in message


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"max_depth": 2},
        {"max_depth": 9},
        {"n_estimators": 19, "learning_rate": 0.01},
        {"n_estimators": 800, "learning_rate": 0.1},
        {"n_estimators": 3000},
        {"n_estimators": 400, "learning_rate": 0.5},
    ],
)
def test_what_reaches_as_far_is_left_alone(given):
    assert told(dict(**given)) == ""


def test_deep_trees_are_told_in_the_same_warning():
    message = told({"n_estimators": 20, "max_depth": 12})
    assert "n_estimators=20 and max_depth=12" in message
    assert "n_estimators=800 and max_depth=6" in message


def test_many_rounds_under_pure_epsilon_are_told():
    rule = Rule(n_estimators=56, learning_rate=0.5, max_depth=6)
    assert "n_estimators=56" in told({"n_estimators": 500}, rule=rule, pure=True)
    assert told({"n_estimators": 500}, rule=rule) == ""
    assert told({"n_estimators": 200}, rule=rule, pure=True) == ""


def rows():
    X = np.random.default_rng(0).uniform(-1, 1, (500, 2))
    return X, X[:, 0]


SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-1, 1)}


def test_a_fit_with_lightgbms_settings_warns_once():
    with pytest.warns(ParameterWarning, match="cost accuracy.*n_estimators=20") as caught:
        dpboost.DPBoostRegressor(schema=SCHEMA, n_estimators=20, learning_rate=0.05).fit(*rows())
    assert len(caught) == 1


@pytest.mark.parametrize("recipe", ["dpboost", "seq"])
def test_recipes_without_a_rule_by_rows_say_nothing_of_it(recipe):
    model = dpboost.DPBoostRegressor(schema=SCHEMA, recipe=recipe, n_estimators=2, max_depth=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*rows())
    assert not [each for each in caught if "cost accuracy" in str(each.message)]


def test_train_takes_the_rule_as_the_estimators_do():
    params = {"schema": SCHEMA, "verbosity": -1, "max_depth": 1}
    booster = dpboost.train(params, dpboost.Dataset(*rows()))
    model = dpboost.DPBoostRegressor(schema=SCHEMA, max_depth=1).fit(*rows())
    assert booster.num_trees() == model.booster_.num_trees() == 400
    assert dpboost.train(params, dpboost.Dataset(*rows()), 3).num_trees() == 3
