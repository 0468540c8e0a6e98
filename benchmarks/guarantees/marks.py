"""What the last audit refuted, read from its result file."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from benchmarks.errors import BenchmarkError

NAME = "peers-audit"
COLUMNS = (
    "case",
    "method",
    "relation",
    "epsilon",
    "delta",
    "bound",
    "frequent",
    "rare",
    "fits",
    "repeats",
    "refuted",
    "missing",
)


def marks(folder: Path) -> dict[str, list[str]]:
    """Return what refutes each method by the last audit whose result lies in ``folder``.

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
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    if rows and tuple(rows[0]) != COLUMNS:
        raise BenchmarkError(f"{path} is of another version. Run audit-peers again.")
    found: dict[str, list[str]] = {}
    for row in rows:
        if row["refuted"] != "True":
            continue
        shown = []
        if float(row["bound"]) > float(row["epsilon"]):
            shown.append(
                f"epsilon is at least {float(row['bound']):.2f} where "
                f"{float(row['epsilon']):g} is promised ({row['relation']})"
            )
        if row["repeats"] == "True":
            shown.append("two fits in one second have the same noise")
        found.setdefault(row["method"], []).append(f"{row['case']}: {', '.join(shown)}")
    return found
