"""Bars that show where a budget goes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from dpboost._utils.displays import new_axes
from dpboost._utils.validation import InvalidParameterError
from dpboost.reporting.terms import ReportTerms

#: Of what is spent, and of what is left.
SPENT, LEFT = "#2b6cb0", "#cbd5e0"
#: Characters of a title that find room above the bars.
_LINE = 48

#: Name, part of the whole, and whether it is what is left.
Bar = tuple[str, float, bool]


def draw_bars(owner: str, title: str, bars: Sequence[Bar], ax: Any = None) -> Any:
    """Draw one bar for each, the first at the top."""
    height = 1.2 + 0.35 * len(bars)
    ax = new_axes(owner, ax, figsize=(7, height), layout="constrained")
    for position, (_, part, is_left) in enumerate(bars):
        ax.barh(position, part, color=LEFT if is_left else SPENT)
        ax.annotate(
            f"{100 * part:.3g} %",
            (part, position),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12), xlabel="part of the budget")
    # An equation stays on one line, since textwrap breaks at plain blanks alone.
    lines = textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), _LINE)
    ax.set_title("\n".join(lines), fontsize="medium")
    return ax


def report_bars(report: ReportTerms, owner: str) -> tuple[str, list[Bar]]:
    """Return the title and the bars of a report: one for each kind of release.

    Raises
    ------
    InvalidParameterError
        For a fit without privacy.
    """
    shares = [(each.label, each.share) for each in report.releases]
    if not shares or any(share is None for _, share in shares):
        raise InvalidParameterError(
            f"{owner} draws no fit without privacy: it spends no budget. Fit with a finite epsilon."
        )
    bars = [(name, float(share), False) for name, share in shares if share is not None]
    left = 1 - sum(part for _, part, _ in bars)
    if left > 1e-9:
        bars.append(("not spent", left, True))
    return report.guarantee.rstrip("."), bars
