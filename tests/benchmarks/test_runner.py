from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from benchmarks.catalog import EXPERIMENTS
from benchmarks.errors import BenchmarkError, DataFileError, PeerUnavailableError
from benchmarks.experiments import Comparison, Target
from benchmarks.harness.results import Results
from benchmarks.harness.run import Request
from benchmarks.libraries import LIBRARIES, load_library
from benchmarks.metrics import accuracy, measure
from benchmarks.problems import PROBLEMS
from benchmarks.runner import as_run, cells, measured_part, quick, without_missing_peers
from tests.benchmarks.conftest import measured


def names(experiment, bench, **request):
    return {unit.name: unit.settings for unit in plan_of(experiment, bench, **request).units}


def plan_of(experiment, bench, **request):
    return as_run(experiment, bench).plan(Request(**request))


def test_every_fit_is_a_unit(experiment, bench, library):
    rows = measured(experiment, bench)
    assert [row.cell for row in rows] == list(cells(experiment))
    assert len(library.calls) == len(rows) == 6
    assert [call[1] for call in library.calls] == [None, 0.5, 2.0, None, 0.5, 2.0]
    assert [call[2] for call in library.calls] == [0, 0, 0, 1, 1, 1]
    assert {(row.n_train_rows, row.n_test_rows) for row in rows} == {(16, 4)}
    assert rows[1].value > rows[0].value


def test_a_fit_that_fails_says_which(experiment, bench, library):
    library.fail_at = 4
    with pytest.raises(RuntimeError, match=r"shifted failed on ramp at epsilon 0\.5, split 1"):
        measured(experiment, bench)


@pytest.mark.parametrize("change", ["settings", "version", "n_jobs", "declared"])
def test_what_the_figures_depend_on_is_in_the_settings(experiment, bench, library, problem, change):
    before = names(experiment, bench)
    request = {}
    if change == "settings":
        constant, shifted = experiment.methods
        shifted = dataclasses.replace(shifted, settings={"shift": 1.0})
        experiment = dataclasses.replace(experiment, methods=(constant, shifted))
    elif change == "version":
        library.version = "2"
    elif change == "declared":
        wider = dataclasses.replace(problem.dictionary, bounds={"x": (0, 30)})
        problems = {"ramp": dataclasses.replace(problem, dictionary=wider)}
        bench = dataclasses.replace(bench, problems=problems)
    else:
        request = {"n_jobs": 2}
    after = names(experiment, bench, **request)
    assert list(after) == list(before)
    same = {name for name in before if before[name] == after[name]}
    assert same == (
        {name for name in before if "constant" in name} if change == "settings" else set()
    )


def test_added_splits_and_epsilons_keep_what_is_measured(experiment, bench):
    wider = dataclasses.replace(experiment, splits=(0, 1, 2), epsilons=(0.5, 1.0, 2.0))
    assert names(experiment, bench).items() <= names(wider, bench).items()


def test_a_fit_that_spends_more_than_its_budget_is_no_row(experiment, bench, library):
    library.overspends = True
    with pytest.raises(RuntimeError, match=r"shifted failed on ramp at epsilon 0\.5"):
        measured(experiment, bench)


def test_what_is_not_run_is_a_fact(experiment, bench):
    gaps = dataclasses.replace(experiment, omitted={("ramp", "shifted"): "it is too large"})
    assert plan_of(gaps, bench).facts["not run"] == "shifted on ramp: it is too large"
    assert names(experiment, bench, repeats=1).keys() == names(experiment, bench, quick=True).keys()


def test_a_table_that_is_not_at_hand_is_skipped_and_named(experiment, bench, problem):
    gone = dataclasses.replace(problem, name="gone")

    def missing():
        raise DataFileError("It is not here.")

    object.__setattr__(gone, "local_digests", missing)
    problems = {"ramp": problem, "gone": gone}
    more = dataclasses.replace(bench, problems=problems)
    plan = plan_of(dataclasses.replace(experiment, problems=("gone", "ramp")), more)
    assert len(plan.units) == 6
    assert plan.facts["not run"] == "gone: its file is not at hand"
    with pytest.raises(BenchmarkError, match="It is not here"):
        plan_of(dataclasses.replace(experiment, problems=("gone",)), more)


def test_a_page_is_of_what_was_measured(experiment, bench):
    run = as_run(experiment, bench)
    rows = measured(experiment, bench, quick=True)
    results = Results(rows=[result for row in rows for result in row.results()])
    text = "\n".join(run.body(results))
    assert "| shifted | " in text
    assert "of one split" in text
    part = measured_part(experiment, [row for row in rows if row.cell.method == "shifted"])
    assert [method.name for method in part.methods] == ["shifted"]
    assert part.splits == (0,)


def test_the_quick_version_is_one_split(experiment):
    assert quick(experiment).splits == (0,)


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_experiments_name_what_exists(name):
    experiment = EXPERIMENTS[name]
    assert set(experiment.problems) <= set(PROBLEMS)
    assert {method.library for method in experiment.methods} <= set(LIBRARIES)
    names = {method.name for method in experiment.methods}
    assert len(names) == len(experiment.methods)
    for comparison in experiment.comparisons:
        assert {comparison.method, comparison.reference} <= names
    planned = {(cell.problem, cell.method, cell.epsilon) for cell in cells(experiment)}
    for target in experiment.targets:
        assert (target.problem, target.method, target.epsilon) in planned
    assert set(experiment.quick_problems or ()) <= set(experiment.problems)
    assert set(experiment.quick_epsilons or ()) <= set(experiment.epsilons)
    for problem, method in experiment.omitted:
        assert problem in experiment.problems
        assert method in names


def test_every_large_table_without_many_classes_is_in_a_run_of_many_tables():
    runs = [EXPERIMENTS[name].problems for name in ("best-transfer", "best-real", "best-large")]
    expected = {name for name, problem in PROBLEMS.items() if problem.task != "multiclass"}
    assert set().union(*runs) >= expected


def test_a_method_may_run_on_some_problems_only(experiment):
    constant, shifted = experiment.methods
    limited = dataclasses.replace(
        experiment, methods=(constant, dataclasses.replace(shifted, problems=("other",)))
    )
    assert {cell.method for cell in cells(limited)} == {"constant"}
    omitted = dataclasses.replace(experiment, omitted={("ramp", "constant"): "too large"})
    assert {cell.method for cell in cells(omitted)} == {"shifted"}


def test_a_library_that_cannot_be_installed_stops_no_other(experiment, bench, library):
    def load(name):
        if name == "absent":
            raise PeerUnavailableError("no wheel")
        return library

    constant, shifted = experiment.methods
    both = dataclasses.replace(
        experiment,
        methods=(constant, shifted, dataclasses.replace(shifted, name="peer", library="absent")),
        comparisons=(Comparison(method="shifted", reference="peer"),),
        targets=(Target(problem="ramp", method="peer", epsilon=0.5, value=1.0),),
    )
    left, missing = without_missing_peers(both, dataclasses.replace(bench, load_library=load))
    assert left == experiment
    assert missing == {"absent": "no wheel"}


def test_measures():
    assert measure("binary", np.array([0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4])) == 0.75
    assert measure("regression", np.array([0.0, 0.0]), np.array([3.0, -3.0])) == 3.0
    with pytest.raises(ValueError, match="predictions"):
        measure("regression", np.zeros(2), np.zeros((2, 1)))
    with pytest.raises(ValueError, match="NaN"):
        measure("binary", np.array([0, 1]), np.array([0.5, np.nan]))
    assert accuracy("regression", np.zeros(2), np.zeros(2)) is None
    assert accuracy("binary", np.array([0, 1, 0, 1]), np.array([0.5, 0.6, 0.7, 0.8])) == 0.75
    share = np.array([[0.2, 0.5, 0.3], [0.6, 0.4, 0.0]])
    assert measure("multiclass", np.array([1, 1]), share) == 0.5
    assert accuracy("multiclass", np.array([1, 1]), share) == 0.5
    with pytest.raises(ValueError, match="predictions"):
        measure("multiclass", np.array([1, 1]), share[0])
    with pytest.raises(ValueError, match="finite"):
        measure("multiclass", np.array([1, 1]), share * np.nan)


@pytest.mark.parametrize("name", ["constant", "lightgbm_np"])
def test_libraries_without_privacy_predict_one_value_a_row(name, problem):
    X, y = problem.load()
    library = load_library(name)
    two = (y > 9).astype(np.int64)
    # The last declared class has no row: its column is there all the same.
    three = np.arange(len(y)) % 2
    tasks = [("regression", y, ()), ("binary", two, (0, 1)), ("multiclass", three, (0, 1, 2))]
    for task, labels, classes in tasks:
        known = dataclasses.replace(problem.dictionary, classes=classes or None)
        result = library.fit_predict(
            dataclasses.replace(problem, task=task, dictionary=known),
            X,
            labels,
            X,
            epsilon=None,
            seed=0,
            n_jobs=1,
        )
        wanted = (len(y), 3) if task == "multiclass" else (len(y),)
        assert result.prediction.shape == wanted
        assert np.isfinite(measure(task, labels, result.prediction))
    assert "numpy" in library.versions()
