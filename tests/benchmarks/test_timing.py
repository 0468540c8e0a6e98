"""The timed runs: tasks in processes of their own, resumed files, pages."""

from __future__ import annotations

import json
import math
from operator import attrgetter

import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.harness.run import Request, carry_out
from benchmarks.timing import (
    busy,
    child,
    kernel_cases,
    kernels,
    measure,
    runs,
    scaling,
    speed,
    tables,
)
from benchmarks.timing.measure import Figure, Task


def figure(item: Task, trees: int, seconds: float) -> Figure:
    return Figure(
        table=item.table,
        method=item.method,
        threads=item.threads,
        repeat=item.repeat,
        trees=trees,
        seconds=seconds,
        cpu_seconds=2 * seconds,
        peak_mb=30.0,
        input_mb=60.0,
    )


@pytest.fixture
def ran(monkeypatch):
    """Names of the tasks that were run; LightGBM takes ten seconds for each thread, ours one."""
    names = []

    def run(item):
        names.append((item.table, item.method, item.threads, item.repeat))
        own = 10.0 if item.method == "LightGBM" else 1.0
        return [figure(item, number, own / item.threads) for number in item.trees]

    monkeypatch.setattr(measure, "_figures", run)
    monkeypatch.setattr(measure, "_digest", lambda item: "a")
    return names


def all_figures(module, **options):
    """Run every task of a module, as its run does."""
    units = measure.units(module.tasks(**{"quick": False, "repeats": None, **options}))
    return measure.figures_of(row for unit in units for row in unit.measure())


def test_a_task_is_a_unit_with_settings_of_its_own(ran):
    tasks = [
        measure.fit_task("t", "dense", (5, 2), method, trees, 1, repeat)
        for repeat in range(2)
        for method, trees in (("LightGBM", [50, 100]), ("best", [100]))
    ]
    units = measure.units(tasks)
    assert len({unit.name for unit in units}) == 4
    found = measure.figures_of(row for unit in units for row in unit.measure())
    assert [item.trees for item in found] == [50, 100, 100] * 2
    assert len(ran) == 4


def test_figures_are_results_and_back():
    item = measure.fit_task("a, b", "dense", (5, 2), "best", [100], 2, 1)
    figures = [figure(item, 100, 1 / 3)]
    assert measure.figures_of(measure.results_of(figures)) == figures


def test_a_process_that_fails_says_why():
    item = measure.task("fit", "t", "best", 1, 0, (1,), {"table": "no such maker"})
    with pytest.raises(BenchmarkError, match="t, best: .*TypeError"):
        measure._figures(item)


@pytest.mark.parametrize("quick", [True, False])
def test_the_page_of_speed_holds_ratios_against_targets(ran, quick):
    found = all_figures(speed, quick=quick, repeats=2)
    text = "\n".join(speed.page(found))
    for line in speed.QUICK_LINES if quick else speed.LINES:
        for name, target in line.targets.items():
            holds = "yes" if target >= 0.1 else "no"
            row = next(x for x in text.splitlines() if line.name in x and f"`{name}`" in x)
            assert f"| 0.100 | <= {target:g} | {holds} | 0.100 | 0.50 | yes | 2.00 |" in row
    assert "holds: no" in text  # a second for the import
    # In turn, and the large table once for LightGBM.
    methods = [method for name, method, threads, _ in ran if threads == 2 and "500,000" in name]
    first = speed.LIGHTGBM, "dpboost", "best", "seq"
    assert [*methods] == [*first, *first] or quick
    assert sum(method == "LightGBM" and "400" in name for name, method, *_ in ran) == 2


def test_scaling_has_a_table_and_a_panel_for_each_sweep(ran):
    found = all_figures(scaling, repeats=2)
    text = "\n".join(scaling.page(found))
    for sweep in scaling.SWEEPS:
        assert f"## {sweep.name}" in text
    assert "| best | 2000 | 200 | 0.10 | yes |" in text
    # The largest sizes are measured once, and not with LightGBM.
    assert sum(name == "rows 10000000" for name, *_ in ran) == 2
    assert not any(name == "rows 10000000" and method == "LightGBM" for name, method, *_ in ran)
    assert [panel.title for panel in scaling.panels(found)] == [s.name for s in scaling.SWEEPS]


def test_the_page_of_busy_machines_sets_the_default_against_one_thread(monkeypatch):
    seconds = {("best", 0): 1.2, ("dpboost", 0): 1.6, ("LightGBM", 0): 9.0}

    def run(item):
        return [figure(item, 0, seconds.get((item.method, item.threads), 1.0))]

    monkeypatch.setattr(measure, "_figures", run)
    monkeypatch.setattr(measure, "_digest", lambda item: "a")
    text = "\n".join(busy.page(all_figures(busy, repeats=1)))
    assert "| 6 busy processes | `best` | 1.200 | 2.400 | 1.000 | 2.000 | 1.20 | yes |" in text
    assert "| none | `dpboost` | 1.600 | 3.200 | 1.000 | 2.000 | 1.60 | no |" in text
    assert "| 6 busy processes | LightGBM | 9.000 | 18.000 | 1.000 | 2.000 | 9.00 |  |" in text


@pytest.mark.parametrize("method", ["best", "LightGBM"])
def test_a_fit_beside_busy_processes_is_measured_and_leaves_none(monkeypatch, method):
    started = []
    true = child.subprocess.Popen

    def start(command):
        started.append(true(command))
        return started[-1]

    monkeypatch.setattr(child.subprocess, "Popen", start)
    monkeypatch.setattr(child, "MAKERS", {"real": small})
    (found,) = child.beside("adult", method, 0, 2)
    assert found["seconds"] > 0
    assert [process.poll() is not None for process in started] == [True, True]


def small(name):
    return tables.MAKERS["dense"](300, 4)


@pytest.mark.parametrize("run", runs.TIMED_RUNS[:2], ids=lambda run: run.name)
def test_a_timed_run_writes_its_files(ran, tmp_path, run):
    if run.draw is not None:
        pytest.importorskip("matplotlib")
    page = carry_out(run, tmp_path, Request(quick=True, repeats=1), progress=False)
    kinds = {"csv", "md"} | ({"png"} if run.draw is not None else set())
    assert {path.name for path in tmp_path.iterdir()} == {f"{run.name}-quick.{k}" for k in kinds}
    assert f"python -m benchmarks run {run.name} --quick" in page
    assert "load: " in page


@pytest.mark.parametrize(
    ("maker", "arguments"), [("dense", [200, 5]), ("sparse", [150, 300, 0.02])]
)
@pytest.mark.parametrize("method", ["best", "dpboost", "LightGBM"])
def test_a_fit_is_measured(maker, arguments, method):
    trees = [2, 3] if method == "LightGBM" else [3]
    found = child.fit(maker, arguments, method, trees, 1)
    assert len(found) == len(trees)
    assert all(0 < item["seconds"] <= found[-1]["seconds"] for item in found)
    made = tables.MAKERS[maker](*arguments)
    assert found[0]["input_mb"] == made.n_bytes / 2**20
    assert found[0]["peak_mb"] >= 0 or math.isnan(found[0]["peak_mb"])


def test_both_predictors_are_measured():
    for method in ("LightGBM", "dpboost"):
        (found,) = child.predict(300, 4, 3, 2, method, 1)
        assert found["seconds"] > 0


@pytest.mark.parametrize("case", kernel_cases.CASES, ids=lambda case: case.name)
def test_every_kernel_runs_on_its_inputs(case):
    kernel = kernel_cases.load(case.kernel)
    assert callable(attrgetter(case.function)(kernel))
    run, units = case.make(kernel, min(case.small, 2_000))
    assert units > 0
    for threads in (1, 2):
        run(threads)


def test_both_builds_of_a_kernel_are_timed():
    found = kernel_cases.measure([1], 1, 1000)
    second = {case.name for case in kernel_cases.CASES if kernel_cases.has_second(case.kernel)}
    assert {line["case"] for line in found if line["what"] == kernel_cases.PLAIN} == second
    assert all(line["value"] > 0 for line in found)


def test_the_page_of_kernels(monkeypatch):
    def answer(start, task):
        if task["task"] == "count":
            return json.dumps({case.name: 10 for case in kernel_cases.CASES if case.counted})
        cases = [case.name for case in kernel_cases.CASES]
        lines = [
            {"case": name, "what": "nanoseconds", "threads": number, "value": 12.0 / number}
            for name in cases
            for number in (1, 2)
        ]
        lines += [
            {"case": "memory", "what": "GB/s", "threads": number, "value": 12.0 / number}
            for number in (1, 2)
        ]
        plain = {"what": kernel_cases.PLAIN, "threads": 1, "value": 15.0}
        return json.dumps([*lines, *(plain | {"case": name} for name in cases)])

    class Report:
        stdout = "\n".join(
            f"  1,230 (9%)  ???:__pyx_pw_7dpboost_8_kernels_{len(case.kernel)}{case.kernel}_3"
            f"{case.function.replace('.', '_5')} [x.so]"
            for case in kernel_cases.CASES
        )

    monkeypatch.setattr(kernels, "_child", answer)
    monkeypatch.setattr(kernels.shutil, "which", lambda name: name)
    monkeypatch.setattr(kernels.subprocess, "run", lambda *args, **options: Report)
    found = kernels.measure(quick=False, repeats=None)
    assert kernels.figures_of(kernels.results_of(found)) == found
    text = "\n".join(kernels.page(found))
    assert "| row | 12.00 | 6.00 | 2.00 | 15.00 | 2.58 | 123.0 |" in text
    monkeypatch.setattr(kernels.shutil, "which", lambda name: None)
    assert "123.0" not in "\n".join(kernels.page(kernels.measure(quick=False, repeats=None)))


def test_tables_are_the_same_every_time():
    for maker, arguments in (("dense", (300, 4)), ("sparse", (200, 300, 0.02))):
        first, second = (tables.MAKERS[maker](*arguments) for _ in range(2))
        np.testing.assert_array_equal(first.y, second.y)
        assert 0 < first.y.mean() < 1
        assert first.n_bytes == second.n_bytes > 0
