"""The softmax loss against the formulas in doubles, and the bounds that it promises."""

import itertools
import math

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import OneVsRestLoss, SoftmaxLoss, exponential_table
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import newton_sums
from tests.unit.linked import linked

ONE = 65536
CLASSES = [2, 3, 5, 10]


def gradients_and_hessians(loss, scores, labels, clip=1.0):
    words = loss.packed_newton(
        np.ascontiguousarray(scores, dtype=np.int64),
        np.asarray(labels, dtype=np.int64),
        np.arange(len(labels), dtype=np.int32),
        gradient_limit=clip,
    )
    return words >> 32, words & 0xFFFFFFFF


def scores_of(probabilities):
    """Scores on the grid whose softmax is nearly this."""
    logs = np.log(np.maximum(np.asarray(probabilities, dtype=float), 1e-9))
    return np.rint(logs * 2**20).astype(np.int64)


def table_of_rows(n_classes, n_rows=4000, seed=0):
    """Scores that reach corners, edges and middles of the simplex, and labels."""
    random = np.random.default_rng(seed)
    scale = random.choice([0.0, 0.5, 3.0, 30.0], size=n_rows)
    scores = np.rint(random.standard_normal((n_classes, n_rows)) * scale * 2**20)
    return scores.astype(np.int64), random.integers(0, n_classes, n_rows)


def reference(scores, labels):
    shifted = (scores - scores.max(axis=0)) / 2**20
    p = np.exp(shifted)
    p /= p.sum(axis=0)
    gradients = p.copy()
    gradients[labels, np.arange(len(labels))] -= 1
    return gradients, p * (1 - p)


@pytest.mark.parametrize("n_classes", CLASSES)
def test_gradients_and_hessians_are_those_of_the_softmax(n_classes):
    scores, labels = table_of_rows(n_classes)
    gradients, hessians = gradients_and_hessians(SoftmaxLoss(n_outputs=n_classes), scores, labels)
    exact = reference(scores, labels)
    np.testing.assert_allclose(gradients / ONE, exact[0], atol=3 / ONE)
    np.testing.assert_allclose(hessians / ONE, exact[1], atol=4 / ONE)


@pytest.mark.parametrize("clip", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("n_classes", CLASSES)
def test_a_clipped_vector_keeps_its_direction_and_its_reach(n_classes, clip):
    loss = SoftmaxLoss(n_outputs=n_classes)
    scores, labels = table_of_rows(n_classes)
    gradients, _ = gradients_and_hessians(loss, scores, labels, clip)
    exact, _ = reference(scores, labels)
    own = -exact[labels, np.arange(len(labels))]
    np.testing.assert_allclose(
        gradients / ONE, exact * np.minimum(1, clip / np.maximum(own, 1e-9)), atol=4 / ONE
    )
    reach = loss.gradient_reach(clip)
    assert reach.entries == n_classes
    assert np.abs(gradients).sum(axis=0).max() <= reach.l1
    assert (gradients**2).sum(axis=0).max() <= reach.squares
    assert np.abs(gradients).sum(axis=0).max() >= 0.999 * reach.l1
    assert (gradients**2).sum(axis=0).max() >= 0.99 * reach.squares


@pytest.mark.parametrize("n_classes", CLASSES)
def test_hessians_stay_in_their_reach_and_touch_it(n_classes):
    loss = SoftmaxLoss(n_outputs=n_classes)
    parts = min(n_classes, 4)
    corners = [
        np.append(np.repeat(1 / k, k), np.zeros(n_classes - k)) for k in range(1, n_classes + 1)
    ]
    grid = [
        np.append(np.array(p) / 12, np.zeros(n_classes - parts))
        for p in itertools.product(range(13), repeat=parts)
        if sum(p) == 12
    ]
    scores = scores_of(np.array([*corners, *grid]).T)
    _, hessians = gradients_and_hessians(loss, scores, np.zeros(scores.shape[1], dtype=int))
    reach = loss.hessian_reach
    assert hessians.min() >= 0
    assert 0.999 * reach.l1 <= hessians.sum(axis=0).max() <= reach.l1
    assert 0.999 * reach.squares <= (hessians**2).sum(axis=0).max() <= reach.squares


def test_the_bound_of_a_replaced_row_counts_both_hessian_vectors():
    loss = SoftmaxLoss(n_outputs=4)
    _, l2 = newton_sums(loss.gradient_reach(1.0), loss.hessian_reach, Neighbors.REPLACE)
    squares = 4 * loss.gradient_reach(1.0).squares + 2 * loss.hessian_reach.squares
    assert l2.constant == math.isqrt(squares - 1) + 1


def test_huge_scores_are_no_trouble():
    loss = SoftmaxLoss(n_outputs=3)
    scores = np.array([[1 << 60, 0, -(1 << 60)], [0, 1 << 60, 0], [5, 5, 5]]).T
    gradients, hessians = gradients_and_hessians(loss, scores, [0, 0, 0])
    assert gradients[:, 0].tolist() == [0, 0, 0]
    assert gradients[:, 1].tolist() == [-ONE, ONE, 0]
    assert hessians[:, 0].tolist() == [0, 0, 0]


def test_the_table_is_that_of_the_exponential_function():
    table = exponential_table()
    heights, falls = table >> 32, table & 0xFFFFFFFF
    np.testing.assert_allclose(heights / 2**30, np.exp(-np.arange(1536) / 128), atol=2.0**-30)
    assert (heights - falls)[:-1].tolist() == heights[1:].tolist()
    assert heights[-1] == falls[-1]


def test_a_start_gives_the_released_shares():
    shares = np.array([0.7, 0.2, 0.1])
    started = SoftmaxLoss(n_outputs=3).starting_at(shares)
    raw = np.array([started.start_units]) * started.unit
    np.testing.assert_allclose(linked(started, raw), [shares], rtol=1e-5)
    empty = SoftmaxLoss(n_outputs=3).starting_at(np.array([1.0, 0.0, -0.3]))
    assert min(empty.start_units) == round(math.log(1e-4) * 2**20)


@pytest.mark.parametrize("kind", [SoftmaxLoss, OneVsRestLoss])
@pytest.mark.parametrize("n_outputs", [1, 1001, 2.5])
def test_a_number_of_classes_is_checked(n_outputs, kind):
    with pytest.raises(InvalidParameterError, match="n_outputs"):
        kind(n_outputs=n_outputs)
