"""Fits dpmm's synthesizers; runs in an environment of its own.

It gets rows, integers of shape (n_rows, n_columns) from 0 on, and sizes of shape (n_columns,): so
many values each column is declared to have.
"""

import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM

from benchmarks.meter import Meter
from benchmarks.serving import serve


def fit(arrays, settings):
    """Fit on the rows and return as many synthetic ones."""
    model = {"MST": MSTGM, "AIM": AIMGM}[settings.pop("synthesizer")](**settings)
    rows, sizes = arrays["rows"], arrays["sizes"]
    names = [f"c{number}" for number in range(len(sizes))]
    table = pd.DataFrame(rows, columns=names)
    with Meter() as meter:
        model.set_domain(dict(zip(names, sizes.tolist(), strict=True)))
        model.fit(table)
        made = model.generate(n_records=len(rows))
    return {
        "prediction": made[names].to_numpy(),
        "fit_seconds": meter.seconds,
        "peak_mb": meter.peak_mb,
        "n_trees": 0,
    }


if __name__ == "__main__":
    serve(fit)
