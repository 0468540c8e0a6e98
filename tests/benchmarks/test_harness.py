"""Results, the store, and how a run is taken up again and written down."""

from __future__ import annotations

import dataclasses
import itertools
import math
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.harness import run as harness
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, curves, from_text, pick, to_text, values
from benchmarks.harness.run import Plan, Request, Run, Unit, carry_out, page_of
from benchmarks.harness.store import Store


def result(value=0.1 + 0.2, **more) -> Result:
    return Result(measure="RMSE", value=value, **more)


ROWS = [
    result(data="a, b", method="m", epsilon=0.5, repeat=1, draw=2, part="figure 1"),
    result(epsilon=math.inf, x="3"),
    result(value=1 / 3),
]


def test_results_survive_their_file():
    results = Results(facts={"run": "x", "load": "a: b"}, rows=ROWS)
    assert from_text(to_text(results)) == results
    assert from_text(to_text(Results(facts={"empty": ""}, rows=[]))) == Results(rows=[])
    with pytest.raises(ValueError, match="one line"):
        to_text(Results(facts={"run": "a\nb"}, rows=[]))


@pytest.mark.parametrize("text", ["a,b\n1,2\n", to_text(Results(rows=ROWS)).replace("0.5", "x")])
def test_a_file_that_is_not_ours_is_no_results(text):
    with pytest.raises(BenchmarkError):
        from_text(text)


def test_a_position_is_x_or_else_the_budget():
    assert [row.position for row in ROWS] == [0.5, 3.0, None]


def test_values_are_means_over_draws_and_curves_go_by_position():
    rows = [
        result(value, method="m", x=x, repeat=repeat)
        for value, x, repeat in ((1.0, "10", 0), (3.0, "10", 0), (5.0, "10", 1), (7.0, "2", 0))
    ]
    assert values(rows, x="10") == [2.0, 5.0]
    assert pick(rows, x="2") == rows[3:]
    ((method, points),) = curves(rows)
    assert (method, points) == ("m", {2.0: [7.0], 10.0: [2.0, 5.0]})


def test_what_is_added_is_on_disk(tmp_path):
    path = tmp_path / "p.csv"
    Store(path, {"u": "a"}).add("u", "a", ROWS)
    assert Store(path, {"u": "a"}).results == {"u": ROWS}


@pytest.mark.parametrize("wanted", [{"u": "b"}, {"v": "a"}])
def test_other_settings_and_other_units_are_dropped(tmp_path, wanted):
    path = tmp_path / "p.csv"
    Store(path, {"u": "a"}).add("u", "a", ROWS)
    store = Store(path, wanted)
    assert (store.results, store.n_dropped) == ({}, 1)
    assert Store(path, {"u": "a"}).n_dropped == 0  # it is gone from the file


def test_half_a_unit_is_dropped_with_its_torn_line(tmp_path):
    path = tmp_path / "p.csv"
    store = Store(path, {"u": "a", "v": "a"})
    store.add("u", "a", ROWS)
    store.add("v", "a", ROWS)
    path.write_text(path.read_text()[:-4])
    again = Store(path, {"u": "a", "v": "a"})
    assert list(again.results) == ["u"]
    again.add("v", "a", ROWS)
    assert Store(path, {"u": "a", "v": "a"}).results == {"u": ROWS, "v": ROWS}


def test_a_store_that_is_not_ours_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("some,other,table\n1,2,3\n")
    with pytest.raises(BenchmarkError, match="--fresh"):
        Store(path, {})
    assert path.read_text() == "some,other,table\n1,2,3\n"


def test_a_killed_process_loses_nothing(tmp_path):
    """The process is killed while it measures, not asked to stop."""
    code = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from benchmarks.harness.results import Result
        from benchmarks.harness.store import Store
        units = [str(number) for number in range(4)]
        store = Store(Path(sys.argv[1]), dict.fromkeys(units, "same"))
        for unit in units:
            if unit in store.results:
                print("kept", unit)
                continue
            if unit == "2" and sys.argv[2] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            store.add(unit, "same", [Result(measure="RMSE", value=0.1 * int(unit))])
            print("measured", unit, flush=True)
        """
    )
    path, root = tmp_path / "rows.csv", Path(__file__).parents[2]

    def start(how):
        return subprocess.run(
            [sys.executable, "-c", code, str(path), how], cwd=root, capture_output=True, text=True
        )

    assert start("kill").returncode != 0
    assert start("go").stdout.splitlines() == ["kept 0", "kept 1", "measured 2", "measured 3"]


class Measures:
    """A run of four units, which remembers what it measured and may stop at one."""

    def __init__(self):
        self.names, self.stop_at, self.version = [], None, "1"

    def plan(self, request):
        names = [str(number) for number in range(request.repeats or 4)]
        units = [
            Unit(name=name, settings=self.version, measure=lambda name=name: self.measure(name))
            for name in names
        ]
        return Plan(units=units, facts={"not run": "a set: it is too large"})

    def measure(self, name):
        if len(self.names) == self.stop_at:
            raise KeyboardInterrupt
        self.names.append(name)
        return [result(float(name), method="m", repeat=int(name))]

    def run(self, **more):
        return Run(
            name="trial",
            title="Accuracy of a trial",
            group=Group.ACCURACY,
            description="A trial.",
            plan=self.plan,
            body=lambda results: [f"{len(results.rows)} results"],
            finding=lambda results: f"The first value is {results.rows[0].value:g}.",
            **more,
        )


@pytest.fixture
def measures():
    return Measures()


def test_a_run_leaves_its_files_and_is_measured_anew(measures, tmp_path):
    page = carry_out(measures.run(), tmp_path, progress=False)
    assert {path.name for path in tmp_path.iterdir()} == {"trial.csv", "trial.md"}
    assert (tmp_path / "trial.md").read_text(encoding="utf-8") == page
    assert page.startswith("# Accuracy of a trial\n\n**The first value is 0.**\n\nA trial.\n")
    assert "* Name: `trial`; every number: [trial.csv](trial.csv)\n" in page
    for words in ("A trial.", "4 results", "* a set: it is too large", "`python -m benchmarks run"):
        assert words in page
    carry_out(measures.run(), tmp_path, progress=False)
    assert len(measures.names) == 8


def test_a_stopped_run_goes_on_and_leaves_the_last_result_alone(measures, tmp_path):
    carry_out(measures.run(), tmp_path, progress=False)
    before = (tmp_path / "trial.csv").read_text()
    measures.stop_at = 6
    with pytest.raises(KeyboardInterrupt):
        carry_out(measures.run(), tmp_path, progress=False)
    assert (tmp_path / "trial.csv").read_text() == before
    measures.stop_at = None
    carry_out(measures.run(), tmp_path, progress=False)
    assert measures.names[4:] == ["0", "1", "2", "3"]
    assert not (tmp_path / "trial.partial.csv").exists()


def test_processes_leave_the_same_numbers_in_the_same_order(tmp_path):
    units = [
        Unit(name=name, settings="1", measure=lambda name=name: [result(float(name), method=name)])
        for name in "0123"
    ]
    run = dataclasses.replace(Measures().run(), plan=lambda request: Plan(units=units))
    carry_out(run, tmp_path, Request(processes=2), progress=False)
    results = from_text((tmp_path / "trial.csv").read_text())
    assert [row.method for row in results.rows] == list("0123")
    assert results.facts["command"] == "python -m benchmarks run trial --processes 2"


def test_seconds_are_not_measured_beside_each_other(measures, tmp_path):
    with pytest.raises(BenchmarkError, match="leave out --processes"):
        carry_out(measures.run(timed=True), tmp_path, Request(processes=2), progress=False)


def test_hours_of_cpu_are_those_of_all_parts_of_a_run(measures, tmp_path, monkeypatch):
    clock = itertools.count(step=1800)
    monkeypatch.setattr(harness, "cpu_seconds", lambda: next(clock))
    measures.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        carry_out(measures.run(), tmp_path, progress=False)
    measures.stop_at = None
    carry_out(measures.run(), tmp_path, progress=False)
    facts = from_text((tmp_path / "trial.csv").read_text()).facts
    assert facts["CPU hours"] == "2.000"  # four units of half an hour
    assert facts["seconds"].endswith("since it went on")


def test_a_page_of_a_part_says_how_much_is_missing_and_the_run_goes_on(measures, tmp_path):
    measures.stop_at = 3
    run = measures.run(partly=True)
    with pytest.raises(KeyboardInterrupt):
        carry_out(run, tmp_path, progress=False)
    page = carry_out(run, tmp_path, Request(seconds=0.0), progress=False)
    assert "3 results" in page
    assert "* Not measured yet: 1 of 4 units; " in page
    assert "Command: `python -m benchmarks run trial`" in page
    measures.stop_at = None
    page = carry_out(run, tmp_path, progress=False)
    assert measures.names == ["0", "1", "2", "3"]
    assert "4 results" in page
    assert "Not measured" not in page


def test_a_page_of_a_part_needs_a_part_and_a_run_that_can(measures, tmp_path):
    with pytest.raises(BenchmarkError, match="leave out --seconds"):
        carry_out(measures.run(), tmp_path, Request(seconds=1.0), progress=False)
    with pytest.raises(BenchmarkError, match="Nothing of trial"):
        carry_out(measures.run(partly=True), tmp_path, Request(seconds=0.0), progress=False)


@pytest.mark.parametrize("change", ["version", "fresh"])
def test_other_settings_or_fresh_start_anew(measures, tmp_path, change):
    measures.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        carry_out(measures.run(), tmp_path, progress=False)
    measures.stop_at, measures.version = None, "2" if change == "version" else "1"
    carry_out(measures.run(), tmp_path, fresh=change == "fresh", progress=False)
    assert len(measures.names) == 3 + 4


def test_notes_are_on_the_page_of_the_full_form_only(measures, tmp_path, monkeypatch):
    (tmp_path / "trial.md").write_text("## Why\n\nBecause.\n")
    monkeypatch.setattr(harness, "NOTES", tmp_path)
    out = tmp_path / "out"
    assert "Because." in carry_out(measures.run(), out, progress=False)
    quick = carry_out(measures.run(), out, Request(quick=True, repeats=2), progress=False)
    assert "Because." not in quick
    assert "short form" in quick
    assert "run trial --quick --repeats 2`" in quick
    assert (out / "trial-quick.csv").is_file()


def test_a_page_is_made_of_its_results_alone(measures, tmp_path):
    run = measures.run(timed=True)
    page = carry_out(run, tmp_path, progress=False)
    results = from_text((tmp_path / "trial.csv").read_text())
    assert page_of(run, results) == page
    assert "load: " in page
    other = dataclasses.replace(results, rows=results.rows[:1])
    assert "1 results" in page_of(run, other)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        ("1.250", "with 1.250 hours of CPU"),
        ("0.000 since it went on", "with hours of CPU that were not counted, in several parts"),
    ],
)
def test_a_page_has_the_hours_of_all_parts_or_none(measures, tmp_path, hours, said):
    run = measures.run()
    carry_out(run, tmp_path, progress=False)
    results = from_text((tmp_path / "trial.csv").read_text())
    results.facts["CPU hours"] = hours
    assert f"at commit {results.facts['commit']}, {said}\n" in page_of(run, results)


def test_a_run_without_units_says_why(measures, tmp_path):
    empty = dataclasses.replace(
        measures.run(), plan=lambda request: Plan(units=[], facts={"not run": "no data"})
    )
    with pytest.raises(BenchmarkError, match="no data"):
        carry_out(empty, tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []
