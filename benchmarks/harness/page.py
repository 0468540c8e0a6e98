"""The page of a run: what it shows, its tables, what is kept beside them, and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

#: Between the items of a fact that is a list.
SEPARATOR = " | "

NOISE = (
    "Divisions of the rows and public randomness have fixed seeds. The noise of the private "
    "methods is fresh entropy of the operating system in each fit, as in use: a second run gives "
    "other figures, off by about as much as the standard errors say."
)
_SHORT = "This is the short form of the run: fewer repeats, points or tables than in full."


def markdown(
    *,
    name: str,
    title: str,
    finding: str,
    description: str,
    figure: bool,
    body: Sequence[str],
    notes: str,
    facts: Mapping[str, str],
    noise: str,
    timed: bool,
) -> str:
    """Return the page.

    Parameters
    ----------
    name : str
        Of the files.
    title, description : str
        Of the run.
    finding : str
        What was found, in one sentence; empty where there is none.
    figure : bool
        Whether there is an image of its name.
    body : sequence of str
        Lines of Markdown.
    notes : str
        What is kept beside the figures.
    facts : mapping of str to str
        Of the results.
    noise : str
        What is fixed and what is fresh.
    timed : bool
        Whether the load of the machine is reported.
    """
    lines = [*head(title, finding), description, ""]
    if facts.get("form") == "quick":
        lines += [_SHORT, ""]
    if figure:
        lines += [f"![{title}]({name}.png)", ""]
    lines += [*body, ""]
    if facts.get("not run"):
        lines += [
            "## Not run",
            "",
            *(f"* {item}" for item in facts["not run"].split(SEPARATOR)),
            "",
        ]
    if notes.strip():
        lines += [notes.strip(), ""]
    lines += ["## How", "", *_how(name, facts, noise, timed)]
    # Sections leave an empty line behind; two of them are one.
    tidy = [
        line for position, line in enumerate(lines) if line or (position and lines[position - 1])
    ]
    return "\n".join(tidy) + "\n"


def head(title: str, finding: str) -> list[str]:
    """Return the lines with which every page of results begins."""
    return [f"# {title}", "", *([_bold(finding), ""] if finding else [])]


def _bold(text: str) -> str:
    return f"**{text}**"


def parts_of(text: str) -> tuple[str, str, str]:
    """Return title, finding and the rest of a page, as `head` began it."""
    first, _, rest = text.partition("\n")
    rest = rest.lstrip("\n")
    line, _, after = rest.partition("\n")
    if line and line == _bold(line[2:-2]):
        return first[2:], line[2:-2], after.lstrip("\n")
    return first.removeprefix("# "), "", rest


def _how(name: str, facts: Mapping[str, str], noise: str, timed: bool) -> Iterator[str]:
    yield f"* Name: `{name}`; every number: [{name}.csv]({name}.csv)"
    if "command" in facts:
        yield f"* Command: `{facts['command']}`"
    if facts.get("not measured"):
        yield f"* Not measured yet: {facts['not measured']}; the same command goes on with them"
    if "versions" in facts:
        yield f"* Versions: {facts['versions']}"
    if "machine" in facts:
        load = f"; load: {facts['load']}" if timed and "load" in facts else ""
        yield f"* Machine: {facts['machine']}{load}"
    if "commit" in facts:
        hours = facts["CPU hours"]
        took = f"{hours} hours of CPU"
        if " " in hours:  # "since it went on", in records of before all parts were counted
            took = "hours of CPU that were not counted, in several parts"
        yield f"* Recorded at commit {facts['commit']}, with {took}"
    yield f"* Seeds: {noise}"
    if facts.get("other files"):
        yield f"* Files that are not the publisher's: {facts['other files']}"
