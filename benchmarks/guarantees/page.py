"""What the audit found: a table to read, and one that ``run peers`` takes its marks from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.environments import REQUIREMENTS
from benchmarks.guarantees.cases import CASES
from benchmarks.guarantees.readings import READINGS
from benchmarks.guarantees.tester import CONFIDENCE, Finding
from benchmarks.summary import listed, table


def body(findings: Sequence[Finding], releases: Mapping[str, str]) -> list[str]:
    """Return the lines of the page of the audit.

    Parameters
    ----------
    findings : sequence of Finding
        One for each case that was run.
    releases : mapping of str to str
        What the package index said of each package that is not measured.
    """
    cases = {case.name: case for case in CASES}
    lines = []
    tables = []
    for item in findings:
        case = cases[item.case]
        nominal = f"{item.epsilon:g}" + (f", delta {item.delta:g}" if item.delta else "")
        if item.bound is None:
            lines.append([item.case, item.relation, nominal, "", "", "", "not run"])
            continue
        frequent, rare, fits = item.counts
        counts = f"{frequent:,} and {rare:,} of {fits:,}"
        same = "yes" if item.repeats else "no"
        verdict = "**refuted**" if item.is_refuted else "nothing found"
        lines.append(
            [item.case, item.relation, nominal, f"{item.bound:.2f}", counts, same, verdict]
        )
        tables.append(f"* {item.case}: {case.tables}. Looked at: {case.looked_at}.")
    header = ["case", "tables differ by", "promised epsilon", "lower bound", "event seen"]
    header += ["same noise twice", "verdict"]
    return [
        "An event that one table shows more often than the promised epsilon and delta allow "
        f"refutes the promise; a lower bound holds with {100 * CONFIDENCE:g} % confidence. That "
        "nothing was found proves nothing. dpboost is put to the same tables. Half of the fits "
        f"choose the event, the others count it. Audited: {_pins()}.",
        "",
        *table(header, lines),
        "",
        *_missing(findings),
        *tables,
        "",
        "## By reading",
        "",
        "What no tester was needed for; those without a line above are not measured either.",
        "",
        *_readings(releases),
    ]


def finding(findings: Sequence[Finding]) -> str:
    """Return how many promises the audit refuted."""
    run = [item for item in findings if item.bound is not None]
    refuted = [item for item in run if item.is_refuted]
    methods = listed(list(dict.fromkeys(item.method for item in refuted)))
    own = {case.name for case in CASES if case.environment is None}
    ours = [item for item in run if item.case in own]
    text = f"The audit refutes {len(refuted)} of {len(run)} cases"
    text += f" ({methods})" if methods else ""
    if ours:
        bad = sum(item.is_refuted for item in ours)
        text += f", {bad} of them among the {len(ours)} of dpboost"
    return f"{text}."


def _missing(findings: Sequence[Finding]) -> list[str]:
    reasons = dict.fromkeys(item.missing for item in findings if item.missing)
    return [*(f"* Not run: {reason}" for reason in reasons), ""] if reasons else []


def _readings(releases: Mapping[str, str]) -> list[str]:
    lines = []
    for item in READINGS:
        lines.append(f"* {item.library}, {item.version}")
        lines += [f"  * {reason}" for reason in item.reasons]
        if item.package in releases:
            lines.append(f"  * Not installed: {item.package}: {releases[item.package]}")
    return lines


def _pins() -> str:
    """Return the versions of the audited packages, as their requirement files pin them."""
    names = sorted({case.environment for case in CASES if case.environment})
    packages = {reading.package for reading in READINGS}
    found = []
    for name in names:
        for line in (REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            package, _, version = line.partition("==")
            if package in packages:
                found.append(f"{package} {version}")
    return ", ".join(found)
