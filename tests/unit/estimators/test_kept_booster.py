"""A Booster that keeps the evaluation sets of its training judges public rows, and no others."""

import copy
import gc
import pickle
import warnings
import weakref

import lightgbm
import numpy as np
import pytest

import dpboost
from dpboost import Dataset, InvalidParameterError
from dpboost.estimators.evaluation_sets import PublicRowsWarning

RANDOM = np.random.default_rng(0)
X, X_PUBLIC = RANDOM.uniform(-1, 1, (300, 3)), RANDOM.uniform(-1, 1, (80, 3))
SCORES, PUBLIC_SCORES = (each[:, 0] - each[:, 1] for each in (X, X_PUBLIC))
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1, 1))}
PARAMS = {"max_depth": 2, "num_threads": 1, "verbosity": -1, "noise_seed": 1}
TASKS = {
    "regression": (SCORES, PUBLIC_SCORES, {"schema": BOUNDS | {"label_bounds": (-2, 2)}}),
    "binary": (
        SCORES > 0,
        PUBLIC_SCORES > 0,
        {"objective": "binary", "metric": "auc,binary_logloss", "schema": BOUNDS},
    ),
    "multiclass": (
        np.digitize(SCORES, [-0.3, 0.3]),
        np.digitize(PUBLIC_SCORES, [-0.3, 0.3]),
        {"objective": "multiclass", "num_class": 3, "schema": BOUNDS},
    ),
}

pytestmark = [
    pytest.mark.filterwarnings("ignore", category=each)
    for each in (dpboost.NotPrivateWarning, PublicRowsWarning, dpboost.ParameterWarning)
]


def kept(task="regression", **options):
    labels, public_labels, params = TASKS[task]
    valid = Dataset(X_PUBLIC, public_labels.astype(float), weight=np.ones(80))
    booster = dpboost.train(
        {**PARAMS, **params},
        Dataset(X, labels.astype(float)),
        8,
        valid_sets=[valid],
        valid_names=["public"],
        keep_training_booster=True,
        **options,
    )
    return booster, valid


@pytest.mark.parametrize("task", TASKS)
def test_sets_are_judged_as_while_it_was_trained(task):
    booster, valid = kept(task)
    assert isinstance(booster, lightgbm.Booster)
    assert booster.privacy_report is not None
    results = booster.eval_valid()
    assert {name for name, *_ in results} == {"public"}
    for name, metric, value, _ in results:
        assert value == pytest.approx(booster.best_score[name][metric], rel=1e-9)
    again = [tuple(each) for each in booster.eval(valid, "again")]
    assert again == [("again", *rest) for _, *rest in results]


def test_metrics_of_the_user_and_sets_that_come_later():
    booster, _ = kept()
    more = Dataset(X_PUBLIC[:20], PUBLIC_SCORES[:20])
    with pytest.warns(PublicRowsWarning, match="later"):
        assert booster.add_valid(more, "later") is booster

    def largest(predictions, data):
        return "largest", float(np.abs(predictions - data.get_label()).max()), False

    results = booster.eval_valid(feval=largest)
    assert [(name, metric) for name, metric, *_ in results] == [
        *[("public", "l2"), ("public", "largest")],
        *[("later", "l2"), ("later", "largest")],
    ]
    error = np.abs(booster.predict(X_PUBLIC[:20]) - PUBLIC_SCORES[:20]).max()
    assert results[-1][2] == pytest.approx(error, rel=1e-5)


def test_an_early_end_keeps_its_best_round():
    booster, _ = kept(callbacks=[lightgbm.early_stopping(1, verbose=False)])
    ((_, _, value, _),) = booster.eval_valid()
    assert booster.num_trees() == booster.best_iteration
    assert value == pytest.approx(booster.best_score["public"]["l2"])


def test_training_rows_are_never_judged_and_not_kept():
    data = Dataset(X, SCORES)
    params = PARAMS | TASKS["regression"][2]
    booster = dpboost.train(params, data, 3, keep_training_booster=True)
    assert booster.eval_valid() == []
    with pytest.warns(dpboost.SkippedRowsWarning, match="nan"):
        ((*_, value, _),) = booster.eval(data, "training")
    assert np.isnan(value)
    with pytest.raises(InvalidParameterError, match="training set cannot be evaluated"):
        booster.add_valid(Dataset(data.data, SCORES), "training")
    with pytest.raises(InvalidParameterError):
        booster.update()
    rows = weakref.ref(data)
    del data
    gc.collect()
    assert rows() is None
    with pytest.raises(InvalidParameterError, match="Dataset instance, met ndarray"):
        booster.eval(X_PUBLIC, "x")


def test_metrics_of_the_training_rows_are_nan_with_the_names_of_others():
    def two(predictions, data):
        return [("first", 1.0, True), ("second", 2.0, False)]

    booster, _ = kept("binary")
    with pytest.warns(dpboost.SkippedRowsWarning) as caught:
        lines = booster.eval_train(two)
    assert len(caught) == 1
    public = booster.eval_valid(two)
    assert [(line[1], line[3]) for line in lines] == [(line[1], line[3]) for line in public]
    assert {line[0] for line in lines} == {"training"}
    assert all(np.isnan(line[2]) for line in lines)


def test_a_rollback_leaves_the_last_round_out():
    booster, _ = kept()
    spent, before = booster.privacy_report.epsilon_spent, booster.predict(X, num_iteration=7)
    assert booster.rollback_one_iter() is booster
    assert booster.current_iteration() == 7
    np.testing.assert_array_equal(booster.predict(X), before)
    assert booster.privacy_report.epsilon_spent == spent
    ((*_, value, _),) = booster.eval_valid()
    assert value == pytest.approx(np.mean((booster.predict(X_PUBLIC) - PUBLIC_SCORES) ** 2))


def test_copies_and_pickles_are_plain_models():
    booster, _ = kept()
    for other in (copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))):
        assert np.array_equal(other.predict(X_PUBLIC), booster.predict(X_PUBLIC))
        assert other.privacy_report == booster.privacy_report
        assert other.params == booster.params
        with pytest.raises(InvalidParameterError):
            other.eval_valid()
    with warnings.catch_warnings():
        warnings.simplefilter("error", PublicRowsWarning)
        plain = dpboost.train(PARAMS | TASKS["regression"][2], Dataset(X, SCORES), 3)
    with pytest.raises(InvalidParameterError):
        plain.eval_valid()
