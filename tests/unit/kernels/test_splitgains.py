"""Gains of splits: sums below a node, outputs added up, nothing for a tree without a split."""

import numpy as np
import pytest

from dpboost._kernels import splitgains


def gains(left, right, gradients, hessians, noise_stddev=0.0, *, reg_lambda=1.0, prior=0.5):
    shown = np.zeros((2, len(left)))
    splitgains.split_gains(
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(gradients, float),
        np.array(hessians, float),
        noise_stddev,
        reg_lambda,
        prior,
        np.full((3, len(left)), 99.0),
        shown,
    )
    return shown


def test_a_tree_of_three_leaves():
    # Node 0 has leaf 1 on its left and node 1 on its right, which has leaves 2 and 0.
    shown = gains([~1, ~2], [1, ~0], [[3.0, -2.0, 5.0]], [[1.0, 3.0, -7.0]])
    assert shown[0, 1] == pytest.approx((1 * 2 / 3) * (5 / 1 - 3 / 2) ** 2)
    assert shown[0, 0] == pytest.approx((4 * 2 / 6) * (-2 / 4 - 8 / 2) ** 2)
    assert not shown[1].any()


def test_noise_counts_with_the_leaves_below_a_side():
    shown = gains([~1, ~2], [1, ~0], [[0.0, 0.0, 0.0]], [[1.0, 3.0, 0.0]], 2.0)
    noise = 4.0 * (1 / 16 + 2 / 4)
    weight = 4 * 2 / 6 * 0.25 / (0.25 + noise)
    assert shown[0, 0] == pytest.approx(-weight * noise)
    assert shown[1, 0] == pytest.approx(2 * (weight * noise) ** 2)


def test_outputs_add_up():
    random = np.random.default_rng(0)
    left, right = [1, ~0, ~1], [2, ~3, ~2]
    gradients, hessians = random.normal(size=(3, 4)), random.random((3, 4))
    together = gains(left, right, gradients, hessians, 0.3)
    apart = [gains(left, right, gradients[k : k + 1], hessians[k : k + 1], 0.3) for k in range(3)]
    np.testing.assert_allclose(together, sum(apart))


def test_one_leaf_has_no_split():
    assert gains([], [], [[4.0]], [[2.0]]).shape == (2, 0)
