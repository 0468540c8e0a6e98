"""Pages of results that other commands than ``run`` write: titles, groups and findings.

Such a page keeps no numbers beside itself: its finding is read from its own tables or lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.files import write_atomically
from benchmarks.harness.groups import Group
from benchmarks.harness.page import head, parts_of
from benchmarks.summary import listed, span


@dataclass(frozen=True, kw_only=True)
class OtherPage:
    """A page or a plain output.

    Attributes
    ----------
    file : str
        Its name among the results.
    title : str
        What it shows, as a noun phrase.
    group : Group
    command : str
        What writes it.
    finding : callable
        ``finding(text)``: what was found, in one sentence; empty where the text does not say it.
    """

    file: str
    title: str
    group: Group
    command: str
    finding: Callable[[str], str]


def _number_lines(text: str) -> list[list[str]]:
    """Return the cells of the lines of tables that end in a number."""
    lines = re.findall(r"^\| (.*\d) \|$", text, re.MULTILINE)
    return [line.split(" | ") for line in lines]


def _claims(text: str) -> str:
    counts: dict[str, int] = {}
    for line in re.findall(r"^\* .*$", text, re.MULTILINE):
        for number, word in re.findall(r"\b(\d+) (confirmed|equivalent|undecided|refuted)\b", line):
            counts[word] = counts.get(word, 0) + int(number)
    said = listed([f"{number} {word}" for word, number in counts.items()])
    return f"Of {sum(counts.values())} claims of the papers: {said}." if counts else ""


def _https_cost(text: str) -> str:
    seconds = [cells[1] for cells in _number_lines(text)]
    if len(seconds) != 3:
        return ""
    return (
        f"The processes of a fit take {seconds[0]} s of CPU. The same number of processes takes "
        f"{seconds[1]} s to import the modules of a party, and {seconds[2]} s to import LightGBM."
    )


def _transcript_cost(text: str) -> str:
    found = [(float(cells[1].split()[0]), float(cells[2])) for cells in _number_lines(text)]
    if not found:
        return ""
    ratios = span((ratio for ratio, _ in found), ".3f")
    return (
        f"A fit that keeps its transcript takes {ratios} times the CPU time of one that does not, "
        f"and at most {max(size for _, size in found):.1f} bytes for each released integer."
    )


def _timing_leak(text: str) -> str:
    found = re.findall(r"\d\.\d{3} \([+-][\d.]+(, shows)?\)", text)
    shown = sum(map(bool, found))
    return f"Time or memory reveals the difference in {shown} of {len(found)} comparisons."


def _mutants(text: str) -> str:
    found = [list(map(int, cells[1:])) for cells in _number_lines(text) if len(cells) == 5]
    planted, seen, *others = (sum(column) for column in zip(*found, strict=True))
    open_ones = text.count("not explained yet")
    return (
        f"The tests detect {seen} of {planted} planted bugs; of the other {sum(others)}, the page "
        f"explains for {sum(others) - open_ones} why they are harmless."
    )


def _lightgbm_suite(text: str) -> str:
    kinds, numbers = (
        re.search(rf"^\| {name} \| (.*) \|$", text, re.MULTILINE) for name in ("file", "all")
    )
    if kinds is None or numbers is None:
        return ""
    counts = list(zip(numbers[1].split(" | "), kinds[1].split(" | "), strict=True))
    total = sum(int(number) for number, _ in counts)
    return f"Of {total} tests, {listed([': '.join(pair[::-1]) for pair in counts])}."


def _audit(text: str) -> str:
    verdicts = re.findall(r"\s(ok|VIOLATION)(?: \(.*\))?$", text, re.MULTILINE)
    bad = verdicts.count("VIOLATION")
    return f"{bad} of {len(verdicts)} audits find a violation of a privacy claim."


def _audit_repeats(text: str) -> str:
    tests = re.findall(r"^(?:(\d+) failed, )?\d+ passed", text, re.MULTILINE)
    replays = [int(n) for n in re.findall(r"(\d+) violations", text)]
    return (
        f"{sum(map(bool, tests))} of {len(tests)} repeats of the tests of the audit fail, and "
        f"random replays find {sum(replays)} violations."
    )


def _planted_bugs(text: str) -> str:
    found = re.search(r"^(\d+) bugs.*?saw (\d+) of.*?sees (\d+)\.", text, re.MULTILINE | re.DOTALL)
    if found is None:
        return ""
    return f"The audit sees {found[3]} of {found[1]} planted bugs; at first it saw {found[2]}."


def _first_hour(text: str) -> str:
    found = re.search(r"^ *([\d.]+) s +([\d.]+) s +(\d+) commands;", text, re.MULTILINE)
    if found is None:
        return ""
    return (
        f"{found[3]} commands lead from an empty environment to a model and its certificate in "
        f"{found[1]} s ({found[2]} s of CPU)."
    )


def _nightly(text: str) -> str:
    states = re.findall(r"^(\w[\w-]*): (passed|FAILED) in", text, re.MULTILINE)
    failed = [name for name, state in states if state == "FAILED"]
    said = f"{len(states) - len(failed)} of {len(states)} nightly steps passed when they last ran"
    return f"{said}; failed: {listed(failed)}." if failed else f"{said}."


def _release(text: str) -> str:
    # A wheel that is followed by its golden texts has passed everything before them.
    wheels = re.findall(
        r"^  dpboost-\S+-cp3(\d+)-\S+\.whl: \d+ bytes(?=.*(?:\n.+)*\n  \d+ model texts)",
        text,
        re.MULTILINE,
    )
    failed = re.search(r"^FAILED in (.+); nothing after it was done\.$", text, re.MULTILINE)
    end = f"the run failed in {failed[1]}" if failed else ""
    if not wheels:
        return f"No wheel was built and tried; {end}." if failed else ""
    versions = listed([f"3.{version}" for version in dict.fromkeys(wheels)])
    texts = len(set(re.findall(r"model texts, as stored: sha256 (\w+)", text)))
    same = "; stored models are the same text with each" if texts == 1 else ""
    end = f"; {end}" if failed else ""
    return f"Wheels for Python {versions} were built and tried{same}{end}."


def _windows(text: str) -> str:
    found = re.findall(r"(?:(\d+) failed, )?(\d+) passed", text)
    if not found:
        return ""
    failed, passed = (sum(int(each[side] or 0) for each in found) for side in (0, 1))
    return f"Under Wine {passed:,} tests pass and {failed} fail."


OTHER_PAGES = (
    OtherPage(
        file="claims.md",
        title="Every claim of the texts of the five papers",
        group=Group.PAPERS,
        command="python -m benchmarks pages",
        finding=_claims,
    ),
    OtherPage(
        file="audit.txt",
        title="Audit of every release of every algorithm",
        group=Group.PRIVACY,
        command="python -m dpboost.audit",
        finding=_audit,
    ),
    OtherPage(
        file="audit-repeats.txt",
        title="Repeats of the audit with fresh noise",
        group=Group.PRIVACY,
        command="python -m dpboost.audit",
        finding=_audit_repeats,
    ),
    OtherPage(
        file="planted-bugs.txt",
        title="Bugs planted by hand that the audit is to see",
        group=Group.PRIVACY,
        command="python -m tests.audit.bug_hunt",
        finding=_planted_bugs,
    ),
    OtherPage(
        file="mutants.md",
        title="Detection of systematically planted bugs by the tests",
        group=Group.PRIVACY,
        command="python -m tests.mutants page",
        finding=_mutants,
    ),
    OtherPage(
        file="timing-leak.md",
        title="What time and memory of a fit reveal",
        group=Group.PRIVACY,
        command="python -m benchmarks.timing_leak",
        finding=_timing_leak,
    ),
    OtherPage(
        file="transcript-cost.md",
        title="Cost of the transcript of a fit",
        group=Group.PRIVACY,
        command="python -m benchmarks.transcript_cost",
        finding=_transcript_cost,
    ),
    OtherPage(
        file="https-cost.md",
        title="Cost of federated training over HTTPS",
        group=Group.FEDERATED,
        command="python -m benchmarks.https_cost",
        finding=_https_cost,
    ),
    OtherPage(
        file="first-hour.txt",
        title="Time from an empty environment to a first model",
        group=Group.SPEED,
        command="python -m benchmarks.first_hour",
        finding=_first_hour,
    ),
    OtherPage(
        file="lightgbm-suite.md",
        title="LightGBM's own tests against dpboost",
        group=Group.SPEED,
        command="python -m benchmarks lightgbm-suite FOLDER",
        finding=_lightgbm_suite,
    ),
    OtherPage(
        file="nightly.txt",
        title="Last results of the nightly tests",
        group=Group.SPEED,
        command=".ci/nightly",
        finding=_nightly,
    ),
    OtherPage(
        file="release.txt",
        title="Files of a release candidate, built and tried on one machine",
        group=Group.SPEED,
        command="bash .ci/release vVERSION benchmarks/results/release.txt",
        finding=_release,
    ),
    OtherPage(
        file="windows.txt",
        title="Tests of the Windows build under Wine",
        group=Group.SPEED,
        command=".ci/nightly windows",
        finding=_windows,
    ),
)


def headed(file: str, body: str) -> str:
    """Return a page with the head of its name: its title, and the finding of its own text."""
    page = next(page for page in OTHER_PAGES if page.file == file)
    return "\n".join(head(page.title, page.finding(body))) + "\n" + body


def write_heads(folder: Path) -> None:
    """Write the heads of the pages in a folder again."""
    for page in OTHER_PAGES:
        path = folder / page.file
        if path.suffix == ".md" and path.is_file():
            *_, body = parts_of(path.read_text(encoding="utf-8"))
            write_atomically(path, headed(page.file, body).encode())
