from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_pinball_loss,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)

from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    evaluate,
)
from dpboost.privacy.ledger import Ledger
from dpboost.rows.evaluation_queries import ScoredRows

pytestmark = pytest.mark.filterwarnings("ignore:epsilon=.* gives almost no protection")

N = 6000
BOUNDS = {"bounds": dict.fromkeys(range(3), (-4, 4))}
RICH = {"epsilon": 1e6, "delta": 0}


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=N)


def fitted(kind, X, y, **more):
    settings = {"epsilon": 100, "n_estimators": 20, "n_jobs": 1, "verbosity": -1} | more
    return kind(**settings).fit(X, y)


@pytest.fixture(scope="module")
def two(table):
    X, y = table
    return fitted(DPBoostClassifier, X, y > 1, schema=BOUNDS | {"classes": [False, True]})


@pytest.fixture(scope="module")
def numbers(table):
    return fitted(DPBoostRegressor, *table, schema=BOUNDS | {"label_bounds": (-6, 6)})


def rich() -> Budget:
    """A budget whose noise is far below one row."""
    return Budget(**RICH)


# -- without noise -----------------------------------------------------------------------------


def test_two_classes_without_noise(table, two) -> None:
    X, y = table[0], table[1] > 1
    found = evaluate(two, X, y, budget=rich(), fraction=1)
    probability = two.predict_proba(X)[:, 1]
    assert found["accuracy"].value == pytest.approx(accuracy_score(y, probability > 0.5), abs=1e-6)
    assert found["auc"].value == pytest.approx(roc_auc_score(y, probability), abs=2e-3)
    assert found["log_loss"].value == pytest.approx(log_loss(y, probability), abs=2e-3)
    assert found["brier"].value == pytest.approx(brier_score_loss(y, probability), abs=1e-3)
    assert 0 <= found["calibration_error"].value < 0.1
    roc = found.curves["roc"][True]
    assert trapezoid(roc.y, roc.x) == pytest.approx(found["auc"].value, abs=0.01)
    assert roc.x[0] == roc.y[0] == 0
    assert roc.x[-1] == roc.y[-1] == 1
    curve = found.curves["calibration"][True]
    assert np.all(np.diff(curve.x) > 0)
    assert np.all((curve.low <= curve.y) & (curve.y <= curve.high))


def test_three_classes_without_noise(table) -> None:
    X, y = table
    labels = np.digitize(y, [-0.7, 0.7])
    model = fitted(DPBoostClassifier, X, labels, schema=BOUNDS | {"classes": [0, 1, 2]})
    found = evaluate(model, X, labels, budget=rich(), fraction=1)
    p = model.predict_proba(X)
    assert found["accuracy"].value == pytest.approx(np.mean(p.argmax(axis=1) == labels), abs=1e-6)
    area = roc_auc_score(labels, p, multi_class="ovr")
    assert found["auc"].value == pytest.approx(area, abs=5e-3)
    assert found["log_loss"].value == pytest.approx(log_loss(labels, p), abs=5e-3)
    squares = ((p - np.eye(3)[labels]) ** 2).sum(axis=1).mean()
    assert found["brier"].value == pytest.approx(squares, abs=3e-3)
    assert set(found.curves["roc"]) == {0, 1, 2}


def test_numbers_without_noise(table, numbers) -> None:
    X, y = table
    found = evaluate(numbers, X, y, budget=rich(), fraction=1)
    p = numbers.predict(X)
    assert found["rmse"].value == pytest.approx(math.sqrt(mean_squared_error(y, p)), rel=1e-3)
    assert found["mae"].value == pytest.approx(mean_absolute_error(y, p), rel=1e-3)
    assert found["r2"].value == pytest.approx(r2_score(y, p), abs=1e-3)
    assert "quantile_loss" not in found.metrics


def test_a_quantile_without_noise(table) -> None:
    X, y = table
    schema = BOUNDS | {"label_bounds": (-6, 6)}
    model = fitted(DPBoostRegressor, X, y, schema=schema, objective="quantile", alpha=0.8)
    found = evaluate(model, X, y, budget=rich(), fraction=1)
    loss = mean_pinball_loss(y, model.predict(X), alpha=0.8)
    assert found["quantile_loss"].value == pytest.approx(loss, rel=2e-3)


def test_groups_without_noise(table, two) -> None:
    X, y = table[0], table[1] > 1
    of_rows = np.where(X[:, 2] > 1, "old", np.where(X[:, 2] < -1, "young", "unknown"))
    found = evaluate(
        two, X, y, budget=rich(), fraction=1, groups=(of_rows, ["old", "young"]), metrics="accuracy"
    )
    right = two.predict(X) == y
    assert list(found.groups) == ["old", "young", "other"]
    for name, rows in (("old", "old"), ("young", "young"), ("other", "unknown")):
        share = right[of_rows == rows].mean()
        assert found.groups[name]["accuracy"].value == pytest.approx(share, abs=1e-6)
    assert found["accuracy"].value == pytest.approx(right.mean(), abs=1e-6)


def test_a_column_is_a_group(table, numbers) -> None:
    X, y = table
    found = evaluate(
        numbers, X, y, budget=rich(), fraction=1, groups=(2, [0.0]), metrics=["mae", "mae"]
    )
    assert list(found.groups) == [0.0, "other"]
    assert list(found.metrics) == ["mae"]


# -- the budget --------------------------------------------------------------------------------


def test_it_is_charged_once_whatever_the_number_of_metrics(table, two) -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    found = evaluate(two, table[0], table[1] > 1, budget=budget, fraction=0.1)
    assert budget.remaining == {"Gaussian": Fraction(9, 10)}
    assert [line.what for line in budget.lines] == ["evaluate"]
    assert found.report.spent <= found.report.capacity
    assert found.report.spent >= found.report.capacity * Fraction(999, 1000)
    with pytest.raises(BudgetExceededError, match="evaluate would use 95 %"):
        evaluate(two, table[0], table[1] > 1, budget=budget, fraction=0.95)


def test_without_a_budget_it_says_so(table, two) -> None:
    with pytest.raises(InvalidParameterError, match=r"pass budget=dpboost.Budget"):
        evaluate(two, table[0], table[1] > 1)
    with Budget(epsilon=1, delta=1e-5) as budget:
        evaluate(two, table[0], table[1] > 1, fraction=0.5)
    assert budget.remaining == {"Gaussian": Fraction(1, 2)}


def test_rows_that_are_held_out_are_charged_in_parallel(table, two) -> None:
    X, y = table[0], table[1] > 1
    budget = Budget(epsilon=1, delta=1e-5)
    model = DPBoostClassifier(
        schema=BOUNDS | {"classes": [False, True]}, n_estimators=3, verbosity=-1
    )
    model.fit(X, y, budget=budget, fraction=0.6, holdout=0.3)
    assert "held out by secret random assignment" in str(model.privacy_report_.facts["budget"])
    evaluate(model, budget=budget, fraction=0.2)
    evaluate(model, budget=budget, fraction=0.4)
    assert budget.remaining == {"Gaussian": Fraction(2, 5)}
    evaluate(model, budget=budget, fraction=0.1)
    assert budget.remaining == {"Gaussian": Fraction(3, 10)}
    with pytest.raises(BudgetExceededError):
        evaluate(model, budget=budget, fraction=0.4)
    with pytest.raises(BudgetExceededError):
        evaluate(model, X, y, budget=budget, fraction=0.4)
    assert len(budget.lines) == 4


def test_rows_that_are_held_out_take_no_part_in_the_fit(table, monkeypatch) -> None:
    X, y = table
    budget, seen = Budget(epsilon=1e6, delta=0), []
    model = DPTreeClassifier(schema=BOUNDS | {"classes": [False, True]}, max_depth=1)
    model.fit(X, y > 1, budget=budget, fraction=0.5, holdout=0.25)
    take = ScoredRows.take
    monkeypatch.setattr(
        ScoredRows, "take", lambda rows, which: seen.append(len(which)) or take(rows, which)
    )
    evaluate(model, budget=budget, fraction=0.5)
    assert 0.2 * N < seen[0] < 0.3 * N
    # Noise is far below one row here: the root counts those that are left.
    assert model.tree_.counts[0].sum() == pytest.approx(N - seen[0], abs=0.01)


def test_users_are_held_out_together(table) -> None:
    X, y = table
    users = np.arange(N) // 4
    budget = Budget(epsilon=2, delta=1e-5, rows_per_user=4)
    model = DPBoostRegressor(
        schema=BOUNDS | {"label_bounds": (-6, 6)}, rows_per_user=4, n_estimators=2, verbosity=-1
    )
    model.fit(X, y, user_ids=users, budget=budget, fraction=0.5, holdout=0.5)
    rows, _ = budget.held_out(model)
    _, sizes = np.unique(rows.users, return_counts=True)
    assert set(sizes) == {4}
    assert math.isfinite(evaluate(model, budget=budget, fraction=0.5)["mae"].value)
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        evaluate(model, X, y, budget=budget, fraction=0.1)


def test_a_model_without_rows_set_aside(table, two) -> None:
    with pytest.raises(InvalidParameterError, match="no held-out rows"):
        evaluate(two, budget=Budget(epsilon=1, delta=0), fraction=0.1)


def test_held_rows_stay_in_their_process(table) -> None:
    budget = Budget(epsilon=1, delta=0)
    model = DPTreeClassifier(schema=BOUNDS | {"classes": [False, True]}, max_depth=1)
    model.fit(table[0], table[1] > 1, budget=budget, fraction=0.5, holdout=0.25)
    rows, _ = budget.held_out(model)
    with pytest.raises(TypeError):
        pickle.dumps(rows)
    assert repr(rows) == "HeldRows(<hidden>)"
    assert b"HeldRows" not in pickle.dumps(model)


def test_no_rows_are_evaluated_like_any(two, numbers) -> None:
    for model, y in ((two, np.empty(0, bool)), (numbers, np.empty(0))):
        budget = Budget(epsilon=1, delta=1e-5)
        found = evaluate(model, np.empty((0, 3)), y, budget=budget, fraction=0.5)
        assert all(figure.low <= figure.value <= figure.high for figure in found.metrics.values())


def test_rows_of_unknown_labels_take_no_part(table, two) -> None:
    X, y = table[0], (table[1] > 1).astype(int)
    strange = np.where(X[:, 2] > 0, y, 7)
    found = evaluate(two, X, strange, budget=rich(), fraction=1, metrics=["accuracy"])
    kept = X[:, 2] > 0
    share = np.mean(two.predict(X[kept]) == y[kept])
    assert found["accuracy"].value == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"metrics": ["f1"]}, "'metrics'"),
        ({"metrics": []}, "'metrics'"),
        ({"fraction": 0}, "'fraction'"),
        ({"fraction": None}, "'fraction'"),
        ({"groups": "age"}, "'groups'"),
        ({"groups": 1}, "whose values are not declared"),
        ({"groups": (1, ["other"])}, "'groups'"),
        ({"groups": ([1, 2], [1, 2])}, "same length"),
        ({"user_ids": np.zeros(N)}, "pass both or neither"),
        ({"y": None}, "both X and y"),
        ({"y": np.zeros(3)}, "same length"),
        ({"budget": "all"}, "'budget'"),
        ({"X": [np.zeros((2, 3)), np.zeros((2, 3))]}, "batches"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_drawn(
    table, two, arguments, says, monkeypatch
) -> None:
    budget = Budget(epsilon=1, delta=1e-5)
    given = {"X": table[0], "y": table[1] > 1, "budget": budget, "fraction": 0.1} | arguments
    monkeypatch.setattr(Ledger, "_draw", lambda *_: pytest.fail("drawn"))
    with pytest.raises(InvalidParameterError, match=says):
        evaluate(two, given.pop("X"), given.pop("y"), **given)
    assert budget.lines == ()


def test_something_else_than_a_model_is_refused(table) -> None:
    with pytest.raises(InvalidParameterError, match="'model'"):
        evaluate(object(), *table, budget=rich(), fraction=1)


# -- intervals ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def population() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200_000, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X))


def coverage(model, X, y, truth, n_rows: int, repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    inside = dict.fromkeys(truth, 0)
    for _ in range(repeats):
        drawn = rng.integers(0, len(y), n_rows)
        budget = Budget(epsilon=1, delta=1e-5)
        found = evaluate(
            model, X[drawn], y[drawn], budget=budget, fraction=0.3, metrics=list(truth)
        )
        for name, value in truth.items():
            inside[name] += found[name].low <= value <= found[name].high
    return {name: hits / repeats for name, hits in inside.items()}


def test_intervals_cover_what_they_say(population, two, numbers) -> None:
    # Of 120 repeats at 93 % less than 84 % are inside less than once in ten thousand times.
    X, y = population
    p = two.predict_proba(X)[:, 1]
    of_class = {
        "accuracy": accuracy_score(y > 1, p > 0.5),
        "auc": roc_auc_score(y > 1, p),
        "brier": brier_score_loss(y > 1, p),
        "log_loss": log_loss(y > 1, p),
    }
    assert min(coverage(two, X, y > 1, of_class, 4000, 120).values()) > 0.84
    y, p = np.clip(y, -6, 6), numbers.predict(X)
    of_number = {
        "mae": mean_absolute_error(y, p),
        "r2": r2_score(y, p),
        "rmse": math.sqrt(mean_squared_error(y, p)),
    }
    assert min(coverage(numbers, X, y, of_number, 4000, 120).values()) > 0.84


def test_an_interval_without_its_noise_would_be_found(population, two, monkeypatch) -> None:
    from dpboost.evaluating.class_figures import ScoredLabel

    area = ScoredLabel.auc
    monkeypatch.setattr(ScoredLabel, "auc", lambda each: (*area(each)[:2], 0.0))
    X, y = population[0], population[1] > 1
    truth = {"auc": roc_auc_score(y, two.predict_proba(X)[:, 1])}
    assert coverage(two, X, y, truth, 1000, 120)["auc"] < 0.84


@pytest.mark.parametrize("kind", [DPBoostRegressor, DPBoostClassifier])
def test_the_first_rounds_are_judged_alone(table, kind):
    X, y = table
    y = y if kind is DPBoostRegressor else (y > 0).astype(int)
    public = {"label_bounds": (-8, 8)} if kind is DPBoostRegressor else {"classes": [0, 1]}
    model = fitted(kind, X, y, schema=BOUNDS | public, learning_rate=0.3)
    budget = Budget(**RICH)
    for k in (1, 7, 20):
        found = evaluate(model, X, y, budget=budget, fraction=Fraction(1, 4), num_iteration=k)
        if kind is DPBoostRegressor:
            expected = mean_absolute_error(y, model.predict(X, num_iteration=k))
            assert found["mae"].value == pytest.approx(expected, rel=0.02)
        else:
            expected = accuracy_score(y, model.predict(X, num_iteration=k))
            assert found["accuracy"].value == pytest.approx(expected, abs=0.01)
        assert found.report.facts["num_iteration"] == k
    assert len(budget.lines) == 3


@pytest.mark.parametrize("number", [0, 21, 2.0, True])
def test_there_have_to_be_so_many_rounds(table, number, monkeypatch):
    X, y = table
    model = fitted(DPBoostRegressor, X, y, schema=BOUNDS | {"label_bounds": (-8, 8)})
    monkeypatch.setattr(Ledger, "release", None)
    budget = Budget(**RICH)
    with pytest.raises(InvalidParameterError, match="'num_iteration' .* at least 1 and at most 20"):
        evaluate(model, X, y, budget=budget, fraction=1, num_iteration=number)
    assert not budget.lines
