"""What a planned fit guarantees."""

from __future__ import annotations

import pytest

from dpboost import explain_epsilon
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
