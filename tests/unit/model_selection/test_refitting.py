from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import dpboost
from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostClassifier,
    DPBoostRegressor,
    DPTreeClassifier,
    InvalidParameterError,
    refit_leaves,
)
from dpboost.audit import pair_of, replay_budget
from dpboost.model_selection import refitting
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.bound import Neighbors

pytestmark = pytest.mark.filterwarnings("ignore:epsilon=.* gives almost no protection")

SCHEMA = {"bounds": dict.fromkeys(range(3), (-3, 3))}
NUMBERS = SCHEMA | {"label_bounds": (-6, 6)}
SETTINGS = {"n_estimators": 40, "n_jobs": 1, "verbosity": -1, "epsilon": 4, "random_state": 0}


def table(n_rows: int, seed: int, sign: float = 1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, sign * (X[:, 0] + X[:, 1]) + 0.5 * rng.normal(size=n_rows)


@pytest.fixture(scope="module")
def model():
    return DPBoostRegressor(schema=NUMBERS, **SETTINGS).fit(*table(3000, 0))


def error(model, X, y) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def test_next_months_rows_on_last_months_structure(model) -> None:
    text = model.booster_.model_to_string()
    budget = Budget(epsilon=4, delta=1e-6)
    newer = refit_leaves(model, *table(3000, 1, -1.0), budget=budget, fraction=1)
    X, y = table(3000, 2, -1.0)
    assert error(newer, X, y) < 0.7 * error(model, X, y)
    assert error(newer, X, y) < 0.8 * y.std()
    assert model.booster_.model_to_string() == text
    for before, after in zip(model.ensemble_.trees, newer.ensemble_.trees, strict=True):
        assert np.array_equal(before.feature, after.feature)
        assert np.array_equal(before.left_bins, after.left_bins)
    assert newer.ensemble_.start == model.ensemble_.start
    assert newer.ensemble_.binner is model.ensemble_.binner
    raw = newer.booster_.predict(X, raw_score=True)
    assert np.array_equal(raw, newer.predict(X))


def test_all_is_spent_on_leaves(model) -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    report = refit_leaves(model, *table(500, 1), budget=budget, fraction=0.4).privacy_report_
    labels = [line.label for line in report.releases]
    assert labels == ["second moments", "gradient moments", "leaf sums"]
    assert report.spent == report.capacity == budget.total(budget.accountant) * Fraction(2, 5)
    assert budget.remaining == {"Gaussian": Fraction(3, 5)}
    assert "of a released model" in str(report.facts["structure"])
    with pytest.raises(BudgetExceededError):
        refit_leaves(model, *table(500, 1), budget=budget, fraction=0.7)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes) -> None:
    X, y = table(2000, 0)
    cuts = [0.0] if classes == 2 else [-1.0, 1.0]
    labels = np.digitize(y, cuts)
    schema = SCHEMA | {"classes": list(range(classes))}
    old = DPBoostClassifier(schema=schema, **SETTINGS).fit(X, labels)
    budget = Budget(epsilon=4, delta=0)
    X, y = table(3000, 1, -1.0)
    newer = refit_leaves(old, X, np.digitize(y, cuts), budget=budget, fraction=1)
    X, y = table(2000, 2, -1.0)
    right = [np.mean(each.predict(X) == np.digitize(y, cuts)) for each in (old, newer)]
    assert right[1] > right[0] + 0.1
    assert newer.predict_proba(X).shape == (2000, classes)


def test_users(model) -> None:
    old = DPBoostRegressor(schema=NUMBERS, rows_per_user=2, **SETTINGS)
    X, y = table(600, 0)
    users = np.arange(600) // 3
    old.fit(X, y, user_ids=users)
    budget = Budget(epsilon=2, delta=1e-6, rows_per_user=2)
    newer = refit_leaves(old, X, y, user_ids=users, budget=budget, fraction=1)
    assert newer.privacy_report_.rows_per_user == 2
    with pytest.raises(InvalidParameterError, match="'rows_per_user'"):
        refit_leaves(model, X, y, user_ids=users, budget=budget, fraction=1)
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        refit_leaves(old, X, y, budget=budget, fraction=1)


def test_frames_need_the_columns_of_the_model() -> None:
    X, y = table(300, 0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    schema = {"bounds": dict.fromkeys("abc", (-3, 3)), "label_bounds": (-6, 6)}
    old = DPBoostRegressor(schema=schema, **SETTINGS).fit(frame, y)
    budget = Budget(epsilon=1, delta=1e-6)
    newer = refit_leaves(old, frame, y, budget=budget, fraction=0.5)
    assert list(newer.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(InvalidParameterError, match="columns of X"):
        refit_leaves(old, frame.rename(columns={"a": "d"}), y, budget=budget, fraction=0.5)
    assert len(budget.lines) == 1


def refused():
    X, y = table(100, 0)
    yield DPTreeClassifier(schema=SCHEMA | {"classes": [0, 1]}).fit(X, y > 0), "'model'"
    yield DPBoostRegressor(), "'model'"
    yield DPBoostRegressor(schema=NUMBERS, recipe="para", **SETTINGS | {"epsilon": 100}), "'model'"
    weighted = DPBoostClassifier(
        schema=SCHEMA | {"classes": [0, 1]}, class_weight="balanced", **SETTINGS
    )
    yield weighted, "'class_weight'"


@pytest.mark.filterwarnings("ignore")
def test_models_that_cannot_be_refitted(monkeypatch) -> None:
    X, y = table(100, 0)
    cases = list(refused())
    for old, _ in cases[2:]:
        old.fit(X, (y > 0).astype(int) if isinstance(old, DPBoostClassifier) else y)
    budget = Budget(epsilon=1, delta=1e-6)
    monkeypatch.setattr(Ledger, "_draw", lambda *_: pytest.fail("drawn"))
    for old, says in cases:
        with pytest.raises(InvalidParameterError, match=says):
            refit_leaves(old, X, y, budget=budget, fraction=0.5)
    assert budget.lines == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"budget": None}, "needs a budget"),
        ({"fraction": 2}, "'fraction'"),
        ({"fraction": Fraction(1, 10**9)}, "'fraction'"),
        ({"y": np.zeros(3)}, "same length"),
        ({"X": [np.zeros((2, 3)), np.zeros((2, 3))]}, "batches"),
        ({"X": np.zeros((100, 2))}, "columns of X|features"),
        ({"budget": Budget(epsilon=1, delta=0, neighbors="replace")}, "'neighbors'"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_drawn(
    model, arguments, says, monkeypatch
) -> None:
    X, y = table(100, 0)
    budget = Budget(epsilon=1, delta=1e-6)
    given = {"X": X, "y": y, "budget": budget, "fraction": 0.5} | arguments
    if given["budget"] is None:
        del given["fraction"]
    monkeypatch.setattr(Ledger, "_draw", lambda *_: pytest.fail("drawn"))
    with pytest.raises(InvalidParameterError, match=says):
        refit_leaves(model, given.pop("X"), given.pop("y"), **given)
    assert budget.lines == ()


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("relation", list(Neighbors))
def test_the_auditor_measures_what_is_booked(relation, delta) -> None:
    X, y = table(200, 0)
    old = DPBoostRegressor(
        schema=NUMBERS, neighbors=relation.value, **SETTINGS | {"n_estimators": 3}
    ).fit(X, y)
    pair = pair_of(np.zeros((5, 3)), np.zeros(5), [2.5, 2.5, 2.5], 6.0, relation)

    def run(X, y):
        budget = Budget(epsilon=1, delta=delta, neighbors=relation.value)
        newer = refit_leaves(old, X, y, budget=budget, fraction=Fraction(1, 2))
        return {"model": newer.booster_.model_to_string(), "report": str(newer.privacy_report_)}

    for each in (pair, pair.swapped):
        audit = replay_budget(run, each, seed=0)
        assert audit.violations == ()
        (measured,) = audit.measured.values()
        assert 0.3 < measured <= 0.5 + 1e-9


@pytest.mark.parametrize(("given", "kept"), [({}, {}), ({"reg_lambda": 9.0}, {"reg_lambda": 9.0})])
def test_the_regularization_follows_the_noise_unless_it_is_given(given, kept, monkeypatch) -> None:
    seen = []
    build = refitting.build_refit

    def watched(hyper, facts, *more):
        seen.append(dict(facts.given))
        return build(hyper, facts, *more)

    monkeypatch.setattr(refitting, "build_refit", watched)
    old = DPBoostRegressor(schema=NUMBERS, **SETTINGS, **given).fit(*table(300, 0))
    refit_leaves(old, *table(300, 1), budget=Budget(epsilon=1, delta=1e-6), fraction=1)
    assert seen == [kept]


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_a_booster_of_train_gets_new_leaves(objective) -> None:
    X, y = table(3000, 0)
    to_labels = {"regression": lambda y: y, "binary": lambda y: 3.0 * (y > 0)}[objective]
    schema = NUMBERS if objective == "regression" else SCHEMA
    params = {"objective": objective, "schema": schema, **SETTINGS}
    old = dpboost.train(params, dpboost.Dataset(X, to_labels(y)), 40, keep_training_booster=True)
    budget = Budget(epsilon=4, delta=1e-6)
    X, y = table(3000, 1, -1.0)
    newer = refit_leaves(old, X, to_labels(y), budget=budget, fraction=0.5)
    assert newer.params["objective"] == objective
    assert newer.privacy_report.spent == newer.privacy_report.capacity
    assert newer.num_trees() == old.num_trees()
    truth = to_labels(y) > to_labels(y).mean()
    right = [np.mean((each.predict(X) > each.predict(X).mean()) == truth) for each in (old, newer)]
    assert right[1] > 0.7 > right[0]
    assert dpboost.replay(newer.transcript).booster_.model_to_string() == newer.model_to_string()
    refit_leaves(newer, X, to_labels(y), budget=budget, fraction=0.5)
    for other in (pickle.loads(pickle.dumps(old)), old.rollback_one_iter(), old.to_lightgbm()):
        with pytest.raises(InvalidParameterError, match="Keep the estimator"):
            refit_leaves(other, X, y, budget=budget, fraction=0.1)
