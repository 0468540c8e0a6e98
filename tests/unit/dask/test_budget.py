from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

from dpboost import Budget, BudgetExceededError  # noqa: E402
from dpboost.dask import DaskDPBoostRegressor  # noqa: E402

SCHEMA = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-1, 1)}


def test_a_fit_on_a_cluster_is_in_the_books(client):
    X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    rows, labels = da.from_array(X, chunks=(10, 3)), da.from_array(X[:, 0], chunks=10)
    budget = Budget(epsilon=1, delta=1e-5)
    model = DaskDPBoostRegressor(schema=SCHEMA, n_estimators=2, verbosity=-1, client=client)
    model.fit(rows, labels, budget=budget.disjoint("north"), fraction=0.5)
    assert budget.left == {"Gaussian": Fraction(1, 2)}
    assert [line.what for line in budget.lines] == ["DaskDPBoostRegressor"]
    report = model.privacy_report_
    assert report.spent <= report.capacity == budget.whole(budget.accountant) / 2
    assert report.facts["budget"].startswith("50 % of the budget")
    with budget, pytest.raises(BudgetExceededError):
        model.fit(rows, labels, fraction=0.6)
    assert len(budget.lines) == 1
