import os
from pathlib import Path

import pytest

from dpboost._utils.validation import InvalidParameterError
from dpboost.federated.party.record_log import RecordLog, append_lines
from tests.faults import failing, room_for

CONTENTS = [b"", b"one", bytes(500), b"\x80" * 3]


def written(path, contents=CONTENTS):
    log = RecordLog(path)
    assert not list(log.read())
    for content in contents:
        log.append(content)
    return path.read_bytes()


def test_records_come_back_in_their_order(tmp_path):
    path = tmp_path / "log"
    written(path)
    again = RecordLog(path)
    assert list(again.read()) == CONTENTS
    again.append(b"more")
    assert list(RecordLog(path).read()) == [*CONTENTS, b"more"]


def test_a_cut_at_any_byte_costs_the_record_that_was_cut_and_no_other(tmp_path):
    path = tmp_path / "log"
    whole = written(path)
    ends = [0]
    for n in range(1, len(CONTENTS) + 1):
        ends.append(len(written(tmp_path / str(n), CONTENTS[:n])))
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        log = RecordLog(path)
        n_whole = sum(end <= size for end in ends) - 1
        assert list(log.read()) == CONTENTS[:n_whole]
        # The next one takes the place of what was begun.
        log.append(b"next")
        assert list(RecordLog(path).read()) == [*CONTENTS[:n_whole], b"next"]


@pytest.mark.parametrize("n_zeros", [1, 44, 45, 1000])
def test_room_that_was_never_filled_is_no_record(tmp_path, n_zeros):
    path = tmp_path / "log"
    whole = written(path)
    path.write_bytes(whole + bytes(n_zeros))
    assert list(RecordLog(path).read()) == CONTENTS


def test_any_other_byte_is_damage(tmp_path):
    path = tmp_path / "log"
    whole = written(path)
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x40]) + whole[position + 1 :])
        with pytest.raises(InvalidParameterError, match="damaged"):
            list(RecordLog(path).read())


@pytest.mark.parametrize("fault", ["room", "fsync"])
def test_what_a_full_disk_has_begun_is_written_anew(tmp_path, fault):
    path = tmp_path / "log"
    log = RecordLog(path)
    log.append(b"one")
    limits = {"room": lambda: room_for(60), "fsync": lambda: failing(os, "fsync")}
    for _ in range(2):
        with limits[fault](), pytest.raises(OSError, match=r"large|space|File"):
            log.append(bytes(90))
    log.append(b"two")
    assert list(RecordLog(path).read()) == [b"one", b"two"]


def test_lines_are_appended_once_however_long_the_file_is(tmp_path, monkeypatch):
    path = tmp_path / "charges.txt"
    # A process may be killed behind them, and then writes the same lines first.
    for lines in (["a"], ["a"], ["b", "c"], ["b", "c"], ["c"], [], ["d" * 50]):
        append_lines(path, lines)
    assert path.read_text() == "a\nb\nc\n" + "d" * 50 + "\n"
    monkeypatch.setattr(Path, "read_bytes", None)  # nobody reads all of it
    append_lines(path, ["e"])
    append_lines(path, ["e"])
    assert path.read_text().splitlines()[-2:] == ["d" * 50, "e"]
