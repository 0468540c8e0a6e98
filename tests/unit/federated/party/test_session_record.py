"""What is on disk before it is sent, and what a party that starts again does with it."""

import os

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.party.party_session import SessionRecord, folder_of
from dpboost.federated.party.record_log import RecordLog
from dpboost.federated.protocol.messages import Key
from tests.permissions import owner_alone

FACTS = {"terms": "t", "version": "1", "build": "b", "rows": "r"}
KEY = Key(3, "words")


def test_another_process_finds_what_was_sent(tmp_path):
    record = SessionRecord(tmp_path)
    secrets = record.begin(FACTS)
    assert {len(secret) for secret in secrets.values()} == {32}
    assert KEY not in record.sent
    record.send(KEY, b"digest", b"body", ["step 3: 0.5"])
    seed = record.seed(3)
    record.replied(KEY, b"reply")
    again = SessionRecord(tmp_path)
    assert again.begin(FACTS) == secrets
    assert again.sent[KEY] == (b"digest", b"body")
    assert again.seed(3) == seed != again.seed(4)
    assert again.replies[KEY] == b"reply"
    assert (tmp_path / "charges.txt").read_text() == "step 3: 0.5\n"
    for name in os.listdir(tmp_path):
        if name != "lock":
            assert owner_alone(tmp_path / name)


@pytest.mark.parametrize("name", list(FACTS))
def test_a_session_does_not_go_on_with_others(tmp_path, name):
    SessionRecord(tmp_path).begin(FACTS)
    with pytest.raises(InvalidParameterError, match=f"The {name} of this party are not those"):
        SessionRecord(tmp_path).begin(FACTS | {name: "another"})


def test_one_process_at_a_time_is_the_party(tmp_path):
    with (
        SessionRecord(tmp_path).held(),
        pytest.raises(InvalidParameterError, match="no other process"),
        SessionRecord(tmp_path).held(),
    ):
        pass
    with SessionRecord(tmp_path).held():
        pass


def test_in_one_process_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = SessionRecord()
    record.begin(FACTS)
    record.send(KEY, b"digest", b"body", ["line"])
    assert record.sent[KEY][1] == b"body"
    assert os.listdir(tmp_path) == []


def test_a_record_is_on_disk_when_it_is_written(tmp_path, monkeypatch):
    record = SessionRecord(tmp_path)
    record.begin(FACTS)
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(descriptor))
    record.send(KEY, b"digest", b"body", ["line"])
    assert len(synced) >= 2


def test_each_agreement_has_a_folder_of_its_own(tmp_path):
    assert folder_of(tmp_path, b"a" * 32) != folder_of(tmp_path, b"b" * 32)
    assert folder_of(tmp_path, b"a" * 32).parent == tmp_path


def test_words_that_never_came_on_disk_are_charged_once(tmp_path, monkeypatch):
    lines = ("step 1, leaf sums: 0.5", "step 1, leaf sums: 0.5")
    append = RecordLog.append

    def killed(self, content):
        raise KeyboardInterrupt

    record = SessionRecord(tmp_path)
    monkeypatch.setattr(RecordLog, "append", killed)
    with pytest.raises(KeyboardInterrupt):
        record.send(KEY, b"digest", b"body", lines)
    monkeypatch.setattr(RecordLog, "append", append)
    again = SessionRecord(tmp_path)
    again.send(KEY, b"digest", b"other", lines)
    assert (tmp_path / "charges.txt").read_text().splitlines() == list(lines)
    again.send(Key(2, "words"), b"digest", b"more", ("step 2, leaf sums: 0.5",))
    assert len((tmp_path / "charges.txt").read_text().splitlines()) == 3
