"""Lines in order, beside scikit-learn's isotonic regression."""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from dpboost._kernels import isotonic


def test_lines_are_the_nearest_ones_that_never_fall():
    rng = np.random.default_rng(0)
    lines, weights = rng.normal(size=(20, 30)), rng.uniform(0.1, 4, (20, 30))
    expected = [
        IsotonicRegression().fit(np.arange(30), own, weight).predict(np.arange(30))
        for own, weight in zip(lines, weights, strict=True)
    ]
    found = lines.copy()
    isotonic.ascend(found, weights, np.empty((3, 30)))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (np.diff(found) >= 0).all()


def test_short_lines_and_lines_in_order_stay():
    for lines in (
        np.zeros((0, 4)),
        np.zeros((3, 0)),
        np.array([[5.0]]),
        np.array([[1.0, 1.0, 2.0]]),
    ):
        found = lines.copy()
        isotonic.ascend(found, np.ones_like(lines), np.empty((3, lines.shape[1])))
        np.testing.assert_array_equal(found, lines)
