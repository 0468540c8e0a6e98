"""Brute force against the bounds of what parties are asked in an evaluation."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dpboost.federated import Party
from dpboost.federated.party.admission import UnusableMessageError, admitted
from dpboost.federated.party.evaluation_admission import JudgedClasses, JudgeRows
from dpboost.federated.protocol import wire
from dpboost.privacy.neighbours import Neighbours
from dpboost.rows.evaluation_queries import (
    ErrorCells,
    ErrorSums,
    ScoreCells,
    ScoreLabelCounts,
)
from tests.unit.federated.channels import agreement, tables
from tests.unit.federated.evaluated import KINDS, terms_of

pytestmark = pytest.mark.filterwarnings("ignore")
GROUPS = ("age", (0.0, 3.0))
CELLS = (0.0, -3.0, 3.0, np.nan, np.inf, 1e308)
LABELS = {"classes": (0, 1, 2), "numbers": (-2.0, 2.0, 0.3, 1e308, -1e308)}


def rows_of(kind, cells, label, **options):
    terms = terms_of(kind, groups=GROUPS, **options)
    party = Party(0, np.array([cells]), np.array([label]), agreement=terms)
    return admitted(JudgeRows(), party.held).execute(party.held)


def queries(kind):
    if kind in ("numbers", "quantile"):
        quantile = 0.9 if kind == "quantile" else None
        sums = {"label_bounds": (-2.0, 2.0), "quantile": quantile, "labels": True, "n_groups": 3}
        return [
            ErrorCells(width=4.0, units=8),
            *(ErrorSums(largest=largest, units=8, **sums) for largest in (5e-324, 0.5, 4.0, 1e300)),
        ]
    n_classes = 2 if kind == "two classes" else 3
    n_outputs = 1 if n_classes == 2 else 3
    edges = (), (0.0,), (-1e300, 0.0, 0.0, 2.0)
    return [
        ScoreCells(ranges=((-8.0, 8.0),) * n_outputs, n_cells=32, units=8),
        ScoreCells(ranges=((0.0, 5e-324),) * n_outputs, n_cells=1, units=8),
        *(
            ScoreLabelCounts(edges=(own,) * n_outputs, n_groups=3, n_classes=n_classes, units=8)
            for own in edges
        ),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_for_all_rows_and_pairs_of_rows_and_are_reached(kind):
    own = LABELS["classes" if "classes" in kind else "numbers"]
    found = [rows_of(kind, (cell, 1.0), label) for cell, label in product(CELLS, own)]
    for query in queries(kind):
        asked = [admitted(wire.decode(wire.encode(query), object), rows) for rows in found]
        answers = np.stack(
            [one.evaluate(rows).reshape(-1) for one, rows in zip(asked, found, strict=True)]
        )
        moves = {
            Neighbours.ADD_REMOVE: answers,
            Neighbours.REPLACE: (answers[:, np.newaxis] - answers).reshape(-1, answers.shape[1]),
        }
        for neighbours, moved in moves.items():
            norms = {"l1": np.abs(moved).sum(axis=1), "l2": np.sqrt((moved**2).sum(axis=1))}
            for bound in query.bounds(neighbours):
                assert norms[bound.kind].max() <= bound.constant
            if query == queries(kind)[-1] and "classes" in kind:
                assert norms["l1"].max() == query.bounds(neighbours)[0].constant


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("two classes", {"units": 0}),
        ("two classes", {"units": 2**30 + 1}),
        ("two classes", {"units": 8.0}),
        ("two classes", {"units": True}),
        ("two classes", {"n_cells": 0}),
        ("two classes", {"n_cells": 2**20}),
        ("two classes", {"ranges": ((-8.0, 8.0),) * 2}),
        ("two classes", {"ranges": ((0.0, 0.0),)}),
        ("two classes", {"ranges": ((1.0, -1.0),)}),
        ("two classes", {"ranges": ((-8.5, 8.0),)}),
        ("two classes", {"ranges": ((float("nan"), 8.0),)}),
        ("two classes", {"ranges": ((-8, 8),)}),
        ("two classes", {"ranges": ((-8.0, 0.0, 8.0),)}),
        ("three classes", {"ranges": ((-8.0, 8.0),)}),
        ("numbers", {"width": 3.0}),
        ("numbers", {"width": 4}),
        ("numbers", {"units": -1}),
    ],
)
def test_first_questions_that_do_not_fit_are_refused(kind, wrong):
    rows = rows_of(kind, (0.0, 0.0), 0)
    with pytest.raises(UnusableMessageError):
        admitted(replace(queries(kind)[0], **wrong), rows)


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("two classes", {"edges": ((1.0, 0.0),)}),
        ("two classes", {"edges": ((float("inf"),),)}),
        ("two classes", {"edges": ((0,),)}),
        ("two classes", {"edges": ([0.0],)}),
        ("two classes", {"edges": (tuple(map(float, range(64))),)}),
        ("two classes", {"edges": ()}),
        ("two classes", {"n_groups": 1}),
        ("two classes", {"n_groups": 2**40}),
        ("two classes", {"n_classes": 3}),
        ("two classes", {"units": 2**31}),
        ("quantile", {"largest": 0.0}),
        ("quantile", {"largest": float("inf")}),
        ("quantile", {"largest": 1}),
        ("quantile", {"label_bounds": (-2.0, 3.0)}),
        ("quantile", {"quantile": 0.5}),
        ("quantile", {"quantile": None}),
        ("quantile", {"labels": False}),
        ("quantile", {"n_groups": 4}),
        ("quantile", {"units": 0}),
    ],
)
def test_last_questions_that_do_not_fit_are_refused(kind, wrong):
    rows = rows_of(kind, (0.0, 0.0), 0)
    with pytest.raises(UnusableMessageError):
        admitted(replace(queries(kind)[-1], **wrong), rows)


@pytest.mark.parametrize(
    ("kind", "other"), [("two classes", "numbers"), ("numbers", "two classes")]
)
def test_questions_about_other_rows_are_refused(kind, other):
    rows = rows_of(kind, (0.0, 0.0), 0)
    for query in (*queries(other), JudgeRows()):
        with pytest.raises(UnusableMessageError):
            admitted(query, rows)


def test_a_party_of_a_fit_judges_nothing():
    terms = agreement()
    party = Party(0, *tables([5])[0], agreement=terms)
    with pytest.raises(ValueError, match="recipe"):
        admitted(JudgeRows(), party.held).execute(party.held)


def test_rows_of_unknown_labels_take_no_part_and_show_nothing():
    rows = rows_of("two classes", (0.0, 0.0), 7)
    assert isinstance(rows, JudgedClasses)
    assert rows.labels.shape == (0,)
