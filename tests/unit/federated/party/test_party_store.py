import os
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dpboost.federated import Coordinator, RefusedError
from dpboost.federated.protocol import messages as m
from dpboost.privacy.mechanisms import DiscreteLaplace
from tests.faults import failing, room_for
from tests.unit.federated.asked import ClassCounts
from tests.unit.federated.channels import Processes, agreement, tables

CERTAIN = DiscreteLaplace(epsilon=Fraction(100))
COUNTS = ClassCounts(n_classes=3)
GIVEN = tables((4, 0, 6))


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
        party.resume(processes.store(index)._load(party))
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
        if len(calls) == 3:  # the first party's file, its folder, the second party's file
            raise KeyboardInterrupt
        written(descriptor)

    exchange = processes.exchange

    def survive(message, to):
        replies = {}
        for index in to:
            try:
                replies |= exchange(message, [index])
            except KeyboardInterrupt:
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


@pytest.mark.skipif(os.name != "posix", reason="permissions of files as Unix has them")
def test_nobody_else_may_read_it(tmp_path):
    opened(tmp_path)
    for path in (tmp_path / "0").iterdir():
        if path.name == "party.state":
            assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("fault", ["room", "fsync", "replace"])
def test_a_disk_without_room_sends_nothing_and_charges_nothing(tmp_path, fault):
    coordinator, processes = opened(tmp_path, resends=1)
    release(coordinator)
    exchange = processes.exchange
    failures = []

    def survive(message, to):
        replies = {}
        for index in to:
            if index == 1 and not failures:
                with limits[fault](), pytest.raises(OSError, match=r"large|space|File"):
                    exchange(message, [index])
                failures.append(records(processes)[index])
            else:
                replies |= exchange(message, [index])
        return replies

    limits = {
        "room": lambda: room_for(300),
        "fsync": lambda: failing(os, "fsync"),
        "replace": lambda: failing(Path, "replace"),
    }
    processes.exchange = survive
    assert np.array_equal(release(coordinator), expected())
    assert failures == [100]
    assert records(processes) == [200, 200, 200]


def test_a_state_that_was_cut_is_not_taken_up(tmp_path):
    coordinator, processes = opened(tmp_path)
    release(coordinator)
    (path,) = tmp_path.glob("**/*1*/party.state")
    whole = path.read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises((EOFError, pickle.UnpicklingError)):
            records(processes)
