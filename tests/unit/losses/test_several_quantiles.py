"""Several quantiles of one label: the same gradients as each by itself, one bound for all."""

import numpy as np
import pytest

from dpboost.losses import QuantilesLoss, RobustLoss, SquaredLoss
from tests.unit.linked import linked

LABELS = SquaredLoss.from_label_bounds(-3.0, 7.0)
ALPHAS = (0.1, 0.5, 0.9)


@pytest.mark.parametrize("limit", [1.0, 0.5])
def test_each_output_has_the_gradient_of_its_quantile(limit):
    random = np.random.default_rng(0)
    loss = QuantilesLoss.of(LABELS, ALPHAS)
    labels = loss.encode_labels(random.uniform(-4, 8, 500))
    scores = np.rint(random.uniform(-4, 8, (3, 500)) / loss.unit).astype(np.int64)
    rows = np.arange(500, dtype=np.int32)
    found = loss.packed_newton(scores, labels, rows, gradient_limit=limit)
    for alpha, own, words in zip(ALPHAS, scores, found, strict=True):
        alone = RobustLoss.quantile(LABELS, alpha)
        expected = alone.packed_newton(own[np.newaxis], labels, rows, gradient_limit=limit)
        np.testing.assert_array_equal(words, expected[0])


def test_the_bound_of_a_row_is_that_of_all_outputs_together():
    loss = QuantilesLoss.of(LABELS, ALPHAS)
    parts = [RobustLoss.quantile(LABELS, alpha).gradient_reach(1.0) for alpha in ALPHAS]
    reach = loss.gradient_reach(1.0)
    assert reach.entries == 3
    assert reach.l1 == sum(part.l1 for part in parts)
    assert reach.squares == sum(part.squares for part in parts)
    assert reach.difference == sum(part.difference for part in parts)
    assert loss.hessian_reach.squares == 3 * parts[0].squares


def test_they_start_around_the_released_mean():
    loss = QuantilesLoss.of(LABELS, ALPHAS).starting_at(0.2)
    low, middle, high = loss.start_units
    assert middle == LABELS.starting_at(0.2).start_units
    assert high - middle == middle - low == round(0.2 * LABELS.half_units * 1.2815515655446004)
    assert loss.starting_from((1, 2, 3)).start_units == (1, 2, 3)


def test_predictions_are_the_scores_in_order():
    loss = QuantilesLoss.of(LABELS, ALPHAS)
    raw = np.array([[3.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(linked(loss, raw), [[1, 2, 3], [0, 1, 2]])
