"""How many threads a kernel may use."""

from __future__ import annotations

import os

from joblib import cpu_count

_in_forked_child = False


def _mark_forked_child() -> None:
    global _in_forked_child
    _in_forked_child = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_forked_child)


def effective_n_threads(n_jobs: int | None) -> int:
    """Turn LightGBM's ``n_jobs`` into a number of threads.

    ``None`` means the physical cores, a negative number counts back from all logical cores,
    zero means all of them. In a forked child it is always one: an OpenMP region entered there
    after the parent has used OpenMP hangs for ever.
    """
    if _in_forked_child:
        return 1
    if n_jobs is None:
        return max(1, int(cpu_count(only_physical_cores=True)))
    if n_jobs > 0:
        return n_jobs
    every_core = int(cpu_count())
    return max(1, every_core + 1 + n_jobs) if n_jobs < 0 else every_core
