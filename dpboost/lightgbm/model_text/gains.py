"""Gains of splits for LightGBM's importances: released ones, without their noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost.lightgbm.model_text.nodes import Nodes

if TYPE_CHECKING:
    from dpboost.trees.tree import Tree

#: Stands for no gain: LightGBM counts a split as a use of its feature where its gain is positive.
LEAST_GAIN = 1e-37
#: LightGBM holds gains in single precision.
LARGEST_GAIN = 1e37


def split_gains(trees: Sequence[Tree], nodes: Nodes) -> NDArray[np.float64]:
    """Return a positive gain for each split, whose sums over a feature hold no noise on average.

    Parameters
    ----------
    trees : sequence of Tree
        Released trees, at least one.
    nodes : Nodes
        Their layout.

    Returns
    -------
    ndarray of shape (n_nodes,), float64
        Tree by tree: the gain where it is positive, else `LEAST_GAIN`. Positive ones alone would
        add up to more than the splits of a feature have shown together, most so where all is
        noise. So the gains of a feature's splits are reduced by one factor, by which they add up
        to the sum of the positive and the negative ones, or to nothing where that is negative.
        Trees without gains have 1 for each split.

    Privacy
    -------
    Post-processing of released numbers.
    """
    if not nodes.n_nodes:
        return np.empty(0)
    parts = [
        np.ones(tree.n_nodes) if tree.split_gain is None else tree.split_gain for tree in trees
    ]
    # Sums of gains near the largest double are only to be finite.
    shown = np.clip(np.concatenate(parts), -LARGEST_GAIN, LARGEST_GAIN)
    positive = np.maximum(shown, 0.0)
    together = np.maximum(np.bincount(nodes.feature, weights=shown), 0.0)
    alone = np.bincount(nodes.feature, weights=positive)
    factor = np.divide(together, alone, out=np.zeros_like(alone), where=alone > 0)
    return np.clip(positive * factor[nodes.feature], LEAST_GAIN, LARGEST_GAIN)
