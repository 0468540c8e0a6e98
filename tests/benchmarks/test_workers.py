"""The scripts of the other libraries, over fakes of these libraries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import peers
from benchmarks.guarantees.cases import CASES
from benchmarks.guarantees.tester import retrained
from benchmarks.peers import fit_in_peer

FAKES = {
    "interpret/privacy.py": """
import numpy as np

class DPExplainableBoostingClassifier:
    def __init__(self, **settings):
        self.settings = settings
    def fit(self, X, y):
        assert self.settings["delta"] == 1e-5
        self.mean = y.mean()
        self.bins_ = [[{"0": 1} if X.max() == 0 else {"0": 1, "1": 2}]]
        self.term_scores_ = [np.random.random(3)]
        return self
    def predict(self, X):
        return np.full(len(X), self.mean)
    def predict_proba(self, X):
        return np.column_stack([1 - self.predict(X), self.predict(X)])

class DPExplainableBoostingRegressor(DPExplainableBoostingClassifier):
    def fit(self, X, y):
        assert self.settings["privacy_target_min"] <= self.settings["privacy_target_max"]
        return super().fit(X, y)
""",
    "diffprivlib/accountant.py": """
class BudgetAccountant:
    pass
""",
    "diffprivlib/utils.py": """
class PrivacyLeakWarning(RuntimeWarning):
    pass
""",
    "diffprivlib/models.py": """
import warnings
from types import SimpleNamespace
import numpy as np
from diffprivlib.utils import PrivacyLeakWarning

class RandomForestClassifier:
    def __init__(self, *, epsilon, n_estimators=2, bounds=None, classes=None, shuffle=False, **o):
        self.n, self.bounds, self.classes, self.shuffle = n_estimators, bounds, classes, shuffle
    def fit(self, X, y):
        if self.bounds is None or self.classes is None:
            warnings.warn("bounds", PrivacyLeakWarning)
        assert len(self.bounds) == 2 and len(self.bounds[0]) == X.shape[1]
        share = np.bincount(y, minlength=len(self.classes)) / len(y)
        self.share = share
        tree = SimpleNamespace(threshold=np.random.random(2))
        answer = lambda X: np.tile(share, (len(X), 1))
        self.estimators_ = [SimpleNamespace(tree_=tree, predict_proba=answer)] * self.n
        return self
    def predict_proba(self, X):
        return np.tile(self.share, (len(X), 1))

DecisionTreeClassifier = RandomForestClassifier

class GaussianNB:
    def __init__(self, *, epsilon, bounds):
        assert len(bounds) == 2
    def fit(self, X, y):
        self.classes_ = np.unique(y)
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

class LogisticRegression(GaussianNB):
    def __init__(self, *, epsilon, data_norm):
        assert data_norm > 0

class LinearRegression:
    def __init__(self, *, epsilon, bounds_X, bounds_y):
        self.bounds = bounds_X, bounds_y
    def fit(self, X, y):
        assert len(self.bounds[0]) == len(self.bounds[1]) == 2
        self.mean = y.mean()
    def predict(self, X):
        return np.full(len(X), self.mean)
""",
    "dpmm/models/aim.py": """
class FactoredInference:
    def __init__(self, domain, iters):
        self.iters = iters

class AIMGM:
    def __init__(self, *, epsilon, delta, n_iters, n_jobs):
        self.n_iters = n_iters
    def set_domain(self, domain):
        self.domain = domain
    def fit(self, table):
        assert list(self.domain) == list(table.columns)
        assert FactoredInference(self.domain, iters=2500).iters == self.n_iters
        self.table = table
    def generate(self, n_records):
        return self.table.iloc[::-1][:n_records]
""",
    "dpmm/models/mst.py": """
from dpmm.models.aim import AIMGM as MSTGM, FactoredInference
""",
    "dpmm/models/__init__.py": "",
    "dp_xgboost.py": """
import time
import numpy as np

class DMatrix:
    def __init__(self, data, label=None, feature_min=None, feature_max=None):
        assert len(feature_min) == len(feature_max) == data.shape[1]
        self.data, self.label = data, label

class Model:
    def __init__(self, value):
        self.value = value
    def predict(self, table):
        return np.full(len(table.data), self.value, dtype=np.float32)

def train(parameters, table, num_boost_round):
    assert parameters["tree_method"] == "approxDP"
    noise = np.random.RandomState(int(time.time())).random_sample()
    size = len(table.label) >= parameters["min_child_weight"]
    return Model(size * table.label.mean() + parameters["dp_epsilon_per_tree"] * noise)
""",
}
X = np.array([[0.0], [1.0], [1.0], [0.0]])


@pytest.fixture(autouse=True)
def _fakes(tmp_path, monkeypatch):
    for name, text in FAKES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent != tmp_path:
            (path.parent / "__init__.py").touch()
        path.write_text(text)
    root = Path(peers.__file__).parents[1]
    monkeypatch.setattr(peers, "_CHECKOUT", os.pathsep.join([str(tmp_path), str(root)]))
    monkeypatch.setattr(peers, "_workers", {})
    monkeypatch.setattr(peers, "interpreter", lambda name: Path(sys.executable))
    yield
    for item in peers._workers.values():
        item.stop()


def arrays(y, **more):
    return {"train_X": X, "train_y": np.array(y), "test_X": X[:3], **more}


@pytest.mark.parametrize("bounds", [None, (0.0, 4.0)])
def test_dp_ebm(bounds):
    known = {"bounds": np.array([[0.0, 1.0]]), "is_category": np.array([False])}
    options = {"binary": bounds is None, "label_bounds": bounds, "epsilon": 1.0, "delta": 1e-5}
    result = fit_in_peer("dp_ebm", arrays([0, 1, 1, 1], **known), options, 1)
    assert result.prediction.tolist() == [0.75] * 3
    assert result.n_trees == 0


@pytest.mark.parametrize(("name", "n_trees"), [("forest", 2), ("tree", 1)])
def test_diffprivlib(name, n_trees):
    known = arrays([0, 1, 1, 1], bounds=np.array([[0.0], [1.0]]))
    result = fit_in_peer(f"diffprivlib_{name}", known, {"n_classes": 3, "epsilon": 1.0}, 1)
    assert result.prediction.tolist() == [[0.25, 0.75, 0.0]] * 3
    assert result.n_trees == n_trees


@pytest.mark.parametrize(
    ("kind", "n_classes", "shown"),
    [("linear", 0, 0.75), ("linear", 3, [0.5, 0.5, 0]), ("naive Bayes", 3, [0.5, 0.5, 0])],
)
def test_other_models_of_diffprivlib(kind, n_classes, shown):
    known = arrays([0, 1, 1, 1], bounds=np.array([[0.0], [1.0]]))
    settings = {"kind": kind, "n_classes": n_classes, "norm": 1.0, "label_bounds": (0, 1)}
    result = fit_in_peer(
        "diffprivlib_models", known, {**settings, "epsilon": 1.0}, 1, environment="other"
    )
    assert result.prediction.tolist() == [shown] * 3


@pytest.mark.parametrize("synthesizer", ["MST", "AIM"])
def test_dpmm_synthesis(synthesizer):
    given = {"rows": np.array([[0, 1], [2, 0]]), "sizes": np.array([3, 2])}
    settings = {"synthesizer": synthesizer, "n_steps": 5, "epsilon": 1.0, "delta": 1e-5}
    result = fit_in_peer("dpmm_synthesis", given, settings, 1)
    assert result.prediction.tolist() == [[2, 0], [0, 1]]


def test_sarus_xgboost():
    known = arrays([0.0, 0.5, 0.5, 0.0], bounds=np.array([[0.0], [1.0]]))
    settings = {
        "n_estimators": 4,
        "dp_epsilon_per_tree": 0.0,
        "min_child_weight": 2,
        "learning_rate": 0.1,
    }
    result = fit_in_peer("sarus_xgboost", known, settings, 1)
    assert result.prediction.tolist() == [0.25] * 3
    assert result.n_trees == 4


@pytest.mark.parametrize(
    ("name", "here", "there"),
    [
        ("DP-EBM, offset labels", 1000 + 1 / 60, 1000.0),
        ("DP-EBM, a category of one row", 1.0, 0.0),
        ("diffprivlib forest, as measured", 1.0, 1.0),
    ],
)
def test_audits(name, here, there):
    case = next(case for case in CASES if case.name == name)
    told = retrained(case, 2)
    assert told["here"][:, 0] == pytest.approx([here, here])
    assert told["there"][:, 0] == pytest.approx([there, there])
    assert not told["repeats"]


def test_an_audit_of_noise_by_the_clock_takes_a_second_for_each_fit():
    case = next(case for case in CASES if case.method == "dp-xgboost")
    told = retrained(case, 2)
    assert told["repeats"]
    # Both tables share the noise of a second, and no two runs do.
    assert told["here"] - told["there"] == pytest.approx(np.full((2, 1), 0.9), abs=1e-6)
    assert told["here"][0] != told["here"][1]
