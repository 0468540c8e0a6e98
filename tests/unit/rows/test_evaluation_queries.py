from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.rows.evaluation_queries import (
    ERROR_CELLS,
    BinCounts,
    ErrorCells,
    ErrorSums,
    PredictedRows,
    ScoreCells,
    ScoredRows,
    ScoreLabelCounts,
)

UNITS = 64
RELATIONS = list(Neighbors)


def scored(scores, label, group, hit):
    return ScoredRows(
        scores=np.array([[each] for each in scores], dtype=float),
        labels=np.array([label]),
        groups=np.array([group]),
        hits=np.array([hit]),
    )


def predicted(label, prediction, group):
    return PredictedRows(
        labels=np.array([label]), predictions=np.array([prediction]), groups=np.array([group])
    )


SCORES = (-8.0, -0.1, 0.0, 0.1, 8.0)
TWO = [
    scored([z], label, group, hit)
    for z, label, group, hit in product(SCORES, (0, 1), (0, 1), (False, True))
]
THREE = [
    scored(z, label, group, hit)
    for z, label, group, hit in product(
        product((-1.0, 1.0), repeat=3), range(3), (0, 1), (False, True)
    )
]
NUMBERS = [
    predicted(label, prediction, group)
    for label, prediction, group in product((-4.0, -1.3, 0.0, 4.0), (-4.0, 0.7, 4.0), (0, 1))
]
BINS = [np.array(bins, dtype=np.uint8).reshape(2, 1) for bins in product(range(3), range(2))]
SUMS = {"largest": 2.0, "label_bounds": (-4.0, 4.0), "n_groups": 2, "units": UNITS}
QUERIES = {
    "bins": (BinCounts(sizes=(3, 2), units=UNITS), BINS),
    "scores": (ScoreCells(ranges=((-8.0, 8.0),), n_cells=8, units=UNITS), TWO),
    "scores of three": (ScoreCells(ranges=((-2.0, 2.0),) * 3, n_cells=4, units=UNITS), THREE),
    "two classes": (
        ScoreLabelCounts(edges=((0.0, 1.0),), n_groups=2, n_classes=2, units=UNITS),
        TWO,
    ),
    "three classes": (
        ScoreLabelCounts(edges=((0.0,),) * 3, n_groups=2, n_classes=3, units=UNITS),
        THREE,
    ),
    "errors": (ErrorCells(width=8.0, units=UNITS), NUMBERS),
    "sums": (ErrorSums(quantile=None, labels=True, **SUMS), NUMBERS),
    "sums with a quantile": (ErrorSums(quantile=0.7, labels=True, **SUMS), NUMBERS),
    "errors alone": (ErrorSums(quantile=None, labels=False, **SUMS), NUMBERS),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", QUERIES)
def test_constants_are_those_of_all_rows_and_pairs_of_rows(name, relation) -> None:
    query, rows = QUERIES[name]
    added = [query.evaluate(row).ravel().astype(float) for row in rows]
    if relation is Neighbors.REPLACE:
        added = [one - other for one in added for other in added]
    reached = {
        "l1": max(np.abs(change).sum() for change in added),
        "l2": max(float(np.sqrt((change**2).sum())) for change in added),
    }
    changed = max(np.count_nonzero(change) for change in added)
    for bound in query.bounds(relation):
        assert reached[bound.kind] <= bound.constant
        assert reached[bound.kind] >= 0.95 * bound.constant
        assert changed <= bound.coordinates


def test_a_row_is_counted_in_its_bin_with_borders_below() -> None:
    query = ScoreLabelCounts(edges=((0.0, 1.0),), n_groups=2, n_classes=2, units=1)
    answer = query.evaluate(scored([0.0], 1, 1, True))
    (counts,) = query.split(answer.astype(float))
    assert counts[1, 0, 1] == 1
    assert counts.sum() == 1
    (counts,) = query.split(query.evaluate(scored([1.5], 0, 0, True)).astype(float))
    assert counts[0, 2, 0] == 1


def test_hits_of_several_classes_are_counted_by_label() -> None:
    query = QUERIES["three classes"][0]
    answer = query.evaluate(scored([1.0, -1.0, 1.0], 2, 1, True)) / UNITS
    *outputs, hits = query.split(answer)
    assert hits[1, 2, 1] == 1
    assert [output[1].tolist() for output in outputs] == [
        [[0, 0], [1, 0]],
        [[1, 0], [0, 0]],
        [[0, 0], [0, 1]],
    ]


def test_errors_fall_into_cells_by_their_magnitude() -> None:
    query = ErrorCells(width=8.0, units=1)
    for error, cell in ((8.0, 0), (5.7, 0), (5.6, 1), (4.0, 2), (0.0, ERROR_CELLS - 1)):
        answer = query.evaluate(predicted(4.0, 4.0 - error, 0))
        assert np.flatnonzero(answer).tolist() == [cell]
        assert error / 8 <= query.ends[cell]


def test_no_rows_are_zeros() -> None:
    nobody = TWO[0].take(np.array([], dtype=np.intp))
    for name in ("scores", "two classes"):
        query = QUERIES[name][0]
        assert query.evaluate(nobody).shape == query.shape
        assert not query.evaluate(nobody).any()
    none = NUMBERS[0].take(np.array([], dtype=np.intp))
    for name in ("errors", "sums"):
        assert not QUERIES[name][0].evaluate(none).any()
