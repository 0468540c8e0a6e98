"""Means over rows: their values, and what one row adds to what is released."""

import math

import numpy as np
import pytest
from sklearn import metrics

from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitive import _reveal
from dpboost.training.metrics import LARGEST_LOG_LOSS, NAMES, RowLoss, loss_sums

UNIT = 2**18


def loss_of(name, width=4.0):
    if name in ("l1", "l2", "rmse"):
        return RowLoss(name=name, bound=width if name == "l1" else width**2, root=name == "rmse")
    return RowLoss(name=name, bound=1.0 if name.endswith("error") else LARGEST_LOG_LOSS)


def outputs(name, random, n_rows=200):
    if "_" not in name:
        return random.uniform(-2, 2, n_rows), random.uniform(-2, 2, n_rows)
    n_classes = 2 if name.startswith("binary") else 4
    p = random.dirichlet(np.full(n_classes, 3.0), n_rows)
    return random.integers(0, n_classes, n_rows), p[:, 1] if n_classes == 2 else p


def reference(name, labels, predicted):
    if name == "l1":
        return metrics.mean_absolute_error(labels, predicted)
    if name in ("l2", "rmse"):
        error = metrics.mean_squared_error(labels, predicted)
        return math.sqrt(error) if name == "rmse" else error
    both = predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])
    if name.endswith("error"):
        return np.mean(both.argmax(axis=1) != labels)
    return metrics.log_loss(labels, both, labels=np.arange(both.shape[1]))


@pytest.mark.parametrize("name", NAMES)
def test_without_clipping_they_are_the_usual_metrics(name):
    labels, predicted = outputs(name, np.random.default_rng(0))
    loss = loss_of(name)
    found = loss.value(float(loss.of_rows(labels, predicted).mean()))
    assert found == pytest.approx(reference(name, labels, predicted))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_bound_of_a_row_holds_and_is_reached(name, neighbours):
    check_bound(name, neighbours)


def test_a_loss_beyond_its_bound_would_be_found(monkeypatch):
    monkeypatch.setattr(np, "clip", lambda values, low, high: values)
    with pytest.raises(AssertionError):
        check_bound("l2", Neighbours.ADD_REMOVE, reach=3.0)


def check_bound(name, neighbours, reach=1.0):
    random = np.random.default_rng(1)
    labels, predicted = outputs(name, random, 6)
    loss = loss_of(name)
    if "_" not in name:
        extreme = (np.array([2.0, -2.0, 2.0]) * reach, np.array([-2.0, 2.0, 2.0]) * reach)
    else:
        n_classes = 2 if name.startswith("binary") else 4
        sure = np.eye(n_classes)[[1, 0, 1]]
        extreme = (np.array([0, 1, 1]), sure[:, 1] if n_classes == 2 else sure)
    empty = (labels[:0], predicted[:0])
    shared = (labels, predicted)

    def sums(rows):
        own = (np.append(labels, rows[0]), np.concatenate([predicted, rows[1]]))
        value = loss_sums([loss, loss], [own, shared], neighbours)
        return value, _reveal(value).ravel()

    base, before = sums(empty)
    worst = {"l1": 0.0, "l2": 0.0}
    for row in range(3):
        first = (extreme[0][row : row + 1], extreme[1][row : row + 1])
        others = [empty]
        if neighbours is Neighbours.REPLACE:
            others = [(extreme[0][k : k + 1], extreme[1][k : k + 1]) for k in range(3)]
        for other in others:
            moved = sums(first)[1] - (before if other is empty else sums(other)[1])
            worst["l1"] = max(worst["l1"], np.abs(moved).sum())
            worst["l2"] = max(worst["l2"], math.sqrt((moved.astype(float) ** 2).sum()))
    for norm, found in worst.items():
        bound = base.bound(norm).constant
        assert found <= bound
        if neighbours is Neighbours.ADD_REMOVE:
            assert found >= 0.95 * bound
    assert base.unit == 1 / UNIT


def test_odd_predictions_count_at_most_the_bound():
    loss = loss_of("l2")
    assert loss.of_rows(np.zeros(3), np.array([math.nan, math.inf, 1e300])).tolist() == [1.0] * 3
    assert loss.value(7.0) == 16.0
    assert loss.value(-1.0) == 0.0
