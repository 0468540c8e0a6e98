"""What a party checks of the queries of an evaluation, and the rows that they find.

Model, groups and labels follow from the agreement. Where scores are looked at follows from what was
released before, and is free: a row is in one cell whatever the borders are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.evaluating.evaluated_rows import predicted_rows, scored_rows
from dpboost.evaluating.saved_model import SavedClassifier, SavedRegressor
from dpboost.evaluating.score_bins import LARGEST_SCORE, MOST_BINS
from dpboost.federated.party.admission import admit, check, check_same
from dpboost.federated.party.party_rows import HeldRows, model_cells
from dpboost.federated.protocol.agreed_evaluation import AgreedEvaluation
from dpboost.rows.evaluation_queries import (
    ErrorCells,
    ErrorSums,
    PredictedRows,
    ScoreCells,
    ScoredRows,
    ScoreLabelCounts,
)

# Largest worth of a row in units: sums of 2^33 rows do not wrap.
_LARGEST_UNITS = 1 << 30
_STAGE = "evaluation"


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedClasses(ScoredRows):
    """Rows of a party, scored by the model of the agreement.

    Parameters
    ----------
    n_classes, n_groups : int
    """

    n_classes: int
    n_groups: int

    stage = _STAGE


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedNumbers(PredictedRows):
    """Rows of a party, predicted by the model of the agreement.

    Parameters
    ----------
    label_bounds : (float, float)
    quantile : float or None
        Level of the quantile loss, where it is asked for.
    with_labels : bool
        Whether labels are added up.
    n_groups : int
    """

    label_bounds: tuple[float, float]
    quantile: float | None
    with_labels: bool
    n_groups: int

    stage = _STAGE


@dataclass(frozen=True, kw_only=True)
class JudgeRows:
    """Have a party predict its rows by the model that it has approved."""

    def execute(self, rows: HeldRows) -> JudgedClasses | JudgedNumbers:
        """Return predictions and labels; rows of labels that are not agreed take no part."""
        agreed = AgreedEvaluation.of(rows.agreement)
        table, X = rows.table, model_cells(rows.table)
        groups, parts = agreed.group_codes(table, rows.agreement.listed), [np.arange(table.n_rows)]
        if agreed.by_fold:
            assert rows.folds is not None
            groups = rows.folds.astype(np.int64)
            parts = [np.flatnonzero(groups == fold) for fold in range(len(agreed.models))]
        # A warning about an odd cell would tell that there is one.
        with np.errstate(all="ignore"):
            judged = [
                _judged(model, X[own], rows.labels[own], groups[own])
                for model, own in zip(agreed.models, parts, strict=True)
            ]
        n_groups = agreed.groups.n_groups
        if isinstance(agreed.model, SavedClassifier):
            return JudgedClasses(
                **_joined(judged, ScoredRows),
                n_classes=len(agreed.model.classes_),
                n_groups=n_groups,
            )
        bounds = agreed.model.schema_.label_bounds
        assert bounds is not None
        return JudgedNumbers(
            **_joined(judged, PredictedRows),
            label_bounds=bounds,
            quantile=agreed.quantile,
            with_labels="r2" in agreed.metrics,
            n_groups=n_groups,
        )


def _judged(
    model: SavedRegressor, X: NDArray[np.float64], y: NDArray[Any], groups: NDArray[np.int64]
) -> ScoredRows | PredictedRows:
    """Return what a model says of some rows."""
    if isinstance(model, SavedClassifier):
        scored, known = scored_rows(model, X, y, len(y), groups)
        return scored.take(np.flatnonzero(known))
    return predicted_rows(model, X, y, len(y), groups)


def _joined(rows: Sequence[Any], kind: type) -> dict[str, Any]:
    """Put the rows of all models together: the last axis of each part is that of rows."""
    return {
        part.name: np.concatenate([getattr(each, part.name) for each in rows], axis=-1)
        for part in fields(kind)
    }


def _check_units(units: Any) -> None:
    check(type(units) is int and 1 <= units <= _LARGEST_UNITS)


def _n_outputs(rows: JudgedClasses) -> int:
    return 1 if rows.n_classes == 2 else rows.n_classes


def _score_cells(query: ScoreCells, rows: JudgedClasses) -> ScoreCells:
    """Take a range of scores for each output."""
    _check_units(query.units)
    check(type(query.n_cells) is int and 1 <= query.n_cells <= MOST_BINS)
    check(isinstance(query.ranges, tuple) and len(query.ranges) == _n_outputs(rows))
    for ends in query.ranges:
        check(isinstance(ends, tuple) and len(ends) == 2)
        check(all(type(end) is float and abs(end) <= LARGEST_SCORE for end in ends))
        check(ends[0] < ends[1])
    return query


def _score_label_counts(query: ScoreLabelCounts, rows: JudgedClasses) -> ScoreLabelCounts:
    """Take ascending borders for each output, and the groups and classes of the agreement."""
    _check_units(query.units)
    check(isinstance(query.edges, tuple) and len(query.edges) == _n_outputs(rows))
    for edges in query.edges:
        check(isinstance(edges, tuple) and len(edges) < MOST_BINS)
        check(all(type(edge) is float and math.isfinite(edge) for edge in edges))
        check(list(edges) == sorted(edges))
    check_same((query.n_groups, query.n_classes), (rows.n_groups, rows.n_classes))
    return query


def _error_cells(query: ErrorCells, rows: JudgedNumbers) -> ErrorCells:
    """Take the width of the agreed label bounds."""
    _check_units(query.units)
    low, high = rows.label_bounds
    own = ErrorCells(width=high - low, units=query.units)
    check_same(query, own)
    return own


def _error_sums(query: ErrorSums, rows: JudgedNumbers) -> ErrorSums:
    """Take the sums of the agreed metrics, of errors that are clipped to any bound."""
    _check_units(query.units)
    check(type(query.largest) is float and math.isfinite(query.largest) and query.largest > 0)
    own = ErrorSums(
        largest=query.largest,
        label_bounds=rows.label_bounds,
        quantile=rows.quantile,
        labels=rows.with_labels,
        n_groups=rows.n_groups,
        units=query.units,
    )
    check_same(query, own)
    return own


admit("judge rows", JudgeRows, HeldRows)
admit("score cells", ScoreCells, JudgedClasses, _score_cells)
admit("score label counts", ScoreLabelCounts, JudgedClasses, _score_label_counts)
admit("error cells", ErrorCells, JudgedNumbers, _error_cells)
admit("error sums", ErrorSums, JudgedNumbers, _error_sums)
