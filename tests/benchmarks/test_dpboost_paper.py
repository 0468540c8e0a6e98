"""The runs of the DPBoost paper: what is fitted, taken up again, judged and written."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.dpboost_paper import curves, table2, table3
from benchmarks.dpboost_paper.catalogue import PAPER_RUNS
from benchmarks.dpboost_paper.judged import Ordering, judged
from benchmarks.dpboost_paper.judged import lines as verdict_lines
from benchmarks.dpboost_paper.methods import (
    METHODS,
    NP,
    OURS,
    PARA,
    UNCLIPPED,
    check_budget,
    fit,
    fit_model,
)
from benchmarks.dpboost_paper.plan import N_FOLDS, Plan, fold_rows
from benchmarks.dpboost_paper.rows import Job, Measured, Value, from_text, numbers, to_text
from benchmarks.dpboost_paper.runs import RUNS, PaperRun, Rows, run_paper
from benchmarks.dpboost_paper.sets import CLASSIFICATION, REGRESSION, SETS, Data, PaperSet
from benchmarks.errors import BenchmarkError, DataFileError
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.problems.problem import DataDictionary


def table(n_rows=300, *, classes=True, name="adult"):
    """Rows of a set that a single split explains."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.uniform(size=n_rows), "b": random.uniform(size=n_rows)})
    y = (X["a"] > 0.5).to_numpy().astype(np.int64)
    bounds = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    known = DataDictionary(bounds=bounds, classes=(0, 1))
    if not classes:
        y, known = 10.0 + 5.0 * y, DataDictionary(bounds=bounds, label_bounds=(8.0, 18.0))
    own = dataclasses.replace(SETS[name], max_bin=8)
    return Data(set=own, X=X, y=y, known=known, is_classes=classes)


class FakeRows(Rows):
    """Rows of two sets; a third one is not at hand."""

    def __init__(self):
        super().__init__(load=self._table)
        self.version = 1

    def _table(self, own: PaperSet) -> Data:
        return table(classes=own.name in CLASSIFICATION, name=own.name)

    def facts(self, name):
        if name == "susy":
            raise DataFileError("Download it.")
        return {"version": self.version}

    def published(self, name):
        return name != "abalone"


class Counting:
    """Measures nothing in no time; may stop at a given fit."""

    def __init__(self):
        self.jobs = []
        self.stop_at = None

    def __call__(self, job, data, plan):
        if len(self.jobs) == self.stop_at:
            raise KeyboardInterrupt
        self.jobs.append(job)
        return {(5, data.measure): 0.5 + job.fold / 10, (job.n_trees, data.measure): 0.25}


@pytest.fixture
def counting():
    return Counting()


@pytest.fixture
def paper(counting):
    plan = Plan(
        sets=("adult", "susy", "abalone"),
        methods=(NP, OURS, PARA),
        epsilons=(1.0, 4.0),
        n_trees=(10,),
        folds=2,
        draws=2,
    )
    return PaperRun(
        name="figure2",
        plan=plan,
        quick=dataclasses.replace(plan, sets=("adult",)),
        measure=counting,
        page=lambda values, plan: [f"{len(values)} values"],
    )


def test_a_run_measures_what_is_planned_and_says_what_is_not_at_hand(paper, counting, tmp_path):
    page = run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
    # NP once a fold; two budgets and two draws of the others.
    assert len(counting.jobs) == 2 * 2 * (1 + 2 * 2 * 2)
    assert len(set(counting.jobs)) == len(counting.jobs)
    assert "susy: not run" in page
    assert "not the publisher's: abalone" in page
    assert "`python -m benchmarks run figure2`" in page
    assert PAPER_RUNS["figure2"] in page
    assert {path.name for path in tmp_path.iterdir()} == {"figure2.csv", "figure2.md"}
    values = from_text((tmp_path / "figure2.csv").read_text())
    assert len(values) == 2 * len(counting.jobs)
    assert f"{len(values)} values" in page


def test_what_takes_too_long_is_named(paper, counting, tmp_path):
    plan = dataclasses.replace(paper.plan, too_slow=frozenset({("adult", "PARA")}))
    slow = dataclasses.replace(paper, plan=plan)
    page = run_paper(slow, tmp_path, rows=FakeRows(), progress=False)
    assert "adult: PARA not run" in page
    assert {job.data for job in counting.jobs if job.method == "PARA"} == {"abalone"}


@pytest.mark.parametrize("stop_at", [0, 1, 7])
def test_a_run_that_is_stopped_goes_on_and_loses_nothing(paper, counting, tmp_path, stop_at):
    counting.stop_at = stop_at
    with pytest.raises(KeyboardInterrupt):
        run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
    done = from_text((tmp_path / "figure2.partial.csv").read_text())
    assert len(done) == 2 * stop_at
    counting.stop_at = None
    run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
    assert len(counting.jobs) == len(set(counting.jobs)) == 36
    values = from_text((tmp_path / "figure2.csv").read_text())
    assert values[: len(done)] == done
    assert not (tmp_path / "figure2.partial.csv").exists()


def test_half_a_fit_is_measured_again(paper, counting, tmp_path):
    counting.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
    path = tmp_path / "figure2.partial.csv"
    path.write_text(path.read_text()[:-30])  # the last value of the third fit is torn
    last = counting.jobs[-1]
    counting.jobs.clear()
    counting.stop_at = None
    run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
    assert counting.jobs[0] == last
    assert len(counting.jobs) == 36 - 2


def test_other_data_or_fresh_start_anew(paper, counting, tmp_path):
    for change in ("data", "fresh"):
        counting.stop_at = len(counting.jobs) + 3
        with pytest.raises(KeyboardInterrupt):
            run_paper(paper, tmp_path, rows=FakeRows(), progress=False)
        rows = FakeRows()
        rows.version = 2 if change == "data" else 1
        counting.stop_at, before = None, len(counting.jobs)
        run_paper(paper, tmp_path, rows=rows, fresh=change == "fresh", progress=False)
        assert len(counting.jobs) == before + 36


def test_a_killed_process_loses_nothing(tmp_path):
    """The process is killed while it measures, not asked to stop."""
    code = textwrap.dedent(
        """
        import os, signal, sys
        from pathlib import Path
        from benchmarks.dpboost_paper.rows import Job, Measured
        jobs = [Job(data="d", method="NP", epsilon=None, n_trees=1, fold=f) for f in range(4)]
        measured = Measured(Path(sys.argv[1]), dict.fromkeys(jobs, "same"))
        for job in jobs:
            if job in measured.values:
                print("kept", job.fold)
                continue
            if job.fold == 2 and sys.argv[2] == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            measured.add(job, {(1, "RMSE"): 0.1 * job.fold}, "same")
            print("measured", job.fold, flush=True)
        """
    )
    path = tmp_path / "rows.csv"
    root = Path(__file__).parents[2]

    def start(how):
        return subprocess.run(
            [sys.executable, "-c", code, str(path), how], cwd=root, capture_output=True, text=True
        )

    assert start("kill").returncode != 0
    again = start("go")
    assert again.stdout.splitlines() == ["kept 0", "kept 1", "measured 2", "measured 3"]


def test_without_any_set_nothing_is_written(paper, tmp_path):
    nothing = dataclasses.replace(paper, plan=dataclasses.replace(paper.plan, sets=("susy",)))
    with pytest.raises(BenchmarkError, match="Download it"):
        run_paper(nothing, tmp_path, rows=FakeRows(), progress=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(BenchmarkError, match="--fresh"):
        Measured(tmp_path / "rows.csv", {})


def test_values_survive_their_file():
    job = Job(data="a, b", method="NP", epsilon=None, n_trees=50, fold=1, draw=2)
    private = dataclasses.replace(job, epsilon=float("inf"))
    values = [
        Value(job=own, stage=3, measure="RMSE", value=0.1 + 0.2, n_values=1, settings="x")
        for own in (job, private)
    ]
    assert from_text(to_text(values)) == values
    assert from_text("") == []


def errors_of(by_method, data="adult"):
    """Errors by method, fold and draw at epsilon 1."""
    return [
        Value(
            job=Job(data=data, method=name, epsilon=1.0, n_trees=5, fold=fold, draw=draw),
            stage=5,
            measure="test error",
            value=error,
            n_values=1,
            settings="",
        )
        for name, folds in by_method.items()
        for fold, draws in enumerate(folds)
        for draw, error in enumerate(draws)
    ]


def test_draws_are_averaged_within_a_fold():
    assert numbers(errors_of({"SEQ": [[0.25, 0.75], [1.0]]})) == [0.5, 1.0]


def test_orderings_are_judged_fold_by_fold():
    values = errors_of({"DPBoost": [[0.1, 0.3], [0.2], [0.21]], "PARA": [[0.5], [0.5], [0.52]]})
    better = Ordering(text="good", better="DPBoost", worse="PARA")
    worse = Ordering(text="bad", better="PARA", worse="DPBoost")
    missing = Ordering(text="absent", better="PARA", worse="NP")
    found = judged(values, [better, worse, missing])
    assert [(data, verdict.word) for data, verdict in found] == [
        ("adult", "confirmed"),
        ("adult", "refuted"),
    ]
    verdict = found[0][1]
    differences = np.array([0.3, 0.3, 0.31])
    assert verdict.n == 3
    assert verdict.mean == pytest.approx(differences.mean())
    reach = 4.3027 * differences.std(ddof=1) * (1 / 3 + 1 / (N_FOLDS - 1)) ** 0.5
    assert verdict.high - verdict.mean == pytest.approx(reach, rel=1e-3)
    assert judged(errors_of({"DPBoost": [[0.1]], "PARA": [[0.5]]}), [better]) == []
    text = "\n".join(verdict_lines(found))
    assert "* good: confirmed on 1 of 1 sets." in text


def test_a_value_without_a_place_counts_everywhere():
    values = errors_of({"DPBoost": [[0.1], [0.2]]})
    plain = [
        dataclasses.replace(value, job=dataclasses.replace(value.job, method="NP", epsilon=None))
        for value in values
    ]
    ordering = Ordering(text="", better="NP", worse="DPBoost")
    ((_, verdict),) = judged(values + plain, [ordering])
    assert verdict.n == 2
    assert verdict.mean == pytest.approx(0.0)


def test_five_folds_hold_every_row_out_once():
    held_out = [fold_rows(23, fold)[1] for fold in range(N_FOLDS)]
    assert sorted(np.concatenate(held_out)) == list(range(23))
    for fold, test in enumerate(held_out):
        train, again = fold_rows(23, fold)
        assert again.tolist() == test.tolist()
        assert not set(train) & set(test)


FAST = [name for name in METHODS if name not in ("best", "SEQ, logistic", "NP, logistic")]


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("name", FAST)
def test_every_method_scores_held_out_rows(name, classes):
    method = METHODS[name]
    if not method.runs_on("adult", is_classes=classes):
        pytest.skip("logistic loss is for classes")
    data = table(classes=classes)
    train, test = fold_rows(300, 0)
    epsilon = 500.0 if method.private else None
    outcome = fit(method, data, train, test, epsilon=epsilon, n_trees=6, stages=[2, 6], seed=0)
    stages = [6] if method.kind == "constant" else [outcome.n_trees] if name != NP.name else [2, 6]
    if method.kind in ("recipe", "published"):
        stages = [2, 6]
    assert list(outcome.scores) == stages
    scores = outcome.scores[stages[-1]]
    assert scores.shape == test.shape
    assert np.isfinite(scores).all()
    plain = data.error(np.full(len(test), data.numbers[train].mean()), test)
    # Much budget: everything but the constant, and SEQ in these few rows, beats the constant.
    if method.kind in ("lightgbm", "best", "published"):
        assert data.error(scores, test) < plain


def test_stages_are_those_of_smaller_models():
    data = table()
    train, test = fold_rows(300, 0)
    for method in (NP, OURS):
        full = fit(
            method, data, train, test, epsilon=float("inf"), n_trees=8, stages=[3, 8], seed=0,
            trees_per_ensemble=1,
        )  # fmt: skip
        short = fit(
            method, data, train, test, epsilon=float("inf"), n_trees=3, stages=[3], seed=0,
            trees_per_ensemble=1,
        )  # fmt: skip
        assert np.allclose(full.scores[3], short.scores[3])
        assert not np.allclose(full.scores[3], full.scores[8])


def test_leaf_clipping_can_be_left_out():
    data = table(classes=False)
    train, _ = fold_rows(300, 0)
    spreads = {}
    for name in ("DPBoost", "DPBoost without leaf clipping"):
        model, _ = fit_model(METHODS[name], data, train, epsilon=0.1, n_trees=40, seed=0)
        trees = model.ensemble_.trees
        spreads[name] = np.std(trees[-1].leaf_value) / np.std(trees[0].leaf_value)
    # At this budget leaves are noise, whose scale follows the clip: 2 * 0.9**39 against 1 / 1.1.
    assert spreads["DPBoost"] < 0.1
    assert 0.5 < spreads["DPBoost without leaf clipping"] < 2.0
    assert UNCLIPPED.name != "dpboost"


def test_errors_and_scales():
    data = table(classes=False)
    assert data.scaled.min() == pytest.approx(-0.6)
    assert data.scaled.max() == pytest.approx(0.4)
    assert np.allclose(data.unscaled(data.scaled), data.y)
    assert data.error(data.y[:5] + 3.0, np.arange(5)) == pytest.approx(3.0)
    classes = table()
    signs = np.where(classes.y == 1, 0.1, -0.1)
    assert classes.error(signs, np.arange(300)) == 0.0
    assert classes.error(-signs, np.arange(300)) == 1.0


def test_categories_are_numbers_for_the_published_readings():
    X = pd.DataFrame({"a": [0.5, 1.0], "sex": pd.Categorical(["F", "M"], categories=["M", "F"])})
    known = DataDictionary(bounds={"a": (0, 1)}, categories={"sex": ("M", "F")}, classes=(0, 1))
    data = dataclasses.replace(table(), X=X, known=known)
    matrix, bounds = data.matrix()
    assert matrix.tolist() == [[0.5, 1.0], [1.0, 0.0]]
    assert bounds == [(0, 1), (0.0, 1.0)]


@pytest.mark.parametrize("name", sorted(PAPER_RUNS))
def test_plans_name_what_exists(name):
    for plan in (RUNS[name].plan, RUNS[name].quick):
        assert set(plan.sets) <= set(SETS)
        assert all(METHODS[method.name] == method for method in plan.methods)
        assert set(plan.side_methods) <= {method.name for method in plan.methods}
        jobs = [job for own in plan.sets for job in plan.jobs(own)]
        assert len(jobs) == len(set(jobs)) > 0
    assert set(SETS) == {*CLASSIFICATION, *REGRESSION}
    for own in SETS.values():
        problem = ALL_PROBLEMS[own.problem]
        assert (problem.task == "binary") == (own.name in CLASSIFICATION)


@pytest.mark.parametrize("name", ["figure2", "figure3", "figure4", "table2", "table3"])
def test_a_small_run_of_each(name, tmp_path):
    if RUNS[name].draw is not None:
        pytest.importorskip("matplotlib")
    run = RUNS[name]
    plan = dataclasses.replace(
        run.quick,
        sets=("adult", "abalone"),
        folds=2,
        draws=1,
        n_trees=(4, 2) if name == "figure2" else (4,),
        methods=tuple(method for method in run.quick.methods if method.kind != "best"),
    )
    small = dataclasses.replace(run, quick=plan)
    page = run_paper(small, tmp_path, rows=FakeRows(), quick=True, progress=False)
    assert f"# {name}-quick" in page
    assert "## How" in page
    assert (tmp_path / f"{name}-quick.png").is_file() == (run.draw is not None)
    assert "nan" not in page
    if run.draw is not None:
        assert "## abalone" in page
        assert (tmp_path / f"{name}-quick.png").read_bytes().startswith(b"\x89PNG")


def test_filtered_rows_are_counted_before_each_tree():
    data = table(classes=True)
    job = Job(data="adult", method="DPBoost", epsilon=float("inf"), n_trees=3, fold=0)
    plan = Plan(sets=("adult",), methods=(OURS,), epsilons=(float("inf"),))
    found = table3.measure(job, data, plan)
    assert found[1, table3.FILTERED] == 0.0  # no label is further than 1 from the start value
    assert found[0, table3.ROWS] == 240
    assert 0.0 <= found[3, table3.FILTERED] <= found[0, table3.EVER] <= 1.0
    # From a mean that is not 0 the labels of the rarer class are further than 1.
    train, _ = fold_rows(300, 0)
    rarer = min(np.mean(data.y[train]), 1 - np.mean(data.y[train]))
    assert found[0, table3.FROM_MEAN] == pytest.approx(rarer)


def test_time_is_measured_by_tree():
    job = Job(data="adult", method="NP", epsilon=None, n_trees=5, fold=0)
    plan = Plan(sets=("adult",), methods=(NP,), epsilons=())
    ((stage, measure),) = table2.measure(job, table(), plan)
    assert (stage, measure) == (5, table2.SECONDS_A_TREE)


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_a_budget_that_is_not_kept_is_no_value(epsilon):
    with pytest.raises(ValueError, match="spent epsilon 1.5"):
        check_budget(epsilon, 1.5)
    check_budget(2.0, 1.5)


def test_the_command_runs_a_paper(monkeypatch, tmp_path, capsys):
    asked = {}

    def fake(run, folder, **options):
        asked.update(name=run.name, folder=folder, **options)
        return "the page"

    monkeypatch.setattr("benchmarks.dpboost_paper.runs.run_paper", fake)
    assert main(["run", "table3", "--quick", "--output", str(tmp_path), "--repeats", "2"]) == 0
    assert capsys.readouterr().out == "the page\n"
    assert asked == {
        "name": "table3", "folder": tmp_path, "quick": True, "fresh": False, "folds": 2
    }  # fmt: skip


def test_the_measure_of_a_curve_is_the_error_and_the_time():
    job = Job(data="adult", method="NP", epsilon=None, n_trees=6, fold=1)
    plan = Plan(sets=("adult",), methods=(NP,), epsilons=(), n_trees=(6,), stages=(2, 4))
    found = curves.measure(job, table(), plan)
    assert set(found) == {
        (2, "test error"), (4, "test error"), (6, "test error"), (6, "seconds")
    }  # fmt: skip
    assert found[6, "test error"] < 0.1
