"""Every query between neighbors, at the ends of all public bounds: no row moves it by more."""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpboost._utils.schema_checks import LARGEST_BOUND, LEAST_WIDTH
from dpboost._utils.threads import Threads
from dpboost._utils.validation import InvalidParameterError
from dpboost.data.feature_bins import uniform_bins
from dpboost.data.table import read_table
from dpboost.losses.custom import CustomLoss
from dpboost.losses.custom_classes import CustomClassLoss
from dpboost.losses.fractional import FractionalLabelLoss
from dpboost.losses.logistic import LogisticLoss
from dpboost.losses.loglink import LogLinkLoss
from dpboost.losses.one_vs_rest import OneVsRestLoss
from dpboost.losses.robust import RobustLoss
from dpboost.losses.several_quantiles import QuantilesLoss
from dpboost.losses.softmax import SoftmaxLoss
from dpboost.losses.squared import SquaredLoss
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.boosting_queries import LeafSums, SumScale
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.cell_counts import Magnitudes, RangeCounts
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import CellSizes, ClassCounts, ClassHistograms, NodeSizes
from dpboost.rows.evaluation_queries import (
    BinCounts,
    ErrorCells,
    ErrorSums,
    PredictedRows,
    ScoreCells,
    ScoredRows,
    ScoreLabelCounts,
)
from dpboost.rows.held_out_rows import HeldOutRows, QuantileBalance
from dpboost.rows.label_node_rows import LabelRows
from dpboost.rows.label_statistics import LabelTotals
from dpboost.rows.linear_sums import MOST, GradientMoments, LinearColumns, SecondMoments
from dpboost.rows.loss_change import LossChange, TwiceJudged
from dpboost.rows.raw_rows import ClassSizes, EncodedRows, MeanAndRows, PresentRows, RowCount
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.training.private_bins import FineCounts
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import PartitionGrid
from dpboost.trees.split_candidates import Candidates
from tests.fuzz.test_extreme_bounds import (
    ENDS,
    LEVELS,
    POWERS,
    SIZES,
    SMALLEST,
    gradients,
    gradients_of_classes,
)

PACKAGE = Path(__file__).parents[2] / "dpboost"
# Queries that are not below, and where their bounds are tried.
ELSEWHERE = {
    "FeatureCells": "integers alone: tests/unit/rows/test_class_queries.py",
    "GroupedCells": "integers alone: tests/unit/rows/test_class_queries.py",
    "SplitScores": "counts alone: tests/unit/privacy/sensitivity",
    "ImpurityBounds": "counts alone: tests/unit/privacy/sensitivity",
}
N_ROWS = 4
FLOATS = st.sampled_from(
    [0.0, SMALLEST, -SMALLEST, 1.0, 1e30, 1e154, -2.5e154, 1e308, -1e308, np.nan, np.inf, -np.inf]
)
FLOATS |= ENDS | st.floats(-2, 2)
FINITE = FLOATS.filter(math.isfinite)
UNITS = st.sampled_from([1, 2**10, 2**30])
WEIGHTS = st.sampled_from([0.0, SMALLEST, 1e-12, 0.5, 1.0, 1e12, 1e308])
SCALES = st.sampled_from([1e-12, 1e-6, 1.0, 1e12])


def some(draw, values, n_rows=N_ROWS, dtype=float):
    return np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)), dtype=dtype)


def bounds(draw):
    """Return label bounds that a schema takes."""
    low, high = sorted((draw(ENDS), draw(ENDS)))
    if max(abs(low), abs(high)) > LARGEST_BOUND or high - low < LEAST_WIDTH:
        return draw(st.sampled_from([(-LARGEST_BOUND, LARGEST_BOUND), (0.0, LEAST_WIDTH)]))
    return low, high


def in_bounds(draw, low, high, n_rows=N_ROWS):
    return np.clip(some(draw, FINITE | st.sampled_from([low, high]), n_rows), low, high)


def loss_change(draw):
    query = LossChange(bound=draw(SIZES.filter(bool)), units=draw(UNITS))
    before, now = some(draw, FLOATS), some(draw, FLOATS)
    return query, lambda rows: TwiceJudged(before=before[rows], now=now[rows])


def quantile_balance(draw):
    query = QuantileBalance(threshold=draw(FINITE), level=draw(st.sampled_from(LEVELS)))
    scores, present = some(draw, FLOATS), some(draw, st.booleans(), dtype=bool)
    return query, lambda rows: HeldOutRows(scores=scores[rows], present=present[rows])


def scored(draw, n_outputs):
    whole = ScoredRows(
        scores=np.stack([some(draw, FLOATS) for _ in range(n_outputs)]),
        labels=some(draw, st.integers(0, max(n_outputs, 2) - 1), dtype=np.int64),
        groups=some(draw, st.integers(0, 1), dtype=np.int64),
        hits=some(draw, st.booleans(), dtype=bool),
    )
    return whole.take


def score_cells(draw):
    n_outputs = draw(st.sampled_from([1, 3]))
    ranges = tuple(bounds(draw) for _ in range(n_outputs))
    cells = draw(st.integers(1, 64))
    return ScoreCells(ranges=ranges, n_cells=cells, units=draw(UNITS)), scored(draw, n_outputs)


def score_label_counts(draw):
    n_outputs = draw(st.sampled_from([1, 3]))
    edges = tuple(tuple(sorted(some(draw, FINITE, 2).tolist())) for _ in range(n_outputs))
    n_classes = max(n_outputs, 2)
    query = ScoreLabelCounts(edges=edges, n_groups=2, n_classes=n_classes, units=draw(UNITS))
    return query, scored(draw, n_outputs)


def predicted(draw, low, high):
    whole = PredictedRows(
        labels=in_bounds(draw, low, high),
        predictions=in_bounds(draw, low, high),
        groups=some(draw, st.integers(0, 1), dtype=np.int64),
    )
    return whole.take


def error_cells(draw):
    low, high = bounds(draw)
    return ErrorCells(width=high - low, units=draw(UNITS)), predicted(draw, low, high)


def error_sums(draw):
    low, high = bounds(draw)
    query = ErrorSums(
        # Parties take any.
        largest=draw(st.sampled_from([(high - low) * 2.0**-23, high - low, SMALLEST, 1e308])),
        label_bounds=(low, high),
        quantile=draw(st.none() | st.sampled_from(LEVELS)),
        labels=draw(st.booleans()),
        n_groups=2,
        units=draw(UNITS),
    )
    return query, predicted(draw, low, high)


def bin_counts(draw):
    bins = np.stack([some(draw, st.integers(0, 2), dtype=np.uint8) for _ in range(2)])
    query = BinCounts(sizes=(3, 3), units=draw(UNITS))
    return query, lambda rows: np.ascontiguousarray(bins[:, rows])


def columns(draw):
    cells = np.stack([some(draw, FLOATS) for _ in range(2)])
    labels = some(draw, FINITE)
    return lambda rows: SimpleNamespace(
        labels=labels[rows],
        column=lambda feature: cells[feature][rows],
        largest=lambda features: np.fmax.reduce(np.abs(cells[list(features)][:, rows])),
    )


def magnitudes(draw):
    which = draw(st.sampled_from([None, 0, (0, 1)]))
    return Magnitudes(columns=which, units=draw(UNITS)), columns(draw)


def range_counts(draw):
    low, high = bounds(draw)
    n_cells = draw(st.sampled_from([None, 1, 8, 64]))
    return RangeCounts(low=low, high=high, units=draw(UNITS), n_cells=n_cells), columns(draw)


def fine_histograms(draw):
    ends = [bounds(draw) for _ in range(2)]
    fine = {k: uniform_bins(low, high, 255) for k, (low, high) in enumerate(ends)}
    cells = np.stack([some(draw, FLOATS) for _ in range(2)], axis=1)
    together = draw(st.sampled_from([1, 2, 64]))
    query = FineCounts(
        fine=fine, zero_as_missing=draw(st.booleans()), units=draw(UNITS), together=together
    )
    return query, lambda rows: SimpleNamespace(table=read_table(cells[rows]), threads=Threads(1))


def numeric_loss(draw):
    """Return a loss of numbers at the ends of its parameters."""
    low, high = bounds(draw)
    labels = SquaredLoss.from_label_bounds(low, high)
    positive = max(low, 0.0), max(high, LEAST_WIDTH)
    make = {
        "squared": lambda: labels,
        "absolute": lambda: RobustLoss.absolute(labels),
        "huber": lambda: RobustLoss.huber(labels, draw(SIZES.filter(bool))),
        "fair": lambda: RobustLoss.fair(labels, draw(SIZES.filter(bool))),
        "quantile": lambda: RobustLoss.quantile(labels, draw(st.sampled_from(LEVELS))),
        "quantiles": lambda: QuantilesLoss.of(labels, LEVELS),
        "poisson": lambda: LogLinkLoss.poisson(*positive, draw(st.sampled_from([SMALLEST, 9.9]))),
        "gamma": lambda: LogLinkLoss.gamma(*positive),
        "tweedie": lambda: LogLinkLoss.tweedie(*positive, draw(st.sampled_from(POWERS))),
        "shares": FractionalLabelLoss.of,
        "custom": lambda: CustomLoss.of(
            gradients,
            gradient_bound=draw(SCALES),
            hessian_bound=draw(SCALES),
            label_bounds=(low, high),
            score_bounds=bounds(draw),
        ),
    }
    return make[draw(st.sampled_from(sorted(make)))]()


def class_loss(draw):
    """Return a loss of two or three classes."""
    make = {
        "two": LogisticLoss,
        "softmax": lambda: SoftmaxLoss(n_outputs=3),
        "each": lambda: OneVsRestLoss(n_outputs=3),
        "custom": lambda: CustomClassLoss.of(
            gradients_of_classes,
            3,
            gradient_bound=draw(SCALES),
            hessian_bound=draw(SCALES),
            score_bounds=draw(st.sampled_from([(-6.0, 6.0), (-LARGEST_BOUND, 0.0)])),
        ),
    }
    return make[draw(st.sampled_from(sorted(make)))]()


def encoded(draw, loss, n_classes=0):
    """Return rows with labels on the grid of a loss, and a rule for their weights."""
    labels = some(draw, st.integers(0, n_classes - 1), dtype=np.int64) if n_classes else None
    targets = loss.encode_labels(some(draw, FLOATS) if labels is None else labels)
    indices = np.zeros(N_ROWS, dtype=np.int64) if labels is None else labels
    present = some(draw, st.booleans(), dtype=bool)
    weights = some(draw, WEIGHTS)
    factors = (1e12, 0.0, 1.0)[:n_classes] if n_classes and draw(st.booleans()) else None
    weighting = Weighting(max_weight=draw(SCALES), factors=factors)

    def rows_of(rows):
        return EncodedRows(
            table=None,
            targets=targets[rows],
            present=present[rows],
            indices=indices[rows],
            extras=RowExtras(sample_weight=weights[rows]),
        )

    return rows_of, draw(st.sampled_from([None, weighting]))


def row_count(draw):
    rows, weighting = encoded(draw, numeric_loss(draw))
    return RowCount(weighting=weighting, others=draw(st.booleans())), rows


def present_rows(draw):
    return PresentRows(), encoded(draw, numeric_loss(draw))[0]


def class_sizes(draw):
    rows, weighting = encoded(draw, SoftmaxLoss(n_outputs=3), 3)
    return ClassSizes(n_classes=3, weighting=weighting), rows


def mean_and_rows(draw):
    loss = numeric_loss(draw)
    rows, weighting = encoded(draw, loss)
    return MeanAndRows(loss=loss, weighting=weighting, others=draw(st.booleans())), rows


def state_of(draw, loss, n_classes):
    """Return rows in a boosting run."""
    rows_of, weighting = encoded(draw, loss, n_classes)
    bins = some(draw, st.integers(0, 2), dtype=np.uint8)[np.newaxis]
    scores = np.stack([some(draw, FINITE) for _ in range(loss.n_outputs)])
    own_scores = draw(st.booleans())
    layout = Layout(
        cell_offsets=np.array([0, 3], dtype=np.int32),
        candidate_offsets=np.array([0, 2], dtype=np.int32),
        is_categorical=np.zeros(1, dtype=np.uint8),
    )

    def state(rows):
        held = rows_of(rows)
        return BoostingState(
            np.ascontiguousarray(bins[:, rows]),
            held.targets,
            held.present,
            loss,
            layout,
            Threads(1),
            weights=held.weights(weighting),
            init_scores=np.ascontiguousarray(scores[:, rows]) if own_scores else None,
        )

    return state


def leaf_sums(draw):
    n_classes = draw(st.sampled_from([0, 0, 3]))
    loss = class_loss(draw) if n_classes else numeric_loss(draw)
    n_classes = n_classes and max(loss.n_outputs, 2)
    grid = PartitionGrid(n_bins=np.array([2], dtype=np.int32), is_nominal=np.zeros(1, np.uint8))
    partition = grid.random(np.zeros(1, dtype=np.int32), 1, np.random.default_rng(0))
    scale = SumScale.of(
        loss,
        gradient_limit=draw(st.sampled_from([0.001, 0.25, 1.0])),
        hessian_share=draw(st.sampled_from([1e-9, 0.05, 0.99])),
        norm=draw(st.sampled_from(["l1", "l2"])),
    )
    query = LeafSums(partition=partition, scale=scale, n_outputs=loss.n_outputs)
    return query, state_of(draw, loss, n_classes)


def linear_sums(draw, make):
    loss = SquaredLoss.from_label_bounds(*bounds(draw))
    values = np.zeros((1, 256), dtype=np.int64)
    values[0, :3] = draw(st.lists(st.integers(-MOST, MOST), min_size=3, max_size=3))
    design = LinearColumns.of_length_one(ROOT, values)
    return make(design, loss), state_of(draw, loss, 0)


def gradient_moments(draw):
    limit = draw(st.sampled_from([0.001, 0.25, 1.0]))
    return linear_sums(
        draw, lambda one, loss: GradientMoments(design=one, loss=loss, gradient_limit=limit)
    )


def candidates():
    return Candidates(
        n_bins=np.array([2], dtype=np.int32),
        is_categorical=np.zeros(1, dtype=np.uint8),
        kinds=np.zeros(1, dtype=np.uint8),
    )


ROOT = np.zeros(1, dtype=np.int32)


def label_totals(draw):
    loss = SquaredLoss.from_label_bounds(*bounds(draw))
    rows_of, weighting = encoded(draw, loss)
    bins = some(draw, st.integers(0, 2), dtype=np.uint8)[np.newaxis]
    scale = SumScale.of(
        loss,
        gradient_limit=1.0,
        hessian_share=draw(st.sampled_from([1e-9, 0.5, 0.99])),
        norm=draw(st.sampled_from(["l1", "l2"])),
    )
    # The unit of weights of a tree of numbers is that of its labels.
    one = replace(scale, hessian_reach=scale.gradient_reach)

    def state(rows):
        held = rows_of(rows)
        return LabelRows(
            np.ascontiguousarray(bins[:, rows]),
            loss.scaled_labels(held.targets),
            candidates=candidates(),
            threads=Threads(1),
            weights=held.weights(weighting),
        )

    return LabelTotals(nodes=ROOT, scale=one), state


def class_state(draw, make):
    rows_of, weighting = encoded(draw, SoftmaxLoss(n_outputs=3), 3)
    bins = some(draw, st.integers(0, 2), dtype=np.uint8)[np.newaxis]
    units = 1 if weighting is None else 2**16

    def state(rows):
        held = rows_of(rows)
        return ClassRows(
            np.ascontiguousarray(bins[:, rows]),
            held.indices.astype(np.uint8),
            held.present,
            n_classes=3,
            candidates=candidates(),
            threads=Threads(1),
            weights=held.weights(weighting),
        )

    return make(units), state


CELLS = np.array([0, 3], dtype=np.int32)
MAKERS: dict[type, Callable[[Any], Any]] = {
    LossChange: loss_change,
    QuantileBalance: quantile_balance,
    ScoreCells: score_cells,
    ScoreLabelCounts: score_label_counts,
    ErrorCells: error_cells,
    ErrorSums: error_sums,
    BinCounts: bin_counts,
    Magnitudes: magnitudes,
    RangeCounts: range_counts,
    FineCounts: fine_histograms,
    RowCount: row_count,
    PresentRows: present_rows,
    ClassSizes: class_sizes,
    MeanAndRows: mean_and_rows,
    LeafSums: leaf_sums,
    SecondMoments: lambda draw: linear_sums(
        draw, lambda one, loss: SecondMoments(design=one, loss=loss)
    ),
    GradientMoments: gradient_moments,
    LabelTotals: label_totals,
    NodeSizes: lambda draw: class_state(draw, lambda n: NodeSizes(nodes=ROOT, row_units=n)),
    ClassCounts: lambda draw: class_state(
        draw, lambda n: ClassCounts(nodes=ROOT, n_classes=3, row_units=n)
    ),
    ClassHistograms: lambda draw: class_state(
        draw,
        lambda n: ClassHistograms(nodes=ROOT, cell_offsets=CELLS, n_classes=3, row_units=n),
    ),
    CellSizes: lambda draw: class_state(
        draw, lambda n: CellSizes(nodes=ROOT, cell_offsets=CELLS, n_classes=3, row_units=n)
    ),
}


def excess(query, state) -> list[str]:
    """Return where neighboring tables move the query by more than its bounds."""
    every = np.arange(N_ROWS)
    without = [
        query.evaluate(state(np.delete(every, row))).copy().astype(object) for row in range(N_ROWS)
    ]
    whole = query.evaluate(state(every)).copy().astype(object)
    changes = {
        Neighbors.ADD_REMOVE: [whole - part for part in without],
        Neighbors.REPLACE: [one - other for one in without for other in without],
    }
    found = []
    for relation, moved in changes.items():
        for bound in query.bounds(relation):
            for change in moved:
                # Python's integers: exact whatever the numbers are.
                entries = [abs(int(entry)) for entry in change.ravel()]
                size = sum(entries) if bound.kind == "l1" else sum(e * e for e in entries)
                most = bound.constant if bound.kind == "l1" else bound.constant**2
                if size > most:
                    found.append(f"{bound.kind}, {relation.value}: {size} > {most}")
                touched = sum(map(bool, entries))
                if bound.coordinates is not None and touched > bound.coordinates:
                    found.append(f"{touched} coordinates")
    return found


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_no_row_moves_a_query_by_more_than_its_bounds(kind, data):
    with warnings.catch_warnings():
        # A warning of arithmetic would show that some number is odd.
        warnings.simplefilter("error", RuntimeWarning)
        try:
            query, state = MAKERS[kind](data.draw)
        except InvalidParameterError:
            return  # bounds too close for their magnitude
        assert excess(query, state) == []


def test_every_query_is_tried():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                methods = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
                bases = {getattr(base, "id", "") for base in node.bases}
                inside = path.relative_to(PACKAGE).parts[0]
                if (
                    "evaluate" in methods
                    and ("bounds" in methods or bases & {kind.__name__ for kind in MAKERS})
                    and "SumQuery" not in bases
                    # Queries of parties are those of integers that these queries give.
                    and inside != "federated"
                ):
                    found.add(node.name)
    assert found == {kind.__name__ for kind in MAKERS} | set(ELSEWHERE)


def test_an_unchecked_conversion_is_found(monkeypatch):
    def unchecked(values, low, high, **_options):
        with np.errstate(all="ignore"):
            return np.rint(values).astype(np.int64)

    monkeypatch.setattr("dpboost.rows.loss_change.to_integer_units", unchecked)
    query = LossChange(bound=1.0, units=2**10)
    before, now = np.array([np.inf, 1.0, 0.5, 0.0]), np.array([np.inf, 0.0, 0.5, 1.0])
    assert excess(query, lambda rows: TwiceJudged(before=before[rows], now=now[rows])) != []
