"""Means, what they may be off by, and lines of a Markdown table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean of several values, and what it may be off by.

    Attributes
    ----------
    mean : float
        Arithmetic mean.
    standard_error : float
        Sample standard deviation over the root of the number of values; NaN for one value.
    """

    mean: float
    standard_error: float

    def __format__(self, digits: str) -> str:
        """Return the mean and the standard error, both with that many decimals."""
        text = f"{self.mean:.{digits}f}"
        if math.isnan(self.standard_error):
            return text
        return f"{text} ± {self.standard_error:.{digits}f}"


def summarize(values: Sequence[float]) -> Summary:
    """Return mean and standard error of at least one value."""
    error = math.nan
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    return Summary(mean=statistics.fmean(values), standard_error=error)


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def span(values: Iterable[float], form: str) -> str:
    """Return the range of numbers, or the one that they all show as."""
    numbers = list(values)
    shown = dict.fromkeys(format(end, form) for end in (min(numbers), max(numbers)))
    return " to ".join(shown)


def table(header: Sequence[str], lines: Iterable[Sequence[str]], *, n_texts: int = 1) -> list[str]:
    """Return a Markdown table whose first columns are texts and whose others are figures."""
    rule = [":--" if position < n_texts else "--:" for position in range(len(header))]
    return [_line(cells) for cells in (header, rule, *lines)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
