"""Sessions of parties: restarts, rollbacks, losses, and coordinators and parties that cheat."""

import shutil
import time
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import (
    FederatedBoostingClassifier,
    Hub,
    Identity,
    LocalLink,
    Party,
    PartyLostError,
    PartyRefusedError,
    SessionEndedError,
)
from dpboost.federated.party import party_session
from dpboost.federated.party.party_session import PartySession, SessionRecord, folder_of
from dpboost.federated.party.record_log import RecordLog
from dpboost.federated.protocol import coordinator_session as coordinator_module
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import session as session_module
from dpboost.federated.protocol.agreement import AgreedFolds
from dpboost.federated.protocol.messages import Key
from dpboost.federated.secagg.secret_shares import elements
from dpboost.federated.training.session_run import text_of
from dpboost.privacy import noise_shares
from dpboost.rows.raw_rows import RawRows
from tests.unit.federated.channels import (
    Changing,
    Late,
    Losing,
    Script,
    agreement,
    in_thread,
    parties_of,
    read,
    recorded,
    run,
    script,
    tables,
    without_report,
)

pytestmark = pytest.mark.filterwarnings("ignore")
SCHEMA = {"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]}
SMALL = {"n_estimators": 4, "max_depth": 2, "max_bin": 8}
GIVEN = tables((60, 40, 30), n_classes=2)
FIVE = tables((60, 40, 30, 50, 20), n_classes=2)
SIZE = 5


def terms(n_parties=3, **more):
    return agreement(n_parties, **({"schema": SCHEMA, "hyper": SMALL, "public_seed": 3} | more))


def texts(found):
    return {text_of(one.fitted, one.agreement) for one in (found.coordinator, *found.parties)}


# -- one session ----------------------------------------------------------------------------------


def test_all_sides_have_the_same_text_and_book():
    found = run(agreed := terms(), parties_of(agreed, GIVEN))
    assert len(texts(found)) == 1
    assert len(found.parties) == 3
    books = [
        [(entry.label, entry.scope, entry.charge) for entry in one.ledger.entries]
        for one in (found.coordinator, *found.parties)
    ]
    assert all(book == books[0] for book in books)
    assert found.coordinator.ledger.private


def test_keys_carry_the_signatures_of_the_agreed_identities():
    identities = [Identity() for _ in range(3)]
    agreed = terms(identities=[one.public for one in identities])
    found = run(agreed, parties_of(agreed, GIVEN, identities))
    assert "unsigned" not in found.coordinator.fitted.report.facts["against coordinator"]

    def swap(key, reply):
        """The coordinator puts a key of its own in the place of party 2's."""
        if key.kind != "hello":
            return reply
        hellos = read(reply).hellos
        forged = replace(hellos[2], key=bytes([9] * 32))
        return m.encode(m.Roster(hellos=(*hellos[:2], forged)))

    agreed = terms(identities=[one.public for one in identities])
    links = {0: lambda hub, index: Changing(hub, index, swap)}
    with pytest.raises(PartyRefusedError, match="not to be trusted"):
        run(agreed, parties_of(agreed, GIVEN, identities), links)


@pytest.mark.parametrize("identity", [None, Identity()])
def test_a_party_has_the_identity_that_was_agreed(identity):
    agreed = terms(identities=[Identity().public for _ in range(3)])
    with pytest.raises(InvalidParameterError, match="identity"):
        Party(0, *GIVEN[0], agreement=agreed, identity=identity)


@pytest.mark.parametrize("wrong", ["other terms", "twice the same key", "no key"])
def test_keys_that_are_not_those_of_the_parties_end_the_session(wrong):
    agreed = terms()
    parties = parties_of(agreed, GIVEN)

    def change(key, reply):
        if key.kind != "hello":
            return reply
        first, second, third = read(reply).hellos
        third = {
            "other terms": replace(third, terms=bytes(32)),
            "twice the same key": replace(third, key=second.key),
            "no key": replace(third, key=b"short"),
        }[wrong]
        return m.encode(m.Roster(hellos=(first, second, third)))

    links = {0: lambda hub, index: Changing(hub, index, change)}
    with pytest.raises((PartyRefusedError, ValueError), match="trusted|is none"):
        run(agreed, parties, links, timeout=2)


def test_another_agreement_of_one_party_ends_the_session():
    agreed = terms()
    parties = parties_of(agreed, GIVEN)
    parties[1] = Party(1, *GIVEN[1], agreement=replace(agreed, epsilon=9.0))
    with pytest.raises(PartyRefusedError, match="same agreement"):
        run(agreed, parties)


# -- digests --------------------------------------------------------------------------------------


def rounded_differently(monkeypatch, which):
    """Have one party come to another last digit in something that follows from a sum."""
    fetch = PartySession.fetch

    def other(self, drawn, draw, *, each):
        found = fetch(self, drawn, draw, each=each)
        if self._index == which and self._step == 3:
            for value in found:
                value += 1
        return found

    monkeypatch.setattr(PartySession, "fetch", other)


def test_a_party_that_rounds_differently_ends_the_fit_by_name_of_the_step(monkeypatch):
    agreed = terms()
    rounded_differently(monkeypatch, 1)
    message = "parties 1 differs from that of the coordinator at step 4, the release of 'leaf sums'"
    with pytest.raises(PartyRefusedError, match=message) as caught:
        run(agreed, parties_of(agreed, GIVEN))
    assert caught.value.code == m.DIFFERENT


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
    monkeypatch.setattr(
        coordinator_module.CoordinatorSession, "_check_digests", lambda *arguments: None
    )
    join, step, released = (
        PartySession.join,
        session_module.Steps.step,
        session_module.Steps.released,
    )

    def marked(self):
        join(self)
        self._steps.differs = self._index == 1
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
    monkeypatch.setattr(session_module.Steps, "step", other_step)
    monkeypatch.setattr(session_module.Steps, "released", other_end)
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
        1: lambda hub, index: Changing(hub, index, hello),
    }
    agreed = terms(hyper=SMALL | {"n_estimators": 2})
    in_thread(run, agreed, parties_of(agreed, GIVEN), links)
    return np.concatenate([one.ravel() for one in seen]).astype(float)


@pytest.mark.parametrize("what", list(DIFFERENCES))
def test_parties_at_different_steps_open_nothing(what, monkeypatch):
    small = np.abs(first_sum(what, monkeypatch)) < 2**45
    assert small.all() if what == "nothing" else not small.any()


@pytest.mark.parametrize("what", list(DIFFERENCES))
def test_masks_keyed_by_less_than_the_step_are_seen(what, monkeypatch):
    assert (np.abs(first_sum(what, monkeypatch, bug=True)) < 2**45).all()


# -- started again --------------------------------------------------------------------------------


class Stopped(LocalLink):
    """A party that is killed when it has sent, or received, so many messages."""

    def __init__(self, hub, party, after, *, before_reply):
        super().__init__(hub, party)
        self.after, self.before_reply, self.count = after, before_reply, 0

    def post(self, key, body):
        self.count += 1
        if self.count == self.after and not self.before_reply:
            raise KeyboardInterrupt
        reply = self._hub.receive(self._party, key, body, 0.0 if self.count == self.after else None)
        if self.count == self.after:
            raise KeyboardInterrupt
        return reply

    def fail(self):
        pass


class Restarting:
    """A party that is killed at each message, and started again with its folder."""

    def __init__(self, make, index, kills):
        self.make, self.index, self.kills = make, index, kills
        self.n_killed = 0

    def run(self, link, **more):
        while True:
            own = link
            if self.n_killed < self.kills:
                own = Stopped(
                    link._hub,
                    self.index,
                    1 + self.n_killed % 3,
                    before_reply=bool(self.n_killed % 2),
                )
            try:
                return self.make().run(own, **more)
            except KeyboardInterrupt:
                self.n_killed += 1


def lost_at(step, folder, hub=None, **more):
    """Run a session in which party 1 is lost at a step, and return its terms."""
    agreed = terms(**more)
    links = {1: lambda own, index: Losing(own, index, ("words", step))}
    with pytest.raises(PartyLostError):
        run(agreed, parties_of(agreed, GIVEN, folder=folder), links, hub=hub)
    return agreed


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_party_that_is_killed_again_and_again_ends_in_the_same_model(tmp_path, dropouts):
    n_parties = 3 + dropouts
    given = FIVE[:n_parties]
    agreed = terms(n_parties, noise_seed=5, dropouts=dropouts)
    expected = texts(run(agreed, parties_of(agreed, given)))
    parties = parties_of(agreed, given)
    killed = Restarting(
        lambda: Party(1, *given[1], agreement=agreed, folder=tmp_path, first_row=len(given[0][1])),
        1,
        kills=18,
    )
    parties[1] = killed
    parties[1].index = 1
    found = run(agreed, parties, timeout=60)
    assert killed.n_killed >= 5
    assert texts(found) == expected
    lines = (folder_of(tmp_path, agreed.digest) / "charges.txt").read_text().splitlines()
    assert len(lines) == len(found.coordinator.ledger.entries)


def test_a_coordinator_that_is_started_again_goes_on(tmp_path):
    hub = Hub(tmp_path / "log")
    agreed = lost_at(3, tmp_path, hub, noise_seed=5)
    expected = texts(run(agreed, parties_of(agreed, GIVEN)))
    again = Hub(tmp_path / "log")
    assert again.n_replies == hub.n_replies == 3
    found = run(agreed, parties_of(agreed, GIVEN, folder=tmp_path), hub=again)
    assert texts(found) == expected


def test_a_session_that_is_over_says_what_it_said_and_sends_nothing(tmp_path):
    agreed = terms()
    found = run(agreed, parties_of(agreed, GIVEN, folder=tmp_path))

    class Nowhere:
        def post(self, key, body):
            raise AssertionError("something was sent")

        def fail(self):
            raise AssertionError("something was sent")

    again = Party(1, *GIVEN[1], agreement=agreed, folder=tmp_path / "1").run(Nowhere())
    assert text_of(again.fitted, agreed) in texts(found)


def test_other_rows_do_not_go_on(tmp_path):
    """A party that is killed and started again with other rows goes no further."""
    agreed = lost_at(3, tmp_path)
    X, y = GIVEN[1]
    for rows in ((X + 1e-6, y), (X, 1 - y), (X[::-1].copy(), y), (X[:-1], y[:-1])):
        party = Party(1, *rows, agreement=agreed, folder=tmp_path / "1")
        with pytest.raises(InvalidParameterError, match="The rows of this party are not those"):
            party.run(LocalLink(Hub(), 1))


def test_another_build_does_not_go_on(tmp_path, monkeypatch):
    agreed = lost_at(3, tmp_path)
    monkeypatch.setattr("dpboost.federated.party.party.build_hash", lambda: "another")
    party = Party(1, *GIVEN[1], agreement=agreed, folder=tmp_path / "1")
    with pytest.raises(InvalidParameterError, match=r"build .* charges\.txt says what was charged"):
        party.run(LocalLink(Hub(), 1))


def test_a_party_whose_folder_is_lost_stays_lost(tmp_path):
    agreed = lost_at(2, tmp_path, Hub(tmp_path / "log"))
    shutil.rmtree(tmp_path / "1")
    with pytest.raises(PartyRefusedError, match="another key of party 1"):
        run(
            agreed,
            parties_of(agreed, GIVEN, folder=tmp_path),
            hub=Hub(tmp_path / "log"),
            timeout=5,
        )


def test_an_old_roster_is_not_taken_by_a_party_that_has_begun(tmp_path):
    """A replay of keys makes a party forget nothing: it keeps the first roster on its disk."""
    agreed = lost_at(2, tmp_path)
    posted = []

    class Another:
        def post(self, key, body):
            posted.append(key)
            raise PartyLostError("nobody is there")

        def fail(self):
            pass

    party = Party(1, *GIVEN[1], agreement=agreed, folder=tmp_path / "1")
    with pytest.raises(PartyLostError):
        party.run(Another())
    assert posted == [Key(2, "words")]


# -- rolled back ----------------------------------------------------------------------------------


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
    agreed = terms(epsilon=0.5)

    def sent(folder, replies, copies=None):
        link = Copying(agreed, script(replies), folder, copies)
        found = in_thread(Party(0, *GIVEN[0], agreement=agreed, folder=folder).run, link)
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


def test_words_of_a_folder_that_was_restored_have_noise_of_their_own(tmp_path, monkeypatch):
    assert not shared_noise(sent_after_rollbacks(tmp_path, monkeypatch))


@pytest.mark.parametrize("keyed_by", ["the step", "the number of draws"])
def test_noise_from_a_kept_key_is_found(tmp_path, monkeypatch, keyed_by):
    # A planted bug: noise that follows from a kept key, which a restored folder gives again.
    sampler = noise_shares.shares.polya
    at = {"step": 0}
    exchange = PartySession._send_words

    def stepping(self, digest, *rest):
        at["step"] = self._step
        return exchange(self, digest, *rest)

    monkeypatch.setattr(PartySession, "_send_words", stepping)

    def keyed(bits, *rest):
        seed = at["step"] if keyed_by == "the step" else 7
        return sampler(np.random.PCG64(np.random.SeedSequence(seed)), *rest)

    class Keyed:
        polya = staticmethod(keyed)

    monkeypatch.setattr(noise_shares, "shares", Keyed)
    assert shared_noise(sent_after_rollbacks(tmp_path, monkeypatch))


def signed_by_party_0(tmp_path, monkeypatch, between=lambda: None):
    """Return the sets that party 0 signs: it is killed, and then told of another set of parties."""
    agreed = terms(SIZE, dropouts=1)
    signed = []
    endorsed = PartySession._endorsed

    def look(self, digest, present):
        if (self._index, self._step) == (0, 1):
            signed.append(present)
        return endorsed(self, digest, present)

    monkeypatch.setattr(PartySession, "_endorsed", look)

    class Killed(LocalLink):
        def post(self, key, body):
            reply = super().post(key, body)
            if key == Key(1, "endorsed"):
                raise PartyLostError("killed when it has signed")
            return reply

    def party():
        return Party(0, *FIVE[0], agreement=agreed, folder=tmp_path)

    in_thread(lambda: run(agreed, [party(), *parties_of(agreed, FIVE)[1:]], {0: Killed}, timeout=1))
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


def test_words_that_are_on_disk_are_the_only_ones_that_are_sent(tmp_path):
    agreed = terms()
    sent = []

    class Kept(LocalLink):
        def post(self, key, body):
            if key == Key(1, "words"):
                sent.append(body)
                if len(sent) == 1:
                    raise PartyLostError("the line is dead")
            return super().post(key, body)

    for stops in (True, False):
        hub = Hub(tmp_path / "log")
        found = in_thread(
            lambda: run(agreed, parties_of(agreed, GIVEN, folder=tmp_path), {1: Kept}, hub=hub)  # noqa: B023
        )
        assert isinstance(found, PartyLostError) == stops
    assert sent[0] == sent[1]


# -- losses ---------------------------------------------------------------------------------------


PHASES = ("deposit", "words", "endorsed", "unlocked")


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("reply", [False, True])
@pytest.mark.parametrize("phase", PHASES)
def test_a_party_may_be_lost_in_every_phase(phase, reply, signed):
    identities = [Identity() for _ in range(SIZE)] if signed else None
    keys = [one.public for one in identities] if signed else ()
    agreed = terms(SIZE, dropouts=1, identities=keys)
    parties = parties_of(agreed, FIVE, identities)
    links = {3: lambda hub, index: Losing(hub, index, (phase, 2), reply=reply)}
    found = run(agreed, parties, links)
    assert len(found.parties) == 4
    assert len(texts(found)) == 1
    assert found.coordinator.fitted.report.facts["fewest parties in a release"] == "4 of 5"


def test_sums_are_of_the_rows_of_those_that_are_present():
    agreed = terms(SIZE, dropouts=1, noise_seed=2)
    links = {3: lambda hub, index: Losing(hub, index, ("words", 1))}
    found = run(agreed, parties_of(agreed, FIVE), links)
    left = [rows if index != 3 else (rows[0][:0], rows[1][:0]) for index, rows in enumerate(FIVE)]
    whole = run(agreed, parties_of(agreed, left))
    one, other = (without_report(text) for text in (*texts(found), *texts(whole)))
    assert one == other


@pytest.mark.parametrize("phase", ["deposit", "words"])
def test_a_party_that_is_late_takes_part_again(phase):
    agreed = terms(SIZE, dropouts=1)
    until = Key(2, {"deposit": "deposit", "words": "words"}[phase])
    links = {3: lambda hub, index: Late(hub, index, (phase, 2), until)}
    seen = []

    def look(key, reply):
        if key.kind == "unlocked":
            seen.append(read(reply).parties)
        return reply

    links[0] = lambda hub, index: Changing(hub, index, look)
    found = run(agreed, parties_of(agreed, FIVE), links, timeout=2)
    assert len(found.parties) == 5
    assert len(texts(found)) == 1
    assert seen[0] == (0, 1, 2, 3, 4)
    assert seen[1] == (0, 1, 2, 4)


def test_more_losses_than_agreed_end_the_fit():
    agreed = terms(SIZE, dropouts=1)
    links = {one: lambda hub, index: Losing(hub, index, ("words", 2 + index % 2)) for one in (1, 2)}
    with pytest.raises(PartyLostError):
        run(agreed, parties_of(agreed, FIVE), links)


def late_words(monkeypatch, *, bug=False):
    """Return the words of a late party, without the masks that the coordinator has opened."""
    agreed = terms(SIZE, dropouts=1)
    kept, opened = {}, []
    if bug:
        # A planted bug: the plain form, in which a party adds no mask of its own.
        monkeypatch.setattr(
            "dpboost.federated.secagg.release_masks.own_words",
            lambda key, digest, at, size: np.zeros(size, dtype=np.uint64),
        )
    recover = coordinator_module.open_masks

    def keep(*arguments, **named):
        opened.append(recover(*arguments, **named))
        return opened[-1]

    monkeypatch.setattr(coordinator_module, "open_masks", keep)

    class Latest(Late):
        def post(self, key, body):
            if key == Key(2, "words"):
                kept["late"] = read(body)
            return super().post(key, body)

    links = {3: lambda hub, index: Latest(hub, index, ("words", 2), Key(2, "words"))}
    run(agreed, parties_of(agreed, FIVE), links, timeout=2)
    missed = opened[1]
    words = kept["late"].words[0].ravel().copy()
    for (index, other), key in missed.pairs.items():
        assert other == 3
        seed = coordinator_keys.array_seed(key, missed.digest, 0)
        words -= coordinator_keys.pair_words(3, index, seed, words.size)
    return words.view(np.int64)


class coordinator_keys:  # noqa: N801 - what a coordinator computes with keys that it has opened
    from dpboost.federated.secagg.keys import pair_words
    from dpboost.federated.secagg.release_masks import array_seed

    pair_words = staticmethod(pair_words)
    array_seed = staticmethod(array_seed)


def test_late_words_stay_masked(monkeypatch):
    assert not (np.abs(late_words(monkeypatch).astype(float)) < 2**45).any()


def test_late_words_without_a_mask_of_their_own_are_bare(monkeypatch):
    assert (np.abs(late_words(monkeypatch, bug=True).astype(float)) < 2**45).all()


def cheated(change, **more):
    """Run a session in which the coordinator tells party 0 something else."""
    identities = [Identity() for _ in range(SIZE)]
    agreed = terms(SIZE, dropouts=1, identities=[one.public for one in identities], **more)
    parties = parties_of(agreed, FIVE, identities)
    seen = []

    class Cheated(Changing):
        def post(self, key, body):
            seen.append(key)
            return super().post(key, body)

    links = {0: lambda hub, index: Cheated(hub, index, change)}
    return in_thread(lambda: run(agreed, parties, links, timeout=2)), seen


@pytest.mark.parametrize(
    "named", [(0, 1), (1, 2, 3, 4), (0, 1, 2, 3, 9), (0, 1, 2, 3, 4, 5), (0, 1, 2)]
)
def test_a_party_signs_no_wrong_set(named):
    def change(key, reply):
        return m.encode(m.Present(parties=named)) if key == Key(1, "words") else reply

    _, seen = cheated(change)
    assert Key(1, "endorsed") not in seen


def test_a_party_unlocks_nothing_without_enough_signatures_of_its_set():
    def fewer(key, reply):
        if key != Key(1, "endorsed"):
            return reply
        unlock = read(reply)
        return m.encode(m.Unlock(signers=unlock.signers[:-1], signatures=unlock.signatures[:-1]))

    def forged(key, reply):
        if key != Key(1, "endorsed"):
            return reply
        unlock = read(reply)
        return m.encode(replace(unlock, signatures=(bytes(64), *unlock.signatures[1:])))

    def another_set(key, reply):
        # Others have signed that all are present.
        return m.encode(m.Present(parties=(0, 1, 2, 3))) if key == Key(1, "words") else reply

    for change in (fewer, forged, another_set):
        _, seen = cheated(change)
        assert Key(1, "unlocked") not in seen


def test_a_sum_over_others_than_were_signed_is_refused():
    def change(key, reply):
        if key != Key(1, "unlocked"):
            return reply
        return m.encode(replace(read(reply), parties=(0, 1, 2, 3)))

    _, seen = cheated(change)
    assert not [key for key in seen if key.step == 2]


def test_deposits_of_one_step_do_not_come_again():
    agreed = terms(SIZE, dropouts=1)
    _, seen = recorded(agreed, parties_of(agreed, FIVE))
    deposits = [read(body) for key, _, body, _ in seen if key.kind == "deposit"]
    listed = [part for one in deposits for part in elements(one.own) + elements(one.pairs)]
    assert len(set(listed)) == len(listed)


# -- sums that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        lambda sums: (),
        lambda sums: (*sums, *sums),
        lambda sums: tuple(one.ravel()[:-1] for one in sums),
        lambda sums: tuple(one[np.newaxis] for one in sums),
        lambda sums: tuple(one * 0 + np.iinfo(np.int64).max for one in sums),
        lambda sums: tuple(one * 0 + np.iinfo(np.int64).min for one in sums),
    ],
)
def test_sums_that_no_rows_can_give_end_the_fit(wrong):
    def change(key, reply):
        if key != Key(2, "words"):
            return reply
        found = read(reply)
        return m.encode(replace(found, sums=wrong(found.sums)))

    agreed = terms()
    links = {0: lambda hub, index: Changing(hub, index, change)}
    with pytest.raises(PartyRefusedError, match="no rows can give|belongs here"):
        run(agreed, parties_of(agreed, GIVEN), links, timeout=5)


def test_different_sums_for_different_parties_are_seen_at_the_next_step():
    def change(key, reply):
        if key != Key(2, "words"):
            return reply
        found = read(reply)
        return m.encode(replace(found, sums=tuple(one + 1 for one in found.sums)))

    agreed = terms()
    links = {0: lambda hub, index: Changing(hub, index, change)}
    with pytest.raises(PartyRefusedError, match="parties 0 differs .* at step 3"):
        run(agreed, parties_of(agreed, GIVEN), links)


def test_an_old_reply_is_seen():
    kept = {}

    def change(key, reply):
        kept[key] = reply
        return kept[Key(3, "words")] if key == Key(4, "words") else reply

    agreed = terms()
    links = {0: lambda hub, index: Changing(hub, index, change)}
    # Of another shape it is seen at once.
    with pytest.raises(PartyRefusedError, match="parties 0 differs .* at step 5|no rows can give"):
        run(agreed, parties_of(agreed, GIVEN), links)


@pytest.mark.parametrize("body", [b"", b"{}", m.encode(m.Present(parties=())), b"\x00" * 1000])
def test_what_is_no_reply_ends_the_fit(body):
    agreed = terms()
    links = {
        0: lambda hub, index: Changing(
            hub, index, lambda key, reply: body if key == Key(2, "words") else reply
        )
    }
    with pytest.raises(PartyRefusedError):
        run(agreed, parties_of(agreed, GIVEN), links, timeout=5)


# -- parties that cheat ---------------------------------------------------------------------------


class Lying(LocalLink):
    """A party that sends something else than its words."""

    def __init__(self, hub, party, wrong):
        super().__init__(hub, party)
        self.wrong, self.kept = wrong, None

    def post(self, key, body):
        if key.kind == "words":
            message = read(body)
            body = m.encode(self.wrong(message, self.kept))
            self.kept = self.kept or message
        return super().post(key, body)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda own, kept: replace(own, party=2), m.MALFORMED),
        (lambda own, kept: replace(own, words=own.words[:0]), m.MALFORMED),
        (lambda own, kept: replace(own, words=tuple(w.ravel() for w in own.words)), m.MALFORMED),
        (lambda own, kept: replace(own, words=(*own.words, own.words[0])), m.MALFORMED),
        (lambda own, kept: m.Absent(party=1), m.LOST),
        (lambda own, kept: m.Present(parties=(1,)), m.MALFORMED),
        (lambda own, kept: replace(own, digest=bytes(32)), m.DIFFERENT),
        (lambda own, kept: replace(kept or own, digest=own.digest), None),
        (
            lambda own, kept: replace(own, words=tuple(np.zeros_like(w) for w in own.words)),
            m.IMPOSSIBLE,
        ),
    ],
)
def test_a_party_that_lies_ends_the_fit_or_spoils_it(wrong, code):
    agreed = terms()
    links = {1: lambda hub, index: Lying(hub, index, wrong)}

    def several_fits():
        for number in range(20):  # uniform words are seen as impossible most of the time
            own = replace(agreed, nonce=f"{agreed.nonce} {number}")
            run(own, parties_of(own, GIVEN), links)

    with pytest.raises(PartyLostError if code == m.LOST else PartyRefusedError) as caught:
        several_fits()
    assert code in (None, getattr(caught.value, "code", m.LOST))


# -- errors are no oracle -------------------------------------------------------------------------


def agreements():
    from tests.unit.federated.evaluated import terms_of

    yield "fit", terms(), SCHEMA
    yield "tree", terms(recipe="noisy_counts", hyper={"max_depth": 2}), SCHEMA
    yield "level histograms", terms(recipe="dpboost", epsilon=30.0), SCHEMA
    yield "evaluation", terms_of("two classes", 3), SCHEMA
    yield "cross-validation", terms(folds=AgreedFolds(n_folds=2, metrics=("auc",))), SCHEMA
    yield "open bounds", terms(schema={"classes": [0, 1]}), SCHEMA


def heard(what, replies, monkeypatch):
    """Return, for tables of one party, all that a coordinator hears from it: digests as well."""
    # One key of the session, which is in all digests.
    monkeypatch.setattr(party_session.secrets, "token_bytes", bytes)
    (agreed,) = (own for name, own, _ in agreements() if name == what)
    X, y = GIVEN[0]
    far = (np.full((1, 2), 1e300), np.ones(1, dtype=int))
    for rows in ((X, y), far, (X[:0], y[:0]), (X * np.nan, y), (-X, 1 - y)):
        link = Script(agreed, script(replies))
        in_thread(Party(0, *rows, agreement=agreed).run, link)
        yield link.seen


@pytest.mark.parametrize(
    "replies", ["zeros", "large", "negative", "random", "small", "impossible", "another shape"]
)
@pytest.mark.parametrize("what", [name for name, *_ in agreements()])
def test_what_others_see_is_a_function_of_agreement_and_replies(what, replies, monkeypatch):
    first, *others = heard(what, replies, monkeypatch)
    assert first[1][0] == Key(1, "words")
    assert all(other == first for other in others)


def test_a_party_that_ends_because_of_a_row_is_seen(monkeypatch):
    encode = RawRows.encode_labels

    def refusing(self, **given):
        # A planted bug: what looks at rows refuses when others have heard of this party.
        if self.labels.sum() == 1:
            raise ValueError("a row")
        return encode(self, **given)

    monkeypatch.setattr(RawRows, "encode_labels", refusing)
    first, *others = heard("fit", "zeros", monkeypatch)
    assert any(other != first for other in others)


def test_the_text_of_an_error_stays_at_the_site(monkeypatch):
    agreed = terms()
    parties = parties_of(agreed, GIVEN)
    parties[1]._rows.raw = None
    seen = []

    class Hearing(LocalLink):
        def fail(self):
            seen.append("failed")
            super().fail()

    with pytest.raises(TypeError, match="not callable"):
        run(agreed, parties, {1: Hearing})
    assert seen == ["failed"]


def test_parties_hear_a_code_of_the_end():
    agreed = terms()
    parties = parties_of(agreed, GIVEN)
    hub = Hub()
    link = LocalLink(hub, 0)
    hub.end(m.Ended(code=m.LOST, step=4))
    with pytest.raises(SessionEndedError, match="step 4: lost"):
        parties[0].run(link)


def test_functions_are_no_part_of_an_agreement():
    model = FederatedBoostingClassifier(schema=SCHEMA, objective=lambda y, p: (y, p))
    with pytest.raises(InvalidParameterError, match="run no code of others"):
        model.agreement(3, ["age", "dose"])


# -- a bad network --------------------------------------------------------------------------------


class Faulty(LocalLink):
    """A line that drops messages and replies, repeats, delays, and mixes in old messages."""

    def __init__(self, hub, party, faults):
        super().__init__(hub, party)
        self.random, self.faults, self.old = np.random.default_rng(party), faults, []

    def post(self, key, body):
        self.old.append((key, body))
        while True:
            fault = self.random.integers(0, 8)
            self.faults.append(fault)
            if fault == 0:  # the message is lost
                continue
            if fault == 1:  # the reply is lost
                self._hub.receive(self._party, key, body, 0.0)
                continue
            if fault == 2:  # an old message comes once more
                self._hub.receive(self._party, *self.old[self.random.integers(len(self.old))], 0.0)
                continue
            if fault == 3:  # twice
                self._hub.receive(self._party, key, body, 0.0)
            if fault == 4:  # late
                time.sleep(0.001)
            return super().post(key, body)


@pytest.mark.parametrize("dropouts", [0, 1])
def test_a_thousand_faults_of_the_network_change_nothing(dropouts):
    hyper = SMALL | {"n_estimators": 80 if dropouts else 300}
    agreed = terms(4, noise_seed=5, hyper=hyper, dropouts=dropouts, epsilon=30.0)
    expected = texts(run(agreed, parties_of(agreed, FIVE[:4])))
    faults = []
    links = {
        party: lambda hub, index: Faulty(hub, index, faults) for party in range(agreed.n_parties)
    }
    found = run(agreed, parties_of(agreed, FIVE[:4]), links)
    assert texts(found) == expected
    assert len(found.parties) == 4
    assert sum(fault < 5 for fault in faults) >= 1000
