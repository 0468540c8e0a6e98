"""Orderings that a paper reports, or that we add, and what became of them.

A claim is evaluated by the differences of two methods on the same rows. Its interval is Student's
over the repeats, wide enough for all claims that stand together on a page (Bonferroni), and for
rows that repeats share (Nadeau and Bengio, 2003). *Confirmed* and *refuted* ask for ten repeats;
with fewer a claim at most *agrees* or *disagrees*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from benchmarks.harness.results import Result, values
from benchmarks.summary import listed, table

#: So many repeats a word such as "confirmed" takes.
ENOUGH = 10
ERROR = 0.05

CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"
AGREES, DISAGREES, NOT_MEASURED = "agrees", "disagrees", "not measured"
WORDS = (CONFIRMED, AGREES, UNDECIDED, DISAGREES, REFUTED, NOT_MEASURED)

EXPLAINED = (
    "Mean difference between two methods on the same rows and its 95 % interval by Student's t "
    "over the repeats, widened for all claims of its table together (Bonferroni) and where repeats "
    f"share rows (Nadeau and Bengio). *Confirmed* and *refuted* take {ENOUGH} repeats; with fewer "
    "a claim *agrees* or *disagrees* at most. *Undecided*: the interval holds 0."
)

Where = Callable[[str, float], bool]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One method is above another.

    Attributes
    ----------
    part : str
        Figure or table of the results.
    text : str
        In words.
    above, below : str
        Methods.
    where : callable
        ``where(data, position)``: the points that the claim is about.
    below_where : callable, optional
        The points of the method below, where they are others.
    data : str
        The only data set that it is about; all where empty.
    overlap : float
        Held-out rows over training rows where repeats share rows, else 0.
    lower_is_better : bool
        Whether the numbers are errors: ``above`` then has the smaller ones.
    ours : bool
        Whether it is no claim of the paper.
    measure : str
        The only measure that it is about, where a part of the results has several.
    """

    part: str = ""
    text: str
    above: str
    below: str
    where: Where = field(default=lambda data, position: True)
    below_where: Where | None = None
    data: str = ""
    overlap: float = 0.0
    lower_is_better: bool = False
    ours: bool = False
    measure: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found of a claim: mean difference, and its corrected 95 % interval."""

    claim: Claim
    mean: float
    low: float
    high: float
    n: int

    @property
    def word(self) -> str:
        """Whether the interval is on one side of zero, and how many repeats say so."""
        if self.n < 2 or math.isnan(self.low):
            return NOT_MEASURED
        if self.low > 0:
            return CONFIRMED if self.n >= ENOUGH else AGREES
        if self.high < 0:
            return REFUTED if self.n >= ENOUGH else DISAGREES
        return UNDECIDED

    def figures(self, digits: int = 3) -> str:
        """Return the difference and its interval as words, such as ``+.021 (.010 to .032)``."""
        if math.isnan(self.mean):
            return "no difference measured"
        return f"{self.mean:+.{digits}f} ({self.low:+.{digits}f} to {self.high:+.{digits}f})"


def judge(claim: Claim, rows: Sequence[Result], n_claims: int = 1) -> Verdict:
    """Compare two methods pair by pair.

    Repeats are the units: the numbers of a repeat at all points of the claim are averaged. A
    number without a place of its own counts at every place.

    Parameters
    ----------
    claim : Claim
    rows : sequence of Result
        Of one measure, unless the claim names its own.
    n_claims : int
        Claims that stand together.
    """
    mine = [
        row
        for row in rows
        if row.part == claim.part
        and claim.data in ("", row.data)
        and claim.measure in ("", row.measure)
    ]
    spots = {(row.data, row.position) for row in mine if row.position is not None}
    sides = []
    for method, where in (
        (claim.above, claim.where),
        (claim.below, claim.below_where or claim.where),
    ):
        own = [row for row in mine if row.method == method]
        sides.append(_means(own, spots, where))
    above, below = sides
    by_repeat: dict[int, list[float]] = {}
    for (data, repeat), mean in above.items():
        if (data, repeat) in below:
            by_repeat.setdefault(repeat, []).append(mean - below[data, repeat])
    sign = -1 if claim.lower_is_better else 1
    differences = [sign * float(np.mean(parts)) for parts in by_repeat.values()]
    n = len(differences)
    if n < 2:
        return Verdict(claim=claim, mean=math.nan, low=math.nan, high=math.nan, n=n)
    mean = float(np.mean(differences))
    error = math.sqrt(np.var(differences, ddof=1) * (1 / n + claim.overlap))
    reach = float(stats.t.ppf(1 - ERROR / 2 / max(1, n_claims), n - 1)) * error
    return Verdict(claim=claim, mean=mean, low=mean - reach, high=mean + reach, n=n)


def _means(
    rows: Sequence[Result], spots: set[tuple[str, float | None]], inside: Where
) -> dict[tuple[str, int], float]:
    """Return the mean over some points, by data and repeat; draws are averaged first."""
    parts: dict[tuple[str, int], list[float]] = {}
    found: dict[tuple[str, float | None, int], list[float]] = {}
    for row in rows:
        found.setdefault((row.data, row.position, row.repeat), []).append(row.value)
    for (data, position, repeat), own in found.items():
        own_spots = [position]
        if position is None:
            own_spots = [spot for name, spot in spots if name == data]
        # A position that is not there: nothing depends on where it would be.
        n = sum(spot is not None and inside(data, spot) for spot in own_spots)
        if n:
            parts.setdefault((data, repeat), []).append(float(np.mean(own)))
    return {key: float(np.mean(own)) for key, own in parts.items()}


def judged(
    claims: Iterable[Claim], rows: Sequence[Result], *, only_measured: bool = False
) -> list[Verdict]:
    """Evaluate claims, those of the paper together and ours together.

    Parameters
    ----------
    claims : iterable of Claim
    rows : sequence of Result
    only_measured : bool
        Whether claims without numbers are left out, as a short form has few of them.
    """
    claims = list(claims)
    if only_measured:
        claims = [claim for claim in claims if judge(claim, rows).word != NOT_MEASURED]
    found = []
    for ours in (False, True):
        own = [claim for claim in claims if claim.ours is ours]
        # What was not measured takes no part of the error.
        n_claims = sum(judge(claim, rows).word != NOT_MEASURED for claim in own)
        found += [judge(claim, rows, n_claims) for claim in own]
    return found


def counts(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims got each word."""
    found = Counter(verdict.word for verdict in verdicts)
    return ", ".join(f"{found[word]} {word}" for word in WORDS if found[word])


#: How a sentence says what became of claims.
_SAID = {
    AGREES: f"supported by fewer than {ENOUGH} repeats",
    DISAGREES: f"contradicted by fewer than {ENOUGH} repeats",
}


def finding(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence that says what became of the claims of the paper, and of ours."""
    said = []
    for ours, whose in ((False, "of the paper"), (True, "of our own")):
        own = Counter(verdict.word for verdict in verdicts if verdict.claim.ours is ours)
        words = [(own[word], _SAID.get(word, word)) for word in WORDS if own[word]]
        if len(words) == 1:
            ((number, word),) = words
            all_of_them = f"all {number} claims" if number > 1 else "the one claim"
            said.append(f"{all_of_them} {whose} {'are' if number > 1 else 'is'} {word}")
        elif words:
            is_are = "is" if words[0][0] == 1 else "are"
            found = listed([f"{number} {word}" for number, word in words])
            found = found.replace(" ", f" {is_are} ", 1)
            said.append(f"of {own.total()} claims {whose}, {found}")
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def sections(verdicts: Sequence[Verdict], digits: int = 4) -> list[str]:
    """Return the sections of the page: claims of the paper, then ours."""
    lines: list[str] = []
    for ours, title in ((False, "What the paper reports"), (True, "What we add")):
        own = [verdict for verdict in verdicts if verdict.claim.ours is ours]
        if own:
            lines += [f"## {title}", "", f"Claims: {counts(own)}.", ""]
            lines += [*([] if ours and lines[0] != f"## {title}" else [EXPLAINED, ""])]
            lines += [*_by_text(own), *_table(own, digits), ""]
    return lines


def _by_text(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line of counts for each claim that is about several data sets."""
    by_text: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.claim.data:
            by_text.setdefault(verdict.claim.text, []).append(verdict)
    for text, own in by_text.items():
        yield f"* {text}: {counts(own)}, of {len(own)} sets."
    if by_text:
        yield ""


def _table(verdicts: Sequence[Verdict], digits: int) -> list[str]:
    lines = []
    for verdict in verdicts:
        claim = verdict.claim
        number = interval = ""
        if not math.isnan(verdict.mean):
            number = f"{verdict.mean:+.{digits}g}"
            interval = f"{verdict.low:+.{digits}g} to {verdict.high:+.{digits}g}"
        position = ", ".join(part for part in (claim.part, claim.data) if part)
        lines.append([claim.text, position, f"{verdict.n}", number, interval, verdict.word])
    header = ["claim", "of", "repeats", "difference", "95 % interval", "verdict"]
    return table(header, lines)


def interval(numbers: Sequence[float]) -> float:
    """Return half of the 95 % interval of a mean by Student's t, 0 for one number."""
    n = len(numbers)
    if n < 2:
        return 0.0
    return float(stats.t.ppf(1 - ERROR / 2, n - 1) * np.std(numbers, ddof=1) / math.sqrt(n))


def mean_of(rows: Iterable[Result], **wanted: object) -> float:
    """Return the mean over repeats of some results, NaN without any."""
    found = values(rows, **wanted)
    return float(np.mean(found)) if found else math.nan
