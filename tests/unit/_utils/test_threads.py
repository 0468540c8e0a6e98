import os
import subprocess
import sys

import numpy as np
import pytest
import threadpoolctl

import dpboost
from dpboost._kernels import cpu_features as kernels
from dpboost._kernels import training_pass
from dpboost._utils import threads
from dpboost._utils.threads import Threads, effective_n_threads


@pytest.fixture
def machine(monkeypatch):
    """Eight logical cores on four physical ones."""

    def cpu_count(only_physical_cores=False):
        return 4 if only_physical_cores else 8

    monkeypatch.setattr(threads, "cpu_count", cpu_count)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(threads.cpu_features, "max_threads", lambda: 8)


@pytest.fixture(autouse=True)
def running(monkeypatch, tmp_path):
    """A function that says how many threads of the machine run; nothing but us at first."""

    def write(n_threads):
        (tmp_path / "loadavg").write_text(f"0.52 0.58 0.59 {n_threads}/1034 11875\n")

    write(1)
    monkeypatch.setattr(threads, "_LOAD", str(tmp_path / "loadavg"))
    monkeypatch.setattr(threads, "_SECONDS", 0.0)
    return write


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, 4), (1, 1), (3, 3), (64, 64), (-1, 8), (-2, 7), (-8, 1), (-100, 1), (0, 8)],
)
def test_n_jobs_counts_as_in_lightgbm(machine, n_jobs, expected):
    assert effective_n_threads(n_jobs) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_a_forked_child_has_one_thread_and_its_parent_keeps_many(machine):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        answers = [effective_n_threads(n_jobs) for n_jobs in (None, 8, -1, 0)]
        os.write(writer, repr(answers).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    assert os.read(reader, 100).decode() == "[1, 1, 1, 1]"
    os.close(reader)
    assert effective_n_threads(8) == 8


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (3, 3), (64, 4)])
def test_the_default_keeps_to_the_limits_of_openmp(machine, monkeypatch, limit, expected):
    monkeypatch.setattr(threads.cpu_features, "max_threads", lambda: limit)
    assert effective_n_threads(None) == expected
    assert effective_n_threads(64) == 64
    assert effective_n_threads(-1) == 8


@pytest.mark.skipif(not kernels.max_threads() > 1, reason="OpenMP has one thread here anyway")
def test_openmp_tells_its_limits():
    with threadpoolctl.threadpool_limits(1, user_api="openmp"):
        assert kernels.max_threads() == 1
        assert effective_n_threads(None) == 1
    script = "from dpboost._kernels import cpu_features; print(cpu_features.max_threads())"
    environment = os.environ | {"OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", script]
    assert subprocess.check_output(command, env=environment).strip() == b"3"


@pytest.mark.parametrize(
    ("n_running", "expected"), [(1, 4), (4, 4), (5, 4), (6, 3), (8, 1), (9, 1), (50, 1)]
)
def test_the_default_leaves_busy_processors_alone(machine, running, n_running, expected):
    running(n_running)
    assert effective_n_threads(None) == expected
    assert effective_n_threads(4) == 4
    assert effective_n_threads(0) == 8


def test_the_number_follows_the_load_during_a_fit(machine, running):
    default = Threads.of(None)
    assert default.now() == 4
    running(4)  # our own, which wait for the next kernel
    assert default.now() == 4
    running(14)
    assert default.now() == 1
    running(7)
    assert default.now() == 2
    running(1)
    assert default.now() == 4


def test_the_load_is_read_once_in_a_while(machine, running, monkeypatch):
    monkeypatch.setattr(threads, "_SECONDS", 60.0)
    default = Threads.of(None)
    assert default.now() == 4
    running(14)
    assert default.now() == 4


@pytest.mark.parametrize("text", [None, "", "0.1 0.2 0.3 many/1000 5", "0.1 0.2"])
def test_where_the_load_is_not_known_all_threads_are_used(machine, tmp_path, text):
    path = tmp_path / "loadavg"
    path.unlink() if text is None else path.write_text(text)
    assert effective_n_threads(None) == 4


def test_a_fit_on_a_busy_machine_has_one_thread(monkeypatch, running):
    """Every region of a default fit, also those after a change of the load."""
    used = []
    true = training_pass.logistic

    def note(*arguments):
        used.append(arguments[11])
        running(1 if len(used) < 3 else 50)
        return true(*arguments)

    monkeypatch.setattr(training_pass, "logistic", note)
    monkeypatch.setattr(threads, "cpu_count", lambda only_physical_cores=False: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(threads.cpu_features, "max_threads", lambda: 4)
    X = np.random.default_rng(0).random((200, 3))
    schema = dpboost.Schema(bounds=dict.fromkeys(range(3), (0.0, 1.0)), classes=[0, 1])
    dpboost.DPBoostClassifier(n_estimators=6, schema=schema, verbosity=0, epsilon=8.0).fit(
        X, (X[:, 0] > 0.5).astype(int)
    )
    assert used[:3] == [4, 4, 4]
    assert len(used) > 3
    assert set(used[3:]) == {1}
