"""The number of threads of kernels."""

from __future__ import annotations

import os
import time

from joblib import cpu_count

from dpboost._kernels import cpu_features

# Says how many threads of the whole machine run or wait for a processor at this moment.
_LOAD = "/proc/loadavg"
# Load is read again after this long: a reading takes some ten microseconds.
_SECONDS = 0.01

_in_forked_child = False


def _mark_forked_child() -> None:
    global _in_forked_child
    _in_forked_child = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked_child)


def effective_n_threads(n_jobs: int | None) -> int:
    """Turn LightGBM's ``n_jobs`` into a number of threads.

    ``None`` means the physical cores that this process may use, fewer where OpenMP has a lower
    limit (``OMP_NUM_THREADS``, threadpoolctl) and where other work keeps processors busy at this
    moment. A negative number counts back from all logical cores, zero means all of them. In a
    forked child it is always one: an OpenMP region entered there after the parent has used OpenMP
    hangs for ever.
    """
    return Threads.of(n_jobs).now()


def _most_threads(n_jobs: int | None) -> int:
    """Return the number of threads of an idle machine."""
    if _in_forked_child:
        return 1
    if n_jobs is None:
        # Joblib knows affinity, the quota of a control group and the limits of its own workers.
        return max(1, min(int(cpu_count(only_physical_cores=True)), cpu_features.max_threads()))
    if n_jobs > 0:
        return n_jobs
    every_core = int(cpu_count())
    return max(1, every_core + 1 + n_jobs) if n_jobs < 0 else every_core


class Threads:
    """A number of threads that adapts to the load of the machine.

    A thread without a free processor delays all others at the end of every kernel, and OpenMP
    threads wait actively: on a busy machine many threads are many times slower than one. Only the
    running time depends on the number. There are ``most`` threads on an idle machine; with
    ``yields`` there are fewer while the machine is busy. Where the system does not say how busy it
    is (elsewhere than on Linux), there are always ``most``.
    """

    __slots__ = ("_asked", "_now", "most", "yields")

    def __init__(self, most: int, *, yields: bool = False) -> None:
        self.most = most
        self.yields = yields
        self._now = 1
        self._asked = -_SECONDS

    @classmethod
    def of(cls, n_jobs: int | None) -> Threads:
        """Return the threads of LightGBM's ``n_jobs``: a number that a user gives stands."""
        return cls(_most_threads(n_jobs), yields=n_jobs is None)

    def now(self) -> int:
        """Return how many threads a kernel is to use now."""
        if not self.yields or self.most == 1:
            return self.most
        asked = time.monotonic()
        if asked - self._asked >= _SECONDS:
            # Our own threads go on running for some milliseconds after a kernel.
            others = max(_running() - self._now, 0)
            self._now = min(self.most, max(1, (os.cpu_count() or 1) - others))
            self._asked = asked
        return self._now


def _running() -> int:
    """Return how many threads of the machine run or wait for a processor, 0 if unknown."""
    try:
        with open(_LOAD, "rb") as stream:
            return int(stream.read().split()[3].partition(b"/")[0])
    except (OSError, IndexError, ValueError):
        return 0
