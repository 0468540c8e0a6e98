"""Table 3: a tree shaped by unlike public rows against trees on either table."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from benchmarks.local.baselines import Scale, histogram_predictions, tree_predictions
from benchmarks.local.rows import LocalRow, mean_of
from benchmarks.local.synthetic import MECHANISMS
from benchmarks.local.trees import RULES, Sizes
from benchmarks.local.wine import EPSILONS, division
from benchmarks.summary import table


def measure(repeats: int) -> list[LocalRow]:
    """Return errors of trees on public and on private rows, of LPDT and of the histograms."""
    rows = []
    for repeat in range(repeats):
        split = division(repeat)
        found = [
            ("DT, public", 0.0, tree_predictions(split.X_public, split.y_public, split.X_test)),
            ("DT, private", 0.0, tree_predictions(split.X, split.y, split.X_test)),
            ("constant", 0.0, np.full(len(split.y_test), split.y.mean())),
        ]
        scale = Scale.of(split.X_public, split.y_public)
        for epsilon, kind in itertools.product(EPSILONS, ("PHIST", "APHIST")):
            predicted = histogram_predictions(
                split.X,
                split.y,
                split.X_test,
                scale,
                epsilon=epsilon,
                n_sides=2,
                adjusted=kind == "APHIST",
                random=np.random.default_rng(repeat),
            )
            found.append((kind, epsilon, predicted))
        errors = [(method, epsilon, split.error(values)) for method, epsilon, values in found]
        for method, epsilon, mechanism in itertools.product(RULES, EPSILONS, MECHANISMS):
            error = split.lpdt_error(method, mechanism, epsilon, Sizes())
            errors.append((f"{method}, {MECHANISMS[mechanism]}", epsilon, error))
        rows += [
            LocalRow(
                problem="wine",
                method=method,
                epsilon=epsilon,
                setting="",
                repeat=repeat,
                value=value,
            )
            for method, epsilon, value in errors
        ]
    return rows


def page(rows: Sequence[LocalRow]) -> list[str]:
    """Return one line a method."""
    methods = list(dict.fromkeys(row.method for row in rows))
    body = []
    for method in methods:
        plain = mean_of(rows, method=method, epsilon=0.0)
        line = [
            f"{mean_of(rows, method=method, epsilon=epsilon) if plain is None else plain:3}"
            for epsilon in EPSILONS
        ]
        body.append([method, *line])
    note = (
        "Mean squared error on white wines. The Chicago taxi trips of the paper's Table 3 are not "
        "to be had; the wines are its other pair of unlike tables. Labels are clipped to the "
        "range of the public ones; sizes are the defaults. DT keeps no privacy."
    )
    return [note, "", *table(["method", *(f"epsilon {e:g}" for e in EPSILONS)], body)]
