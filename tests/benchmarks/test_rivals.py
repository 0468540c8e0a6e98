from __future__ import annotations

import dataclasses
import json

import pytest

from benchmarks.experiments import Experiment
from benchmarks.harness.results import Results
from benchmarks.harness.run import Request
from benchmarks.registry import runs
from benchmarks.rival_page import Rivals, body, draw, finding
from benchmarks.rivals import EXPERIMENT, RIVALS, TABLES
from benchmarks.runner import as_run, cells


@pytest.fixture
def rivals(experiment, bench):
    """Best, a rival that is worse, one that is better and ran on one split, and what is exact."""
    constant, shifted = experiment.methods
    trial = dataclasses.replace(
        experiment,
        methods=(
            dataclasses.replace(shifted, name="best", settings={"shift": 5.0}),
            dataclasses.replace(shifted, name="worse", settings={"shift": 60.0}),
            dataclasses.replace(
                shifted, name="better", settings={"shift": 1.0}, n_splits={"ramp": 1}
            ),
            dataclasses.replace(constant, name="LightGBM"),
        ),
    )
    units = as_run(trial, bench).plan(Request()).units
    rows = [result for unit in units for result in unit.measure()]
    facts = {"marks": json.dumps({"worse": ["it leaks"], "absent": ["it leaks too"]})}
    return Rivals(Results(facts=facts, rows=rows), trial, bench.problems)


def test_a_slow_method_runs_on_its_first_splits(experiment: Experiment):
    first, second = experiment.methods
    fewer = dataclasses.replace(
        experiment, methods=(first, dataclasses.replace(second, n_splits={"ramp": 1}))
    )
    splits = {cell.split for cell in cells(fewer) if cell.method == second.name}
    assert splits == {0}
    assert {cell.split for cell in cells(fewer) if cell.method == first.name} == {0, 1}


def test_best_is_compared_on_the_splits_of_both(rivals):
    point = rivals.point("ramp", "better", 0.5)
    assert point.n_splits == 1
    assert point.advantage.mean < 0
    assert rivals.point("ramp", "worse*", 0.5).n_splits == 2
    assert rivals.point("ramp", "absent", 0.5) is None
    assert [point.rival for point in rivals.points("better")] == ["better", "better"]


def test_the_page_says_where_best_is_behind(rivals):
    lines = body(rivals)
    assert "| worse* | 2 | 2 | 0 | 0 |" in lines
    assert "| better | 2 | 0 | 0 | 2 |" in lines
    assert sum(line.startswith("| ramp | better | ") for line in lines) == 2
    assert not any(line.startswith("| ramp | worse* | ") for line in lines)
    assert "* it leaks" in lines
    assert "* it leaks too" not in lines
    assert any(line.startswith("| better | 1 | ") for line in lines)
    assert finding(rivals) == (
        "`best` is at least as good as every private rival at 0 of 2 points (a table and an "
        "epsilon); in 2 of 4 comparisons, at 2 points, it is worse by more than two standard "
        "errors."
    )


def test_the_strongest_rival_and_the_distance_are_named(rivals):
    lines = body(rivals)
    start = lines.index("## Lead over the strongest rival")
    lead = next(line for line in lines[start:] if line.startswith("| ramp"))
    assert lead.count("%** better") == lead.count("**-") == 2
    start = lines.index("## Distance from LightGBM without privacy")
    assert next(line for line in lines[start:] if line.startswith("| ramp")).count("-") == 2


def test_where_best_is_behind_nowhere_the_page_says_so(rivals):
    rows = [row for row in rivals.rows if row.cell.method != "better"]
    results = Results(rows=[result for row in rows for result in row.results()])
    ahead = Rivals(results, rivals.experiment, rivals.problems)
    assert "Nowhere." in body(ahead)


def test_a_picture_is_drawn(rivals):
    pytest.importorskip("matplotlib")
    assert draw(rivals).startswith(b"\x89PNG")


def test_the_run_is_listed_and_every_method_can_do_its_tables():
    assert runs()["rivals"] is RIVALS
    assert len(TABLES) == 14
    for method in EXPERIMENT.methods:
        for name in method.problems or TABLES:
            task = TABLES[name].task
            assert (method.library, task) not in {
                ("dp_ebm", "multiclass"),
                ("sarus_xgboost", "multiclass"),
                ("diffprivlib_forest", "regression"),
            }
