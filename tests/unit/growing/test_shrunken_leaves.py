"""Scales of the released sums, and steps shrunk by what is known of the noise."""

import numpy as np
import pytest

from dpboost.growing.shrunken_leaves import ShrunkenLeaf
from dpboost.losses import SoftmaxLoss
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors
from dpboost.rows.boosting_queries import GRADIENT_FACTOR, SumScale

STEPS = np.array([-0.5, 0.5])


def scale(**changes):
    asked = {
        "gradient_limit": 0.25,
        "gradient_reach": ContributionBound.single(16384),
        "hessian_reach": ContributionBound.single(16384),
        "hessian_unit": 2.0**-16,
        "hessian_share": 0.1,
        "norm": "l2",
    }
    return SumScale(**asked | changes)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.8])
@pytest.mark.parametrize(
    "hessian", [ContributionBound.single(4096), SoftmaxLoss(n_outputs=5).hessian_reach]
)
@pytest.mark.parametrize(
    "gradient", [ContributionBound.single(9000), ContributionBound(l1=900, squares=400_000)]
)
def test_hessians_have_their_share_of_the_norm(share, hessian, gradient):
    for norm in ("l1", "l2"):
        part = scale(hessian_share=share, hessian_reach=hessian, gradient_reach=gradient, norm=norm)
        sizes = [
            reach.l1 if norm == "l1" else reach.squares
            for reach in (hessian, gradient.scaled(GRADIENT_FACTOR))
        ]
        power = 1 if norm == "l1" else 2
        # The factor is the integer next to the one that gives exactly this share.
        shares = [
            h / (h + sizes[1]) for h in (f**power * sizes[0] for f in part.hessian_factor + STEPS)
        ]
        assert part.hessian_factor == 1 or shares[0] <= share
        assert share <= shares[1]


def test_a_factor_is_never_zero():
    assert scale(hessian_share=1e-9).hessian_factor == 1


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_released_units_are_worth_what_went_in(norm):
    part = scale(norm=norm)
    gradients, hessians = np.array([[-65536, 3 * 65536]]), np.array([[65536, 16384]])
    value = part.scaled(np.stack([gradients, hessians]))
    np.testing.assert_allclose(value[0] * part.gradient_unit_value, [[-1, 3]])
    np.testing.assert_allclose(value[1] * part.hessian_unit_value, [[1, 0.25]])


@pytest.mark.parametrize("neighbors", Neighbors)
def test_the_bounds_hold_for_the_largest_row(neighbors):
    part = scale()
    limit = int(part.gradient_limit * 65536)

    def vector(leaf, gradient, hessian):
        sums = np.zeros((2, 1, 2), np.int64)
        sums[:, 0, leaf] = gradient, hessian
        return part.scaled(sums).astype(float).ravel()

    row = vector(0, limit, 16384)
    changes = [row]
    if neighbors is Neighbors.REPLACE:
        changes = [row - vector(leaf, -limit, h) for leaf in (0, 1) for h in (0, 16384)]
    l1, l2 = part.bounds(neighbors)
    assert l1.constant == max(np.abs(change).sum() for change in changes)
    largest = max(np.linalg.norm(change) for change in changes)
    assert largest <= l2.constant <= largest + 1


def leaf(**changes):
    return ShrunkenLeaf(**{"reg_lambda": 10.0, "prior": 0.1} | changes)


def test_without_noise_a_step_is_newtons():
    gradients, hessians = np.array([[5.0, -3.0, 0.0]]), np.array([[90.0, 20.0, 0.0]])
    steps = leaf().steps(gradients, hessians, 0.0)
    np.testing.assert_allclose(steps, [[-0.05, 0.1, 0.0]])


def test_a_step_is_the_posterior_mean_of_its_prior():
    # Half of the variance is noise where prior and noise of the step are alike.
    noise_stddev, denominator = 7.0, 70.0
    steps = leaf().steps(np.array([[14.0]]), np.array([[60.0]]), noise_stddev)
    assert noise_stddev / denominator == pytest.approx(0.1)
    assert steps[0, 0] == pytest.approx(-14 / 70 / 2)
    random = np.random.default_rng(0)
    truth = random.normal(0, 0.1, 200_000)
    noisy = -truth * denominator + random.normal(0, noise_stddev, len(truth))
    found = leaf().steps(noisy[np.newaxis], np.full((1, len(truth)), 60.0), noise_stddev)
    slope = np.dot(found[0], truth) / np.dot(found[0], found[0])
    assert slope == pytest.approx(1, abs=0.02)


def test_noise_in_an_empty_leaf_adds_almost_nothing():
    steps = leaf().steps(np.array([[100.0]]), np.array([[-50.0]]), 100.0)
    assert abs(steps[0, 0]) < 0.001 * (100 / 10)


def test_a_negative_hessian_counts_as_none():
    low = leaf().steps(np.array([[1.0]]), np.array([[-9.9]]), 0.5)
    none = leaf().steps(np.array([[1.0]]), np.array([[0.0]]), 0.5)
    assert low == none


def test_steps_are_clipped():
    steps = leaf(largest=0.3).steps(np.array([[-1e4, 1e4]]), np.array([[1.0, 1.0]]), 0.0)
    assert steps.tolist() == [[0.3, -0.3]]
