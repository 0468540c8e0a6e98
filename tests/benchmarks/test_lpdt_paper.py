"""The experiments of the LPDT paper."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pandas")

from benchmarks.errors import DataFileError
from benchmarks.harness.claims import FEW_AGREE, judged
from benchmarks.harness.results import Result, read
from benchmarks.harness.run import Request, carry_out, page_of
from benchmarks.reproductions.lpdt import figure1, figure2, figure4, released, table2, table3
from benchmarks.reproductions.lpdt.baselines import (
    Scale,
    deconvolution_predictions,
    histogram_predictions,
)
from benchmarks.reproductions.lpdt.rows import mean_of
from benchmarks.reproductions.lpdt.runs import PAPERS, LocalPaper
from benchmarks.reproductions.lpdt.runs import judged as judged_of
from benchmarks.reproductions.lpdt.synthetic import MECHANISMS, draw
from benchmarks.reproductions.lpdt.table2 import (
    EPSILONS,
    PUBLISHED,
    VARIANTS,
    below_published,
    claims,
    page,
)
from benchmarks.reproductions.lpdt.trees import RULES, Sizes, Split


def row(repeat=0, value=1.0, **options):
    settings = {"data": "ABA", "method": "m", "epsilon": 2.0, "measure": "mean squared error"}
    return Result(repeat=repeat, value=value, **settings | options)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.uniform(size=(3_000, 2)), random


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.name)
def test_every_repeat_of_a_run_is_a_unit(paper):
    run = paper.run()
    one, two = (run.plan(Request(repeats=n)).units for n in (1, 2))
    assert len(two) == 2 * len(one)
    assert len({unit.name for unit in two}) == len(two)
    assert (run.draw is not None) == ("figure" in paper.name)


def test_a_run_leaves_its_results_and_a_page(tmp_path):
    module = SimpleNamespace(
        measure=lambda repeat: [row(repeat, 1.0 + repeat)],
        page=lambda rows: [f"{len(rows)} rows, {mean_of(rows, method='m'):1}"],
        finding=lambda rows: f"The last value is {rows[-1].value:g}.",
        __name__="json",
    )
    paper = LocalPaper(
        name="trial",
        title="A trial",
        description="A trial.",
        module=figure4,
        repeats=2,
        quick_repeats=1,
    )
    object.__setattr__(paper, "module", module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.reproductions.lpdt.runs.inspect.getsource", lambda own: "code")
        text = carry_out(paper.run(), tmp_path, progress=False)
        assert "2 rows, 1.5 ± 0.5" in text
        assert "2 repeats." in text
        assert "1 rows" in carry_out(paper.run(), tmp_path, Request(quick=True), progress=False)
    assert page_of(paper.run(), read(tmp_path / "trial.csv")) == text


def small(module, monkeypatch, **sizes):
    """Make the experiments of a module small."""
    true = module.draw_rows
    monkeypatch.setattr(module, "draw_rows", lambda n, seed: true(max(200, n // 20), seed))
    for name, value in sizes.items():
        monkeypatch.setattr(module, name, value)


def test_figure1_keeps_the_curves_of_one_repeat(monkeypatch):
    small(figure1, monkeypatch, _DEPTHS=(1, 2))
    found = [result for repeat in range(3) for result in figure1.measure(repeat)]
    assert len(judged(figure1.claims(found), found)) == len(MECHANISMS)
    panels = figure1.panels(found)
    assert len(panels) == 2 * len(MECHANISMS)
    for panel in panels:
        assert len(panel.rows) == 2 * 101
    text = "\n".join(figure1.page(found))
    assert all(f"| {label} |" in text for label in MECHANISMS.values())


def test_figure2_has_a_panel_for_every_quantity(monkeypatch):
    small(
        figure2,
        monkeypatch,
        _DEPTHS=(1, 2),
        _LEAVES=(15,),
        _EPSILONS=(8.0,),
        _SWEEP=(2.0, 8.0),
    )
    found = [result for repeat in range(2) for result in figure2.measure(repeat)]
    assert len(figure2.panels(found)) == 3 * len(MECHANISMS)
    assert all(verdict.n == 2 for verdict in judged_of(figure2, found) if verdict.n)
    assert "nan" not in "\n".join(figure2.page(found))


@pytest.mark.parametrize("module", [figure4, table3])
def test_unlike_public_rows(module, rows, monkeypatch):
    X, _ = rows
    split = dataclasses.replace(Split.of(X, X[:, 0], 0), y_public=Split.of(X, X[:, 0], 0).y_public)
    monkeypatch.setattr(module, "division", lambda repeat: split)
    found = [result for repeat in range(2) for result in module.measure(repeat)]
    verdicts = judged_of(module, found)
    assert verdicts
    assert all(verdict.n == 2 for verdict in verdicts)
    assert "nan" not in "\n".join(module.page(found))


def test_table2_marks_what_is_significantly_better():
    made = []
    for name, epsilon, repeat in (("ABA", e, r) for e in EPSILONS for r in range(8)):
        for method in (f"{rule}, {label}" for rule in RULES for label, *_ in VARIANTS):
            value = (1.0 if "signed" in method else 2.5) + repeat / 100
            made.append(row(repeat, value, data=name, method=method, epsilon=epsilon))
        for method in ("PHIST", "APHIST"):
            value = 2.0 + repeat / 100
            made.append(row(repeat, value, data=name, method=method, epsilon=epsilon))
    lines = page(made)
    line = next(text for text in lines if text.startswith("| ABA"))
    assert line.count("1.04* |") == 2
    assert line.count("2.54 |") == 6
    counted = below_published(made)
    signed = next(label for label in counted if "signed" in label)
    assert counted[signed] == (4, 2)
    assert all(counted[label] == (4, 2) for label in counted)
    own = judged(claims(made), made)
    below = [v for v in own if "signed" in v.claim.above and "HIST" in v.claim.below]
    assert {v.reason for v in below} == {FEW_AGREE}
    factors = [text for text in lines if text.startswith("| ABA")][-1]
    assert factors.split("|")[2].strip() == f"{PUBLISHED['ABA'][0] / 1.035:.2f}"


def test_split_is_one_to_seven_to_two(rows):
    X, _ = rows
    split = Split.of(X, X[:, 0], 0)
    parts = (split.y_public, split.y, split.y_test)
    assert [len(part) for part in parts] == [300, 2_100, 600]
    assert len(np.unique(np.concatenate(parts))) == len(X)


@pytest.mark.parametrize("mechanism", ["ratio", "paper", "signed_cell"])
def test_lpdt_is_below_a_constant(rows, mechanism):
    X, _ = rows
    split = Split.of(X, X[:, 0], 0)
    for sizes in (Sizes(), Sizes(1, 20)):
        assert split.lpdt_error("LPDT-V", mechanism, 10.0, sizes) < 0.6 * X[:, 0].var()


@pytest.mark.parametrize("adjusted", [False, True])
def test_a_histogram_without_noise_is_a_histogram(rows, adjusted):
    X, random = rows
    scale = Scale.of(X, X[:, 0])
    options = {"scale": scale, "n_sides": 4, "adjusted": adjusted, "random": random}
    found = histogram_predictions(X, X[:, 0], X, epsilon=1e7, **options)
    assert np.abs(found - X[:, 0]).max() < 0.26
    noisy = histogram_predictions(X, X[:, 0], X, epsilon=0.1, **options)
    assert np.mean((noisy - X[:, 0]) ** 2) > 2 * np.mean((found - X[:, 0]) ** 2)


def test_the_noise_of_a_histogram_is_that_of_all_users():
    from benchmarks.reproductions.lpdt.baselines import _laplace_sums

    sums = _laplace_sums(np.random.default_rng(0), 50, 3.0, 20_000)
    assert sums.var() == pytest.approx(50 * 2 * 9, rel=0.05)


def test_deconvolution_undoes_the_noise_on_average(rows):
    X, random = rows
    scale = Scale.of(X, X[:, 0])
    found = deconvolution_predictions(
        X, X[:, 0], X[:100], scale, epsilon=1e6, bandwidth=0.05, random=random
    )
    assert np.abs(found - X[:100, 0]).max() < 0.1


def test_the_synthetic_rows_are_those_of_the_paper():
    X, y = draw(20_000, 0)
    assert X.var() == pytest.approx(0.025, rel=0.05)
    assert (y - np.sin(16 * X[:, 0])).var() == pytest.approx(1.0, rel=0.05)


def test_a_table_that_is_not_at_hand_is_skipped_and_named(monkeypatch):
    def locate(file):
        if "airfoil" in file.path:
            raise DataFileError("It is not here.")

    monkeypatch.setattr("benchmarks.reproductions.lpdt.runs.locate", locate)
    paper = next(paper for paper in PAPERS if paper.name == "lpdt-table2")
    plan = paper.run().plan(Request(repeats=1))
    assert plan.facts["not run"] == "AIR: its file is not at hand"
    assert len(plan.units) == len(PUBLISHED) - 1
    assert not any(unit.name.startswith("AIR") for unit in plan.units)


def test_deconvolution_is_tuned_within_the_private_rows(rows):
    X, _ = rows
    split = Split.of(X, X[:, 0], 0)
    parts = list(table2._within(split))
    assert sum(len(part.y_test) for part in parts) == len(split.y)
    for part in parts:
        assert len(part.y) + len(part.y_test) == len(split.y)
        assert part.X_public is split.X_public


def test_the_released_package_gets_scaled_features_and_is_no_method_of_ours(rows, monkeypatch):
    X, _ = rows
    split = Split.of(X, X[:, 0], 0)
    asked = []

    def fit(name, arrays, settings, n_jobs):
        asked.append((name, arrays, settings))
        return SimpleNamespace(prediction=np.zeros(len(arrays["test_X"])))

    monkeypatch.setattr(released, "fit_in_peer", fit)
    found = released.predictions(split, 2.0, Sizes(3, 5))
    assert found.tolist() == [0.0] * len(split.y_test)
    ((name, arrays, settings),) = asked
    assert (name, settings["max_depth"], settings["epsilon"]) == (released.NAME, 3, 2.0)
    for part in ("public_X", "train_X", "test_X"):
        assert arrays[part].min() >= 0
        assert arrays[part].max() <= 1
    assert not f"{released.RULE}, {released.LABEL}".endswith(table2._OURS)


def test_a_tree_of_depth_0_is_tuned_too():
    assert 0 in table2._DEPTHS
    assert set(table2.PUBLISHED_OTHERS) == set(table2.PUBLISHED)
    assert all(len(others) == 7 for others in table2.PUBLISHED_OTHERS.values())
    assert table2._published("ABA", "DT", 1) == 5.67
    assert table2._published("ABA", "DECONV", 1) == 10.9
    assert table2._published("ABA", "LPDT-V", 1) == 7.34
