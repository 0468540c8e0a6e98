"""A certificate as a document to print and sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpboost.reporting.certificate import NOT_STATED, STATED, budget_mu
from dpboost.reporting.document import Answers, Block, Document, Grid, Heading, Paragraph
from dpboost.reporting.plain_words import assumptions, from_whom, who
from dpboost.reporting.proof_pages import FOLDER, MACHINE_CHECKED
from dpboost.reporting.standards import ASKED, NIST, SATRE
from dpboost.reporting.terms import ReportTerms

# Maximum number of checks that the page lists as not audited.
_MOST_LISTED = 4

_MEANING = {
    "true_positives_at_1_percent_false": "true-positive rate, at a false-positive rate of 1 %",
    "true_positives_at_5_percent_false": "true-positive rate, at a false-positive rate of 5 %",
    "membership_advantage": "membership advantage: true-positive less false-positive rate",
    "posterior_of_prior_1_percent": "posterior probability, of a prior of 1 %",
    "posterior_of_prior_10_percent": "posterior probability, of a prior of 10 %",
    "posterior_of_prior_50_percent": "posterior probability, of a prior of 50 %",
}
_STATED = {
    "data_name": "name of the data",
    "data_period": "period of the data",
    "data_schema": "schema of the data: file and hash",
    "approved_by": "approved by",
    "approved_on": "approved on",
    "why_this_epsilon": "why this epsilon",
    "public_rows": "public rows that were used",
    "earlier_models": "earlier models of these rows",
    "disjoint_tables": "tables that are disjoint",
    "preprocessing": "preprocessing by the rows",
    "hyper_parameters": "parameters chosen by the rows",
    "published_scores": "scores published besides",
    "refits": "plan for refits",
    "contact": "contact",
    "legal_basis": "legal basis",
    "data_controller": "data controller",
}


def certificate_document(report: ReportTerms, record: Mapping[str, Any]) -> Document:
    """Return a certificate as a document.

    The record is as `certificate` makes it.
    """
    return Document("Certificate of privacy", tuple(_blocks(report, record)))


def _blocks(report: ReportTerms, record: Mapping[str, Any]) -> Iterator[Block]:
    identity, claim, audit = record["identity"], record["claim"], record["correctness"]["audit"]
    yield Answers(
        (
            ("Claim", _claims(claim)),
            ("Protected", who(report)),
            ("Neighboring tables", (f"Tables that differ by {claim['unit']}.",)),
            ("From whom", from_whom(report)),
            ("Conditions", (" ".join(assumptions(report)),)),
            ("Model", (f"SHA-256 {identity['model_sha256']}",)),
            (
                "Made by",
                (
                    f"dpboost {identity['version']}, recipe {identity['recipe']}; "
                    f"issued {identity['issued']}",
                ),
            ),
            *([("After the fit", (after,))] if (after := identity.get("after_the_fit")) else []),
            ("Audit", _of_audit(audit)),
            ("Proofs", tuple(_of_proofs(record["correctness"]["proofs"], identity["version"]))),
            ("Checked by a computer", tuple(_of_theorems())),
            ("Assumed there", tuple(MACHINE_CHECKED["assumed"])),
            ("Scores", (f"{record['utility_and_bias']}.".capitalize(),)),
        )
    )
    yield from _meanings(report, record)
    yield from _releases(claim)
    yield from budget_lines(record["accounting"])
    yield from _scores(record.get("scores", ()))
    outside = record.get("scores_outside_the_budget")
    if outside is not None:
        yield Paragraph(_outside(outside, claim))
    for group, names in STATED.items():
        yield Heading(f"Stated by the user: {group.replace('_', ' ')}")
        answers = record.get(group, {})  # certificates of earlier versions have fewer groups
        rows = [(_STATED[name], answers.get(name, NOT_STATED)) for name in names]
        yield Grid(("question", "answer"), tuple(rows))
    yield Answers((("Date, signature", ("",)),))
    yield Heading("Where these items are asked for")
    asked = [(line.words, line.nist or "-", line.satre or "-") for line in ASKED]
    yield Grid(("item", NIST, SATRE), tuple(asked))


def _claims(claim: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the guarantee; of a fit under a budget also the guarantee of the model alone."""
    if claim.get("own_epsilon", claim["epsilon"]) == claim["epsilon"]:
        return (claim["sentence"],)
    delta = f", delta = {claim['own_delta']:.6g}" if claim["own_delta"] else ""
    alone = f"This model by itself: epsilon = {claim['own_epsilon']:.6g}{delta}."
    return (f"All releases under the budget: {claim['sentence']}", alone)


def _meanings(report: ReportTerms, record: Mapping[str, Any]) -> Iterator[Block]:
    """Yield bounds on an attacker who sees the model, or all releases under its budget."""
    heads = {
        "meaning": "Upper bounds for an attacker who sees this model",
        "meaning_of_the_budget": "Upper bounds for an attacker who sees all under the budget",
    }
    for name, head in heads.items():
        meaning = record.get(name)
        if meaning is not None:
            rows = [(words, f"{100 * meaning[part]:.4g} %") for part, words in _MEANING.items()]
            mu = report.mu if name == "meaning" else budget_mu(report)
            by = "by epsilon and delta" if mu is None else f"by mu = {mu:.4g}"
            yield Grid((f"{head}, {by}", ""), tuple(rows), numbers=frozenset({1}))


def _releases(claim: Mapping[str, Any]) -> Iterator[Block]:
    """Yield a table of the kinds of releases."""
    yield Heading("What was released")
    rows = []
    for line in claim["releases"]:
        least, most = line["least_sensitivity"], line["largest_sensitivity"]
        span = f"{least}" if least == most else f"{least} to {most}"
        rows.append(
            (
                line["kind"],
                str(line["times"]),
                line["mechanism"],
                f"{span} in {line['norm']}",
                _percent(line["share_of_budget"]),
            )
        )
    shares = [line["share_of_budget"] for line in claim["releases"]]
    total = None if None in shares else sum(shares)
    rows.append(("all", str(claim["number_of_releases"]), "", "", _percent(total)))
    head = ("kind", "times", "noise", "sensitivity, in units", "share of the budget of the fit")
    yield Grid(head, tuple(rows), numbers=frozenset({1, 4}))


def budget_lines(accounting: Mapping[str, Any] | None) -> Iterator[Block]:
    """Yield a table of the budget lines."""
    budget = None if accounting is None else accounting["budget"]
    if budget is None:
        return
    which = "all lines" if budget["all_lines"] else "the lines of this model"
    yield Heading(
        f"The budget: epsilon = {float(Fraction(budget['epsilon'])):.6g}, delta = "
        f"{float(Fraction(budget['delta'])):.6g} for everything; {which}"
    )
    rows = [
        (
            line["what"],
            _percent(float(Fraction(line["fraction"]))),
            line["account"],
            "; ".join(": ".join(pair) for pair in line["part"]) or "all rows",
            "charged" if line["state"] == "booked" else line["state"],
            "yes" if line["own"] else "no",
        )
        for line in budget["lines"]
    ]
    head = ("what", "part of the account", "account", "rows", "state", "of this model")
    yield Grid(head, tuple(rows), numbers=frozenset({1}))


def _scores(scores: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    """Yield a table of released scores."""
    if not scores:
        return
    yield Heading("Released scores, with intervals of 95 %")
    rows = [
        (
            _rows(score),
            score["metric"].replace("_", " "),
            *_figures(score),
            f"epsilon = {score['own_epsilon']:.6g}"
            if score["own_epsilon"] != "inf"
            else "no guarantee",
            "yes" if score["in_the_budget"] else "no",
        )
        for score in scores
    ]
    head = ("rows", "metric", "value", "interval", "charge of its evaluation", "in this budget")
    yield Grid(head, tuple(rows), numbers=frozenset({2, 3}))


def _outside(outside: Mapping[str, Any], claim: Mapping[str, Any]) -> str:
    """Return the total of the evaluations outside the budget of the model."""
    if "inf" in (outside["epsilon"], claim["epsilon"]):
        return "Scores outside the budget of this model: there is no guarantee for all together."
    both = claim["epsilon"] + outside["epsilon"], claim["delta"] + outside["delta"]
    return (
        f"Scores outside the budget of this model, {outside['evaluations']} evaluations: "
        f"epsilon = {outside['epsilon']:.6g}, delta = {outside['delta']:.6g} in all. If they are "
        f"of the same rows as the fit, everything together has epsilon = {both[0]:.6g}, delta = "
        f"{both[1]:.6g}."
    )


def _rows(score: Mapping[str, Any]) -> str:
    """Return the rows of a score: a group, or held-out rows, which took part in no fit."""
    return f"{score['group']}, held out of the fit" if score["held_out"] else str(score["group"])


def _figures(score: Mapping[str, Any]) -> tuple[str, str]:
    """Return a score and its interval, or that there are too few rows."""
    if score["value"] is None:
        return "too few rows", ""
    low, high = ("-" if score[end] is None else f"{score[end]:.4g}" for end in ("low", "high"))
    return f"{score['value']:.4g}", f"{low} to {high}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.4g} %"


def _of_proofs(proofs: Sequence[Mapping[str, Any]], version: str) -> Iterator[str]:
    """Yield the proof pages of each kind of release."""
    yield f"Pages in the folder {FOLDER} of the source distribution, dpboost-{version}.tar.gz:"
    for each in proofs:
        kind = "every release" if each["kind"] == "all" else each["kind"]
        yield f"{kind}: {', '.join(page.removeprefix(f'{FOLDER}/') for page in each['pages'])}"


def _of_theorems() -> Iterator[str]:
    """Yield the machine-checked theorems and their location."""
    yield from MACHINE_CHECKED["checked"]
    page = MACHINE_CHECKED["page"].removeprefix(f"{FOLDER}/")
    yield f"{page} of the same folder lists the theorems; make -C proofs there checks them again."


def _of_audit(audit: Mapping[str, Any]) -> tuple[str, ...]:
    """Return lines about the audit: version, date, verdict, and what was not audited."""
    failed = sum(check["verdict"] != "passed" for check in audit["checks"])
    runs = sum(check["runs"] for check in audit["checks"])
    unknown = audit["releases_not_audited"]
    other = not audit["covers_installed_version"]
    return (
        f"Version {audit['audited_version']}, {_build(audit)}, {audit['date']}: "
        f"{audit['verdict']}; {len(audit['checks'])} checks of {runs:,} runs, {failed} failed.",
        f"Not audited: {_first(audit['not_audited']) or 'nothing listed'}.",
        *([f"Version {audit['installed_version']} was not audited."] * other),
        *([f"Releases of this model that were not audited: {'; '.join(unknown)}."] * bool(unknown)),
        f"{audit['record']} of the source distribution; again by {audit['command']}.",
    )


def _build(audit: Mapping[str, Any]) -> str:
    """Return whether the audited build is the installed one."""
    if audit["audited_build_sha256"] is None:
        return "build not recorded"
    if not audit["covers_installed_build"]:
        return "a different build from the installed one"
    return "the installed build"


def _first(lines: Sequence[str]) -> str:
    """Return the first lines; the record lists all."""
    more = len(lines) - _MOST_LISTED
    listed = "; ".join(lines[:_MOST_LISTED])
    return f"{listed}; and {more} more, in the record" if more > 0 else listed
