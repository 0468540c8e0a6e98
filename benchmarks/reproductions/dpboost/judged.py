"""Orderings that the paper claims, judged fold by fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from benchmarks.dpboost_paper.plan import OVERLAP
from benchmarks.dpboost_paper.rows import Value
from benchmarks.reproductions.measure import Claim, Measured, Verdict, judge
from benchmarks.summary import table

Where = Callable[[float], bool]
_ERRORS = ("test error", "RMSE")


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """One method has smaller errors than another.

    Attributes
    ----------
    text : str
    better, worse : str
        Names of methods.
    where : callable
        ``where(x)``: the points that are compared; x is epsilon, or a number of trees.
    """

    text: str
    better: str
    worse: str
    where: Where = lambda x: True


def judged(
    values: Iterable[Value],
    orderings: Sequence[Ordering],
    x_of: Callable[[Value], float | None] = lambda value: value.job.epsilon,
) -> list[tuple[str, Verdict]]:
    """Return the verdict on each ordering, set by set.

    The unit is a fold: the differences of two methods on the same rows are averaged over the
    points, and the 95 % interval is Student's over folds, with the variance corrected for training
    rows that folds share (Nadeau and Bengio, 2003). A value without an x counts at every x. One
    fold alone says nothing, and is left out.
    """
    measured: dict[str, list[Measured]] = {}
    errors = [value for value in values if value.measure in _ERRORS]
    points = sorted({x for value in errors if (x := x_of(value)) is not None})
    for value in errors:
        x = x_of(value)
        measured.setdefault(value.job.data, []).extend(
            Measured(
                figure="",
                data="",
                x=point,
                method=value.job.method,
                repeat=value.job.fold,
                accuracy=-value.value,  # the judge asks who is higher
            )
            for point in (points if x is None else [x])
        )
    verdicts = []
    for ordering in orderings:
        claim = Claim(
            figure="",
            text=ordering.text,
            above=ordering.better,
            below=ordering.worse,
            where=lambda data, x, own=ordering.where: own(x),
            overlap=OVERLAP,
        )
        for data, rows in measured.items():
            methods = {row.method for row in rows}
            if {ordering.better, ordering.worse} <= methods:
                verdict = judge(claim, rows)
                if verdict.n > 1:
                    verdicts.append((data, verdict))
    return verdicts


def lines(verdicts: Sequence[tuple[str, Verdict]]) -> list[str]:
    """Return a table of verdicts, after a line of counts for each ordering."""
    found: dict[str, list[str]] = {}
    for _, verdict in verdicts:
        found.setdefault(verdict.claim.text, []).append(verdict.word)
    counts = [
        f"* {text}: "
        + ", ".join(f"{word} on {words.count(word)}" for word in dict.fromkeys(sorted(words)))
        + f" of {len(words)} sets."
        for text, words in found.items()
    ]
    body = []
    for data, verdict in verdicts:
        body.append(
            [
                verdict.claim.text,
                data,
                f"{verdict.n}",
                f"{verdict.mean:+.4g}",
                f"{verdict.low:+.4g} to {verdict.high:+.4g}",
                verdict.word,
            ]
        )
    header = ["ordering", "set", "folds", "smaller by", "95 % interval", "verdict"]
    return [*counts, "", *table(header, body)]
