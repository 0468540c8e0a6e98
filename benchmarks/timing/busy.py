"""Default fits while other processes keep every processor busy, beside fits with one thread."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.summary import listed, table
from benchmarks.timing.measure import Figure, Task, median, task

LIGHTGBM = "LightGBM"
# One where a parameter says so, 0 where the library decides.
_DEFAULT = 0
_METHODS = ("best", "dpboost", LIGHTGBM)
_OTHERS = (0, 6)
_REPEATS = 7
_TARGET = 1.5


def tasks(*, quick: bool, repeats: int | None) -> list[Task]:
    """Measure everything, libraries and numbers of threads in turn."""
    number = repeats or (1 if quick else _REPEATS)
    return [
        _task(others, method, threads, repeat)
        for repeat in range(number)
        for others in _OTHERS
        for method in _METHODS
        for threads in (_DEFAULT, 1)
    ]


def _task(others: int, method: str, threads: int, repeat: int) -> Task:
    more = {"table": "adult", "method": method, "threads": threads, "others": others}
    return task("beside", _name(others), method, threads, repeat, (0,), more)


def _name(others: int) -> str:
    return f"{others} busy processes" if others else "none"


def finding(figures: Sequence[Figure]) -> str:
    """Return what the defaults take beside busy processes, in the time of one thread."""
    said = [f"{_walls(figures, max(_OTHERS), name)[2]:.2f} with {name}" for name in _METHODS]
    return (
        f"With {_name(max(_OTHERS))}, the time of a fit with the default number of threads is "
        f"that of a fit with one thread times {listed(said)}."
    )


def _walls(figures: Sequence[Figure], others: int, method: str) -> tuple[float, float, float]:
    """Return wall times with the default number of threads and with one, and their ratio."""
    default, one = (
        median(figures, table=_name(others), method=method, threads=threads)
        for threads in (_DEFAULT, 1)
    )
    return default, one, default / one


def page(figures: Sequence[Figure]) -> list[str]:
    """Return the table of wall and CPU times."""
    lines = []
    for others in _OTHERS:
        for method in _METHODS:
            cells = [_name(others), method if method == LIGHTGBM else f"`{method}`"]
            *walls, ratio = _walls(figures, others, method)
            for threads, wall in zip((_DEFAULT, 1), walls, strict=True):
                wanted = {"table": _name(others), "method": method, "threads": threads}
                cells += [f"{wall:.3f}", f"{median(figures, 'cpu_seconds', **wanted):.3f}"]
            verdict = "" if method == LIGHTGBM else "yes" if ratio <= _TARGET else "no"
            lines.append([*cells, f"{ratio:.2f}", verdict])
    header = ["beside", "method", "default: wall (s)", "default: CPU (s)"]
    header += ["one thread: wall (s)", "one thread: CPU (s)", "ratio", f"<= {_TARGET:g}"]
    return [
        "## Seconds of a fit of Adult",
        "",
        "Each library with its own defaults (`dpboost`: those of its paper), `n_jobs` left out and "
        "`n_jobs=1`; medians. Every fit is the second one of a process of its own, in turn. The "
        "busy processes are endless loops.",
        "",
        *table(header, lines),
    ]
