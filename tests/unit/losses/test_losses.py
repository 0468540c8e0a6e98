import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import (
    GRADIENT_ONE,
    LogisticLoss,
    OneVsRestLoss,
    SoftmaxLoss,
    SquaredLoss,
    logistic_table,
)
from tests.unit.linked import linked

BOUNDS = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (-3.7, 12.9),
    (0.0, 1e300),
    (-1e300, 1e300),
    (0.0, 1e-290),
    (1e-300, 5e-290),
    (1e9, 1e9 + 1),
    (1e6, 1e6 + 1e-3),
    (-7.5, -7.25),
    (0.0, 500_001.0),
    (0.1, 0.3),
]


def words(loss, scores, labels, **options):
    rows = np.arange(len(scores), dtype=np.int32)
    return loss.packed_gradients(
        np.array(scores, dtype=np.int64), np.array(labels, dtype=np.int64), rows, **options
    )


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_grid_holds_every_label_exactly(lower, upper):
    loss = SquaredLoss.from_label_bounds(lower, upper)
    assert math.frexp(loss.unit)[0] == 0.5  # a power of two
    assert 1 << 10 <= loss.half_units <= (1 << 21) + 1
    assert Fraction(loss.start) == loss.start_units * Fraction(loss.unit)
    # Room for scores: the furthest label leaves more than half of a double's integers.
    assert abs(loss.start_units) + loss.half_units < 1 << 52
    middle = (Fraction(lower) + Fraction(upper)) / 2
    assert abs(Fraction(loss.start) - middle) <= Fraction(loss.unit) / 2
    rng = np.random.default_rng(0)
    inside = lower + rng.random(1000) * (upper - lower)
    y = np.clip(np.concatenate([[lower, upper, loss.start], inside]), lower, upper)
    labels = loss.encode_labels(y)
    assert np.abs(labels - loss.start_units).max() <= loss.half_units
    for label, value in zip(labels, y, strict=True):
        assert abs(Fraction(int(label)) * Fraction(loss.unit) - Fraction(value)) <= (
            Fraction(loss.unit) / 2
        )
    for value in (lower, upper):
        scaled = (Fraction(value) - Fraction(loss.start)) / (loss.half_units * Fraction(loss.unit))
        assert abs(scaled) <= 1
    assert loss.half_width <= 1.01 * (upper / 2 - lower / 2)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_labels_outside_are_clipped(lower, upper):
    loss = SquaredLoss.from_label_bounds(lower, upper)
    outside = loss.encode_labels([-1.7e308, 1.7e308])
    np.testing.assert_array_equal(outside, loss.encode_labels([lower, upper]))


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, 1e-300, 5e-324])
def test_equal_bounds_are_a_constant_label(value):
    loss = SquaredLoss.from_label_bounds(value, value)
    labels = loss.encode_labels([value, value + 1, -1e10])
    assert labels.tolist() == [loss.start_units] * 3
    assert abs(loss.start - value) <= loss.unit / 2
    assert loss.half_width <= max(abs(value) * 2.0**-39, 1e-290)
    assert (words(loss, [loss.start_units], [loss.start_units]) == 1).all()


@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 0.0),
        (0.0, math.inf),
        (math.nan, 1.0),
        (0.0, 1e301),
        (1.0, 1.0 + 1e-13),
        (1e15, 1e15 + 1),
        (0.0, 5e-324),
        (0.0, 1e-300),
        (True, 2.0),
        ("0", 1.0),
    ],
)
def test_unusable_bounds_are_refused(bounds):
    with pytest.raises(InvalidParameterError, match="label_bounds"):
        SquaredLoss.from_label_bounds(*bounds)


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_squared_gradient_is_the_scaled_difference(lower, upper):
    loss = SquaredLoss.from_label_bounds(lower, upper)
    start, half = loss.start_units, loss.half_units
    scores = start + np.array([0, half, -half, half // 2, 3 * half, -3 * half])
    got = words(loss, scores, np.full(6, start))
    gradients = got >> 32
    np.testing.assert_array_equal(got & 0xFFFFFFFF, 1)
    assert gradients[[0, 1, 2, 4, 5]].tolist() == [
        0,
        GRADIENT_ONE,
        -GRADIENT_ONE,
        GRADIENT_ONE,
        -GRADIENT_ONE,
    ]
    assert gradients[3] == round(half // 2 * (GRADIENT_ONE / half))
    # At the start value no label has a gradient beyond the bound, so no filter drops it.
    ends = loss.encode_labels([lower, upper])
    assert (words(loss, [start, start], ends, filter_limit=1.0) != 0).all()


@pytest.mark.parametrize("sign", [-1, 1])
def test_squared_filter_and_clip(sign):
    loss = SquaredLoss.from_label_bounds(-3.7, 12.9)
    start, half = loss.start_units, loss.half_units
    scores = start + sign * np.array([half, half + 1])
    got = words(loss, scores, [start, start], filter_limit=1.0)
    assert got.tolist() == [(sign * GRADIENT_ONE << 32) + 1, 0]
    kept = words(loss, scores, [start, start], gradient_limit=0.25, n_threads=2)
    assert kept.tolist() == [(sign * (GRADIENT_ONE // 4) << 32) + 1] * 2


def test_logistic_probability_is_accurate_everywhere():
    loss = LogisticLoss()
    scores = np.concatenate(
        [np.arange(-(14 << 20), 14 << 20, 997), [0, 1, -1, 12 << 20, -(12 << 20)]]
    )
    probability = (words(loss, scores, np.zeros(len(scores))) >> 32) / GRADIENT_ONE
    exact = 1 / (1 + np.exp(-scores * loss.unit))
    # Half a unit of rounding, and the table's own error.
    assert np.abs(probability - exact).max() <= 2.0**-17 + 2.0**-20
    assert probability[len(scores) - 5] == 0.5
    order = np.argsort(scores)
    assert (np.diff(probability[order]) >= 0).all()
    np.testing.assert_array_equal(
        words(loss, -scores, np.ones(len(scores))) >> 32,
        -(words(loss, scores, np.zeros(len(scores))) >> 32),
    )


def test_logistic_table_interpolates_below_two_to_minus_twenty():
    table = logistic_table()
    value, rise = (table >> 32) / 2.0**30, (table & 0xFFFFFFFF) / 2.0**30
    knots = np.arange(len(table)) * 2.0**-7
    for fraction in (0.0, 0.25, 0.5, 0.75):
        exact = 1 / (1 + np.exp(-(knots + fraction * 2.0**-7)))
        assert np.abs(value + fraction * rise - exact)[:-1].max() < 2.0**-20
    # Past the table's end the grid of 2^-16 shows 1.
    assert round(value[-1] * GRADIENT_ONE) == GRADIENT_ONE
    assert not table.flags.writeable


@pytest.mark.parametrize("label", [0, 1])
def test_logistic_filter_and_clip(label):
    loss = LogisticLoss()
    score = 0
    size = GRADIENT_ONE // 2
    sign = 1 - 2 * label
    assert words(loss, [score], [label], filter_limit=0.5)[0] == (sign * size << 32) + 1
    assert words(loss, [score], [label], filter_limit=0.4999)[0] == 0
    clipped = words(loss, [score], [label], gradient_limit=0.125)[0]
    assert clipped == (sign * GRADIENT_ONE // 8 << 32) + 1


@pytest.mark.parametrize("options", [{"filter_limit": -0.1}, {"gradient_limit": 1.5}])
@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss.from_label_bounds(0, 1)])
def test_limits_outside_their_range_are_refused(loss, options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        words(loss, [0], [0], **options)


@pytest.mark.parametrize(
    "loss", [LogisticLoss(), SoftmaxLoss(n_outputs=2), OneVsRestLoss(n_outputs=2)]
)
def test_class_indices_are_checked(loss):
    assert loss.encode_labels([0, 1, 1]).tolist() == [0, 1, 1]
    assert loss.encode_labels(np.array([True, False])).tolist() == [1, 0]
    for bad in ([0, 2], [0.5, 1], [-1, 0], [math.nan, 0]):
        with pytest.raises(InvalidParameterError, match="class indices"):
            loss.encode_labels(bad)


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss.from_label_bounds(-3.7, 12.9)])
def test_leaf_values_become_score_units(loss):
    one = loss.units_per_one
    got = loss.to_score_units(np.array([0, 1 << 20, -(1 << 20), 3]), 2.0**-20, 0.1)
    assert got.dtype == np.int64
    assert got.tolist() == [0, round(0.1 * one), -round(0.1 * one), round(3 * 2.0**-20 * 0.1 * one)]
    huge = loss.to_score_units(np.array([1 << 62, -(1 << 62)]), 1.0, 1.0)
    assert huge.tolist() == [1 << 40, -(1 << 40)]
    raw = loss.start + got * loss.unit
    exact = [Fraction(loss.start) + int(v) * Fraction(loss.unit) for v in got]
    assert [Fraction(value) for value in raw] == exact


def test_links():
    raw = np.array([[-1.5, 0.0], [3.0, 800.0]])
    np.testing.assert_allclose(linked(LogisticLoss(), raw), 1 / (1 + np.exp(-raw)), rtol=1e-15)
    np.testing.assert_array_equal(linked(SquaredLoss.from_label_bounds(0, 1), raw), raw)


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss.from_label_bounds(0, 1)])
def test_losses_are_frozen_values(loss):
    with pytest.raises(dataclasses.FrozenInstanceError):
        loss.unit = 1.0
    assert loss == dataclasses.replace(loss)
    assert loss.gradient_bound == 1.0
