"""What a failed test says: by the class of its error, by runs without noise, and by a list."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.errors import BenchmarkError
from benchmarks.lightgbm_suite.runs import Outcome

#: Kinds of verdicts, in the order in which they are shown.
KINDS = (
    "passes",
    "refused by design",
    "differs by noise",
    "differs by design",
    "skipped",
    "fails in LightGBM too",
    "wrong",
)

#: The list of what differs on purpose, with reasons.
REASONS = Path(__file__).parent / "reasons.json"

_REFUSAL = "dpboost._utils.validation.RefusedError"
_MISSING = re.compile(r"No module named '(?!dpboost)([\w.]+)'")


class Verdict(NamedTuple):
    """A kind, and why."""

    kind: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """A line of the list: tests that differ on purpose, or by noise that is not taken away.

    Parameters
    ----------
    test : Pattern
        Has to be found in the name of the test, file included.
    error : Pattern
        Has to be found in ``Class: message`` of the error or of one that it came from.
    kind : {"refused by design", "differs by noise", "differs by design"}
    reason : str
        Why, in a sentence.
    """

    test: re.Pattern[str]
    error: re.Pattern[str]
    kind: str
    reason: str

    def fits(self, test: str, outcome: Outcome) -> bool:
        """Tell whether a failed test is one of these."""
        if not self.test.search(test):
            return False
        texts = [f"{types[0].rpartition('.')[2]}: {message}" for types, message in outcome.errors]
        return any(self.error.search(text) for text in texts or [outcome.outcome])


def read_reasons(path: Path = REASONS) -> tuple[Reason, ...]:
    """Read the list.

    Raises
    ------
    BenchmarkError
        If a line has another kind, no reason, or names neither tests nor errors.
    """
    reasons = []
    for line in json.loads(path.read_text(encoding="utf-8")):
        test, error = line.get("test", ""), line.get("error", "")
        if line["kind"] not in KINDS[1:4] or not line["reason"] or not (test or error):
            raise BenchmarkError(f"This line of {path.name} says too little: {line}")
        reasons.append(
            Reason(
                test=re.compile(test),
                error=re.compile(error),
                kind=line["kind"],
                reason=line["reason"],
            )
        )
    return tuple(reasons)


def sort(
    first: Mapping[str, Outcome],
    quiet: Mapping[str, Outcome],
    original: Mapping[str, Outcome],
    reasons: Sequence[Reason],
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
    reasons : sequence of Reason
        The list; the first line that fits says why.

    Notes
    -----
    A test that fails passes for a refusal where the error, or one that it came from, is a
    `RefusedError` of ours: what LightGBM does there has no private meaning. It differs by noise
    where it passes once there is none. All else has to be on the list, or it is wrong.
    """
    return {
        test: _verdict(test, outcome, quiet.get(test), original.get(test), reasons)
        for test, outcome in first.items()
    }


def _verdict(
    test: str,
    outcome: Outcome,
    quiet: Outcome | None,
    original: Outcome | None,
    reasons: Sequence[Reason],
) -> Verdict:
    if outcome.outcome in ("passed", "skipped"):
        return Verdict("passes" if outcome.outcome == "passed" else "skipped")
    missing = [match for _, message in outcome.errors if (match := _MISSING.search(message))]
    if missing:
        return Verdict("skipped", f"needs {missing[0].group(1)}")
    if original is not None and original.outcome not in ("passed", "skipped"):
        return Verdict("fails in LightGBM too")
    refusal = _refusal(outcome)
    if refusal:
        return Verdict("refused by design", refusal)
    if quiet is not None and quiet.outcome == "passed":
        return Verdict("differs by noise", "passes without noise")
    for each in (outcome, quiet):
        for reason in reasons:
            if each is not None and reason.fits(test, each):
                return Verdict(reason.kind, reason.reason)
    refusal = _refusal(quiet) if quiet is not None else ""
    if refusal:
        return Verdict("refused by design", refusal)
    return Verdict("wrong", _what(outcome))


def _refusal(outcome: Outcome) -> str:
    """Return what a refusal of ours says, nothing where there is none."""
    for types, message in outcome.errors:
        if _REFUSAL in types:
            return message.split("\n")[0]
    return ""


def _what(outcome: Outcome) -> str:
    """Return the error of a test in a line."""
    if outcome.outcome == "ended":
        return "the process ended"
    if not outcome.errors:
        return "no error was seen"
    types, message = outcome.errors[0]
    return f"{types[0].rpartition('.')[2]}: {' '.join(message.split())}"[:400]
