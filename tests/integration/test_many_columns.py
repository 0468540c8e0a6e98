"""Columns are chosen before the first tree alike wherever rows show exact sums, not at parties."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import dpboost
from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.federated import FederatedBoostingClassifier, FederatedBoostingRegressor
from dpboost.recipes import ALGORITHMS
from tests.integration.test_every_way import Batches
from tests.unit.federated.channels import without_report

pytestmark = pytest.mark.filterwarnings("ignore")

MANY, N_ROWS = 24, 240
NAMES = [f"Column_{position}" for position in range(MANY)]
KNOWN = {"regression": {"label_bounds": (-2, 2)}, "classification": {"classes": [0, 1]}}
LOCAL = {"regression": DPBoostRegressor, "classification": DPBoostClassifier}
PARTIES = {
    "regression": FederatedBoostingRegressor,
    "classification": FederatedBoostingClassifier,
}
each_task = pytest.mark.parametrize("task", KNOWN)


def table(task):
    """Rows with many columns, of which two tell the label."""
    rng = np.random.default_rng(4)
    X = rng.integers(-8, 9, (N_ROWS, MANY)) / 8.0
    X[rng.random(N_ROWS) < 0.1, 5] = 0.0
    y = X[:, 0] + X[:, 5]
    return X, (y > 0).astype(int) if task == "classification" else y


def options(task, **more):
    schema = {"bounds": dict.fromkeys(NAMES, (-1, 1)), **KNOWN[task]}
    few = {"n_estimators": 2, "max_depth": 2, "random_state": 1, "verbosity": -1}
    return {"schema": schema, "epsilon": 2.0, "noise_seed": 5, **few, **more}


def outcome(model):
    """Return what is released: the text without its report, and the records of the ledger."""
    report = model.privacy_report_
    return without_report(model.booster_.model_to_string()), report.spent, report.releases


def n_choices(model):
    lines = model.privacy_report_.releases
    return sum(line.releases for line in lines if line.label == "column choice")


@each_task
@pytest.mark.parametrize("form", [Batches, sparse.csr_matrix, sparse.csc_matrix])
def test_every_form_of_a_table_has_the_same_choice(task, form):
    X, y = table(task)
    one, other = (LOCAL[task](**options(task)).fit(given, y) for given in (X, form(X)))
    assert n_choices(one) > 0
    assert outcome(other) == outcome(one)


@each_task
def test_workers_of_a_cluster_have_the_same_choice(task, client):
    import dask.array as da

    import dpboost.dask

    X, y = table(task)
    one = LOCAL[task](**options(task)).fit(X, y)
    estimator = getattr(dpboost.dask, f"Dask{LOCAL[task].__name__}")
    rows = da.from_array(X, chunks=(90, -1)), da.from_array(y, chunks=90)
    spread = estimator(**options(task), client=client).fit(*rows)
    assert n_choices(spread) > 0
    assert outcome(spread) == outcome(one)


@each_task
def test_parties_choose_no_columns(task):
    X, y = table(task)
    over = PARTIES[task](**options(task)).fit([(X[part::3], y[part::3]) for part in range(3)])
    plain = replace(ALGORITHMS["best"], columns_to_choose=None)
    one = LOCAL[task](**options(task, recipe=plain)).fit(X, y)
    assert n_choices(over) == 0
    assert "exact sums" in over.privacy_report_.facts["columns"]
    assert outcome(over) == outcome(one)


@pytest.mark.parametrize("more", [{}, {"delta": 0.0}, {"neighbors": "replace"}])
def test_columns_are_chosen_for_users(more):
    X, y = table("regression")
    given = options("regression", epsilon=4.0, rows_per_user=2, **more)
    model = DPBoostRegressor(**given).fit(X, y, user_ids=np.arange(N_ROWS) // 2)
    assert n_choices(model) > 0
    assert model.privacy_report_.epsilon_spent <= 4.0


def test_a_transcript_makes_the_model_again():
    X, y = table("classification")
    given = options("classification")
    del given["noise_seed"]
    model = DPBoostClassifier(**given).fit(X, y)
    assert n_choices(model) > 0
    again = dpboost.replay(model.transcript_)
    assert again.booster_.model_to_string() == model.booster_.model_to_string()
