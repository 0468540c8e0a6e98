"""``python -m benchmarks run glass-box``: its units, its bars and its page."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.glass_box import measures
from benchmarks.glass_box.tables import DELTA, DIRECTIONS, EPSILON, FOUR
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, read, values
from benchmarks.harness.run import RESULTS, Plan, Request, Run, Unit, digest
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import table

#: Repeats of each part, in full and in the short form.
REPEATS = {
    "intervals": (100, 3),
    "sets": (20, 2),
    "quantiles": (5, 1),
    "bands": (20, 1),
    "directions": (10, 1),
    "spreads": (50, 4),
    "Adult": (5, 1),
}
#: The run whose figures of DP-EBM stand beside those of single shapes.
PEERS = "peers"
_PEER = "DP-EBM"
# Points at which single shapes may be behind beyond so many standard errors.
_MOST_BEHIND, _ERRORS = 4, 2.0
_MEASURES = ("AUC", "RMSE")


def plan(request: Request) -> Plan:
    """Return every fit, or all refits of a table, as a unit."""
    peers = _peers()
    facts = {f"promise {number}": text for number, text in enumerate(_promises(peers), 1)}
    units = [
        Unit(
            name=f"{part}, {data}, epsilon {epsilon:g}, {repeat}",
            settings=digest({"versions": dpboost_recipes.versions(), "refits": n}),
            measure=partial(_measured, part, data, epsilon, repeat, measure),
        )
        for part, data, epsilon, repeat, n, measure in _fits(request, peers)
    ]
    if request.problem is not None:
        units = [unit for unit in units if f", {request.problem}," in unit.name]
    theirs = [] if request.quick else _beside(peers)
    return Plan(units=units, facts=facts, published=theirs)


def _n(name: str, request: Request) -> int:
    return request.repeats or REPEATS[name][request.quick]


_Fit = tuple[str, str, float, int, int, Callable[[], measures.Numbers]]


def _fits(request: Request, peers: Sequence[Result]) -> Iterator[_Fit]:
    """Yield part, table, epsilon, repeat, refits and what measures them."""
    for part, measure in (
        ("intervals", measures.intervals),
        ("sets", measures.sets),
        ("quantiles", measures.quantiles),
    ):
        for seed in range(_n(part, request)):
            yield part, "product", EPSILON, seed, 1, partial(measure, seed)
    for name in FOUR:
        for seed in range(_n("bands", request)):
            yield "bands", name, EPSILON, seed, 1, partial(measures.bands, name, seed)
    for name in DIRECTIONS:
        for seed in range(_n("directions", request)):
            yield "directions", name, EPSILON, seed, 1, partial(measures.directions, name, seed)
    for name in FOUR:
        n = _n("spreads", request)
        yield "spreads", name, EPSILON, 0, n, partial(measures.spreads, name, n)
    for seed in range(_n("Adult", request)):
        own = partial(measures.single_shapes, "adult", seed, EPSILON)
        yield "Adult", "adult", EPSILON, seed, 1, own
    for row in [] if request.quick else _beside(peers):
        epsilon = row.epsilon or EPSILON
        own = partial(measures.single_shapes, row.data, row.repeat, epsilon)
        yield "beside DP-EBM", row.data, epsilon, row.repeat, 1, own


def _measured(
    part: str, data: str, epsilon: float, repeat: int, measure: Callable[[], measures.Numbers]
) -> list[Result]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = measure()
    return [
        Result(
            part=part,
            data=data,
            method="best",
            epsilon=epsilon,
            repeat=repeat,
            measure=name,
            value=value,
        )
        for name, value in numbers.items()
    ]


def _peers() -> Sequence[Result]:
    path = RESULTS / f"{PEERS}.csv"
    return read(path).rows if path.is_file() else []


def _promises(peers: Sequence[Result]) -> list[str]:
    """Return what the audit has refuted of DP-EBM, as the results of the run say."""
    if not peers:
        return []
    marks = json.loads(read(RESULTS / f"{PEERS}.csv").facts.get("marks", "{}"))
    return list(marks.get(_PEER, []))


def _beside(peers: Sequence[Result]) -> list[Result]:
    """Return the figures of DP-EBM as they are beside ours."""
    return [
        replace(row, part="beside DP-EBM")
        for row in peers
        if row.method == _PEER and row.measure in _MEASURES
    ]


def reached(value: float, bar: str) -> bool | None:
    """Say whether a value reaches its bar, None where there is none."""
    numbers = [float(text) for text in re.findall(r"-?\d+\.?\d*", bar)]
    if not numbers:
        return None
    if len(numbers) == 2:
        return numbers[0] <= value <= numbers[1]
    return value <= numbers[0] if bar.startswith("at most") else value >= numbers[0]


def body(results: Results) -> list[str]:
    """Return a section for each part, with what reaches its bar."""
    rows = results.measured()
    lines = [f"Recipe best, delta {DELTA:g}, epsilon {EPSILON:g} where nothing else is said."]
    for title, part, lines_of in _SECTIONS:
        own = pick(rows, part=part)
        if own:
            lines += ["", f"## {title}", "", *_repeats(own), *lines_of(own, results)]
    return lines


def _repeats(rows: Sequence[Result]) -> list[str]:
    """Say how many repeats there are of each table, and refits where they are counted."""
    refits = values(rows, measure="refits")
    if refits:
        return [f"Refits of a table: {min(refits):g}.", ""]
    sizes = [
        len({row.repeat for row in rows if row.data == name}) for name in distinct(rows, "data")
    ]
    low, high = min(sizes), max(sizes)
    return [f"Repeats of a table: {low if low == high else f'{low} to {high}'}.", ""]


_WORDS = {True: "reached", False: "**not reached**", None: ""}
_Line = tuple[str, str, float, str]


def _with_bars(lines: Sequence[_Line]) -> list[str]:
    return table(
        ["of", "bar", "value", ""],
        [
            [f"{data}: {what}", bar, f"{value:.4g}", _WORDS[reached(value, bar)]]
            for data, what, value, bar in lines
        ],
    )


def _coverage(rows: Sequence[Result], _: Results) -> list[str]:
    part = rows[0].part
    found = values(rows, measure="coverage")
    lines: list[_Line] = [
        (part, "mean coverage", float(np.mean(found)), "0.89 to 0.91"),
        (part, "5 % quantile of coverage", float(np.quantile(found, 0.05)), "at least 0.87"),
    ]
    for measure in distinct(rows, "measure"):
        if measure != "coverage":
            lines.append(
                (part, f"mean {measure}", float(np.mean(values(rows, measure=measure))), "")
            )
    return _with_bars(lines)


def _quantiles(rows: Sequence[Result], _: Results) -> list[str]:
    lines: list[_Line] = []
    for measure in distinct(rows, "measure"):
        bar = "at most 0" if measure == "rows that cross" else ""
        lines.append(("quantiles", measure, float(np.mean(values(rows, measure=measure))), bar))
    return _with_bars(lines)


def _bands(rows: Sequence[Result], _: Results) -> list[str]:
    lines: list[_Line] = []
    for name in distinct(rows, "data"):
        own = pick(rows, data=name)
        covered = 100 * float(np.mean(values(own, measure="bins covered")))
        error, deviation = (
            float(np.mean(values(own, measure=f"squared {what}")))
            for what in ("error", "deviation")
        )
        ratio = float(np.sqrt(error / deviation))
        lines.append((name, "bins covered, %", covered, "85 to 99"))
        lines.append((name, "width over deviation", ratio, "at most 1.5"))
    return _with_bars(lines)


def _directions(rows: Sequence[Result], _: Results) -> list[str]:
    lines: list[_Line] = []
    for name in distinct(rows, "data"):
        own = pick(rows, data=name)
        measure = next(m for m in _MEASURES if pick(own, measure=m))
        what, bar = ("AUC lost", "at most 0.002")
        if measure == "RMSE":
            what, bar = ("RMSE gained, %", "at most 0.5")
        for whose, by, own_bar in (("", "", bar), (", LightGBM", " by LightGBM", "")):
            costs = _costs(own, measure, whose)
            if len(costs):
                lines.append((name, what + by, float(costs.mean()), own_bar))
                lines.append((name, "standard error of that", _error(costs), ""))
        for what, measure in (("pairs in order, %", "pairs in order"), ("proved, %", "proved")):
            share = 100 * float(np.mean(values(own, measure=measure)))
            lines.append((name, what, share, "at least 100"))
    return _with_bars(lines)


def _costs(rows: Sequence[Result], measure: str, whose: str) -> np.ndarray:
    """Return what directions cost in each repeat: AUC, or parts of a hundred of RMSE."""
    kept, free = (
        np.array(values(rows, measure=name + whose)) for name in (measure, f"{measure} free")
    )
    return free - kept if measure == "AUC" else 100 * (kept / free - 1)


def _spreads(rows: Sequence[Result], _: Results) -> list[str]:
    lines: list[_Line] = []
    for name in distinct(rows, "data"):
        own = pick(rows, data=name)
        spread, deviation = (
            values(own, measure=f"squared {what}")[0] for what in ("spread", "deviation")
        )
        ratio = float(np.sqrt(spread / deviation))
        lines.append((name, "spread over deviation of refits", ratio, "0.8 to 1.2"))
    return _with_bars(lines)


def _adult(rows: Sequence[Result], _: Results) -> list[str]:
    return _with_bars([("adult", "AUC", float(np.mean(values(rows))), "at least 0.905")])


def _beside_lines(rows: Sequence[Result], results: Results) -> list[str]:
    lines, behind = [], 0
    for name in distinct(rows, "data"):
        for epsilon in sorted({row.epsilon for row in rows if row.data == name}):
            own = pick(rows, data=name, epsilon=epsilon)
            ours, theirs = (np.array(values(own, method=m)) for m in ("best", _PEER))
            better = ours - theirs if own[0].measure == "AUC" else theirs - ours
            score = float(better.mean()) / max(_error(better), 1e-12)
            behind += score < -_ERRORS
            means = [f"{found.mean():.4g}" for found in (ours, theirs)]
            word = "behind" if score < -_ERRORS else ""
            lines.append(
                [f"{name}, {own[0].measure}", f"{epsilon:g}", *means, f"{score:.1f}", word]
            )
    said = "reached" if behind <= _MOST_BEHIND else "**not reached**"
    return [
        f"Splits and figures of the run `{PEERS}`. Behind beyond {_ERRORS:g} standard errors at "
        f"{behind} of {len(lines)} points; the bar is {_MOST_BEHIND}: {said}.",
        "",
        *_refuted(results),
        *table(["table", "epsilon", "single shapes", _PEER, "errors ahead", ""], lines),
    ]


def _refuted(results: Results) -> list[str]:
    """Return what the audit has shown of the promise of DP-EBM."""
    found = [text for name, text in results.facts.items() if name.startswith("promise ")]
    if not found:
        return []
    start = f"No point of {_PEER} has its promise kept; the audit has found:"
    return [start, "", *(f"* {text}" for text in found), ""]


def _error(found: np.ndarray) -> float:
    """Return the standard error of a mean."""
    return float(np.std(found, ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0


def finding(results: Results) -> str:
    """Return how many of the bars are reached."""
    words = [line.rpartition("|")[0].rpartition("|")[2].strip() for line in body(results)]
    reached_ones, missed = words.count(_WORDS[True]), words.count(_WORDS[False])
    return f"{reached_ones} of {reached_ones + missed} target values are reached."


_SECTIONS: tuple[tuple[str, str, Callable[[Sequence[Result], Results], list[str]]], ...] = (
    ("Intervals", "intervals", _coverage),
    ("Sets of classes", "sets", _coverage),
    ("Several quantiles", "quantiles", _quantiles),
    ("Bands", "bands", _bands),
    ("Directions", "directions", _directions),
    ("Spreads", "spreads", _spreads),
    ("Single shapes", "Adult", _adult),
    (f"Single shapes beside {_PEER}", "beside DP-EBM", _beside_lines),
)

GLASS_BOX = Run(
    name="glass-box",
    title="Constraints, intervals and shapes of a model",
    group=Group.MODELS,
    description="What a model says of itself: constraints, bands of shapes, spreads of "
    "predictions, intervals and quantiles against their bars, and sums of single shapes beside "
    "DP-EBM.",
    plan=plan,
    body=body,
    finding=finding,
)
