"""Public rows: label scale, columns and bins, and a row store that grows a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.binner import Binner
from dpboost.data.table import Table, read_table
from dpboost.local.label_levels import ClassLabels, Labels, NumericLabels
from dpboost.schema import ResolvedSchema, Schema
from dpboost.trees.growing_tree import Splits
from dpboost.trees.split_candidates import CATEGORY, Candidates

#: Bins of a numeric feature. The max-edge rule halves an edge at most seven times.
MAX_EDGE_BINS = 128
_VARIANCE_BINS = 64


def public_labels(
    y: Any, schema: Schema, label_bounds: Any, classes: Any, n_levels: int | None
) -> Labels:
    """Return the scale of the labels: declared, or taken from the public ones."""
    if classes is not None:
        return ClassLabels(classes=tuple(classes))
    bounds = schema.label_bounds if label_bounds is None else label_bounds
    if bounds is None:
        public = NumericLabels(lower=0.0, upper=1.0).read(y)
        bounds = (float(public.min()), float(public.max())) if len(public) else None
        if bounds is None or bounds[0] == bounds[1]:
            raise InvalidParameterError(
                "The public labels show no range: declare the range of the labels with "
                "label_bounds=(lower, upper)."
            )
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise refuse("label_bounds", "LPDT", "a pair (lower, upper)", bounds)
    return NumericLabels(
        lower=bounds[0], upper=bounds[1], n_levels=2 if n_levels is None else n_levels
    )


def read_public(X: Any, known: Schema) -> tuple[Table, ResolvedSchema]:
    """Return the public table, and what is known of its columns: declared, else seen in it."""
    sample = Schema.from_public_sample(X)
    names = _names(X, known, sample)
    declared, seen = known.resolve(names), sample.resolve(names)
    taken = {*declared.bounds, *declared.edges, *declared.categories}
    resolved = replace(
        declared,
        bounds={**_rest(seen.bounds, taken), **declared.bounds},
        categories={**_rest(seen.categories, taken), **declared.categories},
    )
    return read_table(X, schema=resolved), resolved


def _names(X: Any, known: Schema, sample: Schema) -> tuple[str, ...]:
    """Return the names of the columns of a public table."""
    categories = {**sample.categories, **known.categories}
    return read_table(X, schema=Schema(categories=categories)).feature_names


def _rest(parts: Mapping[int, Any], taken: set[int]) -> dict[int, Any]:
    return {position: value for position, value in parts.items() if position not in taken}


def public_bins(table: Table, resolved: ResolvedSchema, rule: str) -> Binner:
    """Return equal bins between the bounds, or bins between public quantiles."""
    if rule == "variance":
        edges = {
            position: _quantile_edges(table.column(position), bounds)
            for position, bounds in resolved.bounds.items()
        }
        resolved = replace(resolved, bounds={}, edges={**resolved.edges, **edges})
    return Binner.from_schema(
        resolved, n_bins=MAX_EDGE_BINS, categorical=table.categorical, ordered=table.ordered
    )


def _quantile_edges(column: NDArray[np.float64], bounds: tuple[float, float]) -> tuple[float, ...]:
    """Return borders half-way between public values, at equal shares of the rows."""
    values = np.sort(np.clip(column[np.isfinite(column)], *bounds))
    if not values.size:
        return ()
    positions = np.arange(1, _VARIANCE_BINS) * values.size // _VARIANCE_BINS
    distinct = np.unique(values)
    at = np.unique(np.searchsorted(distinct, values[positions]))
    if distinct.size <= _VARIANCE_BINS:
        at = np.arange(1, distinct.size)
    at = at[at > 0]
    middle = distinct[at - 1] / 2 + distinct[at] / 2
    return tuple(np.unique(middle).tolist())


class PublicRows:
    """The row store of public rows: their nodes, the boxes of nodes, and sums of labels.

    Parameters
    ----------
    bins : ndarray of shape (n_features, n_rows), uint8
    targets : ndarray of shape (n_rows, n_outputs), float64
        Scaled numbers, or one-hot classes, whose variance is the Gini index.
    choosing : ndarray of shape (n_rows,), bool
        Rows that choose the splits and count for the least leaf size. The others only fall.
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        targets: NDArray[np.float64],
        binner: Binner,
        choosing: NDArray[np.bool_],
    ) -> None:
        self._bins = bins
        self._chosen = np.flatnonzero(choosing)
        self._targets = targets[self._chosen]
        self.candidates = Candidates.of(binner)
        #: The node of every row, by the numbers of the growing tree.
        self.node = np.zeros(bins.shape[1], dtype=np.int64)
        # The box of each node: an interval of the bins of a number, and how many categories were
        # not split off yet.
        self.low = np.zeros((1, len(bins)), dtype=np.int64)
        self.high = binner.n_bins[np.newaxis].astype(np.int64, casting="safe")

    @property
    def n_choosing(self) -> int:
        """Rows that choose the splits."""
        return len(self._chosen)

    def sizes(self, nodes: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count the choosing rows of some nodes."""
        return np.bincount(self.node[self._chosen], minlength=len(self.low))[nodes]

    def gains(
        self, nodes: NDArray[np.int32]
    ) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield what the splits by each feature take off the squared error, and the smaller sides.

        Both are of shape (n_nodes, n_bins).
        """
        position_of = np.full(len(self.low), -1)
        position_of[nodes] = np.arange(len(nodes))
        position = position_of[self.node[self._chosen]]
        inside = position >= 0
        position, rows, targets = position[inside], self._chosen[inside], self._targets[inside]
        for feature, n_bins in enumerate(self.candidates.n_bins.tolist()):
            # Missing values have the last bin, and never a split of their own.
            shape = (len(nodes), n_bins + 1)
            keys = position * shape[1] + self._bins[feature, rows]
            single = self.candidates.kinds[feature] == CATEGORY
            left, total = _branches(keys, np.ones(len(keys)), shape, single)
            gain = np.zeros(left.shape)
            for output in targets.T:
                part, whole = _branches(keys, output, shape, single)
                right = (whole - part) ** 2 / np.maximum(total - left, 1)
                gain += part**2 / np.maximum(left, 1) + right - whole**2 / np.maximum(total, 1)
            yield gain, np.minimum(left, total - left)

    def split(self, splits: Splits) -> None:
        """Send the rows of the split nodes on to their children, which get the next numbers."""
        feature, split_bin = splits.feature, splits.split_bin
        position_of = np.full(len(self.low), -1)
        position_of[splits.node] = np.arange(len(splits))
        moving = np.flatnonzero(position_of[self.node] >= 0)
        position = position_of[self.node[moving]]
        own = self._bins[feature[position], moving]
        branch = self.candidates.branches(feature, split_bin)[position, own]
        self.node[moving] = len(self.low) + 2 * position + branch
        low, high = (np.repeat(side[splits.node], 2, axis=0) for side in (self.low, self.high))
        nominal = self.candidates.is_categorical[feature] == 1
        left = 2 * np.arange(len(splits))
        # One category on the left, one fewer on the right; or the bins up to a border.
        high[left, feature] = np.where(nominal, low[left, feature] + 1, split_bin + 1)
        low[left + 1, feature] = np.where(nominal, low[left + 1, feature], split_bin + 1)
        high[left + 1, feature] -= nominal
        self.low, self.high = np.vstack([self.low, low]), np.vstack([self.high, high])


def _branches(
    keys: NDArray[np.int64], amounts: NDArray[np.float64], shape: tuple[int, int], single: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Add amounts up on the left of each split, (n_nodes, n_bins), and in all, (n_nodes, 1)."""
    sums = np.bincount(keys, weights=amounts, minlength=shape[0] * shape[1])
    cells: NDArray[Any] = sums.reshape(shape)
    left = cells if single else cells.cumsum(axis=1)
    return left[:, :-1], cells.sum(axis=1, keepdims=True)
