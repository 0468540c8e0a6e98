"""What agrees with the papers and what does not, in sentences that the results make.

Every figure and every verdict in them is computed from the files of results when the page over all
is written. Why something is so is in the notes of the runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness.claims import (
    CONFIRMED,
    EQUIVALENT,
    REFUTED,
    Verdict,
    counts,
    mean_of,
)
from benchmarks.harness.results import Result, Results, pick, read
from benchmarks.harness.run import QUICK
from benchmarks.reproductions import inventory
from benchmarks.reproductions.dp_topdown import data_holders, one_machine
from benchmarks.reproductions.dp_topdown.claims import BARE, DECAY, UNIFORM
from benchmarks.reproductions.dpboost import curves
from benchmarks.reproductions.dpboost.methods import METHODS
from benchmarks.reproductions.dpboost.rows import errors, present
from benchmarks.reproductions.federated_trees import figures as federated
from benchmarks.reproductions.fits import Paper
from benchmarks.reproductions.friedman_schuster.claims import UNPRUNED
from benchmarks.reproductions.friedman_schuster.figures import PAPERS as FRIEDMAN
from benchmarks.reproductions.lpdt import figure1, figure2, figure4, table2, table3
from benchmarks.reproductions.lpdt.runs import judged as lpdt_judged

Sentences = Iterator[str]


@dataclass(frozen=True)
class Shelf:
    """The files of results.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    def find(self, run: str) -> tuple[Results, str] | None:
        """Return the results of a run, in full or else in its short form, and a link to them."""
        for name in (run, run + QUICK):
            path = self.folder / f"{name}.csv"
            if path.is_file():
                return read(path), f"[{name}]({name}.md)"
        return None


def outcome(verdict: Verdict, unit: str = "") -> str:
    """Return a verdict as words with its figures."""
    shown = f"{verdict.figures()}{unit}; {verdict.n} repeats"
    words = {
        CONFIRMED: "holds",
        EQUIVALENT: "no difference beyond the margin",
        REFUTED: "does not hold" if verdict.claim.reaches else "the other way round",
    }
    return f"{words.get(verdict.word, verdict.told)} ({shown})"


def tally(found: Sequence[Verdict]) -> Iterator[str]:
    """Yield the counts of the paper's claims, and of ours, where there are any."""
    for ours, whose in ((False, "the paper's claims"), (True, "ours")):
        own = [verdict for verdict in found if verdict.claim.ours is ours]
        if own:
            yield f"{whose}: {counts(own)}"


def _dpboost(shelf: Shelf) -> Sentences:
    found = shelf.find("figure2")
    if found is not None:
        rows, link = errors(found[0].rows), found[1]
        main = pick(rows, part=rows[0].part)
        verdicts = curves.judged_2(main)
        for text in dict.fromkeys(v.claim.text for v in verdicts if not v.claim.ours):
            own = [verdict for verdict in verdicts if verdict.claim.text == text]
            if text.endswith("all epsilons"):
                yield f"{text}: {counts(own)}, of {len(own)} sets ({link})."
        yield _near_np(main, link)
    for run in ("figure3", "figure3-code", "figure7", "figure8"):
        found = shelf.find(run)
        if found is not None:
            yield from _later_trees(run, errors(found[0].rows), found[1])
    found = shelf.find("figure4")
    if found is not None:
        rows = errors(found[0].rows)
        counted = "; ".join(tally(curves.judged_4(rows)))
        yield f"Leaf clipping: {counted} ({found[1]})."


def _near_np(rows: Sequence[Result], link: str) -> str:
    """Say how far the best reading is from NP at the smallest budget."""
    least = min(row.epsilon for row in rows if row.epsilon is not None)
    gaps = []
    for name in present(rows):
        bare = mean_of(rows, data=name, method="NP")
        readings = {
            method: mean_of(rows, data=name, method=method, epsilon=least)
            for method in METHODS
            if not METHODS[method].honest or method == "DPBoost"
        }
        best = min((value for value in readings.values() if not math.isnan(value)), default=bare)
        gaps.append(f"{name} {best:.3g} against {bare:.3g}")
    return (
        f"At epsilon {least:g} the best of DPBoost and of the readings of its text and code under "
        f"squared loss, beside NP: {'; '.join(gaps)} ({link})."
    )


def _later_trees(run: str, rows: Sequence[Result], link: str) -> Sentences:
    """Say by how much errors fall from 50 trees to the last."""
    stages = sorted({int(row.x) for row in rows if row.x})
    if 50 not in stages:
        return
    parts = []
    for name in present(rows):
        for method in dict.fromkeys(row.method for row in rows if row.x):
            first, last = (
                mean_of(rows, data=name, method=method, x=str(stage)) for stage in (50, stages[-1])
            )
            if not math.isnan(first):
                parts.append(f"{name}, {method}: {first:.3g} to {last:.3g}")
    yield f"From 50 to {stages[-1]} trees ({link}): {'; '.join(parts)}."


def _topdown(shelf: Shelf) -> Sentences:
    for paper in (*one_machine.PAPERS, *data_holders.PAPERS):
        found = shelf.find(paper.name)
        if found is not None:
            yield f"{paper.title}; {'; '.join(tally(paper.judged(found[0])))} ({found[1]})."
    for paper in one_machine.PAPERS:
        found = shelf.find(paper.name)
        if found is not None:
            yield from _one_machine(paper, found[0], found[1])


def _one_machine(paper: Paper, results: Results, link: str) -> Sentences:
    """Say how large trees are, and what they reach at the largest budget."""
    every = results.measured()
    for verdict in paper.judged(results):
        if verdict.n > 1 and verdict.claim.part in ("figure 5", "figure 6"):
            claim = verdict.claim
            yield f"{claim.part.capitalize()}, {claim.text}: {outcome(verdict)} ({link})."
    rows = pick(every, part="figure 2")
    last = max((row.position for row in rows if row.position is not None), default=math.nan)
    for name in present(rows):
        decay, uniform, bare = (
            mean_of(rows, data=name, method=method, x=f"{last:g}")
            for method in (DECAY, UNIFORM, BARE)
        )
        middle = "" if math.isnan(uniform) else f", {uniform:.3f} with a uniform budget"
        yield (
            f"{name} at alpha {last:g}: {decay:.3f} with the decaying budget{middle}, {bare:.3f} "
            f"without noise ({link})."
        )


def _federated(shelf: Shelf) -> Sentences:
    for paper in federated.PAPERS:
        found = shelf.find(paper.name)
        if found is None:
            continue
        link, verdicts = found[1], paper.judged(found[0])
        for verdict in verdicts:
            claim = verdict.claim
            if verdict.n > 1 and claim.part != "figure 2" and claim.below != federated.LOCAL:
                yield f"{claim.part.capitalize()}, {claim.text}: {outcome(verdict)} ({link})."
        yield f"{paper.title}; {'; '.join(tally(verdicts))} ({link})."


def _friedman(shelf: Shelf) -> Sentences:
    (paper,) = FRIEDMAN
    found = shelf.find(paper.name)
    if found is not None:
        for verdict in paper.judged(found[0]):
            claim = verdict.claim
            if not claim.ours or claim.below.endswith(UNPRUNED):
                yield f"{claim.part.capitalize()}, {claim.text}: {outcome(verdict)} ({found[1]})."


def _lpdt(shelf: Shelf) -> Sentences:
    found = shelf.find("lpdt-table2")
    if found is not None:
        rows, link = found[0].rows, found[1]
        n_cells = len(table2.PUBLISHED) * len(table2.EPSILONS) * 2
        for label, (every, least) in table2.below_published(rows).items():
            yield (
                f"{label}: below the published figure in {every} of {n_cells} cells, in {least} of "
                f"{n_cells // 2} at epsilon {table2.EPSILONS[0]:g}, on {len(table2.PUBLISHED)} of "
                f"the paper's 14 tables ({link})."
            )
        counted = "; ".join(tally(lpdt_judged(table2, rows)))
        yield f"Below PHIST, below APHIST, table by table: {counted} ({link})."
    found = shelf.find("lpdt-figure1")
    if found is not None:
        for verdict in lpdt_judged(figure1, found[0].rows):
            yield f"{verdict.claim.text}: {outcome(verdict)} ({found[1]})."
    for run, text, module in (
        ("lpdt-figure2", "On generated rows", figure2),
        ("lpdt-table3", "With unlike public rows", table3),
        ("lpdt-figure4", "Fewer unlike public rows are better", figure4),
    ):
        found = shelf.find(run)
        if found is not None:
            counted = "; ".join(tally(lpdt_judged(module, found[0].rows)))
            yield f"{text}: {counted} ({found[1]})."


_PAPERS: tuple[tuple[str, Callable[[Shelf], Sentences]], ...] = (
    (inventory.DPBOOST, _dpboost),
    (inventory.TOPDOWN, _topdown),
    (inventory.FRIEDMAN, _friedman),
    (inventory.FEDERATED, _federated),
    (inventory.LPDT, _lpdt),
)


def lines(folder: Path) -> list[str]:
    """Return the section of the page over all results."""
    parts = [
        "### What agrees with the papers, and what does not",
        "",
        "Written from the results. In brackets: the mean difference and its 95 % interval, wide "
        "enough for all claims of its page, positive where it agrees.",
        "",
    ]
    for paper, sentences in _PAPERS:
        found = [f"* {sentence[0].upper()}{sentence[1:]}" for sentence in sentences(Shelf(folder))]
        if found:
            parts += [f"**{paper}**", "", *found, ""]
    return parts
