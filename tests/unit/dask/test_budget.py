from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest

da = pytest.importorskip("dask.array", reason="the extra 'dask' is not installed")

from dpboost import (  # noqa: E402
    Budget,
    BudgetExceededError,
    DPBoostRegressor,
    InvalidParameterError,
    replay,
)
from dpboost.dask import DaskDPBoostRegressor  # noqa: E402

SCHEMA = {"bounds": dict.fromkeys(range(3), (-1, 1)), "label_bounds": (-1, 1)}


def test_a_fit_on_a_cluster_is_in_the_books(client):
    X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    rows, labels = da.from_array(X, chunks=(10, 3)), da.from_array(X[:, 0], chunks=10)
    budget = Budget(epsilon=1, delta=1e-5)
    model = DaskDPBoostRegressor(schema=SCHEMA, n_estimators=2, verbosity=-1, client=client)
    model.fit(rows, labels, budget=budget.disjoint("north"), fraction=0.5)
    assert budget.remaining == {"Gaussian": Fraction(1, 2)}
    assert [line.what for line in budget.lines] == ["DaskDPBoostRegressor"]
    report = model.privacy_report_
    assert report.spent <= report.capacity == budget.total(budget.accountant) / 2
    assert report.facts["budget"].startswith("50 % of the budget")
    again = replay(model.transcript_)  # without a cluster, and of the same name in the books
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
    with budget, pytest.raises(BudgetExceededError):
        model.fit(rows, labels, fraction=0.6)
    assert len(budget.lines) == 1


@pytest.mark.parametrize("kind", ["client", "processes"])
def test_a_fit_that_is_sent_to_a_worker_is_charged_or_refused(kind, request, tmp_path):
    workers = request.getfixturevalue(kind)
    X = np.random.default_rng(0).uniform(-1, 1, (100, 3))
    model = DPBoostRegressor(epsilon=8, schema=SCHEMA, n_estimators=2, verbosity=-1)
    with Budget(epsilon=0.5, delta=1e-5) as budget:
        # A worker in this process is inside of the block.
        with pytest.raises(InvalidParameterError, match="n_jobs=1|needs the 'fraction'"):
            workers.submit(model.fit, X, X[:, 0]).result()
        assert budget.lines == ()
        budget.save(tmp_path / "budget")
        fits = [workers.submit(model.fit, X, X[:, 0], fraction=0.2, pure=False) for _ in range(7)]
        found = [fit.exception() for fit in fits]
        assert [type(each) for each in found if each is not None] == [BudgetExceededError] * 2
    assert budget.remaining == {"Gaussian": 0}
    # A model of the block is read and predicts where its budget is not.
    (tmp_path / "budget").unlink()
    fitted = next(fit for fit in fits if fit.exception() is None).result()
    assert len(pickle.loads(pickle.dumps(fitted)).predict(X)) == 100
