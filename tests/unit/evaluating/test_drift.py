from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpboost import (
    Budget,
    BudgetExceededError,
    DPBoostRegressor,
    InvalidParameterError,
    feature_histograms,
)
from dpboost.audit import pair_of, replay_budget
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.bound import Neighbors

NAMES = ("Column_0", "Column_1", "Column_2")


def rows(n_rows: int, seed: int, shift: float = 0.0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n_rows, 3))
    X[:, 1] += shift
    X[::50, 2] = np.nan
    return X


@pytest.fixture(scope="module")
def model():
    X = rows(1000, 0)
    schema = {"bounds": dict.fromkeys(range(3), (-3, 3)), "label_bounds": (-3, 3)}
    settings = {"schema": schema, "n_estimators": 2, "max_bin": 16, "verbosity": -1}
    return DPBoostRegressor(**settings).fit(X, X[:, 0])


def month(model, X, **terms):
    budget = Budget(**{"epsilon": 1, "delta": 1e-6} | terms)
    return feature_histograms(model, X, budget=budget, fraction=1)


def test_without_noise_these_are_the_bins(model) -> None:
    X = rows(500, 1)
    found = feature_histograms(model, X, budget=Budget(epsilon=1e7, delta=0), fraction=1)
    assert tuple(found.counts) == NAMES
    for name in NAMES:
        assert found.counts[name].sum() == pytest.approx(500, abs=0.1)
    assert found.counts["Column_2"][-1] == pytest.approx(10, abs=0.1)
    assert found.counts["Column_0"][-1] == pytest.approx(0, abs=0.1)


def test_a_feature_that_moved_comes_first(model) -> None:
    before, after = month(model, rows(5000, 1)), month(model, rows(4000, 2, shift=0.5))
    found = after.drift(before)
    assert next(iter(found)) == "Column_1"
    assert found["Column_1"].p_value < 1e-3
    assert found["Column_1"].distance > 0.05
    assert min(found["Column_0"].p_value, found["Column_2"].p_value) > 1e-4


def test_rows_of_one_kind_seldom_drift(model) -> None:
    pvalues = []
    for position in range(40):
        one, other = (month(model, rows(2000, 2 * position + k)) for k in range(2))
        pvalues += [each.p_value for each in one.drift(other).values()]
    # Of 120 p values six are below 0.05 on average, 17 once in a thousand times.
    assert np.sum(np.array(pvalues) < 0.05) < 17
    assert 0.35 < np.mean(pvalues) < 0.7


def test_noise_that_is_not_counted_would_be_found(model, monkeypatch) -> None:
    from dpboost.evaluating.drift import FeatureHistograms

    one, other = month(model, rows(2000, 1)), month(model, rows(2000, 2))
    shares = FeatureHistograms.shares
    monkeypatch.setattr(
        FeatureHistograms,
        "shares",
        lambda own, name: (shares(own, name)[0], own.counts[name] * 1e-9),
    )
    assert max(each.p_value for each in one.drift(other).values()) < 1e-3


def test_it_is_charged_once(model) -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    found = feature_histograms(model, rows(100, 1), budget=budget, fraction=0.25)
    assert budget.remaining == {"Gaussian": Fraction(3, 4)}
    assert found.report.spent == found.report.capacity
    with pytest.raises(BudgetExceededError):
        feature_histograms(model, rows(100, 1), budget=budget, fraction=0.8)


def test_users(model) -> None:
    budget = Budget(epsilon=1e6, delta=0, rows_per_user=2)
    users = np.arange(300) // 3
    found = feature_histograms(model, rows(300, 1), user_ids=users, budget=budget, fraction=0.5)
    assert found.counts["Column_0"].sum() == pytest.approx(200, abs=0.1)
    with pytest.raises(InvalidParameterError, match="pass both or neither"):
        feature_histograms(model, rows(300, 1), budget=budget, fraction=0.1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"model": 3}, "'model'"),
        ({"budget": None}, "needs a budget"),
        ({"fraction": 0}, "'fraction'"),
        ({"X": rows(10, 1)[:, :2]}, "columns|features"),
        ({"X": [rows(10, 1), rows(10, 1)]}, "batches"),
        ({"user_ids": np.zeros(10)}, "pass both or neither"),
    ],
)
def test_bad_arguments_are_refused_before_anything_is_drawn(
    model, arguments, says, monkeypatch
) -> None:
    budget = Budget(epsilon=1, delta=1e-6)
    given = {"model": model, "X": rows(10, 1), "budget": budget, "fraction": 0.5} | arguments
    if given["budget"] is None:
        del given["fraction"]
    monkeypatch.setattr(Ledger, "_draw", lambda *_: pytest.fail("drawn"))
    with pytest.raises(InvalidParameterError, match=says):
        feature_histograms(given.pop("model"), given.pop("X"), **given)
    assert budget.lines == ()


def test_histograms_of_other_bins_are_not_compared(model) -> None:
    X = rows(500, 0)[:, :2]
    schema = {"bounds": dict.fromkeys(range(2), (-3, 3)), "label_bounds": (-3, 3)}
    other = DPBoostRegressor(schema=schema, n_estimators=1, verbosity=-1).fit(X, X[:, 0])
    with pytest.raises(InvalidParameterError, match="'since'"):
        month(model, rows(100, 1)).drift(month(other, X))


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("relation", list(Neighbors))
def test_the_auditor_measures_what_is_booked(model, relation, delta) -> None:
    pair = pair_of(
        np.zeros((5, 3)),
        np.zeros(5),
        [2.5, 2.5, 2.5],
        0.0,
        relation,
        instead=([-2.5, -2.5, -2.5], 0.0),
    )

    def run(X, y):
        budget = Budget(epsilon=1, delta=delta, neighbors=relation.value)
        found = feature_histograms(model, X, budget=budget, fraction=Fraction(1, 2))
        return {"counts": str(found.counts), "report": found.report.details()}

    for each in (pair, pair.swapped):
        audit = replay_budget(run, each, seed=0)
        assert audit.violations == ()
        (measured,) = audit.measured.values()
        assert 0.45 < measured <= 0.5 + 1e-9
