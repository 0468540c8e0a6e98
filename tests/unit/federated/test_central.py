"""The same terms with all rows in one process: equal models, and exact losses of releases."""

import numpy as np
import pytest

from dpboost.audit.neighboring_pairs import pair_of
from dpboost.audit.pair_replay import replay_pair
from dpboost.data.table import read_table
from dpboost.federated import simulate
from dpboost.federated.training.agreed_fit import agreed_privacy, train_agreed
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.queries import handle_of
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.raw_rows import RawRows
from tests.unit.federated.channels import agreement, tables, without_report

pytestmark = pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
RECIPES = ("dpboost", "para", "seq")
SCHEMA = {"bounds": {"age": (0, 1), "dose": (0, 1)}, "label_bounds": (-1, 1)}


def terms(n_parties=3, **more):
    hyper = {"n_estimators": 3, "max_depth": 2, "max_bin": 4}
    given = {"task": "regression", "schema": SCHEMA, "hyper": hyper, "epsilon": 30.0}
    return agreement(n_parties, **(given | more))


def trained_in_one_place(agreed, X, y):
    table = read_table(X, schema=agreed.declared, feature_names=agreed.features)
    source = handle_of(RawRows(table=table, labels=np.asarray(y, dtype=np.float64)))
    ledger = agreed_privacy(agreed).ledger(PureAccountant())
    return train_agreed(source, agreed, ledger)


def text_of(ensemble):
    return without_report(model_text(ensemble))


@pytest.mark.parametrize("recipe", RECIPES)
def test_shares_that_add_up_to_the_central_draw_give_the_central_model(recipe):
    given = [(np.abs(X), y * 2.0 - 1) for X, y in tables((70, 0, 1, 50), n_classes=2)]
    agreed = terms(4, recipe=recipe, noise_seed=9)
    fitted = simulate(agreed, given).coordinator.fitted
    X, y = (np.concatenate(parts) for parts in zip(*given, strict=True))
    central = trained_in_one_place(agreed, X, y)
    assert text_of(fitted.ensemble) == text_of(central.ensemble)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("neighbors", list(Neighbors))
def test_every_release_costs_what_was_charged_and_no_more(recipe, neighbors):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(12, 2)).astype(float)
    y = rng.choice([-1.0, 1.0], 12)
    agreed = terms(recipe=recipe, neighbors=neighbors.value)

    def fit(X, y):
        return {"trees": text_of(trained_in_one_place(agreed, X, y).ensemble)}

    # A row with the largest gradient; in its place another one in other cells of all features.
    instead = (np.zeros(2), -1.0)
    pair = pair_of(X, y, np.ones(2), 1.0, neighbors, instead=instead, coin=0.0)
    reached = {}
    for one in (pair, pair.swapped):
        audit = replay_pair(fit, one, seed=1)
        assert not audit.violations
        assert abs(audit.loss) <= 30 + 1e-9
        for entry in audit.entries:
            reached[entry.label] = max(reached.get(entry.label, 0), entry.reached)
    assert reached["level histograms"] >= 0.95
    assert reached["leaf sums"] >= (0.95 if neighbors is Neighbors.ADD_REMOVE else 0.45)
    assert max(reached.values()) <= 1 + 1e-9
