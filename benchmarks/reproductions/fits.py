"""What is measured: accuracies of repeated fits, their means, and the orderings among them."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

import dpboost
from benchmarks.summary import Summary, summarise

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The accuracy of one fit.

    Attributes
    ----------
    figure, data : str
        Figure of the paper, and panel of it.
    x : float
        Quantity on the horizontal axis.
    method : str
    repeat : int
        The same number means the same rows, for all methods.
    accuracy : float
        On held-out rows.
    """

    figure: str
    data: str
    x: float
    method: str
    repeat: int
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Claim:
    """An ordering that the paper reports.

    Attributes
    ----------
    figure : str
    text : str
        In words.
    above, below : str
        Methods.
    where : callable
        ``where(data, x)``: the points that the claim is about.
    below_where : callable, optional
        The points of the method below, where they are others.
    overlap : float
        Held-out rows over training rows where repeats share rows, else 0: the correction of the
        variance by Nadeau and Bengio (2003).
    """

    figure: str
    text: str
    above: str
    below: str
    where: Callable[[str, float], bool] = field(default=lambda data, x: True)
    below_where: Callable[[str, float], bool] | None = None
    overlap: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was found of a claim: mean difference, and its 95 % interval."""

    claim: Claim
    mean: float
    low: float
    high: float
    n: int

    @property
    def word(self) -> str:
        """Whether the interval is on one side of zero."""
        if not self.n or math.isnan(self.low):
            return "not measured"
        if self.low > 0:
            return "confirmed"
        return "refuted" if self.high < 0 else "undecided"


def judge(claim: Claim, rows: Sequence[Measured]) -> Verdict:
    """Compare two methods pair by pair.

    Repeats are the units: the accuracies of a repeat at all points of the claim are averaged,
    and the interval is that of Student over the differences of the repeats.
    """
    where = (claim.where, claim.below_where or claim.where)
    above, below = (
        _means(rows, claim.figure, method, inside)
        for method, inside in zip((claim.above, claim.below), where, strict=True)
    )
    by_repeat: dict[int, list[float]] = {}
    for (data, repeat), mean in above.items():
        if (data, repeat) in below:
            by_repeat.setdefault(repeat, []).append(mean - below[data, repeat])
    differences = [float(np.mean(parts)) for parts in by_repeat.values()]
    n = len(differences)
    if n < 2:
        return Verdict(claim=claim, mean=math.nan, low=math.nan, high=math.nan, n=n)
    mean = float(np.mean(differences))
    error = math.sqrt(np.var(differences, ddof=1) * (1 / n + claim.overlap))
    reach = float(stats.t.ppf(0.975, n - 1)) * error
    return Verdict(claim=claim, mean=mean, low=mean - reach, high=mean + reach, n=n)


def _means(
    rows: Sequence[Measured], figure: str, method: str, inside: Callable[[str, float], bool]
) -> dict[tuple[str, int], float]:
    """Return the mean accuracy of a method over some points, by data and repeat."""
    parts: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        if (row.figure, row.method) == (figure, method) and inside(row.data, row.x):
            parts.setdefault((row.data, row.repeat), []).append(row.accuracy)
    return {key: float(np.mean(values)) for key, values in parts.items()}


def accuracy(
    train: tuple[pd.DataFrame, np.ndarray],
    test: tuple[pd.DataFrame, np.ndarray],
    *,
    schema: Any,
    **settings: Any,
) -> float:
    """Fit a private tree on some rows and return its accuracy on others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
        model = dpboost.DPTreeClassifier(schema=schema, n_jobs=1, **settings).fit(*train)
    return float(np.mean(model.predict(test[0]) == test[1]))


def to_text(rows: Iterable[Measured]) -> str:
    """Return rows as CSV."""
    stream = io.StringIO()
    names = [item.name for item in fields(Measured)]
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        line = asdict(row)
        writer.writerow(line | {"x": f"{row.x:g}", "accuracy": f"{row.accuracy:.6f}"})
    return stream.getvalue()


def curves(
    rows: Sequence[Measured], figure: str
) -> Iterator[tuple[str, list[float], dict[str, dict[float, Summary]]]]:
    """Yield each panel: its data, the quantities, and the mean accuracies by method."""
    mine = [row for row in rows if row.figure == figure]
    for data in dict.fromkeys(row.data for row in mine):
        panel = [row for row in mine if row.data == data]
        xs = sorted({row.x for row in panel})
        methods = dict.fromkeys(row.method for row in panel)
        means = {
            method: {
                x: summarise([r.accuracy for r in panel if (r.method, r.x) == (method, x)])
                for x in xs
                if any((r.method, r.x) == (method, x) for r in panel)
            }
            for method in methods
        }
        yield data, xs, means
