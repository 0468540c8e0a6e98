"""Masks that are taken off where parties are lost, and bugs in them that the audit sees."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dpboost.audit.dropout_audit import CHECK, masks_of_lost_parties
from dpboost.audit.parts import PARTIES, Request, plan
from dpboost.federated.secagg import release_masks
from dpboost.federated.secagg.release_masks import ReleaseMasks

pytestmark = pytest.mark.filterwarnings("ignore")


def told():
    return {(found.check, found.message) for found in masks_of_lost_parties()}


def test_nothing_is_found():
    assert masks_of_lost_parties() == []


def test_it_is_a_part_of_the_audit_of_parties():
    (part,) = [part for part in plan(Request(names=(PARTIES,))).parts if "lost" in part.what]
    assert part.run().sound


def test_keys_of_a_session_in_the_place_of_those_of_a_release_are_seen():
    def of_session(self, other):
        return self._pairs.seed(other, b"session")

    with mock.patch.object(ReleaseMasks, "_seed", of_session):
        found = told()
    assert found == {(CHECK, "keys that were opened in one release open an answer of another one")}


def test_a_key_that_each_share_tells_is_seen():
    def constant(coefficients, n_shares):
        return coefficients[:1] * n_shares

    with mock.patch.object(release_masks, "values", constant):
        found = told()
    assert found == {(CHECK, "those who collude open a key by themselves")}


def test_answers_without_a_mask_of_their_own_are_seen():
    def none(key, digest, position, size):
        return np.zeros(size, dtype=np.uint64)

    with mock.patch.object(release_masks, "own_words", none):
        found = told()
    assert found == {(CHECK, "the answer of a party that was late is open")}
