"""Parties that differ in anything of a step open nothing, even where the coordinator looks away."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost.federated.party import party_session
from dpboost.federated.party.party_session import PartySession
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.coordinator_session import CoordinatorSession
from dpboost.federated.protocol.messages import Key
from dpboost.federated.protocol.session import Steps
from tests.unit.federated.channels import Changing, agreement, in_thread, parties_of, read, run
from tests.unit.federated.channels import tables as tables_of

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
HYPER = {"n_estimators": 2, "max_depth": 2, "max_bin": 8}
DIFFERENT = 1

#: At the party that differs: what it is another one of, and the step whose sum must not open.
DIFFERENCES = {
    "nothing": 1,
    "query": 1,
    "sigma": 1,
    "bound": 1,
    "command": 1,
    "roster": 1,
    "parties of the last sum": 2,
    "last sum": 2,
}


def first_sum(what, monkeypatch, *, bug=False):
    """Return what the words of three parties add up to, one of which differs."""
    if bug:
        # A planted bug: masks that are keyed by the sums alone, which are the same.
        monkeypatch.setattr(party_session, "part_nonce", lambda digest, at: b"sums" + bytes([at]))
    monkeypatch.setattr(CoordinatorSession, "_check_digests", lambda *arguments: None)
    join, step, released = PartySession.join, Steps.step, Steps.released

    def marked(self):
        join(self)
        self._steps.differs = self._index == DIFFERENT
        if self._steps.differs and what == "command":
            self.note("one more")

    def other_step(self, drawn, **more):
        if getattr(self, "differs", False):
            drawn = [another(entry, value) for entry, value in drawn]
        return step(self, drawn, **more)

    def another(entry, value):
        if what == "query":
            value = SimpleNamespace(shape=value.shape, query=(value.query, "another"))
        if what == "sigma":
            noise = replace(entry.mechanism, epsilon=2 * entry.mechanism.epsilon)
            entry = replace(entry, mechanism=noise)
        if what == "bound":
            bound = replace(entry.bound, constant=2 * entry.bound.constant)
            entry = replace(entry, bound=bound)
        return entry, value

    def other_end(self, outcomes, parties):
        if getattr(self, "differs", False):
            if what == "parties of the last sum":
                parties = parties[:-1]
            if what == "last sum":
                outcomes = [one + 1 for one in outcomes]
        released(self, outcomes, parties)

    monkeypatch.setattr(PartySession, "join", marked)
    monkeypatch.setattr(Steps, "step", other_step)
    monkeypatch.setattr(Steps, "released", other_end)
    seen = []

    def look(key, reply):
        if key == Key(DIFFERENCES[what], "words"):
            seen.extend(read(reply).sums)
        return reply

    def hello(key, reply):
        if what != "roster" or key.kind != "hello":
            return reply
        first, second, third = read(reply).hellos
        return m.encode(m.Roster(hellos=(first, second, replace(third, certificate="another"))))

    links = {
        0: lambda hub, index: Changing(hub, index, look),
        DIFFERENT: lambda hub, index: Changing(hub, index, hello),
    }
    agreed = agreement(3, schema=SCHEMA, hyper=HYPER, public_seed=3)
    given = tables_of((60, 40, 30), n_classes=2)
    in_thread(run, agreed, parties_of(agreed, given), links)
    return np.concatenate([one.ravel() for one in seen]).astype(float)


@pytest.mark.parametrize("what", list(DIFFERENCES))
def test_a_party_that_differs_opens_nothing(what, monkeypatch):
    small = np.abs(first_sum(what, monkeypatch)) < 2**45
    assert small.all() if what == "nothing" else not small.any()


@pytest.mark.parametrize("what", list(DIFFERENCES))
def test_masks_by_sums_alone_open(what, monkeypatch):
    assert (np.abs(first_sum(what, monkeypatch, bug=True)) < 2**45).all()
