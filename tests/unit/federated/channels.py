"""Agreements, rows, and sessions of parties in threads, for the tests."""

import threading
import time
from dataclasses import replace

import numpy as np

from dpboost.federated import Agreement, Hub, LocalLink, Party, PartyLostError
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.messages import KINDS
from dpboost.federated.simulation import run_together

FEATURES = ("age", "dose")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1, 2]}


def agreement(n_parties=3, **terms):
    given = {"features": FEATURES, "schema": SCHEMA, "epsilon": 8.0}
    return Agreement(n_parties=n_parties, **(given | terms))


def tables(sizes, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return [(rng.normal(size=(n, 2)), rng.integers(0, n_classes, n)) for n in sizes]


def parties_of(terms, given, identities=None, folder=None, **more):
    firsts = np.cumsum([0, *(len(y) for _, y in given)]).tolist()
    return [
        Party(
            index,
            *rows,
            agreement=terms,
            first_row=firsts[index],
            identity=None if identities is None else identities[index],
            folder=None if folder is None else folder / str(index),
            **{name: values[index] for name, values in more.items()},
        )
        for index, rows in enumerate(given)
    ]


def run(terms, parties, links=None, *, hub=None, timeout=30.0):
    """Run a session; ``links`` has, by party, what makes its link of the hub and its number."""
    hub = Hub() if hub is None else hub
    session = CoordinatorSession(terms, hub, timeout=timeout)
    own = [(links or {}).get(party.index, LocalLink)(hub, party.index) for party in parties]
    return run_together(parties, session, hub, links=own)


def without_report(text):
    """Return the lines of a model text but that of the report, in which parties are named."""
    return [line for line in text.splitlines() if not line.startswith("dpboost:")]


def read(body):
    return m.decode(body, KINDS)


class Recorder(LocalLink):
    """Remembers everything a party sends and sees; one list for all of them."""

    def __init__(self, hub, party, seen):
        super().__init__(hub, party)
        self.party, self.seen = party, seen

    def post(self, key, body):
        reply = super().post(key, body)
        self.seen.append((key, self.party, body, reply))
        return reply


def recorded(terms, parties):
    """Run a session and return all messages: key, party, body and reply, in the order of steps."""
    seen = []
    links = {party.index: lambda hub, index: Recorder(hub, index, seen) for party in parties}
    found = run(terms, parties, links)
    order = ["hello", "deposit", "words", "endorsed", "unlocked", "outcomes", "done"]
    return found, sorted(seen, key=lambda one: (one[0].step, order.index(one[0].kind), one[1]))


class Losing(LocalLink):
    """A party that is lost at a message, which is not sent, or whose reply it does not get."""

    def __init__(self, hub, party, at, *, reply=False, told=True):
        super().__init__(hub, party)
        self.at, self.reply, self.told = at, reply, told

    def post(self, key, body):
        if (key.kind, key.step) != self.at:
            return super().post(key, body)
        if self.reply:
            super().post(key, body)
        raise PartyLostError("The line is dead.")

    def fail(self):
        if self.told:
            super().fail()


class Late(LocalLink):
    """A party whose message at one step comes when the coordinator has gone on."""

    def __init__(self, hub, party, at, until):
        super().__init__(hub, party)
        self.at, self.until, self.hub = at, until, hub

    def post(self, key, body):
        if (key.kind, key.step) == self.at:
            while self.hub.reply(self.until) is None and self.hub._ended is None:
                time.sleep(0.005)
        return super().post(key, body)


class Changing(LocalLink):
    """A coordinator, or a line, that changes what it sends to one party."""

    def __init__(self, hub, party, change):
        super().__init__(hub, party)
        self.change = change

    def post(self, key, body):
        return self.change(key, super().post(key, body))


def in_thread(function, *arguments):
    """Return what a function returns, or raises, in a thread of its own."""
    found = []

    def call():
        try:
            found.append(function(*arguments))
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(60)
    return found[0]


class Script:
    """A coordinator that replies by itself, whatever the party sends; it keeps what it sees."""

    def __init__(self, terms, replies, until=None):
        self.terms, self.replies, self.seen, self.until = terms, replies, [], until

    def post(self, key, body):
        message = read(body)
        shapes = [words.shape for words in getattr(message, "words", ())]
        digest = getattr(message, "digest", b"")
        self.seen.append((key, type(message).__name__, digest, shapes, len(body)))
        if isinstance(message, m.Hello):
            others = (
                replace(message, party=index, key=key_of(index)) if index else message
                for index in range(self.terms.n_parties)
            )
            return m.encode(m.Roster(hellos=tuple(others)))
        if isinstance(message, m.Done):
            return m.encode(m.Agreed(result=message.result))
        if self.until is not None and key.step > self.until:
            return m.encode(m.Ended(code=m.STOPPED, step=key.step))
        parties = tuple(range(self.terms.n_parties))
        sums = tuple(self.replies(key.step, shape) for shape in shapes)
        return m.encode(m.Sum(sums=sums, parties=parties))

    def fail(self):
        self.seen.append("failed")


def key_of(index):
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(bytes([index]) * 32).public_key().public_bytes_raw()


def script(name):
    rng = np.random.default_rng(0)
    return {
        "zeros": lambda step, shape: np.zeros(shape, dtype=np.int64),
        "large": lambda step, shape: np.full(shape, 2**61, dtype=np.int64),
        "negative": lambda step, shape: np.full(shape, -(2**61), dtype=np.int64),
        "random": lambda step, shape: rng.integers(-(2**50), 2**50, shape),
        "small": lambda step, shape: np.arange(int(np.prod(shape))).reshape(shape) * 2**20,
        "impossible": lambda step, shape: np.full(shape, 2**62 if step == 3 else 5, dtype=np.int64),
        "another shape": lambda step, shape: np.zeros((1, *shape), dtype=np.int64),
    }[name]
