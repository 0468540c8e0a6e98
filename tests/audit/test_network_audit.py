"""Fits and evaluations over messages are held to those of one table, and bugs are seen."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dpboost.audit.network_audit import (
    CHECK,
    Listening,
    continued_fits_of_parties,
    evaluations_of_parties,
    fits_of_parties,
)
from dpboost.federated.party import party as party_module
from dpboost.federated.party.party import OwnRows
from dpboost.federated.secagg.keys import PairwiseMasks
from dpboost.federated.training.session_run import Result
from dpboost.privacy.noise_shares import MaskedShare
from dpboost.rows.evaluation_queries import ErrorSums, ScoreLabelCounts
from dpboost.rows.raw_rows import RowCount

pytestmark = pytest.mark.filterwarnings("ignore")


def told(*recipes):
    return {(found.check, found.message) for found in fits_of_parties(recipes or ("para",))}


def test_nothing_is_found_at_parties():
    assert fits_of_parties() == []


def test_sums_without_masks_are_seen():
    def none(self, nonce, size):
        return np.zeros(size, dtype=np.uint64)

    with mock.patch.object(PairwiseMasks, "mask", none):
        found = told()
    assert (CHECK, "replies hold small numbers: there is no mask on them") in found


def test_a_party_that_books_nothing_is_seen():
    n_asked = iter(range(10**6))

    def nothing(self):
        # The parties are asked before the coordinator is.
        return mock.Mock(spent=0) if next(n_asked) % 4 < 3 else vars(self)["own"]

    kept = property(nothing, lambda self, ledger: vars(self).update(own=ledger))
    with mock.patch.object(Result, "ledger", kept, create=True):
        found = told()
    assert (CHECK, "parties have recorded other charges than the coordinator") in found


def test_an_answer_that_is_not_the_sum_of_the_rows_is_seen():
    draw = MaskedShare.draw

    def shifted(self, value, bound, entropy):
        return draw(self, value, bound, entropy) + np.uint64(1 << 20)

    with mock.patch.object(MaskedShare, "draw", shifted):
        found = told()
    assert (CHECK, "another model than of the same rows in one place") in found


def test_replies_whose_lengths_depend_on_labels_are_seen():
    post, init, labels = Listening.post, OwnRows.__init__, {}

    def padded(self, key, body):
        # Space after a message of JSON changes nothing but its length.
        return post(self, key, body + b" " * int(key.kind == "words" and labels[self._own][-1] > 0))

    def seen(self, X, y, agreement, **more):
        init(self, X, y, agreement, **more)
        labels[len(labels) % 3 if len(labels) < 3 else self._first_row // 4] = y

    with (
        mock.patch.object(Listening, "post", padded),
        mock.patch.object(OwnRows, "__init__", seen),
    ):
        found = told()
    assert (CHECK, "number or length of replies depend on a row") in found


# -- models that are continued ----------------------------------------------------------------


def test_nothing_is_found_where_parties_continue_a_model():
    assert continued_fits_of_parties() == []


def test_a_party_whose_scores_start_elsewhere_is_seen():
    with mock.patch.object(party_module, "start_scores", return_value=None):
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
    judged = OwnRows.judged

    def other(self, agreement, folds=None):
        # Of parties, whose rows are fewer, and once: predictions are made before they are asked.
        asked = agreement.digest in self._ready and self.n_rows < 11
        found = judged(self, agreement, folds)
        if asked:
            found.predictions[:] = -found.predictions
        return found

    with mock.patch.object(OwnRows, "judged", other):
        found = evaluations_of_parties(("regression",))
    told = {(one.check, one.message) for one in found}
    assert (CHECK, "other figures than of the same rows in one place") in told
