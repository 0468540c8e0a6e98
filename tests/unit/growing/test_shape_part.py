"""Tables in order, and what is handed from one to the other."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.isotonic import IsotonicRegression

from dpboost.growing.shape_part import ShapePart, settle


def part(rng, features, signs, shape):
    return ShapePart(
        features=features,
        signs=signs,
        aim=rng.normal(size=shape),
        mass=rng.uniform(0.2, 2, shape) / np.prod(shape),
    )


def nearest(aim, mass):
    """Return the nearest table that rises along both sides, as a sum of upper sets."""
    known, weight = aim[:-1, :-1], np.sqrt(mass[:-1, :-1]).ravel()
    every = ((bits >> np.arange(known.size)) & 1 for bits in range(1, 1 << known.size))
    upper = [
        own.ravel()
        for own in (bits.reshape(known.shape) for bits in every)
        if all((np.diff(own, axis=axis) >= 0).all() for axis in (0, 1))
    ]
    basis = np.array(upper, float).T
    low = np.where(basis.all(axis=0), -np.inf, 0.0)
    solved = lsq_linear(
        basis * weight[:, np.newaxis], known.ravel() * weight, (low, np.inf), method="bvls"
    )
    return (basis @ solved.x).reshape(known.shape)


def in_order(table, signs):
    """Say whether a table is in order, missing bins apart."""
    lines = (np.moveaxis(table, axis, 0)[:-1] for axis in range(table.ndim))
    steps = (sign * np.diff(own, axis=0) for own, sign in zip(lines, signs, strict=True))
    return all((own >= 0).all() for own in steps)


@pytest.mark.parametrize("signs", [(1, 0), (0, -1)])
def test_along_one_side_a_table_is_the_nearest_in_order(signs):
    own = part(np.random.default_rng(0), (0, 1), signs, (9, 6))
    own.project(own.aim)
    assert in_order(own.found, signs)
    axis = int(np.flatnonzero(signs)[0])
    lines = (np.moveaxis(table, axis, -1) for table in (own.aim, own.mass, own.found))
    for aim, mass, found in zip(*lines, strict=True):
        isotonic = IsotonicRegression(increasing=sum(signs) > 0)
        best = isotonic.fit(np.arange(len(aim) - 1), aim[:-1], mass[:-1])
        np.testing.assert_allclose(found[:-1], best.predict(np.arange(len(aim) - 1)), atol=1e-12)
        assert found[-1] == aim[-1]


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (-1, -1)])
def test_along_both_sides_a_table_is_nearly_the_nearest_in_order(signs):
    rng = np.random.default_rng(0)
    flip = (slice(None, None, signs[0]), slice(None, None, signs[1]))
    for _ in range(5):
        own = part(rng, (0, 1), signs, (4, 4))
        own.project(own.aim)
        assert in_order(own.found, signs)
        rising, mass = np.zeros((4, 4)), np.ones((4, 4))
        rising[:-1, :-1], mass[:-1, :-1] = own.aim[:-1, :-1][flip], own.mass[:-1, :-1][flip]
        best = nearest(rising, mass)[flip]
        aim, mass = own.aim[:-1, :-1], own.mass[:-1, :-1]
        least = (mass * (best - aim) ** 2).sum()
        assert (mass * (own.found[:-1, :-1] - aim) ** 2).sum() <= 1.1 * least


def test_what_is_left_over_is_handed_on_once():
    # A fall along both sides is a sum of two lines, not twice the same fall.
    aim = -np.add.outer(np.arange(5.0), 2 * np.arange(4.0))
    own = ShapePart(features=(3, 7), signs=(1, 1), aim=aim, mass=np.full((5, 4), 1 / 20))
    own.found = np.zeros_like(aim)
    left = own.left_over()
    np.testing.assert_allclose(np.add.outer(left[3], left[7]), aim, atol=1e-9)


def test_a_fall_may_stand_on_the_rise_of_another_part():
    rng = np.random.default_rng(1)
    rise = 3.0 * np.arange(6)
    alone = ShapePart(features=(0,), signs=(1,), aim=rise, mass=np.full(6, 1 / 6))
    pair = part(rng, (0, 1), (1, 0), (6, 5))
    pair.aim = np.zeros((6, 5)) - np.arange(6.0)[:, np.newaxis]
    pair.found = pair.aim.copy()
    settle([alone, pair])
    # Two units of rise a bin are left, and nothing of the fall.
    total = alone.found[:-1, np.newaxis] + pair.found[:-1]
    np.testing.assert_allclose(np.diff(total, axis=0), 2.0, atol=0.2)


def test_turns_do_not_run_away():
    # Two features with directions that meet each other and others, with rows on few cells.
    rng = np.random.default_rng(2)
    for _ in range(20):
        parts = [
            part(rng, features, signs, shape)
            for features, signs, shape in [
                ((0,), (1,), (9,)),
                ((1,), (-1,), (7,)),
                ((0, 1), (1, -1), (9, 7)),
                ((0, 2), (1, 0), (9, 5)),
                ((1, 2), (-1, 0), (7, 5)),
            ]
        ]
        for own in parts:
            own.mass **= 3
        size = max(float(np.abs(own.aim).max()) for own in parts)
        settle(parts)
        assert all(in_order(own.found, own.signs) for own in parts)
        assert max(float(np.abs(own.found).max()) for own in parts) < 3 * size
