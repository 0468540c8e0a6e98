"""The experiments of the LPDT paper in `benchmarks.local`."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.local.baselines import (
    Scale,
    deconvolution_predictions,
    histogram_predictions,
)
from benchmarks.local.catalogue import LOCAL_RUNS, LocalRun
from benchmarks.local.rows import LocalRow, mean_of, select
from benchmarks.local.runs import run_local, to_csv
from benchmarks.local.synthetic import draw
from benchmarks.local.table2 import EPSILONS, PUBLISHED, VARIANTS, page
from benchmarks.local.trees import RULES, Sizes, Split


def row(repeat=0, value=1.0, **options):
    settings = {"problem": "ABA", "method": "m", "epsilon": 2.0, "setting": ""}
    return LocalRow(repeat=repeat, value=value, **settings | options)


@pytest.fixture
def rows():
    random = np.random.default_rng(0)
    return random.uniform(size=(3_000, 2)), random


def test_every_run_is_listed_and_can_be_made(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for name, run in LOCAL_RUNS.items():
        assert name in shown
        module = importlib.import_module(f"benchmarks.local.{run.module}")
        assert callable(module.measure)
        assert callable(module.page)
        assert hasattr(module, "draw") == ("figure" in name)


@pytest.mark.parametrize("name", ["speed", "figure4"])
def test_a_run_leaves_its_rows_and_a_page(name, tmp_path, monkeypatch):
    module = importlib.import_module(f"benchmarks.local.{name}")
    found = [row(value=v, repeat=k) for k, v in enumerate((1.0, 2.0))]
    monkeypatch.setattr(module, "measure", lambda repeats: found[:repeats])
    monkeypatch.setattr(module, "page", lambda rows: [f"{len(rows)} rows"])
    monkeypatch.setattr(module, "draw", lambda rows: b"\x89PNG", raising=False)
    run = LocalRun(name="trial", module=name, description="A trial.", repeats=2, quick_repeats=1)
    assert "2 rows" in run_local(run, tmp_path)
    assert "run trial --repeats 1`" in run_local(run, tmp_path, repeats=1)
    assert "1 rows" in run_local(run, tmp_path, quick=True)
    written = {path.name for path in tmp_path.iterdir()}
    assert {f"trial{end}" for end in (".csv", ".md", ".png", "-quick.md")} <= written
    assert (tmp_path / "trial-quick.csv").read_text() == to_csv(found[:1])


def test_rows_are_selected_in_the_order_of_repeats():
    mixed = [row(2, 3.0), row(0, 1.0), row(1, 2.0), row(0, 9.0, method="other")]
    assert select(mixed, method="m") == [1.0, 2.0, 3.0]
    assert mean_of(mixed, method="m").mean == 2.0
    assert mean_of(mixed, method="none") is None


def test_table2_marks_what_is_significantly_better(monkeypatch):
    monkeypatch.setattr("benchmarks.local.table2.LOCAL_PROBLEMS", {"ABA": None})
    made = []
    for name, epsilon, repeat in (("ABA", e, r) for e in EPSILONS for r in range(8)):
        for method in (f"{rule}, {label}" for rule in RULES for label, *_ in VARIANTS):
            value = (1.0 if "signed" in method else 2.5) + repeat / 100
            made.append(row(repeat, value, problem=name, method=method, epsilon=epsilon))
        for method in ("PHIST", "APHIST"):
            value = 2.0 + repeat / 100
            made.append(row(repeat, value, problem=name, method=method, epsilon=epsilon))
    lines = page(made)
    line = next(text for text in lines if text.startswith("| ABA"))
    assert line.count("1.04* |") == 2
    assert line.count("2.54 |") == 6
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
    from benchmarks.local.baselines import _laplace_sums

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
