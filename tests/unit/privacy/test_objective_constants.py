"""Brute force against the bounds of the released sums, for every loss, with and without weights."""

import itertools

import numpy as np
import pytest

from dpboost._kernels import newton
from dpboost.losses import (
    CustomClassLoss,
    CustomLoss,
    FractionalLabelLoss,
    LogisticLoss,
    LogLinkLoss,
    OneVsRestLoss,
    QuantilesLoss,
    RobustLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from dpboost.privacy.queries import _reveal, handle_of
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors
from dpboost.privacy.sensitivity.constants import newton_sums
from dpboost.rows.boosting_queries import GRADIENT_FACTOR, SumScale
from dpboost.rows.raw_rows import ROW_UNITS, ClassSizes, EncodedRows, MeanAndRows, RowCount
from dpboost.rows.row_attributes import RowExtras, Weighting

LABELS = SquaredLoss.from_label_bounds(-1.0, 1.0)


def steep(y, s):
    return 9 * (s - y), 1 + 0 * s


def steep_classes(y, s):
    own = np.arange(s.shape[1]) == y[:, np.newaxis]
    return 2 * (np.sign(s) - 2 * own), 1 + 0 * s


LOSSES = {
    "regression_l1": RobustLoss.absolute(LABELS),
    "huber": RobustLoss.huber(LABELS, 0.3),
    "fair": RobustLoss.fair(LABELS, 0.3),
    "quantile": RobustLoss.quantile(LABELS, 0.9),
    "three quantiles": QuantilesLoss.of(LABELS, (0.1, 0.5, 0.8)),
    "poisson": LogLinkLoss.poisson(0.0, 8.0),
    "gamma": LogLinkLoss.gamma(0.01, 8.0),
    "tweedie": LogLinkLoss.tweedie(0.0, 8.0),
    "cross_entropy": FractionalLabelLoss.of(),
    "custom": CustomLoss.of(
        steep,
        gradient_bound=2.0,
        hessian_bound=1.0,
        label_bounds=(-1.0, 1.0),
        score_bounds=(-1.0, 1.0),
    ),
    "custom, several classes": CustomClassLoss.of(
        steep_classes, 3, gradient_bound=2.0, hessian_bound=1.0, score_bounds=(-6.0, 6.0)
    ),
    "multiclassova": OneVsRestLoss(n_outputs=3),
    "multiclass": SoftmaxLoss(n_outputs=3),
    "multiclass of four": SoftmaxLoss(n_outputs=4),
    "multiclass of ten": SoftmaxLoss(n_outputs=10),
    "regression": LABELS,
}
SHARE = 0.05
# The largest gradients of the others have small hessians, so that the bound of both together is
# loose by the share of the hessians; that of either part alone is not.
BOTH_AT_ONCE = {"regression", "regression_l1", "huber", "poisson", "custom", "three quantiles"}
BOTH_AT_ONCE |= {"multiclass", "multiclass of four", "multiclass of ten"}
WEIGHTS = np.array([0, 1, 20_000, 65_535, 65_536], dtype=np.int32)


def every_row(loss):
    """Scores and labels all over and beyond the ranges of a loss."""
    if loss.n_outputs > 1:
        levels = [-(40 << 20), -(1 << 20), -(1 << 19), 0, 1 << 19, 40 << 20]
        levels = levels[:: 5 if loss.n_outputs > 4 else 1]
        scores = np.array(list(itertools.product(levels, repeat=loss.n_outputs))).T
        labels = np.arange(loss.n_outputs)
        if isinstance(loss, QuantilesLoss):
            labels = loss.encode_labels([-9.0, -0.5, 0.5, 9.0])
    else:
        around = np.append(np.arange(-30, 31) << 20, np.linspace(-2, 2, 65) * loss.units_per_one)
        scores = np.rint(around).astype(np.int64)[np.newaxis] + loss.start_units
        labels = loss.encode_labels([-9.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 8.0, 99.0])
    n_scores = scores.shape[1]
    return (
        np.ascontiguousarray(np.repeat(scores, len(labels), axis=1)),
        np.tile(labels, n_scores).astype(np.int64),
    )


def parts(loss, limit, weighted):
    """Gradient and hessian vectors of all rows, weighted in every way."""
    scores, labels = every_row(loss)
    weights = WEIGHTS if weighted else WEIGHTS[-1:]
    scores = np.repeat(scores, len(weights), axis=1)
    labels = np.repeat(labels, len(weights))
    rows = np.arange(len(labels), dtype=np.int32)
    words = loss.packed_newton(scores, labels, rows, gradient_limit=limit)
    if weighted:
        newton.weighted(np.resize(weights, len(labels)), rows, words)
    return np.unique(np.stack([words >> 32, words & 0xFFFFFFFF]), axis=2)


def scale_of(loss, limit, norm):
    return SumScale(
        gradient_limit=limit,
        gradient_reach=loss.gradient_reach(limit),
        hessian_reach=loss.hessian_reach,
        hessian_unit=loss.hessian_unit,
        hessian_share=0.08 if isinstance(loss, SoftmaxLoss) else SHARE,
        norm=norm,
    )


def largest_change(vectors, neighbors, order):
    """By one row in one of two leaves, or by one row instead of another in the same or other."""
    vectors = vectors.reshape(-1, vectors.shape[2]).T.astype(float)
    sizes = np.linalg.norm(vectors, order, axis=1)
    if neighbors is Neighbors.ADD_REMOVE:
        return sizes.max()
    moved = 2 * sizes.max() if order == 1 else np.sqrt(2) * sizes.max()
    # Only rows at the rim of what there is can be furthest apart.
    random = np.random.default_rng(0)
    rim = {0}
    for axis in np.vstack([np.eye(vectors.shape[1]), random.normal(size=(400, vectors.shape[1]))]):
        along = (vectors / np.maximum(np.abs(vectors).max(axis=0), 1)) @ axis
        rim |= {int(along.argmin()), int(along.argmax())}
    chosen = vectors[sorted(rim)]
    apart = np.linalg.norm(chosen[:, np.newaxis] - chosen[np.newaxis], order, axis=2).max()
    return max(moved, apart)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("limit", [1.0, 0.4])
@pytest.mark.parametrize("name", LOSSES)
def test_a_row_moves_the_released_sums_by_the_bound_and_not_more(name, limit, neighbors, weighted):
    loss = LOSSES[name]
    vectors = parts(loss, limit, weighted)
    for norm, order in (("l1", 1), ("l2", 2)):
        scale = scale_of(loss, limit, norm)
        bound = dict(zip(("l1", "l2"), scale.bounds(neighbors), strict=True))[norm]
        assert bound.coordinates == 2 * loss.n_outputs * neighbors.rows
        released = scale.scaled(vectors.copy())
        truth = largest_change(released, neighbors, order)
        assert truth <= bound.constant
        tight = bound.constant
        if name not in BOTH_AT_ONCE:
            gradients = scale.gradient_reach.scaled(GRADIENT_FACTOR)
            alone = newton_sums(gradients, ContributionBound.single(1), neighbors)
            tight = dict(zip(("l1", "l2"), alone, strict=True))[norm].constant
        assert truth >= 0.95 * tight


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", LOSSES)
def test_reaches_hold_for_every_row_and_are_touched(name, weighted):
    loss = LOSSES[name]
    for limit in (1.0, 0.4):
        vectors = np.abs(parts(loss, limit, weighted))
        # Where clipped gradients rest at the odds of the labels, hessians are a little smaller.
        for half, reach, part in zip(
            vectors, (loss.gradient_reach(limit), loss.hessian_reach), (0.95, 0.9), strict=True
        ):
            assert half.sum(axis=0).max() <= reach.l1
            assert (half**2).sum(axis=0).max() <= reach.squares
            assert half.sum(axis=0).max() >= part * reach.l1
            assert (half**2).sum(axis=0).max() >= part * reach.squares


def test_the_difference_of_gradients_of_unequal_sides_is_what_they_span():
    reach = LOSSES["quantile"].gradient_reach(1.0)
    assert reach.difference == (65536 + 65536 // 9) ** 2
    assert reach.scaled(3).difference == 9 * reach.difference


def asked(query, label, weight, neighbors):
    """The answer for one row, whose weight is given in units of the released vector.

    A label of None is one of no class: the row takes no part.
    """
    row = EncodedRows(
        table=None,
        targets=np.array([label or 0]),
        present=np.array([label is not None]),
        indices=np.array([label or 0]),
        extras=RowExtras(sample_weight=np.array([weight / ROW_UNITS])),
    )
    return handle_of(row).ask(query, neighbors)


def check_start_bounds(query, labels, neighbors, tight):
    """Brute force over rows of all labels and weights, and over pairs of them."""
    rows = [(label, weight * 4) for label in labels for weight in WEIGHTS.tolist()]
    sensitive = [asked(query, label, weight, neighbors) for label, weight in rows]
    values = np.array([_reveal(one) for one in sensitive], dtype=float)
    changes = values
    if neighbors is Neighbors.REPLACE:
        changes = (values[:, np.newaxis] - values[np.newaxis]).reshape(-1, values.shape[1])
    for kind, order in (("l1", 1), ("l2", 2)):
        bound = sensitive[0].bound(kind)
        truth = np.linalg.norm(changes, order, axis=1).max()
        assert truth <= bound.constant
        assert truth >= tight[kind] * bound.constant
        assert (changes != 0).sum(axis=1).max() <= bound.coordinates


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("name", ["regression_l1", "poisson", "cross_entropy", "regression"])
def test_a_weighted_row_moves_the_start_value_by_the_bound(name, neighbors):
    loss = LOSSES[name]
    grid = loss.encode_labels([-1.0, 0.0, 0.3, 1.0, 8.0])
    query = MeanAndRows(loss=loss, weighting=Weighting(max_weight=1.0))
    replace = neighbors is Neighbors.REPLACE
    tight = {"l1": 0.0, "l2": 0.0} if replace else {"l1": 0.95, "l2": 0.95}
    check_start_bounds(query, grid, neighbors, tight)


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_row_of_two_classes_or_none_moves_the_start_value_by_the_bound(neighbors):
    query = MeanAndRows(loss=LogisticLoss(), weighting=Weighting(max_weight=1.0), others=True)
    # The bound of a replaced row is that of labels on both sides of 0, where these are 0 and 1:
    # a change of (1, 1, -1) is the largest, and 4 and sqrt 5 are charged.
    replace = neighbors is Neighbors.REPLACE
    tight = {"l1": 0.74, "l2": 0.77} if replace else {"l1": 0.95, "l2": 0.95}
    check_start_bounds(query, [0, 1, None], neighbors, tight)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("others", [False, True])
def test_a_weighted_row_moves_a_row_count_by_the_bound(others, neighbors):
    query = RowCount(weighting=Weighting(max_weight=1.0), others=others)
    replace = neighbors is Neighbors.REPLACE
    # Without classes every row is counted: a replaced one cannot leave the count.
    tight = dict.fromkeys(("l1", "l2"), 0.0 if replace and not others else 0.95)
    check_start_bounds(query, [0, 1, *([None] if others else [])], neighbors, tight)


@pytest.mark.parametrize("neighbors", Neighbors)
def test_a_weighted_row_moves_class_sizes_by_the_bound(neighbors):
    query = ClassSizes(n_classes=3, weighting=Weighting(max_weight=1.0))
    check_start_bounds(query, [0, 1, 2, None], neighbors, {"l1": 0.95, "l2": 0.95})
