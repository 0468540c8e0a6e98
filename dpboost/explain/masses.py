"""The released distribution of rows over the bins of every feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpboost.trees.ensemble import Ensemble
from dpboost.trees.leaf_boxes import leaf_boxes
from dpboost.trees.tree import Tree

# Rounds of the fit to released leaves at most; it has settled where no share changes by more.
_ROUNDS = 200
_SETTLED = 1e-5
# Trees that are looked at for each feature.
_MOST_TREES = 60


def feature_shares(ensemble: Ensemble) -> list[NDArray[np.float64]]:
    """Return the share of the rows in each bin of each feature, as far as released numbers say."""
    trees = ensemble.trees[:: ensemble.n_outputs]
    return shares_of(trees, ensemble.binner.n_bins, ensemble.masses)


def shares_of(
    trees: Sequence[Tree],
    n_bins: NDArray[np.int32],
    masses: Mapping[int, NDArray[np.float64]],
) -> list[NDArray[np.float64]]:
    """Return the share of the rows in each bin of each feature, as far as released numbers say.

    A numeric feature whose bins were released has the masses of that release. The shares of any
    other are fitted to the released weights of the leaves of its trees; with a logistic loss these
    are sums of p (1 - p), not counts. If there is neither, bins are taken as equal and nothing as
    missing. ``masses`` are as in `Ensemble`. The shares of a feature have shape (n_bins + 1,),
    missing last, and add up to one.
    """
    shares = []
    for feature in range(len(n_bins)):
        known = masses.get(feature)
        if known is not None and known.sum() > 0:
            shares.append(known / known.sum())
        else:
            shares.append(np.append(np.full(n_bins[feature], 1 / n_bins[feature]), 0.0))
    open_features = [f for f in range(len(n_bins)) if f not in masses]
    boxes: dict[int, dict[int, NDArray[np.bool_]]] = {}  # by tree, which several features share
    for feature in open_features:
        seen = _leaves_of(trees, n_bins, feature, boxes)
        if seen is not None:
            shares[feature] = _fitted(*seen)
    return shares


def _leaves_of(
    trees: Sequence[Tree],
    n_bins: NDArray[np.int32],
    feature: int,
    boxes: dict[int, dict[int, NDArray[np.bool_]]],
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.int64]] | None:
    """Return the bins, the weights and the trees of the leaves of the trees of a feature."""
    reach: list[NDArray[np.bool_]] = []
    weight: list[NDArray[np.float64]] = []
    number: list[NDArray[np.int64]] = []
    for place, tree in enumerate(trees):
        if tree.leaf_count is None or len(reach) == _MOST_TREES:
            continue
        if feature not in tree.feature or not tree.leaf_count.any():
            continue
        if place not in boxes:
            nodes = tree.feature, tree.left_bins, tree.left, tree.right
            boxes[place] = leaf_boxes(*nodes, n_bins)
        reach.append(boxes[place][feature])
        weight.append(tree.leaf_count / tree.leaf_count.sum())
        number.append(np.full(tree.n_leaves, len(number)))
    if not reach:
        return None
    return np.concatenate(reach), np.concatenate(weight), np.concatenate(number)


def _fitted(
    reach: NDArray[np.bool_], weight: NDArray[np.float64], number: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the shares under which the weights of the leaves are likeliest.

    A leaf's weight is divided among its bins in proportion to their shares, and a bin's next share
    is its mean over the trees: the EM algorithm.
    """
    n_trees = int(number[-1]) + 1
    share = np.full(reach.shape[1], 1 / reach.shape[1])
    for _ in range(_ROUNDS):
        inside = np.maximum(reach @ share, 1e-12)
        before, share = share, share * (weight / inside @ reach) / n_trees
        share /= share.sum()
        if np.abs(share - before).max() < _SETTLED:
            break
    return share
