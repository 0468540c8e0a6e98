"""A Booster of a training set: rounds are told one by one, and trained together."""

import copy
import gc
import pickle

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost import Booster, Dataset, InvalidParameterError, ParameterWarning

X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
Y = X[:, 0] - X[:, 1]
PUBLIC = np.random.default_rng(1).uniform(-1, 1, (60, 2))
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}, "label_bounds": (-2, 2)}
PARAMS = {"schema": SCHEMA, "max_depth": 2, "num_threads": 1, "verbosity": -1}


@pytest.fixture
def calls(monkeypatch):
    """Count what is trained."""
    from dpboost.estimators import booster_session

    made = []
    real = booster_session.train

    def counted(params, train_set, n_rounds, **options):
        made.append(n_rounds)
        return real(params, train_set, n_rounds, **options)

    monkeypatch.setattr(booster_session, "train", counted)
    return made


def session(n_rounds=4, **params):
    booster = Booster({**PARAMS, **params}, Dataset(X, Y))
    for _ in range(n_rounds):
        assert booster.update() is False
    return booster


def test_rounds_are_trained_once_and_together(calls):
    booster = session(5)
    assert isinstance(booster, lightgbm.Booster)
    assert booster.current_iteration() == 5
    assert not hasattr(booster, "a_name")
    assert calls == []
    assert booster.predict(X).shape == (300,)
    assert booster.num_trees() == booster.current_iteration() == 5
    assert calls == [5]
    report = booster.privacy_report
    assert report.epsilon == 1
    assert report.epsilon_spent <= 1


def test_it_is_the_model_of_train():
    with pytest.warns(dpboost.NotPrivateWarning):
        trained = dpboost.train({**PARAMS, "noise_seed": 0}, Dataset(X, Y), 4)
    told = session(noise_seed=0, num_iterations=50, early_stopping_round=2)
    with pytest.warns(dpboost.NotPrivateWarning):
        text = told.model_to_string()
    assert text == trained.model_to_string()


@pytest.mark.parametrize(
    "look",
    [
        lambda b: b.predict(X),
        lambda b: b.num_trees(),
        lambda b: b.dump_model(),
        lambda b: b.feature_importance(),
        lambda b: b.privacy_report.epsilon,
        lambda b: b.feature_name(),
        lambda b: b.trees_to_dataframe(),
        lambda b: b.to_lightgbm(),
        copy.deepcopy,
        pickle.dumps,
    ],
)
def test_whatever_looks_at_the_model_trains_it(look, calls):
    booster = session(2)
    assert look(booster) is not None
    assert calls == [2]
    with pytest.raises(InvalidParameterError, match="2 rounds were trained"):
        booster.update()


def test_copies_are_released_models():
    booster = session()
    for other in (copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))):
        assert type(other) is Booster
        assert other.privacy_report == booster.privacy_report
        np.testing.assert_array_equal(other.predict(X), booster.predict(X))


def test_a_booster_that_nobody_looks_at_is_not_trained(calls):
    booster = session()
    del booster
    gc.collect()
    assert calls == []


def test_a_rollback_before_training_is_a_round_less(calls):
    booster = session(4)
    assert booster.rollback_one_iter() is booster
    assert booster.num_trees() == 3
    assert calls == [3]
    empty = session(1).rollback_one_iter().rollback_one_iter()
    with pytest.raises(InvalidParameterError, match="no rounds yet"):
        empty.predict(X)


def test_a_rollback_afterwards_refunds_nothing(calls):
    booster = session(3)
    booster.add_valid(Dataset(PUBLIC, PUBLIC[:, 0]), "public")
    before, spent = booster.predict(X, num_iteration=2), booster.privacy_report.epsilon_spent
    booster.rollback_one_iter()
    assert booster.num_trees() == 2
    np.testing.assert_array_equal(booster.predict(X), before)
    assert booster.privacy_report.epsilon_spent == spent
    ((name, metric, value, *_),) = booster.eval_valid()
    assert (name, metric) == ("public", "l2")
    assert value == pytest.approx(np.mean((booster.predict(PUBLIC) - PUBLIC[:, 0]) ** 2))
    booster.rollback_one_iter()
    with pytest.raises(InvalidParameterError, match="without any round"):
        booster.rollback_one_iter()
    assert calls == [3]


def test_the_learning_rate_is_that_of_the_rounds_to_come():
    booster = session(1, learning_rate=0.5)
    booster.reset_parameter({"eta": 1e-9})
    booster.update()
    leaves = booster.trees_to_dataframe().groupby("tree_index")["value"].agg(lambda v: abs(v).max())
    assert leaves[0] > 1e-6 > leaves[1]


def test_other_parameters_are_for_all_rounds():
    booster = session(0, lambda_l2=2.0)
    booster.reset_parameter({"reg_lambda": 3.0, "max_depth": 1})  # before any round
    booster.update()
    with pytest.warns(ParameterWarning, match=r"max_depth=2\) applies to all rounds"):
        booster.reset_parameter({"max_depth": 2})
    booster.update()
    assert booster.num_trees() == 2
    assert booster.params["lambda_l2"] == 3.0
    assert booster.params["max_depth"] == 2
    for name in ("epsilon", "objective"):
        with pytest.raises(InvalidParameterError, match=f"cannot set '{name}'"):
            session().reset_parameter({name: 1})
    with pytest.raises(InvalidParameterError, match="needs a Booster in training"):
        booster.reset_parameter({"max_depth": 3})


def test_no_round_that_is_trained_changes(calls):
    booster = Booster({**PARAMS, "num_iterations": 3}, Dataset(X, Y))
    booster.update()
    with pytest.warns(ParameterWarning, match="a_name is an unknown parameter"):
        booster.reset_parameter({"a_name": 1})
    booster.eval_train()
    with pytest.warns(ParameterWarning, match="next rounds are already trained"):
        booster.reset_parameter({"learning_rate": 0.1})
    assert booster.update() is False
    assert calls == [3]


def test_a_function_is_the_objective_of_all_rounds():
    def squares(predictions, data):
        return predictions - data.get_label(), np.ones(len(predictions))

    booster = Booster({**PARAMS, "objective": "l1"}, Dataset(X, Y))
    for _ in range(2):
        booster.update(fobj=squares)
    with pytest.raises(InvalidParameterError, match="'fobj'"):
        booster.update()
    assert booster.num_trees() == 2
    assert booster.params["objective"] == "none"


def test_what_needs_other_rows_or_metrics_of_these_is_refused(calls):
    booster = session()
    own = Dataset(X, Y)
    refused = {
        "train_set": lambda: booster.update(train_set=own),
        "refit_leaves": lambda: booster.refit(X, Y),
        "Every item": lambda: booster.add_valid(X, "rows"),
        "does not accept the training set": lambda: booster.add_valid(own, "rows"),
        "met ndarray": lambda: Booster(train_set=X),
    }
    for message, call in refused.items():
        with pytest.raises(InvalidParameterError, match=message):
            call()
    with (
        dpboost.Budget(epsilon=1, delta=1e-6),
        pytest.raises(InvalidParameterError, match=r"Booster\(params.*fraction"),
    ):
        Booster(PARAMS, own)
    with pytest.raises(InvalidParameterError, match="for a training set"):
        Booster(model_str=session(1).model_to_string(), fraction=0.5)
    assert calls == [1]


def test_metrics_between_rounds_train_those_that_are_planned(calls):
    booster = Booster({**PARAMS, "num_iterations": 5}, Dataset(X, Y))
    booster.add_valid(Dataset(PUBLIC, PUBLIC[:, 0] - PUBLIC[:, 1]), "public")
    errors = []
    for number in range(1, 6):
        assert booster.update() is False
        ((*_, value, _),) = booster.eval_valid()
        errors.append(value)
        assert booster.current_iteration() == booster.num_trees() == number
        truth = PUBLIC[:, 0] - PUBLIC[:, 1]
        assert value == pytest.approx(np.mean((booster.predict(PUBLIC) - truth) ** 2))
    assert calls == [5]
    assert len(set(errors)) > 1
    booster.rollback_one_iter().rollback_one_iter()
    assert booster.num_trees() == 3
    booster.update()
    assert booster.eval_valid()[0][2] == errors[3]
    booster.update()
    with pytest.raises(InvalidParameterError, match="set num_iterations"):
        booster.update()
    assert booster.privacy_report.epsilon == 1


def test_without_a_number_as_many_are_planned_as_lightgbm_has(calls):
    booster = Booster({**PARAMS, "verbosity": 0}, Dataset(X, Y))
    booster.update()
    with pytest.warns(ParameterWarning, match="100 rounds are trained together"):
        lines = booster.eval_train()
    assert np.isnan(lines[0][2])
    assert calls == [100]
    assert booster.num_trees() == 1
    assert booster.update() is False
    several = session(3)
    several.eval_train()
    assert calls == [100, 3]
    assert several.num_trees() == 3


def test_a_session_is_charged_to_a_budget_once():
    with dpboost.Budget(epsilon=1, delta=1e-6) as budget:
        booster = Booster(PARAMS, Dataset(X, Y), fraction=0.25)
    booster.update()
    booster.update()
    assert set(budget.remaining.values()) == {1}
    assert booster.num_trees() == 2
    assert set(budget.remaining.values()) == {0.75}
    booster.rollback_one_iter()
    assert set(budget.remaining.values()) == {0.75}
    other = Booster(PARAMS, Dataset(X, Y), budget=budget, fraction=0.8)
    other.update()
    with pytest.raises(dpboost.BudgetExceededError):
        other.predict(X)
