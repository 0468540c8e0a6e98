"""The run ``budget``: ``python -m benchmarks run budget``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.budgets import DESCRIPTION, NAME
from benchmarks.budgets.forecasts import EPSILONS, NEAR_AUC, NEAR_RMSE, TABLES, Case, cases
from benchmarks.budgets.intervals import DELTA, EPSILON, FRACTION, Metric, measure
from benchmarks.budgets.kills import runs
from benchmarks.files import write_atomically
from benchmarks.report import machine_class
from benchmarks.versions import versions

REPEATS = 500
KILLS = 200
AUC_ROWS = (5_000, 20_000)


def run_budget(folder: Path, *, quick: bool = False, repeats: int | None = None) -> str:
    """Run everything, write the page into ``folder`` and return it."""
    n_repeats = repeats or (20 if quick else REPEATS)
    n_kills = 5 if quick else KILLS
    areas = [
        metric
        for n_rows in AUC_ROWS
        for metric in measure(n_rows, n_repeats, classes=True, names=None)
    ]
    numbers = measure(AUC_ROWS[0], n_repeats, classes=False)
    found = [case for table in (TABLES[:1] if quick else TABLES) for case in cases(table)]
    with tempfile.TemporaryDirectory() as position:
        after = runs(Path(position) / "budget", n_kills)
        planted = runs(Path(position) / "planted", n_kills, planted=True)
    name = f"{NAME}-quick" if quick else NAME
    options = " --quick" if quick else "" if repeats is None else f" --repeats {repeats}"
    used = ", ".join(f"{package} {version}" for package, version in versions().items())
    lines = [
        f"# {name}",
        "",
        DESCRIPTION,
        "",
        *_intervals([*areas, *numbers], n_repeats),
        *_areas(areas),
        *_forecasts(found),
        *_kills(after, planted),
        f"`python -m benchmarks run {NAME}{options}`; {machine_class()}; {used}.",
        "",
    ]
    page = "\n".join(lines)
    write_atomically(folder / f"{name}.md", page.encode())
    return page


def _intervals(metrics: Sequence[Metric], repeats: int) -> list[str]:
    lines = [
        "## Intervals",
        "",
        f"Share of {repeats} evaluations, each of other rows from one population, whose interval "
        f"of 95 % holds the metric of the population. Each takes {FRACTION:g} of a budget of "
        f"({EPSILON:g}, {DELTA:g}). To be 93 to 97 %.",
        "",
        "| metric | rows | population | covered | mean error | deviation of the error |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for each in metrics:
        lines.append(
            f"| {each.name} | {each.n_rows:,} | {each.truth:.4f} | {100 * each.covered:.1f} % | "
            f"{each.errors.mean():+.4f} | {each.errors.std():.4f} |"
        )
    return [*lines, "", "Errors are those against the same rows without privacy.", ""]


def _areas(metrics: Sequence[Metric]) -> list[str]:
    lines = [
        "## AUC",
        "",
        "How far the private AUC is from that of the same rows (a quarter of them positive). To be "
        "at most .02 at 5,000 rows, .005 at 20,000.",
        "",
        "| rows | mean distance | 95 % are within | within the target |",
        "| --- | --- | --- | --- |",
    ]
    for each, target in zip([m for m in metrics if m.name == "auc"], (0.02, 0.005), strict=True):
        off = np.abs(each.errors)
        lines.append(
            f"| {each.n_rows:,} | {off.mean():.4f} | {np.quantile(off, 0.95):.4f} | "
            f"{100 * np.mean(off <= target):.0f} % |"
        )
    return [*lines, ""]


def _forecasts(found: Sequence[Case]) -> list[str]:
    near = sum(case.near for case in found)
    inside = sum(case.inside for case in found)
    lines = [
        "## Forecasts",
        "",
        f"From 1,000 public rows, for fits of other rows at epsilon "
        f"{', '.join(map(str, EPSILONS))}: {near} of {len(found)} within {NEAR_AUC:g} AUC or "
        f"{100 * NEAR_RMSE:g} % of the RMSE (to be 80 %), {inside} inside the band.",
        "",
        "| table | rows | epsilon | metric | forecast | band | fit | near |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in found:
        lines.append(
            f"| {case.table} | {case.n_rows:,} | {case.epsilon:g} | {case.metric} | "
            f"{case.forecast:.4g} | {case.low:.4g} to {case.high:.4g} | {case.fitted:.4g} | "
            f"{'yes' if case.near else 'no'} |"
        )
    return [*lines, ""]


def _kills(after: Sequence[tuple[int, int]], planted: Sequence[tuple[int, int]]) -> list[str]:
    over = sum(released > booked for released, booked in after)
    seen = sum(released > booked for released, booked in planted)
    return [
        "## Kills",
        "",
        f"After each of {len(after)} SIGKILLs at random moments of fits under a budget in a file, "
        f"more fits had drawn than the file has lines for: {over} times ({after[-1][0]:,} fits "
        f"drew, {after[-1][1]:,} are booked). With lines planted after the draws: {seen} times of "
        f"{len(planted)}.",
        "",
    ]
