"""What a planned fit guarantees."""

import numpy as np
import pandas as pd
import pytest

from dpboost import Budget, DPBoostClassifier, Schema, explain_epsilon, forecast
from dpboost._utils.validation import InvalidParameterError
from dpboost.model_selection.planned_guarantee import planned_capacity


@pytest.mark.parametrize("rows_per_user", [2, 5])
def test_epsilon_of_a_user_is_that_of_all_of_the_rows(rows_per_user):
    row = explain_epsilon(2.0, 1e-6, recipe="best")
    user = explain_epsilon(2.0, 1e-6, recipe="best", rows_per_user=rows_per_user)
    assert user.mu == pytest.approx(row.mu)
    for delta, factor in ((1e-6, rows_per_user**2), (0.0, rows_per_user)):
        measure, whole = planned_capacity("best", 2.0, delta, None, "test")
        of_users = planned_capacity("best", 2.0, delta, rows_per_user, "test")
        assert of_users == (measure, whole / factor)


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize("fraction", [None, 0.3, 1])
@pytest.mark.parametrize("holdout", [None, 0.2])
def test_a_plan_says_exactly_what_the_report_will_say(learned, fraction, holdout):
    if holdout and fraction is None:
        return
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.uniform(size=3000), "ward": rng.choice(["x", "y"], 3000)})
    y = (X["a"] > 0.5).astype(int)
    listed = None if learned else ["x", "y"]
    schema = Schema(bounds={"a": (0, 1)}, categories={"ward": listed}, classes=[0, 1])
    model = DPBoostClassifier(epsilon=1.0, schema=schema, n_estimators=10, verbosity=-1)
    if fraction is None:
        model.fit(X, y)
        plan = explain_epsilon(1.0, 1e-6, recipe="best", schema=schema)
        found = forecast(n_rows=3000, epsilon=[1.0], schema=schema)
        assert found.guarantees[0] == plan
    else:
        more = {} if holdout is None else {"holdout": holdout}
        model.fit(X, y, budget=Budget(epsilon=1, delta=1e-6), fraction=fraction, **more)
        budget = Budget(epsilon=1, delta=1e-6)
        plan = explain_epsilon(recipe="best", budget=budget, fraction=fraction, schema=schema)
    assert plan == model.privacy_report_.explanation


@pytest.mark.parametrize("fraction", [0.3, 1])
def test_a_plan_in_a_budget_of_users_is_what_the_report_will_say(fraction):
    X = np.random.default_rng(0).uniform(size=(3000, 1))
    terms = {"epsilon": 2, "delta": 1e-6, "rows_per_user": 5}
    schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
    model = DPBoostClassifier(schema=schema, rows_per_user=5, n_estimators=10, verbosity=-1)
    users, budget = np.arange(3000) // 5, Budget(**terms)
    model.fit(X, X[:, 0] > 0.5, user_ids=users, budget=budget, fraction=fraction)
    plan = explain_epsilon(recipe="best", budget=Budget(**terms), fraction=fraction)
    assert plan == model.privacy_report_.explanation


def test_bad_plans_are_refused():
    budget = Budget(epsilon=1, delta=1e-6)
    for given in (
        {"budget": budget, "fraction": 0.5},
        {"budget": budget, "recipe": "best"},
        {"budget": budget, "recipe": "best", "fraction": 2},
        {"budget": 1.0, "recipe": "best", "fraction": 0.5},
        {"epsilon": 1.0, "fraction": 0.5},
        {"epsilon": 1.0, "budget": budget, "recipe": "best", "fraction": 0.5},
        {"epsilon": 1.0, "schema": {"classes": [0, 1]}},
    ):
        with pytest.raises(InvalidParameterError):
            explain_epsilon(**given)


def test_an_explanation_is_a_table():
    found = explain_epsilon(1.0, 1e-6)
    frame = found.to_frame()
    assert list(frame) == ["bound", "at", "at_most"]
    assert frame["at_most"].between(0, 1).all()
    assert "<table>" in found._repr_html_()
