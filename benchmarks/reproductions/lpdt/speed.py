"""How long a million reports take."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from benchmarks.harness.results import Result
from benchmarks.reproductions.lpdt.rows import mean_of
from benchmarks.summary import Summary, span, table
from dpboost import LPDTAggregator, LPDTPartition
from dpboost.local.collection import ReportPlan
from dpboost.local.registry import MECHANISMS

N_REPORTS = 1_000_000
_EPSILON = 2.0
_DEPTH = 5


def measure(mechanism: str, repeat: int) -> list[Result]:
    """Return seconds of encoding and of adding up, and bytes of a report."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(N_REPORTS, 4))
    y = X.sum(axis=1)
    partition = LPDTPartition.from_public(
        X[:2_000], y[:2_000], max_depth=_DEPTH, min_samples_leaf=10, n_levels=2
    )
    plan = ReportPlan.of(partition, _EPSILON, mechanism)
    start = time.perf_counter()
    reports = plan.encode(X, y)
    encoded = time.perf_counter()
    server = LPDTAggregator(partition, _EPSILON, mechanism=mechanism)
    server.add_many(reports)
    server.to_model()
    added = time.perf_counter()
    figures = (
        ("encode", encoded - start),
        ("aggregate", added - encoded),
        ("bytes", float(reports.shape[1])),
    )
    return [
        Result(
            data=f"{partition.n_cells} cells",
            method=mechanism,
            epsilon=_EPSILON,
            repeat=repeat,
            measure=name,
            value=value,
        )
        for name, value in figures
    ]


def finding(rows: Sequence[Result]) -> str:
    """Return the time of the slowest and of the quickest mechanism."""
    by_mechanism = [_means(rows, mechanism) for mechanism in MECHANISMS]
    encoded, added = (
        span((means[position].mean for means in by_mechanism), ".2f") for position in (0, 1)
    )
    return (
        f"One thread encodes {N_REPORTS:,} reports in {encoded} s and adds them up in {added} s, "
        "by mechanism."
    )


def _means(rows: Sequence[Result], mechanism: str) -> list[Summary]:
    found = [
        mean_of(rows, method=mechanism, measure=setting)
        for setting in ("encode", "aggregate", "bytes")
    ]
    return [mean for mean in found if mean is not None]


def page(rows: Sequence[Result]) -> list[str]:
    """Return one line a mechanism."""
    body = []
    for mechanism in MECHANISMS:
        means = _means(rows, mechanism)
        seconds = [f"{mean.mean:.2f}" for mean in means[:2]]
        size = means[2]
        body.append([mechanism, *seconds, f"{size.mean:.0f}"])
    note = (
        f"{N_REPORTS:,} records of four features, {rows[0].data}, epsilon {_EPSILON:g}. "
        "Encoding finds the cells too; aggregating checks every report and ends with a model."
    )
    return [note, "", *table(["mechanism", "encode (s)", "aggregate (s)", "bytes a report"], body)]
