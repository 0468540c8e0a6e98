"""Public rows as the partition needs them: the scale of the labels, the columns, the bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.data.binner import Binner
from dpboost.data.table import Table, read_table
from dpboost.local.labels import ClassLabels, Labels, NumericLabels, plain_classes
from dpboost.schema import ResolvedSchema, Schema

#: Bins of a numeric feature. The max-edge rule halves an edge at most seven times.
MAX_EDGE_BINS = 128
_VARIANCE_BINS = 64


def public_labels(
    y: Any, schema: Schema, label_bounds: Any, classes: Any, n_levels: int | None
) -> Labels:
    """Return the scale of the labels: declared, or taken from the public ones."""
    if classes is not None:
        return ClassLabels(classes=plain_classes(classes))
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
