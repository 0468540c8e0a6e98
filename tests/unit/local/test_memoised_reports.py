"""One report for each record, whatever runs at once and whenever it is stopped."""

import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter

import pytest

from dpboost import InvalidParameterError
from dpboost.local import MemoizedReports
from dpboost.local.collection import ReportPlan
from dpboost.local.memoised_reports import ReportFile
from tests.permissions import owner_alone

X, Y = [0.1, 0.2], 0.3


@pytest.fixture(params=["memory", "file"])
def path(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "reports"


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(ask, n_threads=4):
    """Let threads begin at once and return what each of them got."""
    barrier, found = threading.Barrier(n_threads), []

    def work():
        barrier.wait()
        found.append(ask())

    threads = [threading.Thread(target=work) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == n_threads
    return found


@pytest.mark.usefixtures("quick_switches")
def test_threads_that_ask_at_once_get_one_report(partition, path):
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=path)
    for trial in range(25):
        assert len(set(together(lambda: keeper.report(f"{trial}", X, Y)))) == 1  # noqa: B023


def test_keepers_of_one_file_are_one_memory(partition, tmp_path):
    path = tmp_path / "reports"
    for trial in range(10):
        found = together(
            lambda: MemoizedReports(partition, 1.0, mechanism="unary", path=path).report(
                f"{trial}",  # noqa: B023
                X,
                Y,
            )
        )
        assert len(set(found)) == 1


def test_a_record_is_drawn_once(partition, path, monkeypatch):
    drawn = Counter()
    encode = ReportPlan.encode_one

    def counted(self, x, y):
        drawn["reports"] += 1
        return encode(self, x, y)

    monkeypatch.setattr(ReportPlan, "encode_one", counted)
    keeper = MemoizedReports(partition, 1.0, path=path)
    for _ in range(5):
        keeper.report("a", X, Y)
        keeper.report("b", X, Y)
    assert drawn["reports"] == 2


def test_a_file_is_loaded_again(partition, tmp_path):
    names = ["a", "ü \n '\"; DROP TABLE reports", "\ud800", "a\0b", "a\0c"]
    first = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    found = [first.report(name, X, Y) for name in names]
    again = MemoizedReports(partition, 1.0, mechanism="unary", path=str(tmp_path / "reports"))
    assert [again.report(name, [0.9, 0.9], 1.0) for name in names] == found
    assert len(set(ReportFile(tmp_path / "reports").reports())) == len(set(found))


def test_a_relative_path_stays_the_same_file(partition, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=":memory:")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    report = keeper.report("a", X, Y)
    assert ReportFile(tmp_path / ":memory:").reports() == [report]


def test_bad_input_writes_nothing(partition, path):
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=path)
    with pytest.raises(InvalidParameterError, match="NaN"):
        keeper.report("a", X, math.nan)
    with pytest.raises(InvalidParameterError, match="'record'"):
        keeper.report("", X, Y)
    if path is not None:
        assert ReportFile(path).reports() == []
    assert keeper.report("a", X, Y) == keeper.report("a", X, Y)


def test_reports_of_another_collection_are_refused(partition, tmp_path):
    MemoizedReports(partition, 1.0, path=tmp_path / "reports").report("a", X, Y)
    for options in ({"epsilon": 2.0}, {"epsilon": 1.0, "mechanism": "paper"}):
        with pytest.raises(InvalidParameterError, match="another collection"):
            MemoizedReports(partition, path=tmp_path / "reports", **options)


def test_what_is_no_file_of_reports_is_refused(partition, tmp_path):
    (tmp_path / "text").write_text("not a database" * 100)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE reports (name TEXT)")
    other.close()
    for name in ("text", "other"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(InvalidParameterError, match="'path'"):
            MemoizedReports(partition, 1.0, path=tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(OSError, match="absent"):
        MemoizedReports(partition, 1.0, path=tmp_path / "absent" / "reports")
    with pytest.raises(OSError, match="directory|denied"):
        MemoizedReports(partition, 1.0, path=tmp_path)


def test_nobody_else_may_read_the_file(partition, tmp_path):
    before = os.umask(0)
    try:
        MemoizedReports(partition, 1.0, path=tmp_path / "reports").report("a", X, Y)
    finally:
        os.umask(before)
    assert owner_alone(tmp_path / "reports")


def test_commits_wait_for_the_disk(tmp_path):
    extra = 3
    assert ReportFile(tmp_path / "r")._open().execute("PRAGMA synchronous").fetchone() == (extra,)


# -- faults ---------------------------------------------------------------------------------------


class Faulty:
    """A connection that fails, or ends the process, before or after a statement."""

    def __init__(self, database, statement, fault, when):
        self._database, self._statement, self._fault, self._when = database, statement, fault, when

    def execute(self, statement, *values):
        hit = statement.startswith(self._statement)
        if hit and self._when == "before":
            self._fault()
        result = self._database.execute(statement, *values)
        if hit and self._when == "after":
            self._fault()
        return result

    def close(self):
        self._database.close()


def fail():
    raise sqlite3.OperationalError("database or disk is full")


def make_faulty(monkeypatch, statement, fault, when):
    whole = ReportFile._open
    monkeypatch.setattr(
        ReportFile, "_open", lambda self: Faulty(whole(self), statement, fault, when)
    )


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_a_report_that_cannot_be_written_is_not_returned(
    partition, tmp_path, monkeypatch, statement
):
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    with monkeypatch.context() as patch:
        make_faulty(patch, statement, fail, "before")
        with pytest.raises(sqlite3.OperationalError, match="full"):
            keeper.report("a", X, Y)
    assert ReportFile(tmp_path / "reports").reports() == []
    report = keeper.report("a", X, Y)
    assert ReportFile(tmp_path / "reports").reports() == [report]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="stops a child process")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", ["BEGIN", "INSERT", "COMMIT"])
def test_a_process_that_stops_has_returned_what_is_on_disk_or_nothing(
    partition, tmp_path, monkeypatch, statement, when
):
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    child = os.fork()
    if child == 0:
        make_faulty(monkeypatch, statement, lambda: os._exit(3), when)
        keeper.report("a", X, Y)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    written = ReportFile(tmp_path / "reports").reports()
    assert len(written) == (statement == "COMMIT" and when == "after")
    report = keeper.report("a", X, Y)
    assert report == MemoizedReports(
        partition, 1.0, mechanism="unary", path=tmp_path / "reports"
    ).report("a", X, Y)
    assert written in ([], [report])


DEVICE = """
import sys
from dpboost.local import LPDTPartition, MemoizedReports
partition = LPDTPartition.from_json(open(sys.argv[1]).read())
keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=sys.argv[2])
for number in range(10**6):
    print(number, keeper.report(str(number), [0.1, 0.2], 0.3).hex(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as Unix does")
def test_what_a_killed_device_has_sent_is_what_it_sends_again(partition, tmp_path):
    (tmp_path / "partition.json").write_text(partition.to_json())
    (tmp_path / "device.py").write_text(DEVICE)
    command = [
        sys.executable,
        tmp_path / "device.py",
        tmp_path / "partition.json",
        tmp_path / "reports",
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    sent = {}
    for n_reports in (1, 4, 9):
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as device:
            lines = [device.stdout.readline() for _ in range(n_reports)]
            device.send_signal(signal.SIGKILL)
            lines += device.stdout.readlines()
        for line in lines:
            if line.endswith("\n"):
                number, report = line.split()
                assert sent.setdefault(number, report) == report
    keeper = MemoizedReports(partition, 1.0, mechanism="unary", path=tmp_path / "reports")
    assert len(sent) >= 9
    for number, report in sent.items():
        assert keeper.report(number, [0.9, 0.9], 1.0).hex() == report


# -- no noise, no report --------------------------------------------------------------------------


def test_devices_need_noise(partition):
    with pytest.raises(InvalidParameterError, match=r"'epsilon' parameter of LPDTPartition.encode"):
        partition.encode(X, Y, epsilon=math.inf)
    with pytest.raises(InvalidParameterError, match=r"'epsilon' parameter of MemoizedReports"):
        MemoizedReports(partition, math.inf)
