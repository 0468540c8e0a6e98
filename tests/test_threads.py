import os

import pytest

from dpboost import _threads
from dpboost._threads import effective_n_threads


@pytest.fixture
def machine(monkeypatch):
    """Eight logical cores on four physical ones."""

    def cpu_count(only_physical_cores=False):
        return 4 if only_physical_cores else 8

    monkeypatch.setattr(_threads, "cpu_count", cpu_count)


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
