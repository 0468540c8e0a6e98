"""Channels and parties for the tests."""

from __future__ import annotations

import numpy as np

from dpboost.federated import Agreement, LocalChannel, Party
from dpboost.federated.party.party_store import PartyStore

FEATURES = ("age", "dose")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1, 2]}


def agreement(n_parties=3, **terms):
    given = {"features": FEATURES, "schema": SCHEMA, "epsilon": 8.0}
    return Agreement(n_parties=n_parties, **(given | terms))


def tables(sizes, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, 2)), rng.integers(0, n_classes, n)) for n in sizes]


def parties_of(terms, given):
    return [Party(index, X, y, agreement=terms) for index, (X, y) in enumerate(given)]


class Recorder(LocalChannel):
    """Remembers everything a coordinator sends and sees."""

    def __init__(self, parties):
        super().__init__(parties)
        self.sent, self.seen = [], []

    def exchange(self, message, to):
        self.sent.append(message)
        replies = super().exchange(message, to)
        self.seen.append(replies)
        return replies


class Lossy(LocalChannel):
    """Loses replies, or messages, of a party.

    ``lost`` has, by the number of the exchange, "reply", "message", or bytes to reply instead.
    """

    def __init__(self, parties, lost, party=1):
        super().__init__(parties)
        self.lost, self.party, self.count = lost, party, 0

    def exchange(self, message, to):
        what = self.lost.get(self.count)
        self.count += 1
        if self.party not in to or what is None:
            return super().exchange(message, to)
        reached = [index for index in to if what != "message" or index != self.party]
        replies = super().exchange(message, reached)
        replies.pop(self.party, None)
        if isinstance(what, bytes):
            replies[self.party] = what
        return replies


class Processes:
    """A new party from its holder's disk for every message, as Flower has it."""

    def __init__(self, terms, given, folder):
        self.terms, self.given, self.folder = terms, given, folder
        self.first_rows = np.cumsum([0, *(len(y) for _, y in given)]).tolist()

    @property
    def n_parties(self):
        return len(self.given)

    def exchange(self, message, to):
        return {index: self.store(index).answer(self.party(index), message) for index in to}

    def store(self, index):
        return PartyStore(self.folder / str(index))

    def party(self, index):
        X, y = self.given[index]
        return Party(index, X, y, agreement=self.terms, first_row=self.first_rows[index])
