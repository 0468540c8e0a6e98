from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from dpboost.evaluating.score_bins import (
    InsideBins,
    ScoreLaw,
    number_of_bins,
    occupied_range,
)


def law_of(z: np.ndarray, low: float = -8.0, high: float = 8.0, n_cells: int = 32) -> ScoreLaw:
    counts, _ = np.histogram(np.clip(z, low, high), bins=n_cells, range=(low, high))
    return ScoreLaw(low=low, high=high, counts=counts.astype(float))


def test_the_range_holds_what_stands_out_and_one_cell_more() -> None:
    counts = np.zeros(32)
    counts[10:12] = 100.0
    assert occupied_range(counts, 10.0) == (-8 + 9 * 0.5, -8 + 13 * 0.5)
    assert occupied_range(np.zeros(32), 10.0) == (-8.0, 8.0)
    counts[:] = 100.0
    assert occupied_range(counts, 10.0) == (-8.0, 8.0)


def test_bins_tell_about_equally_much_and_end_at_even_odds() -> None:
    z = np.random.default_rng(0).normal(-1.0, 1.0, size=100_000)
    edges = law_of(z).edges(8)
    assert 0.0 in edges
    assert len(edges) == 7
    deviations = np.sqrt(expit(z) * expit(-z))
    told = np.bincount(np.searchsorted(edges, z), deviations, minlength=8)
    assert told.min() > 0.05 * told.sum()
    assert told.max() < 0.2 * told.sum()
    assert np.all(np.diff(edges) > 0)


def test_rows_of_one_label_have_few_bins() -> None:
    z = np.concatenate((np.linspace(-8, -6, 9_000), np.linspace(-2, 2, 1_000)))
    edges = np.array(law_of(z).edges(8))
    assert (edges < -4).sum() <= 3


def test_even_odds_are_a_border_beyond_the_scores_as_well() -> None:
    z = np.full(1000, -3.0)
    law = law_of(z, -3.5, -2.5)
    edges = law.edges(4)
    assert edges[-1] == 0.0
    inside = InsideBins(
        law, edges, own=np.full(len(edges) + 1, 10.0), others=np.ones(len(edges) + 1)
    )
    assert np.isfinite(inside.means(inside.positions)).all()
    assert inside.means(inside.positions)[-1, 0] > 0


def test_more_rows_have_more_bins() -> None:
    numbers = [number_of_bins(n, 13.0) for n in (0, 100, 5000, 10**6, 10**12)]
    assert numbers == sorted(numbers)
    assert numbers[0] == 4
    assert numbers[2] == 6
    assert numbers[-1] == 64


def test_noise_alone_leaves_bins_of_equal_width() -> None:
    law = ScoreLaw(low=-8.0, high=8.0, counts=np.full(32, -5.0))
    assert law.masses == pytest.approx(np.full(32, 1 / 32))


def test_order_inside_bins_is_that_of_the_rows() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(-1.0, 1.5, size=200_000)
    y = rng.random(len(z)) < expit(1.3 * z + 0.2)
    law = law_of(z)
    edges = law.edges(5)
    bins = np.searchsorted(edges, z)
    own, others = (np.bincount(bins[rows], minlength=5).astype(float) for rows in (y, ~y))
    inside = InsideBins(law, edges, own=own, others=others)
    area = own @ inside.order @ others / (own.sum() * others.sum())
    assert area == pytest.approx(roc_auc_score(y, z), abs=1e-3)
    # Rows of one bin taken as equal: too low.
    ties = np.tril(np.ones((5, 5)), -1) + np.eye(5) / 2
    assert own @ ties @ others / (own.sum() * others.sum()) < area - 0.005
    for label, rows in enumerate((~y, y)):
        means = np.array(
            [np.logaddexp(0, z[rows & (bins == position)]).mean() for position in range(5)]
        )
        found = inside.means(np.logaddexp(0, inside.positions))[:, label]
        assert found == pytest.approx(means, abs=0.05)
