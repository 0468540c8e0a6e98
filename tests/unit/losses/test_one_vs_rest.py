"""One logistic loss for each class against the rest."""

import numpy as np
import pytest

from dpboost.losses import LogisticLoss, OneVsRestLoss
from tests.unit.linked import linked


def table(n_classes, n_rows=3000):
    random = np.random.default_rng(0)
    scores = np.rint(random.standard_normal((n_classes, n_rows)) * 3 * 2**20).astype(np.int64)
    return scores, random.integers(0, n_classes, n_rows), np.arange(n_rows, dtype=np.int32)


@pytest.mark.parametrize("clip", [1.0, 0.3])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_each_class_has_the_words_of_two_classes(n_classes, clip):
    scores, labels, rows = table(n_classes)
    words = OneVsRestLoss(n_outputs=n_classes).packed_newton(
        scores, labels, rows, gradient_limit=clip
    )
    for k in range(n_classes):
        alone = LogisticLoss().packed_newton(
            scores[[k]], (labels == k).astype(np.int64), rows, gradient_limit=clip
        )
        np.testing.assert_array_equal(words[k], alone[0])


def test_starts_are_the_log_odds_of_the_shares():
    loss = OneVsRestLoss(n_outputs=3).starting_at(np.array([0.2, 0.5, -0.1]))
    raw = np.array(loss.start_units) * loss.unit
    np.testing.assert_allclose(linked(loss, raw), [0.2, 0.5, 1e-4], rtol=1e-4)


def test_the_objective_is_lightgbms():
    assert OneVsRestLoss(n_outputs=4).objective == "multiclassova num_class:4 sigmoid:1"
