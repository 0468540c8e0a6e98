"""A party whose folder is restored as it was at an earlier step, and is then told other things."""

import shutil
from itertools import combinations

import numpy as np
import pytest

from dpboost.federated import LocalLink, Party, PartyLostError
from dpboost.federated.party import party_session
from dpboost.federated.party.party_session import SessionRecord
from dpboost.federated.party.record_log import RecordLog
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol.messages import Key
from dpboost.privacy import noise_shares
from tests.unit.federated.channels import (
    Script,
    agreement,
    in_thread,
    parties_of,
    run,
    script,
    tables,
)

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
HYPER = {"n_estimators": 4, "max_depth": 2, "max_bin": 8}
ROWS = tables((60,), n_classes=2)[0]


# -- every earlier step, another log of sums -------------------------------------------------------


class Copying(Script):
    """A coordinator of its own sums; what the party has on disk at each step is copied."""

    def __init__(self, terms, replies, folder, copies):
        super().__init__(terms, replies)
        self.folder, self.copies, self.bodies = folder, copies, {}

    def post(self, key, body):
        if key.kind == "words":
            self.bodies[key.step] = body
            if self.copies is not None:
                shutil.copytree(self.folder, self.copies / f"{key.step} with words")
        return super().post(key, body)


def without_last_record(folder, target):
    """Copy a folder as it was before its last record: words that were not sent."""
    shutil.copytree(folder, target)
    (log,) = target.glob("*/session.log")
    contents = list(RecordLog(log).read())
    log.unlink()
    own = RecordLog(log)
    for content in contents[:-1]:
        own.append(content)


def sent_after_rollbacks(tmp_path, monkeypatch):
    """Return the noise of all words that a party has sent, one array for each drawing.

    From a folder of each step, with and without the words of the step in it, the party goes on
    with another log of sums.
    """
    drawn = []
    share = noise_shares.share

    def kept(base, value, bound, honest, entropy):
        found = share(base, value, bound, honest, entropy)
        drawn.append((found - value).ravel())
        return found

    monkeypatch.setattr(noise_shares, "share", kept)
    terms = agreement(3, schema=SCHEMA, hyper=HYPER, epsilon=0.5, public_seed=3)

    def sent(folder, replies, copies=None):
        link = Copying(terms, script(replies), folder, copies)
        found = in_thread(Party(0, *ROWS, agreement=terms, folder=folder).run, link)
        assert not isinstance(found, Exception), found
        return link.bodies

    first = sent(tmp_path / "own", "zeros", tmp_path / "copies")
    assert len(first) >= 5
    for step in first:
        with_words = tmp_path / "copies" / f"{step} with words"
        without_last_record(with_words, tmp_path / f"{step} without")
        assert sent(with_words, "small")[step] == first[step]
        sent(tmp_path / f"{step} without", "small")
    return drawn


def shared_noise(drawn):
    """Return whether two drawings are alike in more than half of the entries that both have."""
    return any(
        (one[: len(other)] == other[: len(one)]).mean() > 0.5
        for one, other in combinations(drawn, 2)
        if min(len(one), len(other)) >= 3
    )


def test_no_two_sent_words_share_noise(tmp_path, monkeypatch):
    assert not shared_noise(sent_after_rollbacks(tmp_path, monkeypatch))


@pytest.mark.parametrize("keyed_by", ["the step", "the number of draws"])
def test_noise_from_a_kept_key_is_seen(tmp_path, monkeypatch, keyed_by):
    # A planted bug: noise that follows from a kept key, which a restored folder gives again.
    sampler = noise_shares.shares.polya
    at = {"step": 0}
    exchange = party_session.PartySession._send_words

    def stepping(self, digest, *rest):
        at["step"] = self._step
        return exchange(self, digest, *rest)

    monkeypatch.setattr(party_session.PartySession, "_send_words", stepping)

    def keyed(bits, *rest):
        seed = at["step"] if keyed_by == "the step" else 7
        return sampler(np.random.PCG64(np.random.SeedSequence(seed)), *rest)

    class Keyed:
        polya = staticmethod(keyed)

    monkeypatch.setattr(noise_shares, "shares", Keyed)
    assert shared_noise(sent_after_rollbacks(tmp_path, monkeypatch))


# -- a second attempt ------------------------------------------------------------------------------


def signed_by_party_0(tmp_path, monkeypatch, between=lambda: None):
    """Return the sets that party 0 signs: it is killed, and then told of another set of parties."""
    given = tables((60, 40, 30, 50, 20), n_classes=2)
    terms = agreement(5, schema=SCHEMA, hyper=HYPER, dropouts=1, public_seed=3)
    signed = []
    endorsed = party_session.PartySession._endorsed

    def look(self, digest, present):
        if (self._index, self._step) == (0, 1):
            signed.append(present)
        return endorsed(self, digest, present)

    monkeypatch.setattr(party_session.PartySession, "_endorsed", look)

    class Killed(LocalLink):
        def post(self, key, body):
            reply = super().post(key, body)
            if key == Key(1, "endorsed"):
                raise PartyLostError("killed when it has signed")
            return reply

    def party():
        return Party(0, *given[0], agreement=terms, folder=tmp_path)

    in_thread(lambda: run(terms, [party(), *parties_of(terms, given)[1:]], {0: Killed}, timeout=1))
    between()

    class Again:
        def post(self, key, body):
            if key == Key(1, "words"):
                return m.encode(m.Present(parties=(0, 1, 2, 3)))
            raise PartyLostError("nobody goes on")

        def fail(self):
            pass

    assert isinstance(in_thread(party().run, Again()), PartyLostError)
    return signed


def test_a_step_has_no_second_attempt(tmp_path, monkeypatch):
    assert signed_by_party_0(tmp_path, monkeypatch) == [(0, 1, 2, 3, 4)]


def test_a_party_that_signs_a_second_set_is_seen(tmp_path, monkeypatch):
    init = SessionRecord.__init__

    def forgetting(self, folder=None):
        # A planted bug: a party that is started again asks anew who is present, and signs that.
        init(self, folder)
        self.replies = {key: own for key, own in self.replies.items() if key.kind != "words"}
        self.sent = {key: own for key, own in self.sent.items() if key.kind != "endorsed"}

    def plant():
        monkeypatch.setattr(SessionRecord, "__init__", forgetting)

    signed = signed_by_party_0(tmp_path, monkeypatch, plant)
    assert signed == [(0, 1, 2, 3, 4), (0, 1, 2, 3)]
