"""Read the output of a run of the audit: ``python -m dpboost.audit.record``.

In the sources this copies the lines of ``benchmarks/results/audit.txt`` into the package, where
certificates read them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpboost.reporting import audit_record

#: Heads the line about the sources and compiled kernels that were audited.
BUILD = "build"
#: Heads the lines about what a run leaves out.
LEFT_OUT = "not audited:"
UNSAID = "the run does not say what it left out"

# Claim and measure, where there are any, the number of runs, seconds, verdict.
_NUMBERS = re.compile(
    r"(?:  +(?:>=)?[\d.]+)*?(?:  +(?P<runs>\d+))?  +[\d.]+  (?P<verdict>ok|VIOLATION)"
)
# A kind of release that a part weighs by its charge, or audits in another way.
_LABEL = re.compile(r" {2,}(?P<label>\S.*?), (?:part of its charge +[\d.]+ +[\d.]+|audited)$")
# A name ends at the first space from here on.
_NAME_WIDTH = 14


def read(text: str, date: str) -> dict[str, Any]:
    """Return the record of a run: what the command has printed, on some day.

    The build is None if the run does not say it.
    """
    lines = text.splitlines()
    head = re.match(r"dpboost (\S+),", lines[0] if lines else "")
    found = [check for line in lines if (check := _check(line)) is not None]
    if head is None or not found:
        raise ValueError(f"The text is no output of {audit_record.COMMAND}.")
    builds = (re.fullmatch(rf"{BUILD} ([0-9a-f]{{64}})", line) for line in lines)
    build = next((match[1] for match in builds if match is not None), None)
    labels = {match["label"] for line in lines if (match := _LABEL.search(line.rstrip()))}
    left_out = []
    if LEFT_OUT in lines:
        rest = lines[lines.index(LEFT_OUT) + 1 :]
        left_out = [line.strip() for line in rest if line.startswith("  ")]
    elif "every claim stands" not in lines:
        left_out = [UNSAID]
    return {
        "version": head[1],
        "build_sha256": build,
        "date": date,
        "verdict": "a claim was refuted" if "VIOLATION" in text else "no claim was refuted",
        "checks": found,
        "releases": sorted(labels),
        "not_audited": left_out,
    }


def _check(line: str) -> dict[str, Any] | None:
    """Return what a line with a verdict says; None for other lines."""
    match = _NUMBERS.search(line)
    if match is None or line.find(" ", _NAME_WIDTH) < 0:
        return None
    end = line.index(" ", _NAME_WIDTH)
    return {
        "audited": line[:end].strip(),
        "check": line[end : match.start()].strip(),
        "runs": int(match["runs"] or 1),
        "verdict": "passed" if match["verdict"] == "ok" else "failed",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the record of a run into the package."""
    parser = argparse.ArgumentParser(prog="python -m dpboost.audit.record")
    parser.add_argument(
        "run", type=Path, nargs="?", default=Path(audit_record.SOURCE), help="output of a run"
    )
    parser.add_argument("--date", help="day of the run; that of the file's last commit by default")
    parser.add_argument("--output", type=Path, default=_in_the_package())
    given = parser.parse_args(arguments)
    record = read(given.run.read_text("utf-8"), given.date or _day_of(given.run))
    given.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


def _in_the_package() -> Path:
    """Return the position of the record in these sources."""
    return Path(audit_record.__file__).with_name(audit_record.FILE)


def _day_of(path: Path) -> str:
    """Return the day on which a file was committed, today where it was changed since."""
    told = ["log", "-1", "--format=%cs", "--", path.name], ["status", "--short", "--", path.name]
    committed, changed = (
        subprocess.run(
            ["git", "-C", str(path.resolve().parent), *words],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        for words in told
    )
    return committed if committed and not changed else datetime.date.today().isoformat()


if __name__ == "__main__":
    sys.exit(main())
