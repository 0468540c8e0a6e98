"""The runs of the DPBoost paper: what is fitted, taken up again, judged and written."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from benchmarks.errors import BenchmarkError, DataFileError
from benchmarks.harness.claims import judged as judge_all
from benchmarks.harness.results import read
from benchmarks.harness.run import Request, carry_out, page_of
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.problems.problem import DataDictionary
from benchmarks.reproductions.dpboost import curves, runs, table2, table3
from benchmarks.reproductions.dpboost.judged import Ordering, claims
from benchmarks.reproductions.dpboost.methods import (
    METHODS,
    NP,
    OURS,
    PARA,
    UNCLIPPED,
    check_budget,
    fit,
    fit_model,
)
from benchmarks.reproductions.dpboost.plan import Plan
from benchmarks.reproductions.dpboost.rows import N_FOLDS, Job, fold_rows
from benchmarks.reproductions.dpboost.runs import RUNS, PaperRun, Rows
from benchmarks.reproductions.dpboost.sets import CLASSIFICATION, REGRESSION, SETS, Data, PaperSet


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
    """Measures nothing in no time."""

    def __init__(self):
        self.jobs = []

    def __call__(self, job, data, plan):
        self.jobs.append(job)
        return [job.result(data.measure, 0.5 + job.fold / 10, 5), job.result(data.measure, 0.25)]


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
        title="A figure",
        description="A figure.",
        plan=plan,
        quick=dataclasses.replace(plan, sets=("adult",)),
        measure=counting,
        page=lambda rows: [f"{len(rows)} results"],
        finding=lambda rows: "",
    )


def test_a_run_measures_what_is_planned_and_says_what_is_not_at_hand(paper, counting, tmp_path):
    page = carry_out(paper.run(FakeRows()), tmp_path, progress=False)
    # NP once a fold; two budgets and two draws of the others.
    assert len(counting.jobs) == 2 * 2 * (1 + 2 * 2 * 2)
    assert len(set(counting.jobs)) == len(counting.jobs)
    assert "* susy: its file is not at hand" in page
    assert "not the publisher's: abalone" in page
    assert "`python -m benchmarks run figure2`" in page
    assert f"{2 * len(counting.jobs)} results" in page


def test_repeats_limit_the_folds_and_quick_the_sets(paper):
    plans = [
        paper.run(FakeRows()).plan(request)
        for request in (Request(), Request(repeats=1), Request(quick=True))
    ]
    assert [len(plan.units) for plan in plans] == [36, 18, 18]


def test_what_takes_too_long_is_named(paper, counting, tmp_path):
    plan = dataclasses.replace(paper.plan, too_slow=frozenset({("adult", "PARA")}))
    slow = dataclasses.replace(paper, plan=plan)
    page = carry_out(slow.run(FakeRows()), tmp_path, progress=False)
    assert "* adult: PARA, it takes too long" in page
    assert {job.data for job in counting.jobs if job.method == "PARA"} == {"abalone"}


def test_the_fits_of_a_set_go_before_those_of_a_method(paper):
    plan = dataclasses.replace(paper.plan, fits={"PARA": 20, ("adult", "PARA"): 40})
    n_fits = {
        name: sum(job.method == "PARA" for job in plan.jobs(name)) for name in ("adult", "abalone")
    }
    n_cells = len(paper.plan.epsilons)
    assert n_fits == {"adult": 40 * n_cells, "abalone": 20 * n_cells}


def test_a_process_holds_the_rows_of_one_set(monkeypatch):
    loaded = []

    def load(own):
        loaded.append(own.name)
        return table(name=own.name)

    monkeypatch.setattr(PaperSet, "load", load)
    monkeypatch.setattr(runs, "_HELD", {})
    for name in ("adult", "adult", "abalone", "adult"):
        assert Rows().of(name).set.name == name
        assert list(runs._HELD) == [name]
    assert loaded == ["adult", "abalone", "adult"]


def test_other_data_are_other_settings(paper):
    rows = FakeRows()
    before = {unit.name: unit.settings for unit in paper.run(rows).plan(Request()).units}
    rows.version = 2
    after = {unit.name: unit.settings for unit in paper.run(rows).plan(Request()).units}
    assert before.keys() == after.keys()
    assert not set(before.values()) & set(after.values())


def test_without_any_set_nothing_is_written(paper, tmp_path):
    nothing = dataclasses.replace(paper, plan=dataclasses.replace(paper.plan, sets=("susy",)))
    with pytest.raises(BenchmarkError, match="Download it"):
        carry_out(nothing.run(FakeRows()), tmp_path, progress=False)
    assert list(tmp_path.iterdir()) == []


def test_orderings_are_claims_on_every_set_with_both_methods():
    rows = [
        Job(data=data, method=method, epsilon=1.0, n_trees=5, fold=fold).result("RMSE", error)
        for data, methods in {"adult": ("DPBoost", "PARA"), "abalone": ("DPBoost",)}.items()
        for method in methods
        for fold, error in enumerate((0.1, 0.2, 0.21) if method == "DPBoost" else (0.5, 0.5, 0.52))
    ]
    orderings = [
        Ordering(text="good", better="DPBoost", worse="PARA"),
        Ordering(text="absent", better="PARA", worse="NP", ours=True),
        Ordering(
            text="nowhere", better="DPBoost", worse="PARA", where=lambda position: position > 1
        ),
    ]
    found = judge_all(claims(rows, orderings), rows)
    assert [(v.claim.text, v.claim.data, v.n) for v in found] == [
        ("good", "adult", 3),
        ("nowhere", "adult", 0),
    ]
    assert found[0].mean == pytest.approx(np.mean([0.4, 0.3, 0.31]))


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


@pytest.mark.parametrize("name", sorted(RUNS))
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


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_small_run_of_each(name, tmp_path):
    run = RUNS[name]
    if run.panels is not None:
        pytest.importorskip("matplotlib")
    plan = dataclasses.replace(
        run.quick,
        sets=("adult", "abalone"),
        folds=2,
        draws=1,
        n_trees=(4, 2) if name == "figure2" else (4,),
        methods=tuple(method for method in run.quick.methods if method.kind != "best"),
    )
    small = dataclasses.replace(run, quick=plan).run(FakeRows())
    page = carry_out(small, tmp_path, Request(quick=True), progress=False)
    assert page.startswith(f"# {run.title}\n\n**")
    assert "## How" in page
    assert "nan" not in page
    if run.panels is not None:
        assert "## abalone" in page
        assert (tmp_path / f"{name}-quick.png").read_bytes().startswith(b"\x89PNG")
    again = page_of(small, read(tmp_path / f"{name}-quick.csv"))
    assert again == page


def test_filtered_rows_are_counted_before_each_tree():
    data = table(classes=True)
    job = Job(data="adult", method="DPBoost", epsilon=float("inf"), n_trees=3, fold=0)
    plan = Plan(sets=("adult",), methods=(OURS,), epsilons=(float("inf"),))
    found = {(row.x, row.measure): row.value for row in table3.measure(job, data, plan)}
    assert found["1", table3.FILTERED] == 0.0  # no label is further than 1 from the start value
    assert found["", table3.ROWS] == 240
    assert 0.0 <= found["3", table3.FILTERED] <= found["", table3.EVER] <= 1.0
    # From a mean that is not 0 the labels of the rarer class are further than 1.
    train, _ = fold_rows(300, 0)
    rarer = min(np.mean(data.y[train]), 1 - np.mean(data.y[train]))
    assert found["", table3.FROM_MEAN] == pytest.approx(rarer)


def test_time_is_measured_by_tree():
    job = Job(data="adult", method="NP", epsilon=None, n_trees=5, fold=0)
    plan = Plan(sets=("adult",), methods=(NP,), epsilons=())
    (found,) = table2.measure(job, table(), plan)
    assert (found.part, found.measure) == ("5 trees", table2.SECONDS_A_TREE)


@pytest.mark.parametrize("epsilon", [1.0, None])
def test_a_budget_that_is_not_kept_is_no_value(epsilon):
    with pytest.raises(ValueError, match="spent epsilon 1.5"):
        check_budget(epsilon, 1.5)
    check_budget(2.0, 1.5)


def test_the_measure_of_a_curve_is_the_error_and_the_time():
    job = Job(data="adult", method="NP", epsilon=None, n_trees=6, fold=1)
    plan = Plan(sets=("adult",), methods=(NP,), epsilons=(), n_trees=(6,), stages=(2, 4))
    found = {(row.x, row.measure): row.value for row in curves.measure(job, table(), plan)}
    assert set(found) == {
        ("2", "test error"), ("4", "test error"), ("6", "test error"), ("", "seconds")
    }  # fmt: skip
    assert found["6", "test error"] < 0.1
    whole = curves.measure(job, table(), dataclasses.replace(plan, stages=()))
    assert [row.x for row in whole] == ["", ""]


@pytest.mark.parametrize("name", ["figure2", "figure4"])
def test_the_order_of_the_paper_rests_on_twenty_fits_of_every_set(name):
    plan = RUNS[name].plan
    for data in plan.sets:
        fits: dict[tuple[str, float | None, int], int] = {}
        for job in plan.jobs(data):
            key = (job.method, job.epsilon, job.n_trees)
            fits[key] = fits.get(key, 0) + 1
        ordered = {n for (method, *_), n in fits.items() if method in ("SEQ", "PARA", "DPBoost")}
        assert min(ordered) >= 20, data
        assert all(n <= 5 for (method, *_), n in fits.items() if method in ("NP", "constant"))
