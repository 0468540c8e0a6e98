"""What attackers win is counted right, and comes out of models that remember or do not."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")

import pandas as pd

from benchmarks import attacks
from benchmarks.harness.run import Request, carry_out


def coins(n_models, n_targets):
    return np.tile(np.arange(n_models)[:, None] % 2 == 0, (1, n_targets))


def test_a_score_that_tells_wins_all():
    inside = coins(8, 5)
    assert attacks.advantage(np.where(inside, 2.0, 1.0), inside) == (1.0, 1.0)


def test_a_score_that_tells_nothing_wins_nothing():
    random = np.random.default_rng(0)
    inside = random.permuted(coins(40, 200), axis=0)
    won, auc = attacks.advantage(random.normal(size=inside.shape), inside)
    assert abs(won) < 0.05
    assert abs(auc - 0.5) < 0.03


def test_a_score_that_tells_half_wins_half():
    # The shift is 2 z of 0.75 deviations: the best guess is right in three cases of four.
    random = np.random.default_rng(0)
    inside = random.permuted(coins(100, 300), axis=0)
    scores = random.normal(size=inside.shape) + 2 * 0.67449 * inside
    won, _ = attacks.advantage(scores, inside)
    assert won == pytest.approx(0.5, abs=0.03)


def test_an_attribute_counts_against_models_without_the_row():
    inside = coins(4, 3)
    assert attacks.attribute_advantage(inside, inside) == 1.0
    assert attacks.attribute_advantage(np.ones_like(inside), inside) == 0.0


class Table:
    """Sixty targets and a few rows more, of a column that says nothing."""

    @staticmethod
    def load():
        random = np.random.default_rng(0)
        sex = pd.Categorical(random.choice(["a", "b"], 300), categories=["a", "b"])
        return pd.DataFrame({"x": np.arange(300.0), "sex": sex}), random.integers(0, 2, 300)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(attacks, "PROBLEMS", {attacks.DATA: Table})
    monkeypatch.setattr(attacks, "N_ROWS", 100)


def remembers(X, y, seed):
    known = dict(zip(X["x"], y, strict=True))
    return lambda rows: np.array([0.1 + 0.8 * known.get(x, 0.5) for x in rows["x"]]), 1.0


def forgets(X, y, seed):
    return lambda rows: np.full(len(rows), 0.5) + 1e-3 * np.sin(seed * rows["x"]), 0.1


def test_who_remembers_rows_gives_them_away(small):
    found = attacks.attack(remembers, 0, 8)
    for kind in (attacks.ORDINARY, attacks.CONTRARY):
        assert found["membership", kind, "advantage"] == 1.0
        assert found["membership", kind, "bound of the advantage"] == 1.0
        assert found["attribute", kind, "advantage"] == 0.0
    found = attacks.attack(forgets, 0, 40)
    assert abs(found["membership", attacks.ORDINARY, "advantage"]) < 0.2


def test_the_run_makes_its_page(tmp_path, monkeypatch, small):
    monkeypatch.setattr(attacks, "_fit_lightgbm", remembers)
    monkeypatch.setattr(attacks, "_fit_best", lambda *rows, epsilon: forgets(*rows))
    text = carry_out(attacks.ATTACKS, tmp_path, Request(quick=True), progress=False)
    assert "| LightGBM | 1.000 | 1.000 | 1.000 | 1.000 | none |" in text
    assert "| best, epsilon 0.5 |" in text
    assert "| 0.100 |" in text
