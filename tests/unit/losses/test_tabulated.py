"""Losses in tables against their formulas in doubles, and as LightGBM defines them."""

import math

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import (
    CustomLoss,
    FractionalLabelLoss,
    LogLinkLoss,
    OneVsRestLoss,
    RobustLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from tests.unit.linked import linked

ONE = 65536
LABELS = SquaredLoss.from_label_bounds(-3.0, 7.0)  # half-width 5
KINK = 5 / 128


def gradients_and_hessians(loss, scores, labels, clip=1.0):
    """In units of their bounds."""
    units = np.rint(np.asarray(scores) / loss.unit).astype(np.int64)
    words = loss.packed_newton(
        units[np.newaxis],
        loss.encode_labels(labels),
        np.arange(len(units), dtype=np.int32),
        gradient_limit=clip,
    )[0]
    return (words >> 32) / ONE, (words & 0xFFFFFFFF) / ONE


def rows(low, high, n_rows=3000):
    random = np.random.default_rng(0)
    return random.uniform(low, high, (2, n_rows))


ROBUST = {
    "regression_l1": (RobustLoss.absolute(LABELS), lambda r: np.clip(r / KINK, -1, 1)),
    "huber": (RobustLoss.huber(LABELS, 0.9), lambda r: np.clip(r / 0.9, -1, 1)),
    "fair": (RobustLoss.fair(LABELS, 1.5), lambda r: r / (1.5 + np.abs(r))),
    "quantile": (
        RobustLoss.quantile(LABELS, 0.9),
        lambda r: (5 * np.clip(r / KINK, -1, 1) - 4) / 9,
    ),
}


@pytest.mark.parametrize("name", ROBUST)
def test_robust_gradients_are_those_of_the_formula(name):
    loss, formula = ROBUST[name]
    scores, labels = rows(-3, 7)
    gradients, hessians = gradients_and_hessians(loss, scores, labels)
    top = loss.units_per_one * loss.unit / 1.5 if name == "fair" else 1.0
    np.testing.assert_allclose(gradients * top, formula(scores - labels), atol=8e-3)
    assert hessians.min() > 0
    assert loss.objective == name


@pytest.mark.parametrize("name", ["huber", "fair"])
def test_a_robust_step_goes_to_the_label_and_not_beyond(name):
    loss, _ = ROBUST[name]
    width = loss.units_per_one * loss.unit
    residuals = np.linspace(-12, 12, 97) * width
    residuals = residuals[np.abs(residuals) < 9]
    gradients, hessians = gradients_and_hessians(loss, 2 + residuals, np.full(len(residuals), 2.0))
    np.testing.assert_allclose(gradients / hessians * width, residuals, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_the_gradient_of_a_quantile_tells_how_many_labels_are_below(alpha, far):
    labels = np.random.default_rng(1).normal(2, 1, 4000)
    labels[np.abs(labels - 2) > 1.7] += far
    loss, most = RobustLoss.quantile(LABELS, alpha), max(alpha, 1 - alpha)
    for score in (1.0, 2.0, 3.0):
        gradients, hessians = gradients_and_hessians(loss, np.full(4000, score), labels)
        below = np.mean(np.clip(labels, -3, 7) < score)
        assert gradients.mean() * most == pytest.approx(below - alpha, abs=3e-3)
        assert (hessians == 1).all()


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_the_gradient_of_a_quantile_vanishes_there(alpha):
    labels = np.sort(np.random.default_rng(1).normal(2, 1, 4000))
    loss = RobustLoss.quantile(LABELS, alpha)
    gradients, _ = gradients_and_hessians(loss, np.full(4000, np.quantile(labels, alpha)), labels)
    assert abs(gradients.mean()) < 0.015
    below, _ = gradients_and_hessians(loss, np.full(4000, np.quantile(labels, alpha / 2)), labels)
    assert below.mean() < -0.03


def test_a_quantile_keeps_its_sides_under_a_smaller_clip():
    loss = RobustLoss.quantile(LABELS, 0.8)
    for clip in (1.0, 0.5):
        gradients, _ = gradients_and_hessians(loss, [-3.0, 7.0], [7.0, -3.0], clip)
        np.testing.assert_allclose(gradients, [-clip, clip / 4], atol=2 / ONE)


@pytest.mark.parametrize("alpha", [1e-9, 1e9])
def test_a_width_of_huber_is_kept_in_reach(alpha):
    loss = RobustLoss.huber(LABELS, alpha)
    width = loss.units_per_one / LABELS.half_units
    assert width == pytest.approx(1 / 64 if alpha < 1 else 2, rel=1e-3)


def weighted(weight):
    """The gradient of the gamma loss and its expectation's slope, times a power of the mean."""
    return lambda t, z: (t**weight * (1 - z / t), t**weight + 0 * z)


LOG_LINK = {
    "poisson": (LogLinkLoss.poisson(0.0, 20.0), lambda t, z: (t - z, t), 1),
    "gamma": (LogLinkLoss.gamma(0.5, 20.0), weighted(0.25), 4),
    "gamma in a narrow range": (LogLinkLoss.gamma(8.0, 20.0), weighted(0.25), 2.5**0.75),
    "tweedie": (LogLinkLoss.tweedie(0.0, 20.0, 1.3), weighted(0.7), 4),
}


@pytest.mark.parametrize("name", LOG_LINK)
def test_log_link_gradients_and_hessians_are_their_formulas(name):
    """The gradients of poisson and tweedie are LightGBM's, those of gamma weighted."""
    loss, formula, gradient_bound = LOG_LINK[name]
    labels = rows(0, 25)[0]
    clipped = np.clip(labels, loss.lower, 20)
    scores = rows(math.log(max(loss.lower, 0.1)), math.log(20))[1]
    gradients, hessians = gradients_and_hessians(loss, scores, labels)
    exact = formula(np.exp(scores) / 20, clipped / 20)
    np.testing.assert_allclose(gradients, np.clip(exact[0] / gradient_bound, -1, 1), atol=1e-3)
    np.testing.assert_allclose(hessians, exact[1], atol=1e-3)


@pytest.mark.parametrize("name", LOG_LINK)
def test_scores_are_clipped_to_the_public_range_for_gradients(name):
    loss = LOG_LINK[name][0]
    for far, end in ((-50.0, math.log(max(loss.lower, 20 * math.exp(-12)))), (50.0, math.log(20))):
        for label in (0.0, 10.0, 20.0):
            at_far = gradients_and_hessians(loss, [far], [label])
            at_end = gradients_and_hessians(loss, [end], [label])
            np.testing.assert_allclose(at_far, at_end, atol=5e-3)


def test_the_factor_of_the_poisson_hessian_is_in_the_step():
    loss = LogLinkLoss.poisson(0.0, 20.0, max_delta_step=0.7)
    assert loss.units_per_one * loss.unit == pytest.approx(math.exp(-0.7), rel=1e-5)


@pytest.mark.parametrize("name", LOG_LINK)
def test_a_log_link_starts_at_the_logarithm_of_the_mean(name):
    loss = LOG_LINK[name][0]
    labels = np.array([1.0, 9.0, 20.0, 20.0])
    mean = loss.scaled_labels(loss.encode_labels(labels)).mean()
    started = loss.starting_at(mean)
    assert started.start == pytest.approx(
        math.log(np.clip(labels, loss.lower, 20).mean()), abs=1e-4
    )
    assert loss.starting_at(-3.0).start >= math.log(20) - 9.001
    np.testing.assert_array_equal(linked(started, np.zeros(2)), [1.0, 1.0])


@pytest.mark.parametrize("make", [LogLinkLoss.poisson, LogLinkLoss.gamma, LogLinkLoss.tweedie])
def test_a_log_link_needs_positive_labels(make):
    with pytest.raises(InvalidParameterError, match="label_bounds"):
        make(-2.0, 0.0)


def test_labels_outside_are_clipped_and_not_told_of():
    loss = LogLinkLoss.poisson(0.0, 20.0)
    assert loss.encode_labels([-5, 0, 20, 1e300]).tolist() == [0, 0, ONE, ONE]


def test_shares_have_the_gradient_of_the_cross_entropy():
    loss = FractionalLabelLoss.of()
    scores, labels = rows(0, 1)
    scores = 20 * scores - 10
    gradients, hessians = gradients_and_hessians(loss, scores, labels)
    p = 1 / (1 + np.exp(-scores))
    np.testing.assert_allclose(gradients, p - labels, atol=4e-5)
    np.testing.assert_allclose(hessians, p * (1 - p), atol=4e-5)
    assert loss.starting_at(0.2).start == pytest.approx(math.log(0.25), abs=1e-6)


def squared(y, s):
    return s - y, np.ones_like(s)


def test_a_custom_loss_is_its_function_between_the_bounds():
    calls = []

    def function(y, s):
        calls.append((y, s))
        return squared(y, s)

    loss = CustomLoss.of(
        function,
        gradient_bound=10.0,
        hessian_bound=2.0,
        label_bounds=(-3.0, 7.0),
        score_bounds=(-3.0, 7.0),
    )
    scores, labels = rows(-5, 9)
    gradients, hessians = gradients_and_hessians(loss, scores, labels)
    exact = np.clip(scores, -3, 7) - np.clip(labels, -3, 7)
    np.testing.assert_allclose(gradients, exact / 10, atol=4e-5)
    assert (hessians == 0.5).all()
    assert loss.units_per_one * loss.unit == pytest.approx(5.0)
    assert loss.start == pytest.approx(2.0)
    # Nothing but the public grid, and nothing but two calls.
    assert len(calls) == 2
    assert min(y.min() for y, _ in calls) == -3
    assert max(y.max() for y, _ in calls) == 7


def test_a_custom_loss_of_two_classes():
    def function(y, s):
        p = 1 / (1 + np.exp(-s))
        return p - y, p * (1 - p)

    loss = CustomLoss.of(
        function,
        gradient_bound=1.0,
        hessian_bound=0.25,
        label_bounds=None,
        score_bounds=(-6.0, 6.0),
    )
    scores = np.linspace(-6, 6, 100)
    for label in (0, 1):
        gradients, hessians = gradients_and_hessians(loss, scores, np.full(100, label))
        p = 1 / (1 + np.exp(-scores))
        np.testing.assert_allclose(gradients, p - label, atol=1e-4)
        np.testing.assert_allclose(hessians, 4 * p * (1 - p), atol=1e-4)


def of(function):
    return CustomLoss.of(
        function,
        gradient_bound=1.0,
        hessian_bound=1.0,
        label_bounds=(0.0, 1.0),
        score_bounds=(0.0, 1.0),
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda y, s: s - y, "returned"),
        (lambda y, s: (s - y, 1.0), "shapes"),
        (lambda y, s: (s - y, np.full(len(s), np.nan)), "missing"),
        (lambda y, s: (s - s.mean(), np.ones(len(s))), "each row alone"),
        (lambda y, s: (np.cumsum(s), np.ones(len(s))), "each row alone"),
    ],
)
def test_a_function_that_is_no_map_of_rows_is_refused(function, message):
    with pytest.raises(InvalidParameterError, match=message):
        of(function)


def test_whatever_a_function_returns_is_clipped():
    loss = of(lambda y, s: (1e9 * (s - 0.5), -1e9 * np.ones(len(s)) + 2e9 * (s > 0.5)))
    gradients, hessians = gradients_and_hessians(loss, [0.0, 1.0], [0.0, 1.0])
    assert gradients.tolist() == [-1.0, 1.0]
    assert hessians.tolist() == [0.0, 1.0]


EVERY = {
    **{name: pair[0] for name, pair in ROBUST.items()},
    **{name: entry[0] for name, entry in LOG_LINK.items()},
    "shares": FractionalLabelLoss.of(),
    "custom": of(squared),
}


OF_CLASSES = {"classes": SoftmaxLoss(n_outputs=3), "one by one": OneVsRestLoss(n_outputs=3)}


@pytest.mark.parametrize("name", EVERY | OF_CLASSES)
def test_a_row_has_one_word_wherever_it_lies(name):
    loss = (EVERY | OF_CLASSES)[name]
    random = np.random.default_rng(2)
    given = random.uniform(-5, 25, 20_001)
    if name in OF_CLASSES:
        given = random.integers(0, 3, 20_001)
    labels = loss.encode_labels(given)
    scores = random.integers(-(2**24), 2**24, (loss.n_outputs, 20_001))
    scores += np.reshape(loss.start_units, (-1, 1))
    if name in ("quantile", "regression_l1"):
        scores[0, ::2] = labels[::2] + random.integers(-(2**15), 2**15, 10_001)

    def words(positions, n_threads=1):
        return loss.packed_newton(
            scores, labels, positions.astype(np.int32), gradient_limit=0.7, n_threads=n_threads
        )

    whole = words(np.arange(20_001))
    assert len(np.unique(whole)) > 100
    for n_threads in (2, 5):
        np.testing.assert_array_equal(words(np.arange(20_001), n_threads), whole)
    for positions in (np.arange(7, 20_001), np.array([20_000, 5, 5]), np.array([17])):
        np.testing.assert_array_equal(words(positions), whole[:, positions])
    alone = np.array([loss.encode_labels([value])[0] for value in given[:999]])
    np.testing.assert_array_equal(labels[:999], alone)


@pytest.mark.parametrize("name", EVERY)
def test_any_float_is_a_label_within_the_bounds(name):
    """Without an error or a warning, which would say something of a cell."""
    loss = EVERY[name]
    with np.errstate(all="raise"):
        found = loss.encode_labels([np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 1.0])
    inside = loss.encode_labels(np.linspace(-100, 100, 1000))
    assert found.min() >= inside.min()
    assert found.max() <= inside.max()


@pytest.mark.parametrize("name", EVERY)
def test_huge_scores_are_no_trouble(name):
    loss = EVERY[name]
    for score in (-(1 << 60), 1 << 60):
        word = loss.packed_newton(
            np.array([[score]]),
            loss.encode_labels([1.0]),
            np.zeros(1, dtype=np.int32),
            gradient_limit=1.0,
        )[0, 0]
        assert abs(word >> 32) <= loss.gradient_reach(1.0).l1
        assert (word & 0xFFFFFFFF) <= loss.hessian_reach.l1
