"""What the last audit refuted, read from its results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.guarantees.tester import findings_of
from benchmarks.harness.results import read

NAME = "peers-audit"


def marks(folder: Path) -> dict[str, list[str]]:
    """Return what refutes each method by the last audit whose results lie in ``folder``.

    Returns
    -------
    dict of str to list of str
        A sentence for each refuted case, by name of the method; nothing if there was no audit.

    Raises
    ------
    BenchmarkError
        If the file is none of this version.
    """
    path = folder / f"{NAME}.csv"
    if not path.is_file():
        return {}
    found: dict[str, list[str]] = {}
    for item in findings_of(read(path)):
        if not item.is_refuted:
            continue
        shown = []
        if item.bound is not None and item.bound > item.epsilon:
            shown.append(
                f"epsilon is at least {item.bound:.2f} where {item.epsilon:g} is promised "
                f"({item.relation})"
            )
        if item.repeats:
            shown.append("two fits in one second have the same noise")
        found.setdefault(item.method, []).append(f"{item.case}: {', '.join(shown)}")
    return found
