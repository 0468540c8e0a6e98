"""What a failed test says: by two other runs of it, and by a list of what someone has read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.errors import BenchmarkError
from benchmarks.lightgbm_suite.runs import Outcome

#: What somebody who has read a difference may call it.
CLASSES = ("refused by design", "differs by noise", "differs by design", "wrong")

#: Kinds of verdicts, in the order in which they are shown.
KINDS = ("passes", *CLASSES[:3], "skipped", "fails in LightGBM too", "wrong", "unclassed")

#: Kinds that may not be there.
FAULTS = ("wrong", "unclassed")

#: The list: each difference that somebody has read, with its class and the reason.
DIFFERENCES = Path(__file__).parent / "differences.json"

_REFUSAL = "dpboost._utils.validation.RefusedError"


class Verdict(NamedTuple):
    """A kind, and why; with the line of the test at which it failed, and its digest."""

    kind: str
    reason: str = ""
    line: str = ""
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A line of the list.

    Parameters
    ----------
    test : str
        The whole name of the test, with its file and its parameters.
    line : str
        Digest of the line of the test at which it fails: the class is not for what comes to fail
        elsewhere in the same test.
    kind : {"refused by design", "differs by noise", "differs by design", "wrong"}
    reason : str
        Why, in a sentence.
    """

    test: str
    line: str
    kind: str
    reason: str


def digest(line: str) -> str:
    """Return by which digits the list knows a line of a test."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:8]


def read_differences(path: Path = DIFFERENCES) -> dict[tuple[str, str], Difference]:
    """Read the list, by test and line.

    Raises
    ------
    BenchmarkError
        If an entry has other keys, another class or no reason, or comes twice.
    """
    found: dict[tuple[str, str], Difference] = {}
    for entry in json.loads(path.read_text(encoding="utf-8")):
        whole = set(entry) == {"test", "line", "kind", "reason"} and all(entry.values())
        if not whole or entry["kind"] not in CLASSES:
            raise BenchmarkError(f"This entry of {path.name} says too little: {entry}")
        key = entry["test"], entry["line"]
        if key in found:
            raise BenchmarkError(f"This test is twice in {path.name}, with one line: {key[0]}")
        found[key] = Difference(**entry)
    return found


def sort(
    first: Mapping[str, Outcome],
    quiet: Mapping[str, Outcome],
    original: Mapping[str, Outcome],
    differences: Mapping[tuple[str, str], Difference],
) -> dict[str, Verdict]:
    """Return a verdict for each test.

    Parameters
    ----------
    first : mapping of str to Outcome
        All tests with the import changed and a large epsilon.
    quiet : mapping of str to Outcome
        Those that failed, with no noise and all coins from a seed.
    original : mapping of str to Outcome
        Those that failed, with LightGBM itself.
    differences : mapping of (str, str) to Difference
        The list.

    Notes
    -----
    Two runs sort a failed test without anyone's reading: it fails in LightGBM too, or it passes
    once there is no noise. Each other one is known to the list, by its name and the line at which
    it fails, or it is unclassed: neither a pattern nor the kind of an error excuses a test.
    """
    return {
        test: _verdict(test, outcome, quiet.get(test), original.get(test), differences)
        for test, outcome in first.items()
    }


def _verdict(
    test: str,
    outcome: Outcome,
    quiet: Outcome | None,
    original: Outcome | None,
    differences: Mapping[tuple[str, str], Difference],
) -> Verdict:
    if outcome.outcome in ("passed", "skipped"):
        return Verdict("passes" if outcome.outcome == "passed" else "skipped")
    at = outcome.line, digest(outcome.line)
    if original is not None and original.outcome not in ("passed", "skipped"):
        return Verdict("fails in LightGBM too", _what(outcome), *at)
    known = differences.get((test, at[1]))
    if known is not None:
        return Verdict(known.kind, known.reason, *at)
    if quiet is not None and quiet.outcome == "passed":
        return Verdict("differs by noise", "passes without noise", *at)
    return Verdict("unclassed", _refusal(outcome) or _what(outcome), *at)


def proposals(verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    """Return an entry for each unclassed test, without the class, which a reviewer adds."""
    return [
        {"test": test, "line": each.digest, "kind": "", "reason": each.reason}
        for test, each in sorted(verdicts.items())
        if each.kind == "unclassed"
    ]


def _refusal(outcome: Outcome) -> str:
    """Return what a refusal of ours says, nothing where there is none."""
    for types, message in outcome.errors:
        if _REFUSAL in types:
            return "refused: " + message.split("\n")[0]
    return ""


def _what(outcome: Outcome) -> str:
    """Return the error of a test in a line."""
    if outcome.outcome == "ended":
        return "the process ended"
    if not outcome.errors:
        return "no error was seen"
    types, message = outcome.errors[0]
    return f"{types[0].rpartition('.')[2]}: {' '.join(message.split())}"[:400]
