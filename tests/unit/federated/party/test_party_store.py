import os
import pickle
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated import Coordinator, LocalChannel, RefusedError
from dpboost.federated.party import party_store
from dpboost.federated.protocol import messages as m
from dpboost.federated.protocol import wire
from dpboost.federated.training.boosting import boost
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.faults import failing, room_for
from tests.unit.federated.asked import ClassCounts
from tests.unit.federated.channels import Processes, agreement, tables

CERTAIN = DiscreteLaplace(epsilon=Fraction(100))
COUNTS = ClassCounts(n_classes=3)
GIVEN = tables((4, 0, 6))


@pytest.fixture
def always_compact(monkeypatch):
    """Let the log begin anew as soon as it is longer than the state."""
    monkeypatch.setattr(party_store, "LEAST_LOG_BYTES", 0)


def opened(folder, resends=0):
    terms = agreement(3, epsilon=10**6)
    processes = Processes(terms, GIVEN, folder)
    return Coordinator(terms, processes, resends=resends), processes


def release(coordinator):
    return coordinator.release([(CERTAIN, COUNTS)], label="counts")[0]


def records(processes):
    spent = []
    for index in range(3):
        party = processes.party(index)
        with processes.store(index).attached(party):
            spent.append(party.ledger.spent)
    return spent


def expected():
    return sum(np.bincount(y, minlength=3) for _, y in GIVEN)


def test_records_and_sums_are_those_of_parties_that_live_on(tmp_path):
    coordinator, processes = opened(tmp_path)
    for number in range(3):
        assert np.array_equal(release(coordinator), expected())
        assert records(processes) == [100 * (number + 1)] * 3


def test_a_party_that_is_killed_before_it_has_written_has_charged_nothing(tmp_path, monkeypatch):
    coordinator, processes = opened(tmp_path, resends=1)
    written = os.fsync
    calls = []

    def killed(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:  # the second party's log
            raise KeyboardInterrupt
        written(descriptor)

    exchange = processes.exchange

    def survive(message, to):
        replies = {}
        for index in to:
            try:
                replies |= exchange(message, [index])
            except KeyboardInterrupt:
                # The file is as a process leaves it that was killed while it wrote.
                (path,) = (tmp_path / str(index)).glob("party.log")
                with path.open("r+b") as file:
                    file.truncate(path.stat().st_size - 1)
                assert records(processes)[index] == 0
        return replies

    monkeypatch.setattr(os, "fsync", killed)
    monkeypatch.setattr(processes, "exchange", survive)
    assert np.array_equal(release(coordinator), expected())
    assert records(processes) == [100, 100, 100]


def test_a_party_that_is_killed_after_it_has_written_sends_the_same_bytes(tmp_path, monkeypatch):
    coordinator, processes = opened(tmp_path, resends=1)
    exchange = processes.exchange
    seen = []

    def lose(message, to):
        replies = exchange(message, to)
        seen.append(replies)
        return {} if len(seen) == 1 else replies

    monkeypatch.setattr(processes, "exchange", lose)
    assert np.array_equal(release(coordinator), expected())
    assert seen[0] == seen[1]
    assert records(processes) == [100, 100, 100]


def test_a_folder_serves_one_session(tmp_path):
    coordinator, processes = opened(tmp_path)
    release(coordinator)
    with pytest.raises(RefusedError, match=m.OTHER_SESSION):
        Coordinator(coordinator.agreement, processes)
    assert records(processes) == [100, 100, 100]


def test_keys_that_were_used_are_gone_in_the_next_process(tmp_path):
    coordinator, processes = opened(tmp_path)
    # Another introduction would pair the party with keys of somebody else's choice.
    again = m.Introduce(session=coordinator._session, keys=(), signatures=())
    with pytest.raises(RefusedError, match=m.OTHER_SESSION):
        coordinator._exchanges.gather(wire.encode(again), m.Done)
    party = processes.party(0)
    with processes.store(0).attached(party):
        assert party.session()["key"] is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of files as Unix has them")
def test_nobody_else_may_read_it(tmp_path, always_compact):
    opened(tmp_path)
    for name in ("party.log", "party.state"):
        assert (tmp_path / "0" / name).stat().st_mode & 0o077 == 0


LIMITS = {"room": lambda: room_for(300), "fsync": lambda: failing(os, "fsync")}


@pytest.mark.parametrize("fault", list(LIMITS))
def test_a_disk_without_room_sends_nothing_and_charges_nothing(tmp_path, fault):
    coordinator, processes = opened(tmp_path, resends=1)
    release(coordinator)
    exchange = processes.exchange
    failures = []

    def survive(message, to):
        replies = {}
        for index in to:
            if index == 1 and not failures:
                with LIMITS[fault](), pytest.raises(OSError, match=r"large|space|File"):
                    exchange(message, [index])
                failures.append(records(processes)[index])
            else:
                replies |= exchange(message, [index])
        return replies

    processes.exchange = survive
    assert np.array_equal(release(coordinator), expected())
    # Where only the last step failed, the record may be there: that nobody has seen is charged.
    assert failures == [100 if fault == "room" else 200]
    assert records(processes) == [200, 200, 200]


@pytest.mark.parametrize("fault", list(LIMITS))
def test_a_process_that_goes_on_after_a_full_disk_writes_what_it_owes_first(tmp_path, fault):
    terms = agreement(3, epsilon=10**6)
    processes = Processes(terms, GIVEN, tmp_path)
    party = processes.party(1)
    with processes.store(1).attached(party) as receive:
        coordinator = Coordinator(terms, ByOne(processes, receive), resends=1)
        coordinator._exchanges.channel.fault = LIMITS[fault]
        for _ in range(3):
            release(coordinator)
        assert coordinator._exchanges.channel.failures == 3
    assert records(processes) == [300, 300, 300]


class ByOne(LocalChannel):
    """Two parties of processes, and one that lives on and fails at every other message."""

    def __init__(self, processes, receive):
        super().__init__([None] * 3)
        self.processes, self.receive = processes, receive
        self.fault, self.failures, self.last = None, 0, b""

    def exchange(self, message, to):
        replies = self.processes.exchange(message, [index for index in to if index != 1])
        if 1 in to and (self.fault is None or self.last == message):
            return replies | {1: self.receive(message)}
        if 1 in to:
            self.last = message
            with self.fault(), pytest.raises(OSError, match=r"large|space|File"):
                self.receive(message)
            self.failures += 1
        return replies


def test_a_state_that_cannot_be_written_is_written_another_time(tmp_path, always_compact):
    coordinator, processes = opened(tmp_path)
    release(coordinator)
    before = (tmp_path / "1" / "party.state").read_bytes()
    with failing(Path, "replace"):
        for _ in range(4):
            release(coordinator)
    assert (tmp_path / "1" / "party.state").read_bytes() == before
    assert records(processes) == [500, 500, 500]
    for _ in range(4):
        release(coordinator)
    assert (tmp_path / "1" / "party.state").read_bytes() != before
    assert records(processes) == [900, 900, 900]


def spent_in(processes, folder, index=1):
    """Return what a party finds charged in a copy of its folder."""
    party = processes.party(index)
    with party_store.PartyStore(folder).attached(party):
        return party.ledger.spent


def test_a_crash_at_any_byte_of_a_record_leaves_what_was_charged_before(tmp_path):
    coordinator, processes = opened(tmp_path / "held")
    release(coordinator)
    folder = tmp_path / "held" / "1"
    before = (folder / "party.log").read_bytes()
    release(coordinator)
    whole = (folder / "party.log").read_bytes()
    assert whole.startswith(before)
    copy = tmp_path / "copy"
    copy.mkdir()
    # The log by itself is cut at every byte in the tests of its own.
    sizes = {*range(len(before), len(whole), 9), *range(len(whole) - 20, len(whole) + 1)}
    for size in sorted(sizes):
        (copy / "party.log").write_bytes(whole[:size])
        assert spent_in(processes, copy) == (200 if size == len(whole) else 100)


def test_a_crash_between_state_and_log_repeats_nothing(tmp_path, always_compact, monkeypatch):
    coordinator, processes = opened(tmp_path / "held")
    for _ in range(4):
        release(coordinator)
    monkeypatch.setattr(party_store.RecordLog, "clear", lambda log: None)
    for number in range(4, 9):
        release(coordinator)
        assert records(processes) == [100 * (number + 1)] * 3


@pytest.mark.parametrize("name", ["party.log", "party.state"])
def test_a_file_that_is_gone_or_cut_elsewhere_is_not_taken_up(tmp_path, always_compact, name):
    coordinator, processes = opened(tmp_path / "held")
    for _ in range(6):
        release(coordinator)
    folder = tmp_path / "held" / "1"
    # A log that goes on from the state.
    while not (folder / "party.log").stat().st_size:
        release(coordinator)
    whole = (folder / name).read_bytes()
    damaged = [whole[: len(whole) // 2], b"", None]
    if name == "party.log":
        # Records from the end are lost as if they were never written; others are missed.
        damaged = [bytes([whole[0] ^ 1]) + whole[1:], whole[:99] + b"x" + whole[100:]]
    for content in damaged:
        copy = tmp_path / "copy"
        shutil.copytree(folder, copy)
        (copy / name).unlink() if content is None else (copy / name).write_bytes(content)
        wrong = (EOFError, pickle.UnpicklingError, InvalidParameterError)
        with pytest.raises(wrong):
            spent_in(processes, copy)
        shutil.rmtree(copy)


@pytest.mark.filterwarnings("ignore::dpboost.NotPrivateWarning")
@pytest.mark.parametrize("least", [0, 1 << 14, 1 << 18])
@pytest.mark.parametrize(
    ("recipe", "hyper"),
    [
        ("best", {}),
        ("best", {"trees_per_ensemble": 2}),
        ("dpboost", {"trees_per_ensemble": 2, "max_bin": 8}),
    ],
)
def test_rows_that_are_made_again_give_the_same_model(tmp_path, monkeypatch, recipe, hyper, least):
    monkeypatch.setattr(party_store, "LEAST_LOG_BYTES", least)
    terms = agreement(
        3,
        schema={"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]},
        recipe=recipe,
        epsilon=20.0,
        noise_seed=4,
        hyper={"n_estimators": 4, "max_depth": 2, **hyper},
    )
    given = [(X, y % 2) for X, y in GIVEN]
    processes = Processes(terms, given, tmp_path)
    coordinator = Coordinator(terms, processes)
    kept = boost(coordinator)
    living = [processes.party(index) for index in range(3)]
    at_once = Coordinator(terms, LocalChannel(living))
    assert model_text(kept.ensemble) == model_text(boost(at_once).ensemble)
    for index, party in enumerate(living):
        again = processes.party(index)
        with processes.store(index).attached(again):
            assert again.ledger.root.total == party.ledger.root.total
            assert again.ledger.spent == coordinator.ledger.spent
            scores = [one.suspend()["rows"].state.scores for one in (party, again)]
            assert np.array_equal(*scores)


def test_secret_coins_are_those_of_the_first_time(tmp_path):
    terms = agreement(
        3,
        schema={"bounds": {"age": (-3, 3), "dose": (-3, 3)}, "classes": [0, 1]},
        epsilon=20.0,
        hyper={"n_estimators": 2, "max_depth": 1, "trees_per_ensemble": 2},
    )
    processes = Processes(terms, [(X, y % 2) for X, y in GIVEN], tmp_path)
    boost(Coordinator(terms, processes))
    orders = []
    for _ in range(2):
        again = processes.party(2)
        with processes.store(2).attached(again):
            orders.append(again.suspend()["rows"].state._order)
    assert np.array_equal(*orders)


def test_a_message_that_is_refused_halfway_leaves_what_it_has_charged(tmp_path):
    coordinator, processes = opened(tmp_path)
    release(coordinator)
    question = (DiscreteLaplace(epsilon=Fraction(10**6)), COUNTS)
    with pytest.raises(Exception, match=r"refused|would cost"):
        coordinator._ask(
            [m.Asked(mechanism=one, query=COUNTS, label="a") for one in (CERTAIN, question[0])]
        )
    assert records(processes)[0] == 200
    with pytest.raises(RefusedError, match=m.CHANGED):
        coordinator._exchanges.gather(
            wire.encode(
                m.Ask(
                    turn=m.Step(session=coordinator._session, number=1, attempt=0),
                    orders=(),
                    asked=(),
                )
            ),
            m.Answers,
        )


def test_what_is_written_for_a_message_does_not_grow_with_the_rows(tmp_path):
    sizes = []
    for n_rows in (10, 10_000):
        folder = tmp_path / str(n_rows)
        processes = Processes(agreement(3, epsilon=10**6), tables((n_rows, 0, 6)), folder)
        coordinator = Coordinator(processes.terms, processes)
        for _ in range(4):
            release(coordinator)
        sizes.append((folder / "0" / "party.log").stat().st_size)
        assert not (folder / "0" / "party.state").exists()
    assert abs(sizes[0] - sizes[1]) < 100


def test_a_greeting_does_not_take_the_place_of_the_last_message(tmp_path):
    coordinator, processes = opened(tmp_path)
    exchange, seen = processes.exchange, []

    def greeted(message, to):
        replies = exchange(message, to)
        exchange(wire.encode(m.Hello()), to)
        seen.append([exchange(message, to), replies])
        return replies

    processes.exchange = greeted
    release(coordinator)
    assert len(seen) == 1
    assert all(again == first for again, first in seen)
