from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    roc_auc_score,
)

from dpboost._utils.validation import RefusedError
from dpboost.model_selection.fold_metrics import fold_metrics, release_fold_metrics
from tests.unit.ledgers import open_ledger

N = 4000


class Known:
    """A released model of one feature: a probability, or a number."""

    def __init__(self, classes=None, bounds=(-1.0, 2.0)):
        self.schema_ = type("Schema", (), {"label_bounds": bounds})
        self.ensemble_ = type("Ensemble", (), {"objective": "regression"})
        if classes is not None:
            self.classes_ = np.asarray(classes)
            self.predict_proba = lambda X: np.column_stack((1 - X[:, 0], X[:, 0]))

    def predict(self, X):
        return X[:, 0]


def released(names, models, rows):
    ledger = open_ledger(10_000)
    classifier = hasattr(models[0], "classes_")
    metrics = fold_metrics(names, classifier=classifier, quantile=False)
    found = release_fold_metrics(
        metrics, models, rows, budget=ledger.capacity, ledger=ledger, alike=1
    )
    assert ledger.spent <= ledger.capacity
    return {name: (values, better) for name, values, better in found}


def test_each_fold_is_judged_by_its_own_rows() -> None:
    random = np.random.default_rng(0)
    p = random.uniform(0.05, 0.95, N)
    y = (random.random(N) < p).astype(int)
    parts = [slice(0, 3000), slice(3000, N)]
    # The second fold's labels are noise.
    y[parts[1]] = random.integers(0, 2, N - 3000)
    rows = [(p[own, np.newaxis], y[own]) for own in parts]
    names = ["auc", "binary_logloss", "binary_error"]
    found = released(names, [Known([0, 1])] * 2, rows)
    for fold, own in enumerate(parts):
        assert found["auc"][0][fold] == pytest.approx(roc_auc_score(y[own], p[own]), abs=0.02)
        loss = log_loss(y[own], p[own])
        assert found["binary_logloss"][0][fold] == pytest.approx(loss, abs=0.02)
        error = 1 - accuracy_score(y[own], p[own] >= 0.5)
        assert found["binary_error"][0][fold] == pytest.approx(error, abs=1e-3)
    assert (found["auc"][1], found["binary_logloss"][1]) == (True, False)


def test_numbers_are_clipped_to_the_widest_bounds_of_the_models() -> None:
    random = np.random.default_rng(1)
    p = random.uniform(0, 1, N)
    y = p + random.normal(0, 0.1, N)
    rows = [(p[own, np.newaxis], y[own]) for own in (slice(0, 2000), slice(2000, N))]
    found = released(["l2", "rmse", "mae"], [Known(), Known(bounds=(-3.0, 1.5))], rows)
    assert list(found) == ["l2", "rmse", "l1"]
    for fold, (X, own) in enumerate(rows):
        square = mean_squared_error(own, X[:, 0])
        assert found["l2"][0][fold] == pytest.approx(square, rel=0.02)
        assert found["rmse"][0][fold] == pytest.approx(math.sqrt(square), rel=0.01)
        assert found["l1"][0][fold] == pytest.approx(mean_absolute_error(own, X[:, 0]), rel=0.02)


def test_classes_that_a_model_does_not_know_have_no_probability() -> None:
    X, y = np.full((100, 1), 0.9), np.repeat([0, 1], 50)
    found = released(["accuracy"], [Known([0, 1]), Known([0, 2])], [(X, y), (X, y)])
    assert found["accuracy"][0] == pytest.approx([0.5, 0.0], abs=0.01)


def test_a_fold_without_rows_has_figures_too() -> None:
    empty = np.empty((0, 1)), np.empty(0, dtype=int)
    found = released(["auc", "brier"], [Known([0, 1])] * 2, [empty, empty])
    assert all(np.isfinite(values).all() for values, _ in found.values())


@pytest.mark.parametrize(
    ("name", "classifier"), [("auc", False), ("l2", True), ("quantile", False), ("map", True)]
)
def test_other_metrics_are_refused_with_those_there_are(name, classifier) -> None:
    with pytest.raises(RefusedError, match=f"'{name}' cannot be released privately.*Give one of"):
        fold_metrics([name], classifier=classifier, quantile=False)
