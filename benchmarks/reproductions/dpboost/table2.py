"""Table 2: time of a tree beside LightGBM."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from benchmarks.harness.results import Result, pick, values
from benchmarks.reproductions.dpboost.methods import METHODS, fit_model
from benchmarks.reproductions.dpboost.plan import Plan
from benchmarks.reproductions.dpboost.rows import Job, fold_rows, n_trees_of, present
from benchmarks.reproductions.dpboost.sets import SETS, Data
from benchmarks.summary import span, table

SECONDS_A_TREE = "seconds a tree"
#: Seconds a tree in the paper, DPBoost and NP, with ten cores.
PUBLISHED = {
    "adult": (0.019, 0.007),
    "real-sim": (2.97, 0.82),
    "covtype": (0.085, 0.044),
    "susy": (0.38, 0.32),
    "cod-rna": (0.016, 0.009),
    "webdata": (0.032, 0.013),
    "synthetic_cls": (1.00, 0.36),
    "abalone": (2.95, 2.85),
    "YearPredictionMSD": (0.38, 0.12),
    "synthetic_reg": (0.96, 0.36),
}
# The set of the paper that a substitute is compared with.
_PAPERS_NAME = {"covtype, 92,962 rows": "covtype", "news20 for real-sim": "real-sim"}


def measure(job: Job, data: Data, plan: Plan) -> list[Result]:
    """Fit once and return the wall time of the fit over the number of trees."""
    train, _ = fold_rows(len(data.y), job.fold)
    _, seconds = fit_model(
        METHODS[job.method],
        data,
        train,
        epsilon=job.epsilon,
        n_trees=job.n_trees,
        seed=job.fold,
    )
    return [job.result(SECONDS_A_TREE, seconds / job.n_trees)]


def finding(rows: Sequence[Result]) -> str:
    """Return how long a tree takes, as multiples of LightGBM's."""
    body = _lines(rows)
    ratios = span((float(line[3]) for line in body), ".2f")
    return (
        f"A tree of DPBoost takes {ratios} times as long as one of LightGBM, at most the paper's "
        f"ratio on {_faster(body)} of {len(body)} sets."
    )


def _faster(body: Sequence[Sequence[str]]) -> int:
    return sum(float(line[3]) <= float(line[6]) for line in body)


def _lines(rows: Sequence[Result]) -> list[list[str]]:
    body = []
    for name in present(rows):
        mine = pick(rows, data=name)
        ours, np_ = (statistics.median(values(mine, method=method)) for method in ("DPBoost", "NP"))
        theirs = PUBLISHED.get(_PAPERS_NAME.get(name, name))
        body.append(
            [
                name,
                f"{ours:.4f}",
                f"{np_:.4f}",
                f"{ours / np_:.2f}",
                *((f"{theirs[0]:g}", f"{theirs[1]:g}", f"{theirs[0] / theirs[1]:.2f}")),
            ]
        )
    return body


def page(rows: Sequence[Result]) -> list[str]:
    """Return medians, their ratio, and the paper's."""
    body = _lines(rows)
    header = ["set", "DPBoost", "NP", "ratio", "paper: DPBoost", "paper: NP", "paper: ratio"]
    notes = [f"* {name}: {SETS[name].note}." for name in (line[0] for line in body)]
    return [
        f"Seconds a tree: median wall time of a fit of {n_trees_of(rows)} trees, bins included, on "
        "the training rows of a fold, over the number of trees; DPBoost and LightGBM in turn in "
        "one process with one thread each, squared loss, same depth and bins. The paper has ten "
        "cores and larger sets, so compare ratios. "
        f"Ours is at most the paper's on {_faster(body)} of {len(body)} sets.",
        "",
        *table(header, body),
        "",
        *(note for note in notes if not note.endswith(": .")),
    ]
