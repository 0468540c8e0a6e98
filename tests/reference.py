"""Boosting without noise in plain Python: slow, obvious, and written apart from the library.

It works on bins and integer labels and follows the definition of the recipes with every noise
zero: the split with the best floored score (ties to the lowest feature, then bin), leaves
-S / (c n + lambda) clipped and rounded to the leaf grid, scores in integer units.
"""

import math
from fractions import Fraction

import numpy as np

GRADIENT_ONE = 65536
UNITS_PER_GAIN = 65536
LEAF_ONE = 2**20


def term(total, count, hessian, reg_lambda):
    """Floor of S^2 / (c n + lambda) in units of (g^2 / c) / 65536, in exact arithmetic."""
    if count == 0:
        return 0
    denominator = Fraction(hessian) * count + Fraction(reg_lambda)
    value = Fraction(total, GRADIENT_ONE) ** 2 / denominator
    return math.floor(value * UNITS_PER_GAIN * Fraction(hessian))


def best_split(bins, gradients, rows, n_bins, is_categorical, hessian, reg_lambda):
    """(feature, bin) of the best candidate of one node."""
    best = None
    for feature, n_values in enumerate(n_bins):
        column = bins[feature, rows]
        for split_bin in range(n_values):
            left = column == split_bin if is_categorical[feature] else column <= split_bin
            sums = [int(gradients[rows][side].sum()) for side in (left, ~left)]
            counts = [int(side.sum()) for side in (left, ~left)]
            score = sum(
                term(total, count, hessian, reg_lambda)
                for total, count in zip(sums, counts, strict=True)
            )
            if best is None or score > best[0]:
                best = (score, feature, split_bin)
    return best[1], best[2]


def leaf_value(gradients, rows, hessian, reg_lambda, clip):
    """Leaf value in units of the leaf grid."""
    total, count = int(gradients[rows].sum()), len(rows)
    value = Fraction(-total, GRADIENT_ONE) / (Fraction(hessian) * count + Fraction(reg_lambda))
    value = min(max(value, Fraction(-clip)), Fraction(clip))
    return round(value * LEAF_ONE)


def grow(bins, gradients, kept, depth, n_bins, is_categorical, hessian, reg_lambda, clip):
    """Splits level by level, leaf values, and the leaf of every row of ``bins``."""
    nodes = [np.flatnonzero(kept)]
    all_nodes = [np.arange(bins.shape[1])]
    splits = []
    for _ in range(depth):
        children, all_children = [], []
        for rows, everyone in zip(nodes, all_nodes, strict=True):
            feature, split_bin = best_split(
                bins, gradients, rows, n_bins, is_categorical, hessian, reg_lambda
            )
            splits.append((feature, split_bin))
            for members, out in ((rows, children), (everyone, all_children)):
                column = bins[feature, members]
                left = column == split_bin if is_categorical[feature] else column <= split_bin
                out.extend([members[left], members[~left]])
        nodes, all_nodes = children, all_children
    leaves = [leaf_value(gradients, rows, hessian, reg_lambda, clip) for rows in nodes]
    return splits, leaves, all_nodes


def boost(
    bins,
    labels,
    gradient_of,
    *,
    n_bins,
    is_categorical,
    hessian,
    reg_lambda,
    depth,
    learning_rate,
    blocks_of_tree,
    clip_of_tree,
    leaf_to_score,
):
    """Trees as (splits, leaf values in score units).

    ``gradient_of(scores, labels)`` gives integer gradients and who is kept;
    ``blocks_of_tree[t]`` the rows of tree t; ``leaf_to_score`` turns a leaf (a Fraction, learning
    rate included) into score units.
    """
    scores = np.zeros(bins.shape[1], dtype=np.int64)
    trees = []
    for rows, clip in zip(blocks_of_tree, clip_of_tree, strict=True):
        gradients, kept = gradient_of(scores, labels)
        taken = np.zeros(bins.shape[1], dtype=bool)
        taken[rows] = True
        splits, leaves, members = grow(
            bins,
            gradients,
            kept & taken,
            depth,
            n_bins,
            is_categorical,
            hessian,
            reg_lambda,
            clip,
        )
        values = [
            leaf_to_score(Fraction(value, LEAF_ONE) * Fraction(learning_rate)) for value in leaves
        ]
        for value, rows_of_leaf in zip(values, members, strict=True):
            scores[rows_of_leaf] += value
        trees.append((splits, values))
    return trees
