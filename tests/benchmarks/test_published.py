"""What the published curves rest on: that it is what the paper and its code say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.reproductions.dpboost import published
from benchmarks.reproductions.dpboost.methods import METHODS
from benchmarks.reproductions.dpboost.published import (
    CODE,
    FROZEN,
    LOGISTIC,
    TEXT,
    Borders,
    Grower,
    PublishedBoosting,
    block_size,
    clip_at,
    leaf_noise,
    score_noise,
)

ALMOST_NO_NOISE = 1e9


def rows(n_rows, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 3))
    return X, np.where(X[:, 1] > 0.5, 0.8, -0.6)


def boosting(reading, **changes):
    settings = {
        "reading": reading,
        "bounds": [(0.0, 1.0)] * 3,
        "n_bins": 4,
        "epsilon": ALMOST_NO_NOISE,
        "n_trees": 50,
        "trees_per_ensemble": 50,
        "start_from_mean": True,
        "seed": 0,
    }
    return PublishedBoosting(**settings | changes)


def last(model, X, y, held_out):
    *_, scores = model.staged(X, y, held_out)
    return scores


def test_readings_are_marked():
    dishonest = [method for method in METHODS.values() if method.kind == "published"]
    assert dishonest
    for method in METHODS.values():
        assert method.honest == (method.kind != "published")
        assert method.honest == ("not private" not in method.name)
    assert "NOT PRIVATE" in published.__doc__


def test_blocks_are_those_of_the_paper_and_disjoint():
    sizes = [block_size(10_000, index, 50) for index in range(50)]
    assert sum(sizes) <= 10_000
    assert sum(sizes) > 9_900
    assert sizes[1] / sizes[0] == pytest.approx(0.9, abs=0.01)
    assert sizes[0] == int(10_000 * 0.1 / (1 - 0.9**50))


@pytest.mark.parametrize("reading", [TEXT, CODE])
def test_without_noise_a_step_is_learned(reading):
    X, y = rows(2_000)
    held_out, truth = rows(200, seed=1)
    scores = last(boosting(reading, n_bins=254), X, y, held_out)
    assert np.corrcoef(scores, truth)[0, 1] > 0.99
    assert np.mean(np.sign(scores) == np.sign(truth)) > 0.99


def test_the_codes_trees_have_fewer_leaves_and_stop_early():
    X, y = rows(2_000)
    borders = Borders.of_the_rows(X, 255)
    random = np.random.default_rng(0)
    grower = Grower(reading=CODE, borders=borders, epsilon=ALMOST_NO_NOISE, random=random)
    noisy = y + random.normal(scale=0.3, size=len(y))
    grown = grower.grow(borders.cells(X), -noisy, 0)
    n_leaves = grown.feature.count(-1)
    assert n_leaves <= 31
    values, counts = np.unique(grown.predict(borders.cells(X)), return_counts=True)
    assert len(values) == n_leaves
    assert counts.min() >= 20
    # Nothing to gain: one leaf.
    flat = grower.grow(borders.cells(X), np.zeros(len(y)), 0)
    assert flat.feature == [-1]


def test_the_texts_trees_are_complete():
    X, y = rows(500)
    borders = Borders.equal([(0.0, 1.0)] * 3, 4)
    grower = Grower(reading=TEXT, borders=borders, epsilon=1.0, random=np.random.default_rng(0))
    grown = grower.grow(borders.cells(X), -y, 0)
    assert grown.feature.count(-1) == 64
    assert len(grown.feature) == 127


@pytest.mark.parametrize("index", [0, 20])
def test_leaf_noise_has_the_stated_scale(index):
    X, _ = rows(60)
    borders = Borders.equal([(0.0, 1.0)] * 3, 4)
    grower = Grower(reading=TEXT, borders=borders, epsilon=2.0, random=np.random.default_rng(1))
    values = np.concatenate(
        [grower.grow(borders.cells(X), np.zeros(60), index).value[-64:] for _ in range(60)]
    )
    scale = leaf_noise(2.0, index)
    assert np.mean(np.abs(values)) == pytest.approx(scale, rel=0.07)
    assert scale == pytest.approx(min(1 / 1.1, 2 * 0.9**index))


def test_the_noise_of_a_score_adds_up():
    variance = sum(2 * (0.1 * leaf_noise(1.0, t)) ** 2 for t in range(50))
    assert score_noise(1.0, 50) == pytest.approx(variance**0.5)
    assert clip_at(2) == pytest.approx(0.81)


def test_frozen_noise_is_the_same_for_every_seed():
    X, y = rows(500)
    found = [
        last(boosting(reading, seed=seed, epsilon=1.0, n_trees=5), X, y, X[:20])
        for reading in (FROZEN, replace(FROZEN, frozen=False))
        for seed in (1, 2)
    ]
    assert found[0].tolist() == found[1].tolist()
    assert found[2].tolist() != found[3].tolist()


def test_filtered_rows_do_not_count():
    # From the exact mean -0.8 the rows labeled 1 have a gradient of 1.8 and are dropped.
    X, _ = rows(5_000)
    y = np.where(X[:, 1] > 0.9, 1.0, -1.0)
    from_mean, from_zero = (
        last(boosting(CODE, n_bins=254, start_from_mean=start), X, y, X) for start in (True, False)
    )
    assert (from_mean < 0).all()
    assert (from_zero > 0).any()


def test_bins_of_the_rows_and_public_ones():
    borders = Borders.of_the_rows(np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 5.0]]), 255)
    assert [own.tolist() for own in borders.borders] == [[0.0], []]
    assert borders.cells(np.array([[0.0, 5.0], [0.5, 9.0]])).tolist() == [[0, 2], [1, 2]]
    assert borders.feature_of.tolist() == [0, 0, 1]
    equal = Borders.equal([(0.0, 4.0)], 4)
    assert equal.cells(np.array([[0.5], [1.0], [3.5]])).ravel().tolist() == [0, 0, 3]


def test_the_logistic_branch_takes_hessians_and_understates_what_a_row_moves():
    boosted = boosting(LOGISTIC, n_bins=254)
    scores, labels = np.array([0.0, 2.0]), np.array([1.0, -1.0])
    gradients, hessians = boosted._derivatives(scores, labels)
    share = 1 / (1 + np.exp(-2.0))
    assert gradients == pytest.approx([-0.5, share])
    assert hessians == pytest.approx([0.25, share * (1 - share)])
    # Two rows of one leaf: the exact leaf values differ by more than the stated sensitivity.
    one = -gradients[0] / (hessians[0] + published.REG_LAMBDA)
    assert one > 1 / (1 + published.REG_LAMBDA)
    X, y = rows(2_000)
    signs = np.where(y > 0, 1.0, -1.0)
    held_out, truth = rows(200, seed=1)
    found = last(boosted, X, signs, held_out)
    assert np.mean(np.sign(found) == np.sign(truth)) > 0.98
