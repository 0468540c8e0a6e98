"""The run on tables cut to a few hundred rows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from benchmarks import small_tables  # noqa: E402
from benchmarks.harness.run import Request, carry_out  # noqa: E402
from benchmarks.problems import PROBLEMS  # noqa: E402


@pytest.fixture
def two_tables(monkeypatch):
    """Random rows in the place of both tables."""
    random = np.random.default_rng(0)
    for name in small_tables.NAMES:
        problem = PROBLEMS[name]
        columns = {
            key: random.uniform(low, high, size=900)
            for key, (low, high) in problem.dictionary.bounds.items()
        }
        columns |= {
            key: pd.Categorical(random.choice(values, size=900), categories=values)
            for key, values in problem.dictionary.categories.items()
        }
        frame, y = pd.DataFrame(columns), random.integers(0, 2, size=900)
        small = dataclasses.replace(
            problem, read=lambda paths, frame=frame, y=y: (frame, y), files=()
        )
        monkeypatch.setitem(PROBLEMS, name, small)
    monkeypatch.setattr(small_tables, "TEST_ROWS", 400)


def test_no_row_of_a_cut_is_held_out():
    own, held_out = small_tables.cut(np.zeros(45_000), 7)
    assert (len(own), len(held_out)) == (500, 10_000)
    assert not set(own.tolist()) & set(held_out.tolist())
    assert own.tolist() != small_tables.cut(np.zeros(45_000), 8)[0].tolist()


def test_a_model_of_noise_is_about_as_good_as_the_constant(two_tables):
    X, y = PROBLEMS["bank"].load()
    for method in (small_tables.DECLARED, small_tables.UNDECLARED):
        loss, auc = small_tables.scores(PROBLEMS["bank"], X, y, method, 1.0, 0)
        assert 0.9 < loss < 2
        assert 0.3 < auc < 0.7


@pytest.mark.parametrize(("loss", "holds"), [(1.04, "holds"), (1.06, "**does not hold**")])
def test_the_page_says_whether_the_bar_is_kept(tmp_path, monkeypatch, two_tables, loss, holds):
    def scores(problem, X, y, method, epsilon, seed):
        declared = method == small_tables.DECLARED
        return (loss if declared else 3.0) + (seed == 2), 0.8 if declared else 0.7

    monkeypatch.setattr(small_tables, "scores", scores)
    text = carry_out(small_tables.SMALL_TABLES, tmp_path, Request(quick=True), progress=False)
    assert f"This {holds}: adult {loss:.3f}, bank {loss:.3f}." in text
    losses = f"{loss:.3f} ({loss + 1:.3f}) | 3.000 (4.000)"
    assert f"| bank, epsilon 0.1 | {losses} | 0.800 | 0.700 | +0.100 |" in text
