"""Fits and evaluations over messages are held to those of one table, and bugs are seen."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dpboost.audit.network_audit import (
    CHECK,
    continued_fits_of_parties,
    evaluations_of_parties,
    fits_of_parties,
)
from dpboost.federated.party.evaluation_admission import JudgeRows
from dpboost.federated.party.mask_phases import MaskPhases
from dpboost.federated.party.party import Party
from dpboost.rows.evaluation_queries import ErrorSums, ScoreLabelCounts
from dpboost.rows.start_queries import RowCount

pytestmark = pytest.mark.filterwarnings("ignore")


def told(*recipes):
    return {(found.check, found.message) for found in fits_of_parties(recipes or ("para",))}


def test_nothing_is_found_at_parties():
    assert fits_of_parties() == []


def test_sums_without_masks_are_seen():
    def none(self, nonce, position, size):
        return np.zeros(size, dtype=np.uint64)

    with mock.patch.object(MaskPhases, "words", none):
        found = told()
    assert (CHECK, "replies hold small numbers: there is no mask on them") in found


def test_a_party_that_books_nothing_is_seen():
    with mock.patch.object(Party, "ledger", property(lambda self: mock.Mock(spent=0))):
        found = told()
    assert (CHECK, "parties have booked something else than the coordinator") in found


def test_an_answer_that_is_not_the_sum_of_the_rows_is_seen():
    release = Party._release

    def shifted(self, prepared):
        masked = release(self, prepared)
        words = masked.words + np.uint64(1 << 20)
        return type(masked)(words=words)

    with mock.patch.object(Party, "_release", shifted):
        found = told()
    assert (CHECK, "another model than of the same rows in one place") in found


def test_replies_whose_lengths_depend_on_labels_are_seen():
    receive = Party.receive

    def padded(self, message):
        # Space after a message of JSON changes nothing but its length.
        return receive(self, message) + b" " * int(self.held.labels[-1] > 0)

    with mock.patch.object(Party, "receive", padded):
        found = told()
    assert (CHECK, "number or length of replies depend on a row") in found


# -- models that are continued ----------------------------------------------------------------


def test_nothing_is_found_where_parties_continue_a_model():
    assert continued_fits_of_parties() == []


def test_a_party_whose_scores_start_elsewhere_is_seen():
    name = "dpboost.federated.party.boosting_admission.start_scores"
    with mock.patch(name, return_value=None):
        found = continued_fits_of_parties(("regression",))
    told = {(one.check, one.message) for one in found}
    assert (CHECK, "another model than of the same rows in one place") in told


def test_a_row_that_is_counted_twice_where_a_model_is_continued_is_seen():
    once = RowCount.evaluate
    with mock.patch.object(RowCount, "evaluate", lambda self, rows: 2 * once(self, rows)):
        found = continued_fits_of_parties(("classification",))
    assert "entry cost" in {one.check for one in found}


# -- evaluations -------------------------------------------------------------------------------


def test_nothing_is_found_in_evaluations_of_parties():
    assert evaluations_of_parties() == []


@pytest.mark.parametrize(
    ("task", "query"), [("regression", ErrorSums), ("classification", ScoreLabelCounts)]
)
def test_a_row_that_counts_twice_is_seen(task, query):
    once = query.evaluate
    with mock.patch.object(query, "evaluate", lambda self, rows: 2 * once(self, rows)):
        found = evaluations_of_parties((task,))
    assert {"entry cost", "total loss"} <= {one.check for one in found}


def test_a_party_that_judges_by_another_model_is_seen():
    judge, place = JudgeRows.execute, Party.receive
    inside = []

    def other(self, rows):
        judged = judge(self, rows)
        if inside:
            judged.predictions[:] = -judged.predictions
        return judged

    def receive(self, message):
        inside.append(self)
        reply = place(self, message)
        inside.pop()
        return reply

    with (
        mock.patch.object(JudgeRows, "execute", other),
        mock.patch.object(Party, "receive", receive),
    ):
        found = evaluations_of_parties(("regression",))
    told = {(one.check, one.message) for one in found}
    assert (CHECK, "other figures than of the same rows in one place") in told
