"""``python -m benchmarks audit-peers``: every case, then the result files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from benchmarks.files import write_atomically
from benchmarks.guarantees.cases import CASES, Case
from benchmarks.guarantees.marks import NAME
from benchmarks.guarantees.page import markdown, to_text
from benchmarks.guarantees.readings import releases
from benchmarks.guarantees.tester import Finding, audit


def audit_and_write(
    folder: Path,
    *,
    quick: bool,
    cases: Sequence[Case] = CASES,
    audit: Callable[[Case, int], Finding] = audit,
    releases: Callable[[], Mapping[str, str]] = releases,
    progress: bool = True,
) -> str:
    """Audit every library, write the result files into ``folder`` and return the page.

    Parameters
    ----------
    folder : Path
        Where the files go; those of the short form have names of their own.
    quick : bool
        Whether few fits are made: too few to refute much, enough to see that all runs.
    cases : sequence of Case, optional
        What is audited.
    audit, releases : callable, optional
        How a case is audited, and how the package index is asked.
    progress : bool
        Whether a bar is shown.
    """
    findings = [
        audit(case, case.quick_runs if quick else case.runs)
        for case in tqdm(cases, disable=not progress)
    ]
    page = markdown(findings, releases(), quick=quick)
    name = f"{NAME}-quick" if quick else NAME
    write_atomically(folder / f"{name}.csv", to_text(findings).encode())
    write_atomically(folder / f"{name}.md", page.encode())
    return page
