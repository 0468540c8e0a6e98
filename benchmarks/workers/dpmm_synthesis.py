"""Fits dpmm's synthesizers; runs in an environment of its own.

It gets rows, integers of shape (n_rows, n_columns) from 0 on, and sizes of shape (n_columns,): so
many values each column is declared to have.
"""

import functools

import pandas as pd
from dpmm.models import aim, mst
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM

from benchmarks.meter import Meter
from benchmarks.serving import serve


def _shortened(inference, n_steps):
    """Return an inference of at most so many steps, which use no row and no budget."""

    @functools.wraps(inference)
    def made(domain, iters=n_steps, **options):
        return inference(domain, iters=min(iters, n_steps), **options)

    return made


def fit(arrays, settings):
    """Fit on the rows and return as many synthetic ones."""
    n_steps = settings.pop("n_steps")
    for module in (aim, mst):
        # Its choice of pairs takes a fixed 2,500 steps, whatever the model is told.
        module.FactoredInference = _shortened(module.FactoredInference, n_steps)
    model = {"MST": MSTGM, "AIM": AIMGM}[settings.pop("synthesizer")](n_iters=n_steps, **settings)
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
