r"""Default depth, leaf size and label levels, from public numbers and public rows.

The error of a cell has two parts: the spread of the labels in it, which smaller cells lower, and
the noise of its estimate, which they raise. Theorem 3.4 of the paper balances their rates: a
depth of :math:`p \asymp \log (n \varepsilon^2)` with :math:`2^p \asymp (n \varepsilon^2 / \log
n)^{d / (2 \alpha + 2 d)}` cells and leaves of :math:`n_q / 2^p` public rows. Rates have no
constants. Here both parts are numbers: the noise is the known variance of the mechanism, and
the spread is measured on public rows that did not choose the splits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.local.label_levels import ClassLabels, Labels
from dpboost.local.public_rows import PublicRows
from dpboost.local.public_tree import Rule, grow_public
from dpboost.local.randomizer import ReportNoise
from dpboost.local.registry import find_randomizer
from dpboost.privacy.exact_arithmetic import Epsilon
from dpboost.trees.growing_tree import GrowingTree

#: Deepest tree that a default has.
LARGEST_DEPTH = 8

#: Levels that a default may choose among: steps of 2, 1, 1/2, 1/4 and 1/8 of half the range.
LEVELS = (2, 3, 5, 9, 17)

#: Halvings of the public rows into those that choose splits and those that judge them.
_HALVINGS = 2

_LEAST_LEAF = 5


@dataclass(frozen=True, kw_only=True)
class Collection:
    """A planned collection: number of reports, epsilon, and mechanism."""

    #: Expected number of reports; a public number.
    n_reports: int
    epsilon: Epsilon
    mechanism: str


@dataclass(frozen=True, kw_only=True)
class Size:
    """The chosen sizes."""

    max_depth: int
    min_samples_leaf: int
    n_levels: int


def theoretical_depth(n_reports: int, epsilon: float, n_features: int) -> int:
    r"""Return the depth of Theorem 3.4 with constants one.

    :math:`\frac{d}{2 + 2 d} \log_2 (n \varepsilon^2 / \ln n)`, for a regression function that
    is Lipschitz continuous, rounded up.
    """
    signal = n_reports * min(epsilon, 40.0) ** 2 / max(1.0, math.log(n_reports))
    return max(0, math.ceil(n_features / (2 + 2 * n_features) * math.log2(max(signal, 1.0))))


def choose_size(
    *,
    bins: NDArray[np.uint8],
    targets: NDArray[np.float64],
    binner: Binner,
    labels: Labels,
    rule: Rule,
    collection: Collection,
    max_depth: int | None,
    min_samples_leaf: int | None,
    n_levels: int | None,
    owner: str,
) -> Size:
    """Return the size with the least predicted error; what the user has set is kept.

    Bins of the public rows are of shape (n_features, n_public), their labels of shape (n_public,
    n_outputs).

    Privacy
    -------
    Reads public rows and public numbers only.
    """
    n_public = len(targets)
    deepest = max_depth
    if deepest is None:
        theory = theoretical_depth(collection.n_reports, float(collection.epsilon), len(bins))
        deepest = min(LARGEST_DEPTH, theory + 2)
    leaves = [min_samples_leaf] if min_samples_leaf is not None else _leaf_sizes(n_public, deepest)
    levels: Sequence[int] = [labels.n_levels if n_levels is None else n_levels]
    if n_levels is None and not isinstance(labels, ClassLabels) and collection.mechanism != "paper":
        levels = LEVELS
    scales = [_scaled(labels, level, targets) for level in levels]
    scores: dict[tuple[int, int, int], list[float]] = {}
    for choosing in _halvings(n_public):
        for leaf in leaves:
            rows = PublicRows(bins, targets, binner, choosing)
            # Half of the rows choose, so the least leaf is halved too.
            least = max(1, round(leaf * choosing.mean()))
            growing = grow_public(rows, rule, max_depth=deepest, min_samples_leaf=least)
            for depth in range(deepest + 1) if max_depth is None else (max_depth,):
                cells, n_cells = _cells(growing, rows.node, depth)
                judged = _judge(cells, n_cells, ~choosing, targets)
                for own_labels, rounding in scales:
                    error = _predicted_error(judged, own_labels, rounding, collection, owner)
                    scores.setdefault((depth, leaf, own_labels.n_levels), []).append(error)
    means = {size: float(np.mean(errors)) for size, errors in scores.items()}
    best = min(means, key=lambda size: (means[size], size))
    return Size(max_depth=best[0], min_samples_leaf=best[1], n_levels=best[2])


def _leaf_sizes(n_public: int, deepest: int) -> list[int]:
    """Return n_q / 2^p for the depths p, not below a few rows."""
    sizes = {max(_LEAST_LEAF, n_public >> power) for power in range(2, deepest + 2)}
    return sorted(sizes) or [_LEAST_LEAF]


def _halvings(n_public: int) -> Iterator[NDArray[np.bool_]]:
    """Yield which public rows choose the splits: either half, a few times."""
    # Public randomness with a fixed seed: the same rows give the same tree.
    random = np.random.default_rng(0)
    for _ in range(_HALVINGS):
        choosing = random.permutation(n_public) < (n_public + 1) // 2
        yield choosing
        if n_public > 1:
            yield ~choosing


def _cells(
    growing: GrowingTree, node: NDArray[np.int64], depth: int
) -> tuple[NDArray[np.int64], int]:
    """Return the cell of each row in the tree as it was at a depth, and how many there were."""
    depths, parent = growing.depth, growing.parent
    cells = growing.leaves[depths[growing.leaves] < depth]
    cells = np.sort(np.append(cells, np.flatnonzero(depths == depth)))
    above = np.arange(growing.n_nodes)
    while (deeper := depths[above] > depth).any():
        above = np.where(deeper, parent[above], above)
    return np.searchsorted(cells, above)[node], len(cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Judged:
    """A partition, evaluated on rows that did not choose its splits."""

    #: Mean and variance of the labels of each cell, and the cell's part of the rows.
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    share: NDArray[np.float64]
    #: Of shape (n_judging, n_outputs).
    label: NDArray[np.float64]
    #: Variance of all labels.
    whole: float


def _judge(
    cells: NDArray[np.int64], n_cells: int, judging: NDArray[np.bool_], targets: NDArray[np.float64]
) -> _Judged:
    cell, label = cells[judging], targets[judging]
    if not len(cell):
        cell, label = cells, targets
    count = np.bincount(cell, minlength=n_cells).astype(np.float64)
    mean, spread = _moments(cell, label, count)
    return _Judged(
        mean=mean,
        spread=spread,
        share=(count + 0.5) / (count.sum() + 0.5 * n_cells),
        label=label,
        whole=float(label.var(axis=0).sum()) if len(label) > 1 else 1.0,
    )


@lru_cache(maxsize=4096)
def _planned_noise(collection: Collection, labels: Labels, n_cells: int, owner: str) -> ReportNoise:
    return find_randomizer(collection.mechanism, collection.epsilon, labels, n_cells, owner).noise()


def _predicted_error(
    judged: _Judged, labels: Labels, rounding: float, collection: Collection, owner: str
) -> float:
    """Return the mean squared error that the leaves are expected to have, labels in [-1, 1]."""
    noise = _planned_noise(collection, labels, len(judged.share), owner)
    # The rounding of these very labels, not the worst case; the paper's labels have noise instead.
    beside = noise.inside if collection.mechanism == "paper" else rounding
    size = collection.n_reports * judged.share
    outside = collection.n_reports * noise.of_mean(judged.mean)
    inside = size * (1 + noise.own) * (judged.spread + beside)
    variance = (outside + inside) / size**2
    inner = float(judged.share @ judged.spread)
    between = max(judged.whole - inner, 1e-3 * judged.whole)
    risk = between * variance / (between + variance)
    if len(size) > 1:
        # How far to pull towards the parents is itself estimated, from so many cells: with few
        # of them the noise is not all shrunk away.
        risk += min(1.0, 2 / len(size)) * variance**2 / (between + variance)
    return inner + float(judged.share @ risk)


def _moments(
    cell: NDArray[np.int64], label: NDArray[np.float64], count: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of the labels of each cell, those of all where rows are too few."""
    whole = label.mean(axis=0)
    spread = np.full(len(count), float(label.var(axis=0).sum()))
    mean = np.tile(whole, (len(count), 1))
    some, several = count > 0, count > 1
    total = np.zeros(len(count))
    for output, unit_value in enumerate(label.T):
        sums = np.bincount(cell, weights=unit_value, minlength=len(count))
        squares = np.bincount(cell, weights=unit_value**2, minlength=len(count))
        mean[some, output] = sums[some] / count[some]
        total[several] += squares[several] - sums[several] ** 2 / count[several]
    spread[several] = np.maximum(total[several], 0.0) / (count[several] - 1)
    return mean, spread


def _scaled(labels: Labels, n_levels: int, targets: NDArray[np.float64]) -> tuple[Labels, float]:
    """Return labels with so many levels, and the mean variance of rounding public ones to them."""
    if isinstance(labels, ClassLabels):
        return labels, 0.0
    step = 2 / (n_levels - 1)
    position = (targets[:, 0] + 1) / step
    fraction = position - np.floor(position)
    rounding = float((fraction * (1 - fraction)).mean() * step**2)
    return replace(labels, n_levels=n_levels), rounding
