"""A privacy report in plain language for data subjects and data protection officers."""

from __future__ import annotations

import math

from dpboost.reporting.attacker import best_true_positive_rate
from dpboost.reporting.document import Answers, Block, Document, Grid, Paragraph
from dpboost.reporting.terms import AFTER_THE_FIT, ReportTerms

# Violations that no fit can detect; the reader of the report has to check them.
BREAKERS = (
    "A seed for the noise, or a noise source that someone can predict",
    "features, preprocessing or hyperparameters chosen after inspecting the private rows",
    "scores computed on the private rows and published",
    "bounds, categories or classes declared after inspecting the private rows",
    "column names made from values of cells",
    "access to the process, its memory or its running time during the fit",
)


def document(report: ReportTerms) -> Document:
    """Return a report as a document.

    It has public and released values only, like the report.
    """
    expected = report.facts.get("expected")
    after = report.facts.get(AFTER_THE_FIT)
    blocks: list[Block] = [
        Answers(
            (
                ("Who is protected", who(report)),
                ("From whom", from_whom(report)),
                ("How much", how_much(report)),
                ("For how many fits", how_many_fits(report)),
                *([("After the fit", (f"{after}.",))] if after else []),
                ("Assumed", assumptions(report)),
                ("What would break it", what_breaks_it(report)),
                *([("What to expect", (str(expected),))] if expected else []),
            )
        ),
        _releases(report),
        Paragraph("report.details() lists every sensitivity and every fact of the fit."),
    ]
    return Document(title(report), tuple(blocks))


def title(report: ReportTerms) -> str:
    """Return the guarantee on one line."""
    if not report.private:
        return "No privacy guarantee"
    if report.own == report.total:
        return f"Privacy: {_terms(report)}"
    return f"Privacy: {_terms(report, own=True)}, in a budget of {_terms(report)}"


def who(report: ReportTerms) -> tuple[str, ...]:
    """Return who is protected, and which information."""
    if not report.private:
        return ("No one.",)
    if "local privacy" in report.facts:
        return (
            "Each individual who sent a report: the content of the record. It is visible that they "
            "sent one.",
        )
    hidden = report.neighbors == "add_remove"
    if report.rows_per_user is None:
        position = (
            "among the rows of one party" if "protected at" in report.facts else "in the table"
        )
        person = f"Each individual with one row {position}"
        larger = "" if report.kind == "pure" else " and a larger delta"
        again = f"An individual with k rows has only k times epsilon{larger}."
        what = "the presence and the content of the row" if hidden else "the content of the row"
    else:
        person = "Each user with all rows"
        most = f"{report.rows_per_user} row{'' if report.rows_per_user == 1 else 's'}"
        again = f"At most {most} of each user took part, chosen at random, in secret."
        what = "their presence and their content" if hidden else "their content"
    shown = "" if hidden else " The number of rows, and the party of each row, may be known."
    return (f"{person}: {what}.{shown}", again)


def from_whom(report: ReportTerms) -> tuple[str, ...]:
    """Return the attackers that the guarantee covers."""
    if not report.private:
        return ("There is no protection against anyone.",)
    if "local privacy" in report.facts:
        return ("Everyone, including the collector of the reports, whatever else they know.",)
    general = (
        "Anyone who sees the model, its predictions and this report, even if they know all other "
        "rows and the code of the library."
    )
    against = tuple(
        f"{name[0].upper()}{name[1:]}: {fact}."
        for name, fact in report.facts.items()
        if name.startswith("against ")
    )
    if not against:
        return (f"{general} The person who runs the fit sees the rows.",)
    return (f"{general} Each party sees its own rows.", *against)


def how_much(report: ReportTerms) -> tuple[str, ...]:
    """Return the bounds on any attacker."""
    if not report.private:
        return (f"No protection: {'; '.join(report.reasons)}.",)
    epsilon, delta = report.own
    mu = report.mu
    rates = [
        best_true_positive_rate(rate, epsilon=epsilon, delta=delta, mu=mu) for rate in (0.01, 0.05)
    ]
    task = (
        "whether an individual took part"
        if report.neighbors == "add_remove"
        else "which of two contents the data of an individual have"
    )
    lines = [
        f"An attacker tests {task}. At a false-positive rate of 1 %, the true-positive rate of any "
        f"attacker is at most {_percent(rates[0])}; at 5 %, at most {_percent(rates[1])}. Random "
        "guesses have 1 % and 5 %.",
        f"In numbers: {_terms(report, own=True)}"
        + ("." if mu is None else f"; mu = {mu:.4g} (Gaussian differential privacy)."),
    ]
    return tuple(lines)


def how_many_fits(report: ReportTerms) -> tuple[str, ...]:
    """Return which fits the budget covers."""
    if "local privacy" in report.facts:
        return ("One report of each individual. The budgets of further reports add up.",)
    if report.continues:
        what = "This fit and the fits that it continues, together."
    elif "cross-validation" in report.facts:
        what = f"All fits and metrics of a cross-validation: {report.facts['cross-validation']}."
    else:
        what = "One. No other fit is covered, including failed and discarded fits."
    if report.budget is None:
        return (f"{what} The budgets of further fits on the same rows add up.",)
    return (
        what,
        f"It is part of a budget: {_terms(report)} for all releases from the table together, "
        "including the scores of its rows.",
    )


COLUMN_TYPES = (
    "The guarantee compares tables with the same column types. If a program infers types from the "
    "cells, as pandas.read_csv does without dtype, one row can change them: a cell 3.5, or a "
    "missing one, changes integers to floats, and the bins with them. Specify the types when the "
    "table is read, or leave 'column_types' out of assume_public: then only declared types count."
)


def assumptions(report: ReportTerms) -> tuple[str, ...]:
    """Return the assumptions of the guarantee."""
    lines = []
    if report.assumed_public:
        lines.append(f"Public without a declaration: {', '.join(report.assumed_public)}.")
    if "column types" in report.assumed_public:
        lines.append(COLUMN_TYPES)
    if "declared public" in report.facts:
        lines.append(f"Declared public by the user: {declared_words(report)}.")
    if "taken as public" in report.facts:
        lines.append(f"Taken as public: {report.facts['taken as public']}.")
    if "learned" in report.facts:
        declared = str(report.facts.get("declared public", "")).split(", ")
        learned = [
            f"{what} of the other columns" if what in declared else what
            for what in str(report.facts["learned"]).split(", ")
        ]
        lines.append(f"Estimated from the rows with part of the budget: {', '.join(learned)}.")
    lines.append("The operating system's random numbers cannot be predicted.")
    return tuple(lines)


#: Descriptions of the parts of a schema.
_PARTS = {
    "bounds": "ranges of columns",
    "edges": "borders of bins",
    "categories": "values of categories",
    "integer": "which columns hold whole numbers",
    "classes": "class labels",
    "label_bounds": "the range of the label",
    "max_rows": "a limit on the number of rows",
}


def declared_words(report: ReportTerms) -> str:
    """Return which parts of a schema were declared."""
    given = str(report.facts["declared public"]).split(", ")
    return ", ".join(_PARTS.get(name, name) for name in given)


def what_breaks_it(report: ReportTerms) -> tuple[str, ...]:
    """Return what would invalidate the guarantee, or has invalidated it."""
    broken = [f"Broken: {reason}." for reason in report.reasons]
    return (*broken, f"{'; '.join(BREAKERS)}.")


def _releases(report: ReportTerms) -> Grid:
    rows = [
        (line.label, str(line.releases), line.mechanism, _share(line.share))
        for line in report.releases
    ]
    if report.capacity != math.inf and report.capacity:
        used = sum(line.share or 0 for line in report.releases)
        rows.append(("all", str(sum(line.releases for line in report.releases)), "", _share(used)))
    return Grid(
        ("What was released", "times", "noise", "share of the budget"),
        tuple(rows),
        numbers=frozenset({1, 3}),
    )


def _terms(report: ReportTerms, *, own: bool = False) -> str:
    epsilon, delta = report.own if own else report.total
    terms = f"epsilon = {epsilon:.6g}"
    return terms if report.kind == "pure" else f"{terms}, delta = {delta:.6g}"


def _share(share: object) -> str:
    return "-" if share is None else f"{100 * float(share):.4g} %"  # type: ignore[arg-type]


def _percent(rate: float) -> str:
    return f"{100 * rate:.4g} %"
