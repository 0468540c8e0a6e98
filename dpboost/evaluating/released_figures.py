"""The releases of an evaluation, and the metrics that are computed from them.

Proof: docs/proofs/evaluation.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.evaluating.class_figures import Curve, ScoredLabel, class_figures
from dpboost.evaluating.evaluated_rows import Groups
from dpboost.evaluating.figures import Estimate, marked
from dpboost.evaluating.gate import Gate
from dpboost.evaluating.number_figures import (
    ErrorMoments,
    fourth_moment,
    largest_error,
    number_figures,
)
from dpboost.evaluating.score_bins import (
    LARGEST_SCORE,
    InsideBins,
    ScoreLaw,
    number_of_bins,
    occupied_range,
)
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.rows.evaluation_queries import ErrorCells, ErrorSums, ScoreCells, ScoreLabelCounts

Array = NDArray[np.float64]

#: Parts of the charge of a classifier: the range of its scores, how they are spread in it, and the
#: labels by score.
SCORE_SHARES = (Fraction(1, 40), Fraction(1, 20), Fraction(37, 40))
#: Those of a regressor: how large errors are, and their sums.
ERROR_SHARES = (Fraction(1, 20), Fraction(19, 20))
COARSE_CELLS, FINE_CELLS = 32, 32
#: Errors are taken for seen from so many deviations of the noise of a cell on: too large a bound
#: costs noise in all sums, too small a one leaves errors out.
CLEAR = 3.5

Found = tuple[
    dict[str, Estimate],
    dict[Any, dict[str, Estimate]],
    dict[str, dict[Any, Curve]],
    tuple[str, ...],
]


def of_classes(
    classes: Sequence[Any],
    gate: Gate,
    groups: Groups,
    names: Sequence[str],
    *,
    budget: PrivacyCost,
    alike: int,
) -> Found:
    """Release histograms of scores, and compute the metrics of a classifier.

    ``classes`` are the model's, in the order of its outputs, ``gate`` is that to ``ScoredRows``,
    ``names`` are among ``CLASS_METRICS``. ``alike`` rows may be one and the same.
    """
    n_outputs = 1 if len(classes) == 2 else len(classes)
    first, second, rest = divide(budget, SCORE_SHARES)
    everywhere = ((-LARGEST_SCORE, LARGEST_SCORE),) * n_outputs
    coarse = ScoreCells(ranges=everywhere, n_cells=COARSE_CELLS, units=gate.units(first))
    seen, variance = gate.release(coarse, first, "range of scores")
    ranges = tuple(occupied_range(row, math.sqrt(variance)) for row in seen)
    fine = ScoreCells(ranges=ranges, n_cells=FINE_CELLS, units=gate.units(second))
    seen, look_variance = gate.release(fine, second, "scores")
    laws = [
        ScoreLaw(low=low, high=high, counts=row)
        for (low, high), row in zip(ranges, seen, strict=True)
    ]
    # The noise of the histogram, to which more outputs add.
    deviation = math.sqrt(look_variance * float(SCORE_SHARES[1] / SCORE_SHARES[2]))
    n_bins = number_of_bins(float(seen.sum()) / n_outputs, deviation)
    query = ScoreLabelCounts(
        edges=tuple(law.edges(n_bins) for law in laws),
        n_groups=groups.n_groups,
        n_classes=len(classes),
        units=gate.units(rest),
    )
    answer, variance = gate.release(query, rest, "scores by label")
    parts = query.split(answer)
    hits = parts.pop() if len(classes) > 2 else None
    inside = []
    nearby = []
    for law, edges, part in zip(laws, query.edges, parts, strict=True):
        whole = part.sum(axis=0)
        own, others = whole[:, 1], whole[:, 0]
        inside.append(InsideBins(law, edges, own=own, others=others))
        shifted = law.shifted(math.sqrt(look_variance))
        nearby.append([InsideBins(each, edges, own=own, others=others) for each in shifted])

    def figures(position: int | slice) -> tuple[list[ScoredLabel], dict[str, Estimate]]:
        whole = isinstance(position, slice)
        added = groups.n_groups if whole else 1
        scored = [
            ScoredLabel(
                edges,
                part.sum(axis=0) if whole else part[position],
                variance * added,
                within,
                alike=alike,
            )
            for edges, part, within in zip(query.edges, parts, inside, strict=True)
        ]
        own_hits = None
        if hits is not None:
            own_hits = hits.sum(axis=0) if whole else hits[position]
        return scored, class_figures(scored, own_hits, names, nearby)

    scored, metrics = figures(slice(None))
    labels = classes[1:] if len(classes) == 2 else classes
    drawn = dict(zip(labels, scored, strict=True))
    curves = {
        "roc": {label: each.roc() for label, each in drawn.items()},
        "precision_recall": {label: each.precision_recall() for label, each in drawn.items()},
        "calibration": {label: each.calibration() for label, each in drawn.items()},
    }
    notes = (
        f"Scores are counted in bins ({n_bins} asked for); log-odds are clipped to "
        f"{LARGEST_SCORE:g}. What noise and sample add to calibration_error is subtracted.",
    )
    by_group = {}
    for position, name in enumerate(groups.listed):
        found, own = figures(position)
        # A row is counted once by each output, in one of the cells of its group.
        n_rows = sum(float(each.counts.sum()) for each in found) / n_outputs
        noise = sum(each.variance * each.counts.size for each in found) / n_outputs**2
        by_group[name] = marked(own, n_rows, noise)
    return metrics, by_group, curves, notes


def of_numbers(
    label_bounds: tuple[float, float],
    level: float | None,
    gate: Gate,
    groups: Groups,
    names: Sequence[str],
    *,
    budget: PrivacyCost,
    alike: int,
) -> Found:
    """Release sums of errors, and compute the metrics of a regressor.

    Labels and predictions are clipped to ``label_bounds``; ``level`` is that of the quantile loss,
    where it is among the names, which are of ``NUMBER_METRICS``. ``gate`` is that to
    ``PredictedRows``. ``alike`` rows may be one and the same.
    """
    low, high = label_bounds
    width = high - low
    first, rest = divide(budget, ERROR_SHARES)
    cells = ErrorCells(width=width, units=gate.units(first))
    seen, variance = gate.release(cells, first, "magnitudes of errors")
    threshold = max(CLEAR * math.sqrt(variance), 1.0)
    ends = cells.ends * width
    largest = largest_error(seen, ends, threshold)
    query = ErrorSums(
        largest=largest,
        label_bounds=(low, high),
        quantile=level if "quantile_loss" in names else None,
        labels="r2" in names,
        n_groups=groups.n_groups,
        units=gate.units(rest),
    )
    sums, variance = gate.release(query, rest, "sums of errors")
    fourth = fourth_moment(seen, ends, largest, threshold)

    def figures(row: Array, added: int) -> dict[str, Estimate]:
        moments = ErrorMoments(
            sums=dict(zip(query.names, row.tolist(), strict=True)),
            largest=largest,
            width=width,
            level=level,
            fourth=fourth,
            variance=variance * added,
            alike=alike,
        )
        return number_figures(moments, names)

    counted = query.names.index("rows")
    by_group = {
        name: marked(figures(sums[position], 1), float(sums[position, counted]), variance)
        for position, name in enumerate(groups.listed)
    }
    notes = (
        f"Labels and predictions are clipped to [{low:g}, {high:g}], errors to {largest:.4g} in "
        "absolute value.",
    )
    metrics = figures(sums.sum(axis=0), groups.n_groups)
    return metrics, by_group, {}, notes
