"""Tables of these tests, on Spark and in this process."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

N_ROWS = 240
NAMES = ["a", "b", "c", "d"]
SCHEMA = {"bounds": {"a": (-2, 2), "b": (0, 8), "c": (-1, 1)}, "categories": {"d": ["x", "y"]}}
LABELS = {"classification": {"classes": [0, 1]}, "regression": {"label_bounds": (-3, 4)}}
FEW = {"n_estimators": 2, "random_state": 1, "verbosity": -1}


def table():
    """Numbers with missing ones, whole numbers, text, labels, weights and users."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-2, 2, N_ROWS), rng.integers(0, 9, N_ROWS)
    c = rng.uniform(-1, 1, N_ROWS)
    d = [("x", "y", "z", None)[code] for code in rng.integers(0, 4, N_ROWS)]
    target = a + (b > 4)
    return pa.table(
        {
            "a": a,
            "b": b,
            "c": pa.array(c, mask=a > 1.5),
            "d": d,
            "regression": target,
            "classification": (target > 0).astype(np.int64),
            "weight": rng.uniform(0, 2, N_ROWS),
            "user": np.arange(N_ROWS) // 40 * 100 + (np.arange(N_ROWS) % 40) ** 2 // 90,
        }
    )


def on_spark(session, n_partitions, rows=None):
    """Return a table as a DataFrame, its rows in their order in so many partitions."""
    rows = table() if rows is None else rows
    listed = rows.to_pylist()
    size = -(-len(listed) // n_partitions)
    parts = [listed[first : first + size] for first in range(0, len(listed), size)]
    kinds = {"string": "string", "int64": "long", "double": "double"}
    schema = ", ".join(f"`{each.name}` {kinds[str(each.type)]}" for each in rows.schema)
    values = session.sparkContext.parallelize(parts, n_partitions).flatMap(
        lambda part: [tuple(row.values()) for row in part]
    )
    return session.createDataFrame(values, schema)
