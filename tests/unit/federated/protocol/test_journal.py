"""A coordinator that is killed goes on by its journal, and nothing is asked or charged twice."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import (
    Agreement,
    FederatedBoostingClassifier,
    LocalChannel,
    Party,
    RefusedError,
)
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.protocol.journal import JournalChannel
from tests.unit.federated.channels import Lossy

SCHEMA = {"bounds": {"a": (0, 1), "b": (0, 1)}, "classes": [0, 1]}


class KilledError(Exception):
    """The coordinator's process ends here."""


class Killing(LocalChannel):
    """Ends the coordinator before or after an exchange."""

    def __init__(self, parties):
        super().__init__(parties)
        self.before = self.after = -1
        self.exchanges = 0

    def exchange(self, message, to):
        number = self.exchanges
        self.exchanges += 1
        if number == self.before:
            raise KilledError
        replies = super().exchange(message, to)
        if number == self.after:
            raise KilledError
        return replies


def terms(**options):
    estimator = FederatedBoostingClassifier(
        epsilon=4.0, delta=1e-6, schema=SCHEMA, n_estimators=4, random_state=0, **options
    )
    return estimator.agreement(2, ["a", "b"])


def parties_of(agreement):
    rng = np.random.default_rng(0)
    held = []
    first_row = 0
    for index, n in enumerate((200, 300)):
        X = rng.uniform(size=(n, 2))
        y = (X[:, 0] > 0.5).astype(int)
        held.append(Party(index, X, y, agreement=agreement, first_row=first_row))
        first_row += n
    return held


def train(channel, agreement, path):
    model = FederatedBoostingClassifier(verbosity=0)
    journal = JournalChannel(channel, agreement, path)
    return model.fit_channel(journal, agreement).booster_.model_to_string(), journal


def spent(parties):
    return [party.ledger.root.total for party in parties]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    agreement = terms(noise_seed=7)
    parties = parties_of(agreement)
    channel = Killing(parties)
    text, _ = train(channel, agreement, tmp_path_factory.mktemp("whole") / "journal")
    return text, spent(parties), channel.exchanges


@pytest.mark.parametrize("part", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_coordinator_goes_on(uninterrupted, tmp_path, when, part):
    text, charged, n_exchanges = uninterrupted
    agreement = terms(noise_seed=7)
    parties = parties_of(agreement)
    channel = Killing(parties)
    setattr(channel, when, int(part * n_exchanges))
    with pytest.raises(KilledError):
        train(channel, agreement, tmp_path / "journal")
    done = channel.exchanges - 1
    channel.before = channel.after = -1
    again, journal = train(channel, agreement, tmp_path / "journal")
    assert journal.repeated == done
    assert again == text
    assert spent(parties) == charged


def test_a_finished_session_asks_nobody_again(tmp_path):
    agreement = terms()
    parties = parties_of(agreement)
    text, _ = train(LocalChannel(parties), agreement, tmp_path / "journal")
    charged = spent(parties)
    nobody = Killing(parties)
    nobody.before = 0
    assert train(nobody, agreement, tmp_path / "journal")[0] == text
    assert spent(parties) == charged


def test_a_torn_line_is_asked_again(tmp_path):
    agreement = terms(noise_seed=7)
    parties = parties_of(agreement)
    text, _ = train(LocalChannel(parties), agreement, tmp_path / "journal")
    charged = spent(parties)
    content = (tmp_path / "journal").read_bytes()
    (tmp_path / "journal").write_bytes(content[:-20])
    again, _ = train(LocalChannel(parties), agreement, tmp_path / "journal")
    assert again == text
    assert spent(parties) == charged
    assert (tmp_path / "journal").read_bytes() == content


def test_a_journal_is_for_one_agreement(tmp_path):
    agreement = terms()
    JournalChannel(LocalChannel(parties_of(agreement)), agreement, tmp_path / "journal")
    other = terms(noise_seed=1)
    with pytest.raises(InvalidParameterError, match="another agreement"):
        JournalChannel(LocalChannel(parties_of(other)), other, tmp_path / "journal")


def test_what_is_no_journal_is_refused(tmp_path):
    agreement = terms()
    (tmp_path / "journal").write_text("hello\n")
    with pytest.raises(InvalidParameterError, match="no journal"):
        JournalChannel(LocalChannel(parties_of(agreement)), agreement, tmp_path / "journal")


def test_a_journal_of_other_messages_is_refused(tmp_path):
    agreement = terms()
    parties = parties_of(agreement)
    channel = JournalChannel(LocalChannel(parties), agreement, tmp_path / "journal")
    channel.exchange(b"one message", [0, 1])
    again = JournalChannel(LocalChannel(parties), agreement, tmp_path / "journal")
    with pytest.raises(InvalidParameterError, match="another version"):
        again.exchange(b"another message", [0, 1])


@pytest.mark.parametrize("resumed", [False, True])
def test_a_reply_that_is_none_is_not_kept(uninterrupted, tmp_path, resumed):
    text, charged, n_exchanges = uninterrupted
    agreement = terms(noise_seed=7)
    parties = parties_of(agreement)
    garbled = Lossy(parties, {n_exchanges // 2: b"nonsense"})
    path = tmp_path / "journal"
    if resumed:
        # A process that was killed before it could take the replies out again.
        with (
            mock.patch.object(JournalChannel, "forget_last"),
            pytest.raises(RefusedError, match="malformed"),
        ):
            train(garbled, agreement, path)
    with pytest.raises(RefusedError, match="malformed"):
        train(garbled, agreement, path)
    again, _ = train(LocalChannel(parties), agreement, path)
    assert again == text
    assert spent(parties) == charged


def test_a_reply_that_was_too_long_is_not_kept(uninterrupted, tmp_path):
    text, charged, n_exchanges = uninterrupted
    agreement = terms(noise_seed=7)
    parties = parties_of(agreement)
    long = wire.encode(m.Refused(party=1, code=m.TOO_LONG))
    path = tmp_path / "journal"
    with pytest.raises(RefusedError, match="more bytes than"):
        train(Lossy(parties, {n_exchanges // 2: long}), agreement, path)
    again, _ = train(LocalChannel(parties), agreement, path)
    assert again == text
    assert spent(parties) == charged


def test_only_the_owner_reads_it(tmp_path):
    agreement = terms()
    assert isinstance(agreement, Agreement)
    JournalChannel(LocalChannel(parties_of(agreement)), agreement, tmp_path / "journal")
    assert (tmp_path / "journal").stat().st_mode & 0o077 == 0
