"""The run glass-box: its verdicts, its page, and small tables that are measured."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from benchmarks.glass_box import measures, run
from benchmarks.glass_box.tables import DIRECTIONS, FOUR, parts
from benchmarks.harness.results import Result
from benchmarks.harness.run import Request, carry_out


@pytest.mark.parametrize(
    ("value", "bar", "expected"),
    [
        (0.002, "at most 0.002", True),
        (0.003, "at most 0.002", False),
        (-4.0, "at most 0.5", True),
        (0.9, "at least 0.87", True),
        (0.86, "at least 0.87", False),
        (0.9, "0.89 to 0.91", True),
        (84.0, "85 to 99", False),
        (99.9, "at least 100", False),
        (1.0, "", None),
    ],
)
def test_verdicts(value, bar, expected):
    assert run.reached(value, bar) is expected


def theirs(value, repeat):
    return Result(
        data="adult", method="DP-EBM", epsilon=1.0, repeat=repeat, measure="AUC", value=value
    )


@pytest.fixture
def measured(monkeypatch):
    """Every measure answers with fixed numbers; which were asked for is kept."""
    asked = []
    numbers = {
        "directions": {"RMSE free": 1.0, "RMSE": 1.02, "pairs in order": 1.0, "proved": 1.0},
        "bands": {"bins covered": 0.8, "squared error": 4.0, "squared deviation": 1.0},
        "spreads": {"squared spread": 1.21, "squared deviation": 1.0, "refits": 50.0},
        "intervals": {"coverage": 0.9, "width": 2.0},
        "sets": {"coverage": 0.86, "classes in a set": 1.5},
        "quantiles": {"coverage at 0.5": 0.5, "rows that cross": 0.0},
        "single_shapes": {"AUC": 0.91},
    }
    for name, found in numbers.items():

        def answer(*arguments, name=name, found=found):
            asked.append((name, *arguments))
            return found

        monkeypatch.setattr(measures, name, answer)
    monkeypatch.setattr(run, "_peers", lambda: [theirs(0.95 + r / 1000, r) for r in range(3)])
    monkeypatch.setattr(run, "_promises", lambda peers: ["a promise that is broken"])
    return asked


def test_every_part_is_measured_and_judged(tmp_path, measured):
    page = carry_out(run.GLASS_BOX, tmp_path, Request(repeats=2), progress=False)
    n_tables = len(DIRECTIONS)
    assert len(measured) == 2 + 2 + 2 + 2 * len(FOUR) + 2 * n_tables + len(FOUR) + 2 + 3
    assert "Refits of a table: 50." in page
    assert "Repeats of a table: 2." in page
    assert "| line: bins covered, % | 85 to 99 | 80 | **not reached** |" in page
    assert "| line: width over deviation | at most 1.5 | 2 | **not reached** |" in page
    assert "| fried: RMSE gained, % | at most 0.5 | 2 | **not reached** |" in page
    assert "| fried: proved, % | at least 100 | 100 | reached |" in page
    assert "| adult: spread over deviation of refits | 0.8 to 1.2 | 1.1 | reached |" in page
    assert "| sets: 5 % quantile of coverage | at least 0.87 | 0.86 | **not reached** |" in page
    assert "Behind beyond 2 standard errors at 1 of 1 points; the bar is 4: reached." in page
    assert "* a promise that is broken" in page


def test_the_short_form_leaves_the_peers_out(tmp_path, measured):
    page = carry_out(run.GLASS_BOX, tmp_path, Request(quick=True), progress=False)
    assert "## Single shapes beside" not in page
    assert ("spreads", "line", 4) in measured


def test_one_table_can_be_asked_for(tmp_path, measured):
    carry_out(run.GLASS_BOX, tmp_path, Request(quick=True, problem="ccpp"), progress=False)
    assert {arguments[1] for arguments in measured} == {"ccpp"}


def small(name, seed):
    return parts(name, seed, n_rows=1500)


@pytest.mark.parametrize("name", ["directions", "bands"])
def test_a_small_table_is_measured(name, monkeypatch):
    monkeypatch.setattr(measures, "parts", small)
    found = getattr(measures, name)("line", 0)
    if name == "directions":
        assert found["pairs in order"] == found["proved"] == 1
        assert found["RMSE"] < 2
    else:
        assert 0 <= found["bins covered"] <= 1
        assert found["squared error"] > 0


def test_shapes_without_noise_are_those_of_a_fit_without_noise(monkeypatch):
    own = small("line", 0)
    model = own.fitted(epsilon=float("inf"), n_estimators=30, max_interaction=1)
    leaves = measures.without_noise(model, own)
    unit = model.ensemble_.unit
    for value, tree in zip(leaves, model.ensemble_.trees, strict=True):
        assert unit * abs(value - tree.leaf_value).max() < 2e-3


def test_quantiles_and_sets_are_measured(monkeypatch):
    monkeypatch.setattr(measures, "N_NEW", 200)
    original = measures.generated
    monkeypatch.setattr(
        measures, "generated", lambda name, n, seed: original(name, min(n, 500), seed)
    )
    found = measures.quantiles(0)
    assert found["rows that cross"] == 0
    assert 0 <= measures.sets(0)["coverage"] <= 1
    assert measures.intervals(0)["width of LightGBM's"] > 0
    monkeypatch.setattr(measures, "parts", small)
    assert measures.spreads("line", 3)["squared spread"] > 0
    assert measures.single_shapes("line", 0, 1.0)["RMSE"] < 2
