"""Local reports leave through the ledger, and nothing but reports reaches the model."""

import ast
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpboost.local
from dpboost.local import LPDTClassifier, LPDTPartition, LPDTRegressor, MemoizedReports
from dpboost.local.collection import ReportPlan
from dpboost.privacy.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore")

PACKAGE = Path(dpboost.local.__file__).parents[1]


def rows(seed, n=400):
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 2))
    return X, X[:, 0] + random.normal(scale=0.1, size=n)


def grown(y_shift=0.0, **options):
    X, y = rows(0)
    settings = {"max_depth": 2, "min_samples_leaf": 20, "n_levels": 2, "label_bounds": (-1, 3)}
    return LPDTPartition.from_public(X, y + y_shift, **settings | options)


def test_only_the_mechanisms_draw_reports():
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module == "dpboost._kernels"
        and any(alias.name == "local_reports" for alias in node.names)
    }
    assert found == {
        "local/cell_mechanism.py",
        "local/frequency_oracles.py",
        "local/lpdt_mechanism.py",
    }


@pytest.mark.parametrize("mechanism", ["signed_cell", "unary", "response", "paper"])
def test_every_report_is_booked_at_epsilon(mechanism, monkeypatch):
    booked = []
    release = Ledger.release

    def listening(self, *args, **kwargs):
        outcome = release(self, *args, **kwargs)
        booked.append((self.spent, self.capacity, self.neighbors.value, outcome.shape))
        return outcome

    monkeypatch.setattr(Ledger, "release", listening)
    partition = grown()
    report = partition.encode([0.2, 0.4], 0.3, epsilon=1.5, mechanism=mechanism)
    plan = ReportPlan.of(partition, 1.5, mechanism)
    assert len(report) == plan.report_bytes
    width = plan.randomizer.payload_bytes
    assert booked == [(Fraction(3, 2), Fraction(3, 2), "replace", (1, width))]


def test_a_device_draws_anew_and_a_keeper_does_not(tmp_path):
    partition = grown()
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    x, y = [0.2, 0.4], 0.3
    drawn = {partition.encode(x, y, 1.0, mechanism="unary") for _ in range(64)}
    kept = {keeper.report("a", x, y) for _ in range(64)}
    assert len(drawn) > 1
    assert len(kept) == 1
    again = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    assert again.report("a", [0.9, 0.9], 1.0) in kept


def spelled(model, X):
    with_state = {name: value for name, value in vars(model).items() if name != "booster_"}
    return (
        model.booster_.model_to_string(),
        model.privacy_report_.details(),
        pickle.dumps(with_state["partition_"]),
        sorted(vars(model)),
        model.predict(X).tolist(),
    )


@pytest.mark.parametrize("mechanism", ["signed_cell", "unary", "paper"])
def test_private_rows_show_only_through_reports(mechanism, monkeypatch):
    """With every report forced, two fits on other private rows end alike to the last byte."""

    def draw(self, entry, value):
        payload = np.zeros((len(value), entry.mechanism.payload_bytes), dtype=np.uint8)
        payload[:, 0] = np.arange(len(value)) % 2
        return payload

    monkeypatch.setattr(Ledger, "_draw", draw)
    X_public, y_public = rows(0)
    tables = [rows(1), rows(2), (np.full((400, 2), np.nan), np.full(400, 1e30))]
    outcomes = []
    for X, y in tables:
        model = LPDTRegressor(epsilon=1.0, mechanism=mechanism, label_bounds=(-1, 3))
        model.fit(X, y, X_public=X_public, y_public=y_public)
        outcomes.append(spelled(model, X_public))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_private_labels_show_only_through_reports(monkeypatch):
    monkeypatch.setattr(
        Ledger,
        "_draw",
        lambda self, entry, value: np.zeros(
            (len(value), entry.mechanism.payload_bytes), dtype=np.uint8
        ),
    )
    X, y = rows(0)
    public = {"X_public": X, "y_public": y > 0.5}
    models = [
        LPDTClassifier(epsilon=1.0).fit(X, labels, **public)
        for labels in (y > 0.5, y > 5, np.full(len(y), 17))
    ]
    assert len({str(spelled(model, X)) for model in models}) == 1


EXACT = {"epsilon": float("inf"), "max_depth": 3, "min_samples_leaf": 10, "n_levels": 64}


@pytest.mark.parametrize("rule", ["max_edge", "variance"])
def test_public_and_private_rows_are_never_mixed(rule):
    """Swapping the two tables swaps what each of them decides, and nothing else."""
    A, B = rows(1, 300), rows(2, 700)
    bounds = (-1.0, 3.0)
    for (X, y), (X_public, y_public) in ((A, B), (B, A)):
        model = LPDTRegressor(rule=rule, label_bounds=bounds, **EXACT)
        model.fit(X, y, X_public=X_public, y_public=y_public)
        settings = {name: value for name, value in EXACT.items() if name != "epsilon"}
        alone = LPDTPartition.from_public(
            X_public, y_public, rule=rule, label_bounds=bounds, **settings
        )
        assert model.partition_.to_json() == alone.to_json()
        # Without noise a leaf is the mean of its private rows, but for rounding and shrinking.
        cells = alone.cells(alone.read(X))
        means = np.array([y[cells == cell].mean() for cell in range(alone.n_cells)])
        found = model.predict(X)
        assert np.abs(found - means[cells]).max() < 0.05
        assert np.isin(found.round(12), model.ensemble_.predict(alone.read(X)).round(12)).all()


def test_public_labels_do_not_reach_the_leaves():
    """The same splits from other public labels give the same leaves."""
    X, y = rows(1, 500)
    X_public, y_public = rows(2, 200)
    one = {"max_depth": 3, "min_samples_leaf": 1, "rule": "max_edge", "label_bounds": (-9, 9)}
    models = [
        LPDTRegressor(epsilon=2.0, noise_seed=5, n_levels=2, **one).fit(
            X[:, :1], y, X_public=X_public[:, :1], y_public=labels
        )
        for labels in (y_public, -5 * y_public)
    ]
    assert np.array_equal(models[0].predict(X[:, :1]), models[1].predict(X[:, :1]))
