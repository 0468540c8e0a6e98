"""Bar charts of the use of a budget."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from dpboost._utils.displays import new_axes
from dpboost._utils.validation import InvalidParameterError
from dpboost.reporting.terms import ReportTerms

#: Colors of the spent and the remaining fractions.
SPENT, LEFT = "#2b6cb0", "#cbd5e0"
#: Maximum characters of a title line.
_LINE = 48

#: Name, fraction of the budget, and whether it is the remaining fraction.
Bar = tuple[str, float, bool]


def draw_bars(owner: str, title: str, bars: Sequence[Bar], ax: Any = None) -> Any:
    """Draw the bars, the first at the top."""
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
    ax.set(xlim=(0, 1.12), xlabel="fraction of the budget")
    # Non-breaking spaces keep an equation on one line.
    lines = textwrap.wrap(title.replace(" = ", "\u00a0=\u00a0"), _LINE)
    ax.set_title("\n".join(lines), fontsize="medium")
    return ax


def report_bars(report: ReportTerms, owner: str) -> tuple[str, list[Bar]]:
    """Return the title and the bars of a report: one for each kind of release."""
    shares = [(each.label, each.share) for each in report.releases]
    if not shares or any(share is None for _, share in shares):
        raise InvalidParameterError(
            f"{owner} needs a private fit: this fit uses no budget. Fit with a finite epsilon."
        )
    bars = [(name, float(share), False) for name, share in shares if share is not None]
    left = 1 - sum(part for _, part, _ in bars)
    if left > 1e-9:
        bars.append(("not spent", left, True))
    return report.guarantee.rstrip("."), bars
