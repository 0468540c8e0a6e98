"""Monotone constraints: exact projection of released leaf values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components, maximum_flow

from dpboost._utils.validation import InvalidParameterError
from dpboost.data.binner import Binner
from dpboost.trees.leaf_boxes import leaf_boxes

# Capacities of a cut are integers of 32 bits; together they stay below that.
_UNITS = 2.0**30
_NO_LIMIT = 2**31 - 1


Nodes = tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32]]
"""``feature``, ``left_bins``, ``left`` and ``right`` of a `dpboost.trees.tree.Tree`."""


def check_ordered(
    monotone: Sequence[int], is_categorical: NDArray[Any], names: Sequence[str]
) -> None:
    """Raise if a feature with a direction holds categories, which have no order."""
    for position in np.flatnonzero(np.asarray(monotone)).tolist():
        if is_categorical[position]:
            raise InvalidParameterError(
                "The 'monotone_constraints' parameter asks for a direction of "
                f"{names[position]!r}, whose values are categories: give it 0, or numbers in their "
                "order."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class MonotoneLeaves:
    """Project the leaves of every tree onto the monotone constraints.

    A leaf is a box of bins. Of two leaves the values must be in order where some row of the one
    can become a row of the other by a step of constrained features alone, each in its direction
    between two values that are not missing. Sums of trees in order are in order, so the model is
    monotone on its whole domain, missing values aside.

    Privacy
    -------
    Post-processing: reads released structure, released values and the public size of their noise.
    """

    #: Of shape (n_features,). -1, 0 or 1.
    direction: NDArray[np.int8]
    #: Of shape (n_features,). Value bins of each feature.
    n_bins: NDArray[np.int32]

    @classmethod
    def of(cls, monotone: tuple[int, ...], binner: Binner) -> MonotoneLeaves | None:
        """Return what keeps these directions, None if there are none."""
        if not monotone:
            return None
        check_ordered(monotone, binner.is_categorical, binner.feature_names)
        return cls(direction=np.array(monotone, dtype=np.int8), n_bins=binner.n_bins)

    def project(
        self,
        nodes: Nodes,
        values: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the nearest values in order, by weighted squared distance.

        Values and weights are of shape (n_outputs, n_leaves); a weight is the inverse of the
        variance of a released value, up to a common factor. The order is exact, not up to rounding;
        a rounding that keeps order keeps this.
        """
        if not self.direction[nodes[0]].any():
            return values
        below, order = self._order(nodes)
        return np.stack(
            [
                projection(below, order, own, weight)
                for own, weight in zip(values, weights, strict=True)
            ]
        )

    def _order(self, nodes: Nodes) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Return which leaf must be below which, and an order of the leaves that agrees."""
        boxes = leaf_boxes(*nodes, self.n_bins)
        below = ordered_leaves(boxes, self.direction)
        feature, _, left, right = nodes
        order: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            if node < 0:
                order.append(~node)
            else:
                sides = (int(left[node]), int(right[node]))
                stack += sides if self.direction[feature[node]] < 0 else sides[::-1]
        return below, np.array(order)


def ordered_leaves(
    boxes: dict[int, NDArray[np.bool_]], direction: NDArray[np.int8]
) -> NDArray[np.bool_]:
    """Return which leaf must not be above which: shape (n_leaves, n_leaves), without loops.

    Boxes are those of `leaf_boxes`. Proof: docs/proofs/constraints.md.
    """
    below: NDArray[np.bool_] | None = None
    for feature, reach in boxes.items():
        sign = direction[feature]
        if sign == 0:
            # Sums of at most 256 products of 0 and 1 are exact in single precision.
            shared = reach.astype(np.float32)
            own = shared @ shared.T > 0
        else:
            inside = reach[:, :-1]
            n_bins = inside.shape[1]
            some = inside.any(axis=1)
            first = np.where(some, inside.argmax(axis=1), n_bins)
            last = np.where(some, n_bins - 1 - inside[:, ::-1].argmax(axis=1), -1)
            own = first[:, np.newaxis] <= last
            if sign < 0:
                own = own.T
            missing = reach[:, -1]
            own = own | (missing[:, np.newaxis] & missing)
        below = own if below is None else below & own
    assert below is not None
    np.fill_diagonal(below, False)
    return below


def projection(
    below: NDArray[np.bool_],
    order: NDArray[np.intp],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the isotonic regression of some values on a partial order.

    Proof: docs/proofs/constraints.md.

    A block of values that are not in order is cut in two by a minimum cut: the upper set whose
    values exceed the block's mean by most. The regression of a block is that of its two parts
    (Maxwell and Muckstadt 1985; Spouge, Wan and Wilbur 2003), so that the cuts end at blocks that
    are in order, or equal to their mean.

    Parameters
    ----------
    below : ndarray of shape (n, n), bool
        ``below[i, j]`` where value ``i`` must not be above value ``j``; without loops. What
        follows from two others may be there or not.
    order : ndarray of shape (n,), intp
        A list of all positions that agrees with it.
    values, weights : ndarray of shape (n,)
        Weights are greater than zero.
    """
    result = values.astype(np.float64)
    linked = below.astype(np.float32)
    # What follows from two other pairs need not be a link of the network: cuts are the same
    # without.
    edges = np.argwhere(below & ~(linked @ linked > 0))
    if not (values[edges[:, 0]] > values[edges[:, 1]]).any():
        return result
    block = np.zeros(len(values), dtype=np.int64)
    while len(edges):
        source, target = edges.T
        graph = csr_matrix((np.ones(len(edges)), (source, target)), shape=below.shape)
        n_blocks, block = connected_components(graph, directed=False)
        wrong = np.zeros(n_blocks, dtype=bool)
        wrong[block[source[values[source] > values[target]]]] = True
        total = np.bincount(block, weights, n_blocks)
        mean = np.bincount(block, weights * values, n_blocks) / total
        excess = weights * (values - mean[block])
        upper = _upper_set(edges[wrong[block[source]]], excess, wrong[block])
        whole = np.bincount(block, upper, n_blocks)
        cut = wrong & (whole > 0) & (whole < np.bincount(block, minlength=n_blocks))
        pooled = wrong & ~cut
        result[pooled[block]] = mean[block[pooled[block]]]
        keep = cut[block[source]] & (upper[source] == upper[target])
        edges = edges[keep]
    # What rounding of means has left; equal values stay as they are.
    for position in order.tolist():
        first = below[:, position]
        if first.any():
            result[position] = max(result[position], result[first].max())
    return result


def _upper_set(
    edges: NDArray[np.intp], excess: NDArray[np.float64], active: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the upper set of largest excess, the smallest of several, or nothing."""
    n = len(excess)
    scale = _UNITS / max(float(np.abs(excess[active]).sum()), 1e-300)
    units = np.where(active, np.rint(excess * scale), 0.0).astype(np.int64)
    gains, losses = np.flatnonzero(units > 0), np.flatnonzero(units < 0)
    # A minimum cut of a network whose source feeds what lies above the mean and whose sink takes
    # what lies below. An edge without limit: a leaf of the upper set has those above it there too.
    heads = np.concatenate([np.full(len(gains), n), losses, edges[:, 0]])
    tails = np.concatenate([gains, np.full(len(losses), n + 1), edges[:, 1]])
    limits = np.concatenate([units[gains], -units[losses], np.full(len(edges), _NO_LIMIT)])
    graph = csr_matrix((limits.astype(np.int32), (heads, tails)), shape=(n + 2, n + 2))
    flow = maximum_flow(graph, n, n + 1).flow
    left = (graph - flow).tocsr()
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    reached = breadth_first_order(left, n, return_predecessors=False)
    upper = np.zeros(n + 2, dtype=bool)
    upper[reached] = True
    return upper[:n]
