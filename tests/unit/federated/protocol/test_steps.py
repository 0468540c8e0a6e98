"""Digests of steps: equal for equal public terms, and different for anything else."""

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from dpboost.federated.protocol.session import Steps, absorb
from dpboost.privacy.ledger import LedgerEntry
from dpboost.privacy.ledger_records import NO_CHARGE, Disjoint
from dpboost.privacy.mechanisms import DiscreteLaplace
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.remote import RemoteSensitive
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts
from dpboost.rows.boosting_queries import NodeTotals

ENTRY = LedgerEntry(
    label="counts",
    scope=("training", "tree 1"),
    mechanism=DiscreteLaplace(epsilon=Fraction(1)),
    bound=counts(Neighbors.ADD_REMOVE)[0],
    unit=1.0,
    charge=NO_CHARGE,
    because=(None, Disjoint.CONTENT),
)
SUMS = (np.arange(3),)
QUERY = NodeTotals(n_nodes=1)


def value(query=QUERY, shape=(3,)):
    return RemoteSensitive(shape, counts(Neighbors.ADD_REMOVE), holder=None, query=query)


def digest(entry=ENTRY, given=None, *, honest=2, each=False, start=b"start", before=()):
    steps = Steps(start)
    for command in before:
        steps.command(command)
    return steps.step([(entry, value() if given is None else given)], honest=honest, each=each)


def test_the_same_terms_have_the_same_digest():
    assert digest() == digest()
    assert len(digest()) == 32


@pytest.mark.parametrize(
    "change",
    [
        {"entry": replace(ENTRY, label="others")},
        {"entry": replace(ENTRY, scope=("training",))},
        {"entry": replace(ENTRY, because=(Disjoint.CONTENT, None))},
        {"entry": replace(ENTRY, mechanism=DiscreteLaplace(epsilon=2))},
        {"entry": replace(ENTRY, bound=counts(Neighbors.REPLACE)[0])},
        {"entry": replace(ENTRY, unit=0.5)},
        {"given": value(NodeTotals(n_nodes=2))},
        {"given": value(shape=(3, 1))},
        {"honest": 3},
        {"each": True},
        {"start": b"another session"},
        {"before": (("take", {"index": 0}),)},
        {"before": (("take", {"index": 1}),)},
    ],
)
def test_anything_else_is_another_step(change):
    assert digest(**change) != digest()


def test_earlier_sums_and_their_parties_are_in_the_digest():
    found = set()
    for sums, parties in (
        (SUMS, (0, 1)),
        (SUMS, (0, 2)),
        ((SUMS[0] + 1,), (0, 1)),
        ((SUMS[0].reshape(1, 3),), (0, 1)),
        ((*SUMS, *SUMS), (0, 1)),
    ):
        steps = Steps(b"start")
        steps.step([(ENTRY, value())], honest=2, each=False)
        steps.released(sums, parties)
        found.add(steps.step([(ENTRY, value())], honest=2, each=False))
    assert len(found) == 5


def test_coins_of_rows_are_not_in_it():
    coins = [Entropy.secure().row_coins() for _ in range(2)]
    shares = (Fraction(1, 2), Fraction(1, 2))
    first, second = (digest(before=(("deal", {"shares": shares, "coins": own}),)) for own in coins)
    assert first == second != digest(before=(("deal", {"shares": shares[:1], "coins": coins[0]}),))


@dataclass(frozen=True)
class Pair:
    left: object
    right: object


@dataclass(frozen=True)
class Other:
    left: object
    right: object


def hashed(value):
    target = hashlib.sha256()
    absorb(target, value)
    return target.digest()


def test_no_two_values_look_alike():
    values = [
        *(None, 0, 1, -1, 0.0, -0.0, 1.0, "", "1", b"1", (), (1,), (1, 2), ((1,), 2), (1, (2,))),
        *({}, {"a": 1}, {"a": "1"}, {"b": 1}, "ab", ("a", "b"), frozenset({1}), Fraction(1, 2)),
        *(Pair(1, 2), Pair(2, 1), Other(1, 2), Neighbors.REPLACE, float("nan"), float("inf")),
        *(np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=np.int32), np.zeros(0)),
        *(np.array([1, 2]), np.array([2, 1])),
    ]
    assert len({hashed(value) for value in values}) == len(values)


@pytest.mark.parametrize("value", [object(), print, lambda: 1, (1, object())])
def test_what_has_no_form_has_no_digest(value):
    with pytest.raises(TypeError, match="digest"):
        hashed(value)
