"""The trial of private selection: what it costs, and what its pages say."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("pandas")

from benchmarks import tuning  # noqa: E402
from benchmarks.harness.results import Result, Results, read  # noqa: E402
from benchmarks.harness.run import RESULTS  # noqa: E402

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "tuning.md"


def best_of_many(candidate: np.ndarray, gamma: float) -> np.ndarray:
    """The distribution of the largest outcome of a logarithmic number of candidates."""
    below = np.cumsum(candidate)
    largest = np.log1p(-(1 - gamma) * np.minimum(below, 1)) / math.log(gamma)
    return np.diff(largest, prepend=0)


def divergence(one: np.ndarray, other: np.ndarray, order: float) -> float:
    return float(np.log(np.sum(one**order * other ** (1 - order))) / (order - 1))


@pytest.mark.parametrize("gamma", [0.02, 0.05, 0.3])
@pytest.mark.parametrize("rho", [0.01, 0.2])
def test_a_selection_diverges_no_more_than_the_theorem_says(rho, gamma):
    edges = np.array([-np.inf, *np.linspace(-4, 4, 81), np.inf])
    tables = [np.diff(norm.cdf(edges, loc=loc)) for loc in (0.0, math.sqrt(2 * rho))]
    found = [best_of_many(table, gamma) for table in tables]
    for order in (1.3, 2.0, 8.0, 30.0):
        bound = tuning.renyi(rho, gamma, order)
        for one, other in (found, found[::-1]):
            assert divergence(one, other, order) <= bound + 1e-6
    # The bound is not far above what a selection costs.
    assert tuning.renyi(rho, gamma, 2.0) > divergence(*tables, 2.0)


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_a_selection_of_pure_candidates_has_twice_their_epsilon(epsilon):
    worst = 0.0
    for size in np.linspace(0.01, 0.95, 30):
        small = size * math.exp(-epsilon)
        pair = [np.array([1 - each, each]) for each in (size, small)]
        if (1 - small) / (1 - size) > math.exp(epsilon):
            continue
        one, other = (best_of_many(each, 0.001) for each in pair)
        worst = max(worst, np.abs(np.log(one / other)).max())
    assert epsilon < worst + 0.5
    assert worst <= 2 * epsilon + 1e-9


@pytest.mark.parametrize("epsilon", tuning.EPSILONS)
def test_the_whole_selection_has_the_epsilon_of_the_rules(epsilon):
    mu_squared = tuning.of_candidate(epsilon)
    assert tuning.epsilon_of_selection(mu_squared / 2, tuning.GAMMA, tuning.DELTA) <= epsilon
    more = 1.01 * mu_squared / 2
    assert tuning.epsilon_of_selection(more, tuning.GAMMA, tuning.DELTA) > epsilon
    # A candidate of several has less than one alone, and more than one of six that add up.
    share = mu_squared / tuning.capacity(epsilon)
    assert 1 / len(tuning.SETTINGS) < share < 0.5
    noise, budget = tuning.gaussian(mu_squared)
    assert budget["epsilon"] < epsilon
    assert np.std([noise() for _ in range(4000)]) == pytest.approx(1 / math.sqrt(mu_squared), 0.1)


def test_the_number_of_candidates_is_logarithmic():
    numbers = [len(tuning._drawn(np.random.default_rng(seed))) for seed in range(4000)]
    assert min(numbers) == 1
    assert np.mean(numbers) == pytest.approx(tuning.expected_number(tuning.GAMMA), rel=0.15)


def test_without_noise_the_setting_with_the_least_loss_is_chosen(monkeypatch):
    split = tuning.Split(
        problem=tuning.PROBLEMS["abalone"], X=np.zeros((50, 1)), y=np.zeros(50),
        test=(np.zeros((5, 1)), np.zeros(5)), seed=0,
    )  # fmt: skip
    rows = []
    monkeypatch.setattr(
        tuning.Split, "fit", lambda self, settings, own, **_: rows.append(own) or settings
    )
    losses = [5.0, 4.0, 3.0, 1.0, 2.0, 6.0]
    monkeypatch.setattr(
        tuning.Split,
        "loss",
        lambda self, model, held: rows.append(held) or losses[tuning.SETTINGS.index(model)],
    )
    assert split.chosen(np.arange(6), lambda: 0.0) == tuning.SETTINGS[3]
    assert split.chosen(np.array([0, 5, 1]), lambda: 0.0) == tuning.SETTINGS[1]
    own, held = rows[0], rows[6]
    assert sorted([*own, *held]) == list(range(50))
    assert len(held) == 10


def test_the_page_counts_where_a_selection_pays():
    value = {tuning.RULES: 0.8, tuning.HOLDOUT: 0.9, tuning.REPEATS: 0.7}
    rows = [
        Result(
            data=data, method=method, epsilon=1.0, repeat=split, measure=measure,
            value=value.get(method, 0.8) + 0.01 * split,
        )
        for data, measure in (("spambase", "AUC"), ("abalone", "RMSE"))
        for method in (tuning.RULES, *tuning.REFERENCES, tuning.PURE)
        for split in (0, 1)
    ]  # fmt: skip
    facts = {"splits": "2", "share of a candidate": "0.3 at epsilon 1"}
    results = Results(facts=facts, rows=rows)
    assert tuning.counted(results, tuning.HOLDOUT, 1.0) == (1, 1, 2)
    assert tuning.counted(results, tuning.PURE_REPEATS, 1.0) == (0, 0, 2)
    assert "paid holdout at epsilon 1: 1 and 1 of 2" in tuning.finding(results)
    assert "| spambase, AUC | 1 | 0.8050 ± 0.0050 |" in "\n".join(tuning.body(results))


def test_the_page_of_the_guide_quotes_what_was_measured():
    results = read(RESULTS / "tuning.csv")
    text = PAGE.read_text(encoding="utf-8")
    methods = (tuning.HOLDOUT, tuning.REPEATS, tuning.FREE)
    lines = re.findall(r"^\| (\w+), (RMSE|AUC) \| ([0-9.]+) \| (.*) \|$", text, re.MULTILINE)
    points = {(name, epsilon): rows for name, epsilon, rows in tuning._points(results)}
    assert [(name, float(epsilon)) for name, _, epsilon, _ in lines] == list(points)
    for name, _, epsilon, cells in lines:
        rows = points[name, float(epsilon)]
        shown = f"{np.mean(tuning.values(rows, method=tuning.RULES)):.3f}"
        gains = [f"{tuning.gain(rows, method):3}" for method in methods]
        assert cells.split(" | ") == [shown, *gains], name
