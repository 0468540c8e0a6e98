"""How long a million reports take."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from benchmarks.local.rows import LocalRow, mean_of
from benchmarks.summary import table
from dpboost import LPDTAggregator, LPDTPartition
from dpboost.local.collection import ReportPlan
from dpboost.local.registry import MECHANISMS

N_REPORTS = 1_000_000
_EPSILON = 2.0
_DEPTH = 5


def measure(repeats: int) -> list[LocalRow]:
    """Return seconds of encoding and of adding up, and bytes of a report."""
    random = np.random.default_rng(0)
    X = random.uniform(size=(N_REPORTS, 4))
    y = X.sum(axis=1)
    partition = LPDTPartition.from_public(
        X[:2_000], y[:2_000], max_depth=_DEPTH, min_samples_leaf=10, n_levels=2
    )
    rows = []
    for mechanism in MECHANISMS:
        plan = ReportPlan.of(partition, _EPSILON, mechanism)
        for repeat in range(repeats):
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
            rows += [
                LocalRow(
                    problem=f"{partition.n_cells} cells",
                    method=mechanism,
                    epsilon=_EPSILON,
                    setting=setting,
                    repeat=repeat,
                    value=value,
                )
                for setting, value in figures
            ]
    return rows


def page(rows: Sequence[LocalRow]) -> list[str]:
    """Return one line a mechanism."""
    body = []
    for mechanism in MECHANISMS:
        means = [
            mean_of(rows, method=mechanism, setting=setting)
            for setting in ("encode", "aggregate", "bytes")
        ]
        seconds = [f"{mean.mean:.2f}" for mean in means[:2] if mean is not None]
        size = means[2]
        assert size is not None
        body.append([mechanism, *seconds, f"{size.mean:.0f}"])
    note = (
        f"{N_REPORTS:,} records of four features, {rows[0].problem}, epsilon {_EPSILON:g}. "
        "Encoding finds the cells too; aggregating checks every report and ends with a model."
    )
    return [note, "", *table(["mechanism", "encode (s)", "aggregate (s)", "bytes a report"], body)]
