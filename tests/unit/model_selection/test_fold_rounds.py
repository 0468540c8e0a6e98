"""Functions of the user in a cross-validation: known metrics are paid for, others are nan."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, mean_squared_error, roc_auc_score

import dpboost
from dpboost import ParameterWarning
from dpboost.model_selection.fold_rounds import divided

pytestmark = pytest.mark.filterwarnings("ignore")

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1, 1, (1500, 2))
SCHEMA = {"bounds": {0: (-1, 1), 1: (-1, 1)}}
OPTIONS = {"epsilon": 8.0, "n_jobs": 1, "verbosity": 0}


def own_rmse(predictions, data):
    return "my rmse", mean_squared_error(data.get_label(), predictions) ** 0.5, False


def own_auc(predictions, data):
    return "my auc", roc_auc_score(data.get_label(), predictions), True


def hits_and_f1(predictions, data):
    labels, guess = data.get_label(), predictions > 0.5
    return [("hits", np.mean(labels == guess), True), ("f1", f1_score(labels, guess), True)]


def errors(predictions, data):
    return "errors", np.mean(predictions.argmax(axis=1) != data.get_label()), False


def broken(predictions, data):
    raise ValueError("no rows")


@pytest.mark.parametrize(
    ("functions", "n_classes", "paid", "others"),
    [
        ([own_rmse], 0, [("my rmse", "rmse", False)], []),
        ([own_auc, hits_and_f1], 2, [("my auc", "auc", True), ("hits", "accuracy", True)], ["f1"]),
        ([errors], 3, [("errors", "accuracy", False)], []),
        ([broken], 0, [], ["broken"]),
    ],
)
def test_a_function_that_computes_a_known_metric_is_known(functions, n_classes, paid, others):
    found, left = divided([], functions, n_classes=n_classes, raw=False, quantile=False)
    assert [(each.name, each.figure, each.higher_is_better) for each in found] == paid
    assert [name for name, _ in left] == others


def test_scores_alone_are_not_judged():
    found, left = divided([], [own_auc], n_classes=2, raw=True, quantile=False)
    assert found == []
    assert [name for name, _ in left] == ["my auc"]


def test_what_is_known_is_released_under_its_own_name():
    labels = (X[:, 0] > 0).astype(int)
    params = {**OPTIONS, "objective": "binary", "schema": SCHEMA}
    found = dpboost.cv(params, dpboost.Dataset(X, labels), 20, nfold=2, feval=own_auc)
    assert found["valid my auc-mean"][-1] > 0.8
    assert len(found["valid my auc-mean"]) == len(found["valid binary_logloss-mean"]) == 20


def test_a_function_as_objective_has_no_metric_of_its_own():
    def squared(predictions, data):
        return predictions - data.get_label(), np.ones(len(predictions))

    schema = {**SCHEMA, "label_bounds": (-1, 1)}
    params = {**OPTIONS, "objective": squared, "schema": schema}
    found = dpboost.cv(params, dpboost.Dataset(X, X[:, 0]), 5, nfold=2)
    assert found == {}
    fact = found.privacy_report.facts["cross-validation"]
    assert fact.endswith("no metric")
    again = dpboost.cv({**params, "metric": "l2"}, dpboost.Dataset(X, X[:, 0]), 5, nfold=2)
    assert len(again["valid l2-mean"]) == 5


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        (1, "released of round 6 alone, and nan before it"),
        (2, "released of rounds 1, 6, and repeated until the next of these"),
    ],
)
def test_the_rounds_that_are_released_are_named(rounds, message):
    params = {**OPTIONS, "schema": {**SCHEMA, "label_bounds": (-1, 1)}}
    with pytest.warns(ParameterWarning, match=message):
        found = dpboost.cv(params, dpboost.Dataset(X, X[:, 0]), 6, nfold=2, metric_rounds=rounds)
    values = found["valid l2-mean"]
    assert np.isnan(values[:-1]).all() if rounds == 1 else len(set(values)) == 2
