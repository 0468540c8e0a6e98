"""scikit-learn's model selection inside a budget."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostClassifier,
    DPBoostRegressor,
    InvalidParameterError,
    SecretKFold,
)
from dpboost.privacy.randomness import RowCoins

pytestmark = pytest.mark.filterwarnings("ignore")

N = 3000
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}}


@pytest.fixture(scope="module")
def table():
    X = np.random.default_rng(0).uniform(size=(N, 2))
    return X, (X[:, 0] + X[:, 1] > 1).astype(int)


def classifier(**more):
    return DPBoostClassifier(
        schema={**SCHEMA, "classes": [0, 1]}, n_estimators=20, verbosity=-1, **more
    )


def dealt():
    folds = SecretKFold(2)
    list(folds.split(np.zeros((4, 1))))
    return folds


def test_a_cross_validation_books_every_fit_and_every_score(table) -> None:
    folds = SecretKFold(4)
    with Budget(epsilon=20, delta=1e-6) as budget:
        scores = cross_val_score(
            classifier(),
            *table,
            cv=folds,
            scoring=folds.scorer("auc", fraction=0.05),
            params={"fraction": 0.1},
            error_score="raise",
        )
    assert len(scores) == 4
    assert scores.mean() > 0.9
    assert [line.what for line in budget.lines] == ["DPBoostClassifier", "evaluate"] * 4
    assert budget.remaining == {"Gaussian": Fraction(4, 10)}


def test_losses_get_a_minus_and_a_search_chooses_the_best(table) -> None:
    X = table[0]
    model = DPBoostRegressor(
        schema={**SCHEMA, "label_bounds": (0, 1)}, n_estimators=30, verbosity=-1
    )
    budget, folds = Budget(epsilon=50, delta=1e-6), SecretKFold(2)
    with budget:
        search = GridSearchCV(
            model,
            {"learning_rate": [1e-6, 0.5]},
            cv=folds,
            scoring=folds.scorer("rmse", fraction=0.02),
            error_score="raise",
        ).fit(X, X[:, 0], fraction=0.1)
    assert search.best_params_ == {"learning_rate": 0.5}
    assert (search.cv_results_["mean_test_score"] < 0).all()
    assert len(budget.lines) == 9


def test_a_score_that_does_not_fit_is_refused(table) -> None:
    model = classifier().fit(*table)
    scorer = dealt().scorer("accuracy", fraction=0.6)
    with pytest.raises(InvalidParameterError, match="needs a budget"):
        scorer(model, *table)
    with Budget(epsilon=1, delta=1e-6) as budget:
        assert scorer(model, *table) > 0.8
        with pytest.raises(BudgetExceededError):
            scorer(model, *table)
    assert len(budget.lines) == 1
    own = Budget(epsilon=1, delta=0)
    assert dealt().scorer("accuracy", fraction=1, budget=own)(model, *table) > 0.8


def test_folds_by_position_are_refused(table) -> None:
    folds = SecretKFold(3)
    with (
        Budget(epsilon=20, delta=1e-6),
        pytest.raises(InvalidParameterError, match="has assigned no rows"),
    ):
        cross_val_score(
            classifier(),
            *table,
            cv=3,
            scoring=folds.scorer("auc", fraction=0.05),
            params={"fraction": 0.1},
            error_score="raise",
        )


@pytest.mark.parametrize(
    ("metric", "fraction", "says"),
    [("f1", 0.1, "'metric'"), ("auc", 0, "'fraction'"), ("auc", 2, "'fraction'")],
)
def test_other_scorers_are_refused_before_a_fit(metric, fraction, says) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        SecretKFold().scorer(metric, fraction=fraction)


def test_every_row_is_in_one_fold_and_other_coins_make_others() -> None:
    X = np.zeros((N, 1))
    first, second = ([test for _, test in SecretKFold(3).split(X)] for _ in range(2))
    assert np.array_equal(np.sort(np.concatenate(first)), np.arange(N))
    assert all(abs(len(test) - N / 3) < 150 for test in first)
    assert not any(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    for train, test in SecretKFold(3).split(X):
        assert np.array_equal(np.sort(np.concatenate((train, test))), np.arange(N))


def test_a_row_more_leaves_the_folds_of_the_others(monkeypatch) -> None:
    words = np.random.default_rng(0).integers(0, 2**64, N + 1, dtype=np.uint64)
    monkeypatch.setattr(RowCoins, "words", lambda coins, first, n: words[first : first + n])
    folds = [[test for _, test in SecretKFold(4).split(np.zeros((size, 1)))] for size in (N, N + 1)]
    moved = [set(more) ^ set(test) for test, more in zip(*folds, strict=True)]
    assert sorted(map(len, moved)) == [0, 0, 0, 1]
    assert set.union(*moved) == {N}


def test_users_are_in_one_fold() -> None:
    users = np.arange(N) // 5
    for train, test in SecretKFold(3).split(np.zeros((N, 1)), groups=users):
        assert not set(users[train]) & set(users[test])


@pytest.mark.parametrize("n_splits", [1, 0, 101, 2.5, None])
def test_numbers_of_folds_are_checked(n_splits) -> None:
    with pytest.raises(InvalidParameterError, match="'n_splits'"):
        SecretKFold(n_splits)


def test_few_rows_and_empty_folds_are_no_errors() -> None:
    X, y = np.zeros((1, 2)), np.zeros(1, dtype=int)
    scorer = dealt().scorer("accuracy", fraction=0.01, budget=Budget(epsilon=9, delta=0))
    model = classifier().fit(X, y)
    for _, test in SecretKFold(2).split(X):
        assert 0 <= scorer(model, X[test], y[test]) <= 1
