from __future__ import annotations

import dataclasses
import subprocess

import numpy as np
import pytest

from benchmarks.catalog import EXPERIMENTS
from benchmarks.environments import REQUIREMENTS
from benchmarks.errors import BenchmarkError, PeerUnavailableError
from benchmarks.experiments import Method
from benchmarks.guarantees import ours, runs
from benchmarks.guarantees.cases import CASES, Case
from benchmarks.guarantees.marks import marks
from benchmarks.guarantees.page import body
from benchmarks.guarantees.readings import READINGS, availability, releases
from benchmarks.guarantees.tester import Finding, audit, findings_of, results_of, retrained
from benchmarks.harness.results import Results, to_text
from benchmarks.harness.run import Request, carry_out

CASE = Case(
    name="toy, two rows",
    method="toy",
    environment="toy",
    script="audit_toy",
    tables="two rows",
    looked_at="the answer",
    X=np.array([[0.5], [0.5]]),
    y=np.array([0.0, 1.0]),
    runs=400,
    quick_runs=40,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_names_what_exists_and_differs_in_one_row(case):
    assert case.method in {method.name for method in EXPERIMENTS["peers"].methods}
    if case.environment is not None:
        assert (REQUIREMENTS / f"{case.environment}.txt").is_file()
        assert (REQUIREMENTS.parent / "workers" / f"{case.script}.py").is_file()
    X, y = case.neighbor()
    if case.replacement is None:
        assert len(X) == len(y) == len(case.y) - 1
        assert np.array_equal(np.insert(X, case.row, case.X[case.row], axis=0), case.X)
        assert np.array_equal(np.insert(y, case.row, case.y[case.row]), case.y)
    else:
        assert np.sum((X != case.X).any(axis=1) | (y != case.y)) == 1
    low, high = case.bounds[0]
    assert np.all((low <= case.X) & (high >= case.X))
    assert 4 <= case.quick_runs <= case.runs
    assert case.X.dtype == X.dtype
    assert case.y.dtype == y.dtype


def test_cases_have_names_of_their_own():
    assert len({case.name for case in CASES}) == len(CASES)
    audited = {case.method for case in CASES}
    private = {
        method.name
        for method in EXPERIMENTS["peers"].methods
        if method.private and "pure" not in method.name
    }
    assert audited == private


def told(here, there, repeats=False):
    return lambda case, runs: {
        "here": np.reshape(here, (runs, -1)),
        "there": np.reshape(there, (runs, -1)),
        "repeats": np.array(repeats),
    }


def test_what_tells_the_tables_apart_is_refuted():
    finding = audit(CASE, 400, told(np.full(400, 2.0), np.full(400, 1.0)))
    assert finding.counts == (200, 0, 200)
    assert finding.bound > 3
    assert finding.is_refuted


def test_an_honest_answer_is_not_refuted():
    generator = np.random.default_rng(5)
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    # Randomized response with epsilon 1: no audit may find more.
    here, there = generator.random(4000) < truth, generator.random(4000) > truth
    finding = audit(CASE, 4000, told(here.astype(float), there.astype(float)))
    assert 0.5 < finding.bound < 1
    assert not finding.is_refuted


def test_fits_that_fail_on_one_table_are_an_event():
    finding = audit(CASE, 400, told(np.full(400, 1.0), np.full(400, np.nan)))
    assert finding.bound > 3


def test_noise_that_comes_again_refutes_alone():
    finding = audit(CASE, 40, told(np.ones(40), np.ones(40), repeats=True))
    assert finding.bound == 0
    assert finding.is_refuted


def test_a_library_that_is_not_there_is_told():
    def retrain(case, runs):
        raise PeerUnavailableError("no wheel")

    finding = audit(CASE, 40, retrain)
    assert finding.bound is None
    assert finding.missing == "no wheel"
    assert not finding.is_refuted


@pytest.mark.parametrize("name", ["best, a category of one row", "dpboost, 500 rows alike"])
def test_our_estimators_are_fitted_with_everything_declared(name):
    case = next(case for case in CASES if case.name == name)
    found = retrained(case, 2)
    assert len(found["here"]) == len(found["there"]) == 2
    assert np.isfinite(found["here"]).all()
    assert np.isfinite(found["there"]).all()
    assert not found["repeats"]


def test_the_relation_of_our_estimators_is_that_of_the_tables(monkeypatch):
    case = next(case for case in CASES if case.name == "dpboost, 500 rows alike")
    asked = []
    monkeypatch.setattr(ours, "answer", lambda *arguments: asked.append(arguments[2]))
    retrained(case, 2)
    retrained(dataclasses.replace(case, replacement=([0.5], 0.1)), 2)
    assert [settings["neighbors"] for settings in asked] == ["add_remove", "replace"]


FINDINGS = [
    Finding(
        case=CASES[0].name,
        method="DP-EBM",
        relation="one row less",
        epsilon=1.0,
        delta=1e-5,
        bound=2.5,
        counts=(1_500, 0, 2_000),
    ),
    Finding(
        case=CASES[2].name,
        method="dp-xgboost",
        relation="one row less",
        epsilon=1.0,
        delta=0.0,
        bound=0.5,
        repeats=True,
    ),
    Finding(
        case=CASES[3].name,
        method="diffprivlib forest",
        relation="one row less",
        epsilon=1.0,
        delta=0.0,
        bound=None,
        missing="no wheel",
    ),
    Finding(
        case=CASES[-1].name,
        method="dpboost",
        relation="one row less",
        epsilon=1.0,
        delta=0.0,
        bound=0.9,
    ),
]


def test_marks_are_what_the_last_audit_refuted(tmp_path):
    assert marks(tmp_path) == {}
    path = tmp_path / "peers-audit.csv"
    results = Results(rows=[row for item in FINDINGS for row in results_of(item)])
    shown = [dataclasses.replace(item, missing="") for item in findings_of(results)]
    assert shown == [dataclasses.replace(item, missing="") for item in FINDINGS]
    path.write_text(to_text(results))
    found = marks(tmp_path)
    assert sorted(found) == ["DP-EBM", "dp-xgboost"]
    assert found["DP-EBM"] == [
        f"{CASES[0].name}: epsilon is at least 2.50 where 1 is promised (one row less)"
    ]
    assert found["dp-xgboost"] == [f"{CASES[2].name}: two fits in one second have the same noise"]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BenchmarkError, match="not those of this version"):
        marks(tmp_path)


def test_the_page_has_every_case_and_every_reading():
    lines = body(FINDINGS, {"privatree": "ERROR: nothing of that name"})
    page = "\n".join(lines)
    assert (
        f"| {CASES[0].name} | one row less | 1, delta 1e-05 | 2.50 | 1,500 and 0 of 2,000 | "
        in page
    )
    assert sum(line.endswith("| **refuted** |") for line in lines) == 2
    assert sum(line.endswith("| nothing found |") for line in lines) == 1
    assert sum(line.endswith("| not run |") for line in lines) == 1
    assert "* Not run: no wheel" in lines
    for reading in READINGS:
        for reason in reading.reasons:
            assert f"  * {reason}" in lines
    assert "  * Not installed: privatree: ERROR: nothing of that name" in lines
    assert "interpret-core " in page


def test_the_index_is_asked_and_never_believed_to_be_there():
    def answer(code, output="", error=""):
        return lambda package: subprocess.CompletedProcess([], code, output, error)

    def late(package):
        raise subprocess.TimeoutExpired("pip", 60)

    assert availability("x", answer(0, "x (1.2)\nAvailable: 1.2\n")) == "x (1.2)"
    assert availability("x", answer(1, "", "WARNING: a\nERROR: b\n")) == "ERROR: b"
    assert availability("x", answer(1)) == "the index did not answer"
    assert availability("x", late) == "the index did not answer (TimeoutExpired)"
    asked = releases(answer(1, "", "ERROR: b"))
    assert set(asked) == {item.package for item in READINGS if not item.measured_as}


def test_readings_of_what_is_measured_name_a_method():
    names = {method.name for method in EXPERIMENTS["peers"].methods}
    assert {item.measured_as for item in READINGS} - {""} <= names


@pytest.mark.parametrize("quick", [False, True])
def test_the_run_writes_a_table_and_a_page(tmp_path, monkeypatch, quick):
    asked = []

    def audited(case, n_runs):
        asked.append((case.name, n_runs))
        return dataclasses.replace(FINDINGS[0], case=case.name)

    monkeypatch.setattr(runs, "audit", audited)
    monkeypatch.setattr(runs, "releases", dict)
    page = carry_out(runs.AUDIT, tmp_path, Request(quick=quick), progress=False)
    assert asked == [(case.name, case.quick_runs if quick else case.runs) for case in CASES]
    name = "peers-audit-quick" if quick else "peers-audit"
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.csv", f"{name}.md"}
    assert page.startswith(f"# {runs.AUDIT.title}\n\n**The audit refutes ")
    assert sorted(marks(tmp_path)) == ([] if quick else ["DP-EBM"])


def test_a_method_without_privacy_is_not_audited():
    methods: list[Method] = [m for m in EXPERIMENTS["peers"].methods if not m.private]
    assert not {method.name for method in methods} & {case.method for case in CASES}
