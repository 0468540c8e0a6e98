"""Table 3: how many rows the gradient filter drops. Counts of rows are private: not for release.

The figures are made from models that are evaluated on the published rows themselves, which are
public here. A library that reported them of private rows would break its guarantee.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np

from benchmarks.harness.results import Result, pick, values
from benchmarks.problems.problem import take
from benchmarks.reproductions.dpboost.methods import METHODS, fit_model, staged_scores
from benchmarks.reproductions.dpboost.plan import Plan
from benchmarks.reproductions.dpboost.rows import Job, fold_rows, n_trees_of, present
from benchmarks.reproductions.dpboost.sets import SETS, Data
from benchmarks.summary import listed, table

ROWS = "training rows"
FILTERED = "share filtered"
EVER = "share filtered at least once"
FROM_MEAN = "share filtered from the exact mean"
#: Share of the filtered rows in the paper; its column heads are interchanged.
PUBLISHED = {"abalone": 0.0144, "YearPredictionMSD": 0.0806, "synthetic_reg": 0.0}


def measure(job: Job, data: Data, plan: Plan) -> list[Result]:
    """Fit once and return how many training rows have a gradient beyond the bound, tree by tree."""
    train, _ = fold_rows(len(data.y), job.fold)
    model, _ = fit_model(
        METHODS[job.method],
        data,
        train,
        epsilon=job.epsilon,
        n_trees=job.n_trees,
        seed=job.fold,
    )
    low, high = data.label_bounds
    labels, half_width = data.numbers[train], (high - low) / 2
    before = list(range(1, job.n_trees))
    scores = staged_scores(model, take(data.X, train), before)
    starting = np.full(len(train), (low + high) / 2)
    dropped = [
        np.abs(found - labels) > half_width for found in (starting, *(scores[t] for t in before))
    ]
    shares = [
        job.result(FILTERED, np.mean(rows), stage=tree)
        for tree, rows in enumerate(dropped, start=1)
    ]
    return [
        *shares,
        job.result(ROWS, len(train)),
        job.result(EVER, np.mean(np.any(dropped, axis=0))),
        job.result(FROM_MEAN, np.mean(np.abs(labels.mean() - labels) > half_width)),
    ]


def finding(rows: Sequence[Result]) -> str:
    """Return how many rows the filter drops at most."""
    most: dict[float, float] = {}
    for epsilon in sorted({row.epsilon for row in rows if row.epsilon is not None}, reverse=True):
        own = pick(rows, epsilon=epsilon)
        most[epsilon] = max(
            statistics.fmean(values(own, data=name, measure=EVER)) for name in present(own)
        )
    said = [
        f"{share:.1%} " + ("without noise" if math.isinf(epsilon) else f"at epsilon {epsilon:g}")
        for epsilon, share in most.items()
    ]
    return (
        "On the worst set, the gradient filter drops this share of the rows at least once: "
        f"{listed(said)}."
    )


def page(rows: Sequence[Result]) -> list[str]:
    """Return shares by set and budget."""
    body = []
    for name in present(rows):
        mine = pick(rows, data=name)
        for epsilon in sorted(
            {row.epsilon for row in mine if row.epsilon is not None}, reverse=True
        ):
            own = pick(mine, epsilon=epsilon)
            trees = sorted({int(row.x) for row in pick(own, measure=FILTERED)})
            mean = {
                tree: statistics.fmean(values(own, measure=FILTERED, x=str(tree))) for tree in trees
            }
            theirs = PUBLISHED.get(name, math.nan)
            body.append(
                [
                    f"{name}, " + ("no noise" if math.isinf(epsilon) else f"epsilon {epsilon:g}"),
                    f"{statistics.fmean(values(own, measure=ROWS)):,.0f}",
                    f"{mean[trees[0]]:.2%}",
                    f"{statistics.fmean(mean.values()):.2%}",
                    f"{max(mean.values()):.2%}",
                    *(
                        f"{statistics.fmean(values(own, measure=measure)):.2%}"
                        for measure in (EVER, FROM_MEAN)
                    ),
                    "" if math.isnan(theirs) else f"{theirs:.2%}",
                ]
            )
    header = [
        "set",
        "training rows",
        "first tree",
        "mean of the trees",
        "most in a tree",
        "at least once",
        "from the mean",
        "paper",
    ]
    notes = {line[0].split(", ")[0] for line in body}
    return [
        "**Not private, and never part of a model or a report**: the number of filtered rows is a "
        "private number. These are counted on published rows, after the fits, from the trees of "
        "models without noise (and, to show what noise does, of private models).",
        "",
        "Share of the training rows whose scaled gradient is beyond 1 before a tree of "
        f"{n_trees_of(rows)} trees, means over folds. *From the mean*: rows whose label is further "
        "than 1 from the exact mean label, where the paper's code starts.",
        "",
        *table(header, body),
        "",
        *(f"* {name}: {SETS[name].note}." for name in sorted(notes) if SETS[name].note),
    ]
