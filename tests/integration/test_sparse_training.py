"""A sparse table trains the same model as its dense copy, in far less memory."""

import subprocess
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse

from dpboost import DPBoostClassifier, DPBoostRegressor
from dpboost.audit import pair_of, replay_pair
from dpboost.growing.boosting_loop import BoostingLoop
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.training import local_fit

pytestmark = pytest.mark.filterwarnings("ignore")

N_ROWS = 240
FAST = {"n_estimators": 4, "max_depth": 3, "verbosity": 0, "n_jobs": 1}


def rows(seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N_ROWS, 7)) * (random.random((N_ROWS, 7)) < 0.2)
    X[:, 3] = random.integers(0, 3, N_ROWS)
    X[random.random(X.shape) < 0.03] = np.nan
    return X, np.nan_to_num(X[:, 0] + X[:, 1]) + 0.1 * random.normal(size=N_ROWS)


def schema(**extra):
    bounds = dict.fromkeys((0, 1, 2, 4), (-3, 3))
    return {"bounds": bounds, "categories": {3: [0, 1, 2]}, **extra}


@pytest.mark.parametrize("recipe", ["dpboost", "seq"])
def test_scores_in_runs_tell_no_more_than_their_charge(recipe):
    X, y = rows()
    X = np.nan_to_num(X)
    known = {"bounds": dict.fromkeys(range(7), (-3, 3)), "label_bounds": (-1, 1)}

    def fit(table, labels):
        model = DPBoostRegressor(epsilon=2, recipe=recipe, schema=known, max_bin=8, **FAST)
        model.fit(scipy.sparse.csr_matrix(table), labels)
        return {"text": model.booster_.model_to_string()}

    extreme = np.where(X[:, 0] > 0, 1.0, -1.0)
    pair = pair_of(X, extreme, np.full(7, 2.5), -1.0, Neighbors.ADD_REMOVE)
    audit = replay_pair(fit, pair, seed=5)
    assert audit.violations == ()
    assert audit.error == ""
    assert sum(entry.label == "split choice" for entry in audit.entries) >= 12
    assert audit.cost <= audit.capacity + 1e-9


MEMORY = """
import resource, sys
import numpy as np, scipy.sparse
import dpboost
random = np.random.default_rng(0)
n_rows, n_features = 40_000, 4_000
X = scipy.sparse.random(n_rows, n_features, 0.002, format="csr", random_state=random)
y = (np.asarray(X[:, :50].sum(axis=1)).ravel() > 0).astype(int)
bounds = dict.fromkeys(range(n_features), (0, 1))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
dpboost.DPBoostClassifier(
    recipe=sys.argv[1], schema={"bounds": bounds, "classes": (0, 1)}, n_estimators=2,
    trees_per_ensemble=int(sys.argv[2]), max_depth=3, max_bin=16, n_jobs=1, verbosity=0, delta=0,
).fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * (1 if sys.platform == "darwin" else 1024), n_rows * n_features)
"""


@pytest.mark.integration
@pytest.mark.skipif(sys.platform == "win32", reason="no module resource on Windows")
@pytest.mark.parametrize(("recipe", "trees"), [("best", 1), ("dpboost", 2)])
def test_the_bins_of_a_sparse_table_never_fill_a_matrix(recipe, trees):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, recipe, str(trees)],
        capture_output=True,
        text=True,
        check=True,
    )
    grown, cells = map(int, done.stdout.split())
    # A matrix of bins has a byte for each cell; what the system gives back late differs.
    assert grown < 0.8 * cells


@pytest.mark.parametrize("recipe", ["best", "dpboost"])
def test_stored_values_are_let_go_before_the_first_tree(recipe, monkeypatch):
    held, seen = [], []
    original_read, original_boost = local_fit.read, BoostingLoop.boost

    def read(*arguments):
        table = original_read(*arguments)
        held.append(weakref.ref(table.stored))
        return table

    def boost(self, *arguments, **options):
        seen.extend(reference() for reference in held)
        return original_boost(self, *arguments, **options)

    monkeypatch.setattr(local_fit, "read", read)
    monkeypatch.setattr(BoostingLoop, "boost", boost)
    X, y = rows()
    known = schema(classes=(0, 1))
    model = DPBoostClassifier(recipe=recipe, schema=known, **FAST)
    model.fit(scipy.sparse.csr_matrix(X), (y > 0).astype(int))
    assert seen == [None]
