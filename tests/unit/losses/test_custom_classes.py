"""A loss of several classes that the user writes: clip, rounding, and each row by itself."""

import math
import warnings

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import CustomClassLoss
from dpboost.losses import custom_classes as module

ONE = 65536
N_CLASSES = 3


def softmax(y, s):
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p - (np.arange(s.shape[1]) == y[:, np.newaxis]), p * (1 - p)


def of(function, **settings):
    options = {"gradient_bound": math.sqrt(2), "hessian_bound": 0.5, "score_bounds": (-6.0, 6.0)}
    return CustomClassLoss.of(function, N_CLASSES, **{**options, **settings})


def words(loss, scores, labels, clip=1.0, rows=None):
    """Gradients and hessians in units, of shape (n_rows, n_classes)."""
    units = np.rint(np.asarray(scores) / loss.unit).astype(np.int64)
    rows = np.arange(len(labels)) if rows is None else rows
    packed = loss.packed_newton(
        np.ascontiguousarray(units.T),
        loss.encode_labels(labels),
        rows.astype(np.int32),
        gradient_limit=clip,
    )
    return (packed >> 32).T, (packed & 0xFFFFFFFF).T


def rows(n_rows=5000, reach=6.0):
    random = np.random.default_rng(1)
    return random.uniform(-reach, reach, (n_rows, N_CLASSES)), random.integers(0, 3, n_rows)


def test_values_are_those_of_the_function_in_parts_of_their_bounds():
    scores, labels = rows()
    gradients, hessians = words(of(softmax), scores, labels)
    exact = softmax(labels, scores)
    np.testing.assert_allclose(gradients / ONE * math.sqrt(2), exact[0], atol=1e-4)
    np.testing.assert_allclose(hessians / ONE * 0.5, exact[1], atol=1e-4)


def test_scores_beyond_their_bounds_count_as_the_bounds():
    loss = of(softmax, score_bounds=(-1.0, 3.0))
    scores, labels = rows()
    np.testing.assert_array_equal(
        words(loss, scores, labels), words(loss, np.clip(scores, -1, 3), labels)
    )
    assert loss.start_units == (round(1 / loss.unit),) * N_CLASSES


@pytest.mark.parametrize("clip", [1.0, 0.3, 1e-5, 0.0])
@pytest.mark.parametrize("size", [0.6, 1e3, 1e200, np.inf])
def test_norms_are_clipped_and_touched(size, clip):
    loss = of(lambda y, s: (size * (1 + s * s), size * (1 + s * s)))
    gradients, hessians = words(loss, *rows(), clip)
    for found, reach in ((gradients, loss.gradient_reach(clip)), (hessians, loss.hessian_reach)):
        squares = (found**2).sum(axis=1)
        assert squares.max() <= reach.squares
        assert np.abs(found).sum(axis=1).max() <= reach.l1
        if clip > 0.1:
            assert squares.max() >= 0.99 * reach.squares
            assert np.abs(found).sum(axis=1).max() >= 0.99 * reach.l1
    assert hessians.min() >= 0


def test_hessians_below_zero_count_as_zero():
    assert words(of(lambda y, s: (s, -1 - s * s)), *rows())[1].max() == 0


def test_a_row_has_the_same_integers_whatever_stands_beside_it(monkeypatch):
    """Also where the function's last bits depend on it."""

    def wobbling(y, s):
        gradients, hessians = softmax(y, s)
        return gradients + 1e-11 * np.sin(s.sum() + np.arange(3)), hessians

    monkeypatch.setattr(module, "BLOCK", 700)
    loss = of(wobbling)
    scores, labels = rows(20_000)
    whole = words(loss, scores, labels)
    moved = np.random.default_rng(3).permutation(20_000)
    for some in (np.arange(7, 20_000), moved, moved[:300], moved[:1]):
        found = words(loss, scores, labels, rows=some)
        np.testing.assert_array_equal(found[0], whole[0][some])
        np.testing.assert_array_equal(found[1], whole[1][some])
    alone = []
    monkeypatch.setattr(
        CustomClassLoss, "_alone", lambda *parts: alone.append(1) or softmax(*parts[1:])
    )
    words(loss, scores, labels)
    assert 0 < len(alone) < 400, "few rows are asked for by themselves"


def test_rows_of_which_a_function_says_nothing_count_as_zeros():
    """Nothing of what it says of them leaves: no error, no warning."""

    def odd(y, s):
        if (s[:, 0] == 6).any():
            raise ValueError(f"the cell {s.max()}")
        if (s[:, 0] == -6).any():
            warnings.warn("a cell", stacklevel=1)
            return np.full_like(s, np.nan), s
        return softmax(y, s)

    loss = of(odd)
    scores, labels = rows(100)
    scores[3, 0], scores[50, 0] = 6.0, -6.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gradients, hessians = words(loss, scores, labels)
    assert np.flatnonzero((gradients == 0).all(axis=1)).tolist() == [3, 50]
    assert np.flatnonzero((hessians == 0).all(axis=1)).tolist() == [3, 50]
    others = np.delete(np.arange(100), [3, 50])
    np.testing.assert_array_equal(
        gradients[others], words(of(softmax), scores[others], labels[others])[0]
    )


def test_lightgbms_other_forms():
    scores, labels = rows(100)
    exact = words(of(softmax), scores, labels)

    def flat(y, s, weight):
        assert (weight == 1).all()
        return [part.ravel(order="F") for part in softmax(y, s)]

    np.testing.assert_array_equal(words(of(flat), scores, labels), exact)


NO_MAPS = {
    "one number a row": (lambda y, s: (s[:, 0], s[:, 0]), "a row of numbers each"),
    "something else": (lambda y, s: s, "something else"),
    "missing": (lambda y, s: (s * np.nan, s), "missing values"),
    "mean of scores": (lambda y, s: (s - s.mean(axis=0), 1 + 0 * s), "each row alone"),
    "sizes of classes": (
        lambda y, s: (s / np.bincount(y.astype(int), minlength=3)[y.astype(int), None], 1 + 0 * s),
        "each row alone",
    ),
    "the row before": (lambda y, s: (np.roll(s, 1, axis=0), 1 + 0 * s), "each row alone"),
    "coins": (lambda y, s: (s + np.random.default_rng().normal(size=s.shape), s), "each row alone"),
}


@pytest.mark.parametrize("name", NO_MAPS)
def test_a_function_that_is_no_map_of_rows_is_refused(name):
    function, message = NO_MAPS[name]
    with pytest.raises(InvalidParameterError, match=message):
        of(function)
