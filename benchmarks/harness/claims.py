"""What a paper reports, or what we add, and what became of it.

A claim is evaluated by the differences of two methods on the same rows, by the test that suits its
kind (`Kind`). Its margin is the smallest difference that counts, and is declared with the claim.
*Confirmed*, *refuted* and *equivalent* ask for ten repeats or draws of noise; with fewer a claim
stays *undecided*, with the reason.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np
from scipy import stats

from benchmarks.harness.results import Result, values
from benchmarks.summary import listed, table

#: So many repeats a word such as "confirmed" takes.
ENOUGH = 10
ERROR = 0.05

CONFIRMED, REFUTED, EQUIVALENT = "confirmed", "refuted", "equivalent"
UNDECIDED, NOT_MEASURED = "undecided", "not measured"
WORDS = (CONFIRMED, EQUIVALENT, UNDECIDED, REFUTED, NOT_MEASURED)

#: Why a claim is undecided.
ONE_REPEAT = "one repeat"
FEW_AGREE = f"fewer than {ENOUGH} repeats, which agree"
FEW_DISAGREE = f"fewer than {ENOUGH} repeats, which disagree"
FEW = f"fewer than {ENOUGH} repeats"
HOLDS_ZERO = "the interval holds 0"
HOLDS_MARGIN = "the interval holds the margin"

#: What lies between 0 and 1: a difference of two lies between -1 and 1, and so does its interval.
_SHARES = frozenset({"accuracy", "training accuracy", "test error"})

EXPLAINED = (
    "Mean difference between two methods on the same rows and its 95 % interval, widened for all "
    "claims together that come of one sentence of the paper (Bonferroni). The *margin* is the "
    f"smallest difference that counts. *Confirmed*, *refuted* and *equivalent* take {ENOUGH} "
    "repeats; all else is *undecided*. *Equivalent*: the claim is of a difference, and the "
    "interval lies within the margin on both sides of 0 (without a margin: no difference). That a "
    "method *reaches* another is confirmed when the interval, by two one-sided tests a 90 % one, "
    "lies above the margin below 0."
)


class Kind(Enum):
    """The test of a claim, and its sentence on a page."""

    REPEATS = (
        "Student's t over the repeats, each of which draws its noise and its rows afresh, or the "
        "division of a given table, of which it may be one fold; of other tables it says nothing"
    )
    FITS = (
        "Student's t over the fits of each fold, which draw fresh noise: rows and folds are fixed; "
        "where a fold has one fit, over the folds"
    )
    DRAWS = (
        "Student's t over draws of noise: rows and divisions are fixed, each fit draws fresh noise "
        "(Welch); where a cell has one draw, over the divisions"
    )
    SIGNED_RANK = (
        "Wilcoxon's signed-rank test over the repeats at .05 a claim, as in the paper, with its "
        "interval of the pseudo-median"
    )

    @property
    def corrected(self) -> bool:
        """Whether its intervals are widened for all claims that stand together."""
        return self is not Kind.SIGNED_RANK


Where = Callable[[str, float], bool]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One method is above another, or reaches it.

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
    lower_is_better : bool
        Whether the numbers are errors: ``above`` then has the smaller ones.
    ours : bool
        Whether it is no claim of the paper.
    measure : str
        The only measure that it is about, where a part of the results has several.
    source : str
        Section or figure of the paper, and its words.
    margin : float
        Smallest difference that counts; 0 where every difference does.
    relative : bool
        Whether the margin is a share of the mean of ``below``.
    reaches : bool
        Whether ``above`` is said to be as good as ``below``, not better.
    test : Kind
    """

    part: str = ""
    text: str
    above: str
    below: str
    where: Where = field(default=lambda data, position: True)
    below_where: Where | None = None
    data: str = ""
    lower_is_better: bool = False
    ours: bool = False
    measure: str = ""
    source: str = ""
    margin: float = 0.0
    relative: bool = False
    reaches: bool = False
    test: Kind = Kind.REPEATS

    def __post_init__(self) -> None:
        """Refuse a claim that no numbers could confirm.

        Raises
        ------
        ValueError
            If it says that one method reaches another, with no margin.
        """
        if self.reaches and not self.margin:
            raise ValueError(f"{self.text!r} is an equality and has no margin.")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found of a claim: mean difference, its 95 % interval, and the margin in its unit."""

    claim: Claim
    mean: float
    low: float
    high: float
    n: int
    margin: float = 0.0

    @property
    def word(self) -> str:
        """What the interval says, and whether there are repeats enough to say it."""
        found = self._says
        return UNDECIDED if found in (CONFIRMED, REFUTED, EQUIVALENT) and self.n < ENOUGH else found

    @property
    def _says(self) -> str:
        if self.n < 1 or math.isnan(self.mean):
            return NOT_MEASURED
        if math.isnan(self.low):
            return UNDECIDED
        if self.claim.reaches:
            if self.low > -self.margin:
                return CONFIRMED
            return REFUTED if self.high < -self.margin else UNDECIDED
        # Without a margin every difference counts: only none at all, in any repeat, is equivalent.
        if -self.margin <= self.low and self.high <= self.margin:
            return EQUIVALENT
        if self.low > 0:
            return CONFIRMED
        return REFUTED if self.high < 0 else UNDECIDED

    @property
    def reason(self) -> str:
        """Why it is undecided; empty where it is not."""
        if self.word != UNDECIDED:
            return ""
        if math.isnan(self.low):
            return ONE_REPEAT
        if self.n < ENOUGH:
            return {CONFIRMED: FEW_AGREE, REFUTED: FEW_DISAGREE}.get(self._says, FEW)
        return HOLDS_MARGIN if self.claim.reaches else HOLDS_ZERO

    @property
    def told(self) -> str:
        """The word with its reason."""
        return ": ".join(filter(None, (self.word, self.reason)))

    def figures(self, digits: int = 3) -> str:
        """Return the difference and its interval as words, such as ``+.021 (.010 to .032)``."""
        if math.isnan(self.mean):
            return "no difference measured"
        if math.isnan(self.low):
            return f"{self.mean:+.{digits}f}, one repeat"
        return f"{self.mean:+.{digits}f} ({self.low:+.{digits}f} to {self.high:+.{digits}f})"


@dataclass(frozen=True)
class _Rows:
    """All rows by part and method, and the places of each part, data set and measure."""

    of_method: dict[tuple[str, str], list[Result]]
    spots: dict[tuple[str, str, str], set[tuple[str, float | None]]]

    @classmethod
    def of(cls, rows: Iterable[Result]) -> _Rows:
        found = cls({}, {})
        for row in rows:
            found.of_method.setdefault((row.part, row.method), []).append(row)
            own = found.spots.setdefault((row.part, row.data, row.measure), set())
            if row.position is not None:
                own.add((row.data, row.position))
        return found


@dataclass(frozen=True)
class _Pair:
    """The rows of both methods of a claim, and the points that count."""

    claim: Claim
    above: Sequence[Result]
    below: Sequence[Result]
    spots: set[tuple[str, float | None]]

    @classmethod
    def of(cls, claim: Claim, rows: _Rows) -> _Pair:
        spots: set[tuple[str, float | None]] = set()
        for (part, data, measure), own in rows.spots.items():
            if part == claim.part and claim.data in ("", data) and claim.measure in ("", measure):
                spots |= own
        sides = (
            [
                row
                for row in rows.of_method.get((claim.part, method), ())
                if claim.data in ("", row.data) and claim.measure in ("", row.measure)
            ]
            for method in (claim.above, claim.below)
        )
        return cls(claim, *sides, spots)

    @property
    def sides(self) -> tuple[tuple[Sequence[Result], Where], tuple[Sequence[Result], Where]]:
        own = self.claim.where
        return (self.above, own), (self.below, self.claim.below_where or own)

    def margin(self) -> float:
        """Return the margin in the unit of the numbers."""
        if not self.claim.relative:
            return self.claim.margin
        level = _means(self.below, self.spots, self.sides[1][1]).values()
        return self.claim.margin * abs(float(np.mean(list(level)))) if level else 0.0

    def width(self) -> float:
        """Return how far apart two numbers can be."""
        measures = {row.measure for row in (*self.above, *self.below)}
        return 1.0 if measures and measures <= _SHARES else math.inf

    @cached_property
    def differences(self) -> list[float]:
        """The difference of every repeat."""
        return [difference for _, difference in self.by_repeat()]

    @cached_property
    def by_fit(self) -> list[list[float]]:
        """The differences of the fits of every repeat; what has no noise is in all."""
        draws = [{row.draw for row in rows} for rows, _ in self.sides]
        found: dict[int, list[float]] = {}
        for draw in sorted(set.union(*draws)):
            sides = [
                [row for row in rows if len(own) == 1 or row.draw == draw]
                for (rows, _), own in zip(self.sides, draws, strict=True)
            ]
            for repeat, difference in replace(self, above=sides[0], below=sides[1]).by_repeat():
                found.setdefault(repeat, []).append(difference)
        return list(found.values())

    def by_repeat(self) -> Iterator[tuple[int, float]]:
        """Yield the difference of every repeat, the mean over the points and data sets."""
        above, below = (_means(rows, self.spots, where) for rows, where in self.sides)
        found: dict[int, list[float]] = {}
        for (data, repeat), mean in above.items():
            if (data, repeat) in below:
                found.setdefault(repeat, []).append(mean - below[data, repeat])
        sign = -1 if self.claim.lower_is_better else 1
        for repeat, parts in found.items():
            yield repeat, sign * float(np.mean(parts))


def judge(claim: Claim, rows: Sequence[Result], n_claims: int = 1) -> Verdict:
    """Compare two methods pair by pair.

    The numbers of a repeat at all points of the claim are averaged. A number without a place of its
    own counts at every place.

    Parameters
    ----------
    claim : Claim
    rows : sequence of Result
        Of one measure, unless the claim names its own.
    n_claims : int
        Claims that stand together.
    """
    return _judge(_Pair.of(claim, _Rows.of(rows)), n_claims)


def _judge(pair: _Pair, n_claims: int = 1) -> Verdict:
    claim, differences = pair.claim, pair.differences
    if not differences:
        return Verdict(claim=claim, mean=math.nan, low=math.nan, high=math.nan, n=0)
    # Two one-sided tests have an interval of twice the error.
    error = ERROR / (max(1, n_claims) if claim.test.corrected else 1) * (1 + claim.reaches)
    if claim.test is Kind.SIGNED_RANK:
        mean, reaches, n = *_signed_rank(differences, error), len(differences)
    else:
        mean = float(np.mean(differences))
        reach, n = _student(pair, differences, error)
        reaches = (reach, reach)
    width = pair.width()
    low, high = max(-width, mean - reaches[0]), min(width, mean + reaches[1])
    if n < 2 or math.isnan(reaches[0]):
        low = high = math.nan
    return Verdict(claim=claim, mean=mean, low=low, high=high, n=n, margin=pair.margin())


def _student(pair: _Pair, differences: Sequence[float], error: float) -> tuple[float, int]:
    """Return half of the interval of a mean difference, and the number of units."""
    n = fits = len(differences)
    variance, freedom = 0.0, 0.0
    if pair.claim.test is Kind.DRAWS:
        fits, variance, freedom = _noise(pair)
    elif pair.claim.test is Kind.FITS:
        fits, variance, freedom = _within(pair.by_fit)
    if not freedom:
        if n < 2:
            return math.nan, n
        variance, freedom = float(np.var(differences, ddof=1)) / n, n - 1
    return float(stats.t.ppf(1 - error / 2, freedom)) * math.sqrt(variance), fits


def _within(folds: Sequence[Sequence[float]]) -> tuple[int, float, float]:
    """Return fits, and variance and freedom of the mean over folds by what fits differ within them.

    Folds have as many rows and the same noise: their freedom adds up. It is 0 where some fold has
    one fit.
    """
    fits = sum(map(len, folds))
    if min(map(len, folds)) < 2:
        return fits, 0.0, 0.0
    parts = [float(np.var(own, ddof=1)) / len(own) / len(folds) ** 2 for own in folds]
    return fits, sum(parts), fits - len(folds)


def _noise(pair: _Pair) -> tuple[int, float, float]:
    """Return draws of the method with fewer, variance of the difference by noise, and freedom.

    Freedom is 0 where some cell has one draw, so that its variance is not to be had.
    """
    least, variance, fourth, known = math.inf, 0.0, 0.0, True
    for rows, where in pair.sides:
        cells: dict[tuple[str, int, float], list[float]] = {}
        for row in rows:
            # What has no budget draws no noise.
            if row.epsilon is not None and where(row.data, row.position or math.nan):
                key = (row.data, row.repeat, row.position or math.nan)
                cells.setdefault(key, []).append(row.value)
        if not cells:
            continue
        least = min(least, sum(map(len, cells.values())))
        n_of: Counter[tuple[str, int]] = Counter((data, repeat) for data, repeat, _ in cells)
        for (data, repeat, _), drawn in cells.items():
            if len(drawn) < 2:
                known = False
                break
            share = 1 / (len(n_of) * n_of[data, repeat])
            part = share**2 * float(np.var(drawn, ddof=1)) / len(drawn)
            variance += part
            fourth += part**2 / (len(drawn) - 1)
    n = 0 if math.isinf(least) else int(least)
    return n, variance, variance**2 / fourth if known and fourth > 0 else 0.0


def _signed_rank(differences: Sequence[float], error: float) -> tuple[float, tuple[float, float]]:
    """Return the pseudo-median and how far its interval reaches down and up.

    The interval holds what Wilcoxon's signed-rank test does not refuse: it is bounded by ordered
    means of pairs.
    """
    n = len(differences)
    pairs = itertools.combinations_with_replacement(differences, 2)
    means = np.sort([(one + other) / 2 for one, other in pairs])
    middle = float(np.median(means))
    if n < 2:
        return middle, (math.nan, math.nan)
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    skipped = math.floor(len(means) / 2 - float(stats.norm.ppf(1 - error / 2)) * deviation)
    if skipped < 1:  # with so few repeats no outcome is significant
        return middle, (math.inf, math.inf)
    return middle, (middle - float(means[skipped - 1]), float(means[-skipped]) - middle)


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
            mean = float(np.mean(own)) if len(own) > 1 else own[0]
            parts.setdefault((data, repeat), []).append(mean)
    return {key: float(np.mean(own)) for key, own in parts.items()}


def judged(
    claims: Iterable[Claim], rows: Sequence[Result], *, only_measured: bool = False
) -> list[Verdict]:
    """Evaluate claims, those of a sentence of the paper together; ours come last.

    Parameters
    ----------
    claims : iterable of Claim
    rows : sequence of Result
    only_measured : bool
        Whether claims without numbers are left out, as a short form has few of them.
    """
    grouped = _Rows.of(rows)
    pairs = (_Pair.of(claim, grouped) for claim in claims)
    alone = [(pair, _judge(pair)) for pair in pairs]
    if only_measured:
        alone = [(pair, verdict) for pair, verdict in alone if verdict.word != NOT_MEASURED]
    # What was not measured takes no part of the error.
    together = Counter(_family(v.claim) for _, v in alone if v.word != NOT_MEASURED)
    found = []
    for pair, verdict in sorted(alone, key=lambda one: one[1].claim.ours):
        n_claims = together[_family(verdict.claim)]
        wider = n_claims > 1 and verdict.claim.test.corrected
        found.append(_judge(pair, n_claims) if wider else verdict)
    return found


def _family(claim: Claim) -> tuple[bool, str, str]:
    """Return what the claims that share an error have in common: a sentence of the paper."""
    return claim.ours, claim.part, claim.source or claim.text.partition(",")[0]


def counts(verdicts: Sequence[Verdict], *, reasons: bool = True) -> str:
    """Return how many claims got each word, and why the undecided ones did."""
    found = Counter(verdict.word for verdict in verdicts)
    why = Counter(verdict.reason for verdict in verdicts if verdict.reason)
    told = "; ".join(f"{number} {reason}" for reason, number in why.most_common())
    more = {UNDECIDED: f" ({told})"} if why and reasons else {}
    return ", ".join(f"{found[word]} {word}{more.get(word, '')}" for word in WORDS if found[word])


def finding(verdicts: Sequence[Verdict]) -> str:
    """Return a sentence that says what became of the claims of the paper, and of ours."""
    said = []
    for ours, whose in ((False, "of the paper"), (True, "of our own")):
        own = Counter(verdict.word for verdict in verdicts if verdict.claim.ours is ours)
        words = [(own[word], word) for word in WORDS if own[word]]
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
            if not ours or lines[0] == f"## {title}":
                lines += [EXPLAINED, "", *_tests(verdicts), ""]
            lines += [*(_by_text(own) if ours else _by_sentence(own)), *_table(own, digits), ""]
    return lines


def _tests(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield how the claims of a page are tested."""
    used = dict.fromkeys(verdict.claim.test for verdict in verdicts)
    yield f"Test: {'; or '.join(test.value for test in used)}."


def _by_sentence(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a line of counts for each sentence of the paper."""
    by_source: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_source.setdefault(verdict.claim.source or verdict.claim.text, []).append(verdict)
    for source, own in by_source.items():
        yield f"* {source}: {counts(own)}."
    yield ""


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
            if not math.isnan(verdict.low):
                interval = f"{verdict.low:+.{digits}g} to {verdict.high:+.{digits}g}"
        margin = f"{verdict.margin:.{digits}g}" if verdict.margin else ""
        position = ", ".join(part for part in (claim.part, claim.data) if part)
        lines.append([claim.text, position, f"{verdict.n}", number, interval, margin, verdict.told])
    header = ["claim", "of", "repeats", "difference", "95 % interval", "margin", "verdict"]
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
