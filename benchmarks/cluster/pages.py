"""What the measured runs come to: memory, messages and time, and one extrapolation."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.cluster.plan import MILLION, Row, find
from benchmarks.summary import table

#: The table that is extrapolated to, and the numbers of cores.
BILLION = 1_000 * MILLION
FEATURES = 100
CORES = (16, 64, 256)
_MEGABYTE = 1e6
_METHODS = {"best": "best", "dpboost": "dpboost", "lightgbm": "lightgbm.dask"}


def memory_finding(rows: Sequence[Row]) -> str:
    """Return what the fit of many rows adds to the memory of the workers."""
    (row,) = rows
    return (
        f"A fit of {row.run.rows:,} rows of {row.run.features} features adds "
        f"{_per_row(row):.0f} bytes a row to the memory of the workers, where the row as float32 "
        f"has {4 * row.run.features}; a round takes {row.measured.round_seconds:.3f} s."
    )


def _per_row(row: Row) -> float:
    return (row.measured.worker_bytes - row.measured.idle_bytes) / row.run.rows


def memory_page(rows: Sequence[Row]) -> list[str]:
    """Return the page of the run with many rows."""
    (row,) = rows
    run, took = row.run, row.measured
    floats = run.rows * run.features * 4
    per_row = _per_row(row)
    return [
        "## Memory of many rows",
        "",
        f"{run.rows:,} rows of {run.features} features, generated in partitions of "
        f"{run.partition:,} on a Dask cluster with {run.workers} workers and trained for "
        f"{run.rounds} rounds of `best`.",
        "",
        *table(
            ["", ""],
            [
                ["the rows as float32", _bytes(floats)],
                ["client, scheduler and workers together, at most", _bytes(took.peak_bytes)],
                ["workers alone, at most", _bytes(took.worker_bytes)],
                ["workers alone, before the fit", _bytes(took.idle_bytes)],
                ["what the fit adds to workers, for a row", f"{per_row:.0f} bytes"],
                ["whole fit", f"{took.seconds:.0f} s"],
                ["a round", f"{took.round_seconds:.3f} s"],
            ],
        ),
        "",
        "Sizes are sums of resident sizes, looked at every tenth of a second; what processes "
        "share counts in each of them.",
        "",
    ]


def speed_page(rows: Sequence[Row]) -> list[str]:
    """Return the page of all runs: seconds and bytes of a round."""
    return [
        "## Seconds and bytes of a round",
        "",
        "Seconds and bytes of a round on a cluster of this machine. Workers are processes with "
        "one thread each; busy is the processor time of all of them. A message contains the "
        "commands and queries of a worker in a round, a sum is its result; the last column is "
        "all that crosses the loopback interface, Dask's own talk and that of other programs "
        "included. Where other programs keep the machine busy (see its load below), the seconds "
        "of a round are waiting for the most part, and two workers share what is left; processor "
        "time is then what to compare.",
        "",
        *table(
            [
                "method",
                "rows",
                "features",
                "workers",
                "round (s)",
                "busy (s)",
                "message (bytes)",
                "sum (bytes)",
                "loopback (bytes)",
            ],
            [
                [
                    _METHODS[row.run.method],
                    f"{row.run.rows:,}",
                    str(row.run.features),
                    str(row.run.workers),
                    f"{row.measured.round_seconds:.4f}",
                    f"{row.measured.round_cpu:.4f}",
                    f"{row.measured.message_bytes:,.0f}" if row.measured.message_bytes else "",
                    f"{row.measured.sum_bytes:,.0f}" if row.measured.sum_bytes else "",
                    f"{row.measured.round_bytes:,.0f}",
                ]
                for row in rows
            ],
        ),
        "",
        *_speed_up(rows),
    ]


def _speed_up(rows: Sequence[Row]) -> list[str]:
    """Return how much sooner two workers are done than one."""
    lines = []
    for method, n_rows in (("best", 8), ("dpboost", 2), ("lightgbm", 1)):
        one, two = (find(rows, method, n_rows * MILLION, 20, workers) for workers in (1, 2))
        ratio = one.round_seconds / two.round_seconds
        lines.append(
            f"* {_METHODS[method]}, {n_rows} million rows: with two workers a round takes "
            f"{1 / ratio:.2f} of the time that it takes with one, and they are busy for "
            f"{two.round_cpu / one.round_cpu:.2f} times as long together."
        )
    return [*lines, ""]


class Costs:
    """What rows and messages cost a method, from its runs.

    Parameters
    ----------
    rows : sequence of Row
    method : str
    features : int
    """

    def __init__(self, rows: Sequence[Row], method: str, features: int) -> None:
        few = find(rows, method, 20_000, features, 2)
        more = find(rows, method, MILLION // 2, features, 2)
        many = find(rows, method, MILLION, features, 2)
        self.fixed_seconds = few.least_seconds
        self.worker_seconds = 0.0
        self.row_seconds = (many.round_cpu - few.round_cpu) / (MILLION - 20_000)
        if method != "lightgbm":
            one, two = (find(rows, method, 20_000, 20, workers) for workers in (1, 2))
            self.worker_seconds = max(two.client_cpu - one.client_cpu, 0.0)
            # A round reads two or three features, however many there are.
            more_rows = find(rows, method, 8 * MILLION, 20, 2)
            self.row_seconds = (more_rows.round_cpu - two.round_cpu) / (8 * MILLION - 20_000)
        # Of floats that stay in the cluster; where they do not, see `held_bytes`.
        self.row_bytes = 2 * (many.worker_bytes - more.worker_bytes) / MILLION
        self.round_bytes = many.round_bytes / 2

    def seconds(self, n_rows: int, cores: int) -> float:
        """Return the seconds of a round."""
        shared = self.row_seconds * n_rows / cores
        return self.fixed_seconds + self.worker_seconds * cores + shared


def held_bytes(large: Row, features: int) -> float:
    """Return what workers hold of a row: as with many rows, and a byte for a feature more."""
    took = large.measured
    measured = (took.worker_bytes - took.idle_bytes) / large.run.rows
    return measured + features - large.run.features


def rows_page(rows: Sequence[Row], large: Row) -> list[str]:
    """Return the page that extrapolates to a billion rows.

    Parameters
    ----------
    rows : sequence of Row
        Of all runs of ``speed``.
    large : Row
        The run of ``memory``.
    """
    ours, theirs = (Costs(rows, method, FEATURES) for method in ("best", "lightgbm"))
    # In the runs of `speed` the partitions in hand are more than what is held of all rows.
    ours.row_bytes = held_bytes(large, FEATURES)
    return [
        "## A billion rows",
        "",
        f"What a round of {BILLION:,} rows and {FEATURES} features would take on more cores, from "
        "what rows and messages cost here. Nothing of this was run.",
        "",
        *table(
            ["measured, one thread a worker", _METHODS["best"], _METHODS["lightgbm"]],
            [
                [
                    "processor time of a row, in a round",
                    _nano(ours.row_seconds),
                    _nano(theirs.row_seconds),
                ],
                [
                    "a round of few rows, the fastest",
                    f"{ours.fixed_seconds * 1000:.1f} ms",
                    f"{theirs.fixed_seconds * 1000:.1f} ms",
                ],
                [
                    "processor time of client and scheduler for one worker more, a round",
                    f"{ours.worker_seconds * 1000:.1f} ms",
                    "",
                ],
                [
                    "bytes between processes, a round and worker",
                    f"{ours.round_bytes:,.0f}",
                    f"{theirs.round_bytes:,.0f}",
                ],
                [
                    "memory of the workers, a row",
                    f"{ours.row_bytes:.0f} bytes",
                    f"{theirs.row_bytes:.0f} bytes",
                ],
            ],
        ),
        "",
        *table(
            [
                f"{BILLION:,} x {FEATURES}",
                *(f"{_METHODS[name]}, {what}" for name in ("best", "lightgbm") for what in _WHAT),
            ],
            [
                [f"{cores} cores", *_extrapolated(ours, cores), *_extrapolated(theirs, cores)]
                for cores in CORES
            ],
        ),
        "",
        "A round takes `few rows + client * cores + row * rows / cores` seconds: the client puts "
        "its question to one worker after the other, and the workers share the rows. A worker is "
        "one thread here; workers with more threads need fewer messages. LightGBM's workers "
        "exchange histograms among themselves: neither that nor the time of their bytes on a "
        "network is in its seconds. LightGBM holds the rows as float32 in the cluster and its own "
        "bins beside them; ours is what `memory` measured with 20 features, and a byte for every "
        "feature more. What a row costs `best` is from 8 million rows of 20 features: a round "
        "reads two or three of them, however many there are. A round of `best` is a smaller step "
        "than one of LightGBM: by default there are some hundred of them, and 100 of LightGBM.",
        "",
    ]


_WHAT = ("round", "memory a core", "bytes a round")


def _extrapolated(costs: Costs, cores: int) -> list[str]:
    return [
        f"{costs.seconds(BILLION, cores):.2f} s",
        _bytes(costs.row_bytes * BILLION / cores),
        _bytes(costs.round_bytes * cores),
    ]


def _nano(seconds: float) -> str:
    return f"{seconds * 1e9:.1f} ns"


def _bytes(number: float) -> str:
    return (
        f"{number / _MEGABYTE:,.0f} MB" if number >= 10 * _MEGABYTE else f"{number / 1e3:,.0f} kB"
    )
