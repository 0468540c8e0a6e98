"""Command line: ``python -m benchmarks list``, ``run NAME``, ``pages`` and ``lightgbm-suite``."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._compat import import_pandas
from benchmarks.errors import BenchmarkError
from benchmarks.files import DATA_VARIABLE, PublishedFile
from benchmarks.harness.describe import described, found
from benchmarks.harness.groups import Group
from benchmarks.harness.record import STALE, UNKNOWN, state_of
from benchmarks.harness.run import NOTES, QUICK, RESULTS, Request, carry_out, draw_again, write_page
from benchmarks.other_pages import OTHER_PAGES, write_heads
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.registry import runs
from benchmarks.reproductions.claims_page import counts_of, told, write_claims_page
from benchmarks.reproductions.inventory import HEADLINES, ITEMS, Item
from benchmarks.reproductions.inventory import lines as papers
from benchmarks.results_page import write_results_page


def list_short(folder: Path) -> Iterator[str]:
    """Yield one screen: the names of the runs by group, and those of each paper."""
    yield "Runs by group; `list GROUP` says what each shows."
    yield "* marks the main result of a paper, whose --quick takes under a minute."
    for group in Group:
        own = [run.name for run in runs().values() if run.group is group]
        yield ""
        yield f"{group.word}: {group.value}"
        if group is Group.PAPERS:
            yield from _by_paper(own, folder)
        else:
            yield from _wrapped(own)
    yield ""
    yield f"{len(ALL_PROBLEMS)} data sets. python -m benchmarks list --all describes everything;"
    yield "python -m benchmarks run NAME --help describes a run: what, data, time, output."


def _by_paper(names: Sequence[str], folder: Path) -> Iterator[str]:
    left = list(names)
    for paper in dict.fromkeys(item.paper for item in ITEMS):
        items = [item for item in ITEMS if item.paper == paper]
        own = [name for name in names if name in {item.run for item in items}]
        left = [name for name in left if name not in own]
        yield f"{paper}: {_measured(items, folder)}"
        yield from _wrapped([f"{name}*" if name == HEADLINES[paper] else name for name in own])
        yield f"  claims: {told(counts_of(paper, folder))}"
    if left:
        yield "More of these papers"
        yield from _wrapped(left)
    yield from _out_of_date(names, folder)


def _out_of_date(names: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield which records are of other code than today's, and how many do not say."""
    states = {name: state_of(name, folder) for name in names}
    stale = [name for name, found in states.items() if found == STALE]
    unknown = sum(found == UNKNOWN for found in states.values())
    if stale:
        told = f"{STALE[0].upper()}{STALE[1:]}: {', '.join(stale)}"
        yield from textwrap.wrap(told, 150, break_on_hyphens=False)
    if unknown:
        yield f"{unknown} of {len(names)} records: {UNKNOWN}."


def list_group(group: Group, folder: Path) -> Iterator[str]:
    """Yield the runs of a group and its other pages, each with what it shows."""
    yield group.value
    for run in runs().values():
        if run.group is group:
            measured = "" if (folder / f"{run.name}.csv").is_file() else " (not measured yet)"
            measured += f" ({STALE})" * (state_of(run.name, folder) == STALE)
            yield f"  {run.name:33} {run.title}{measured}"
    for page in OTHER_PAGES:
        if page.group is group:
            yield f"  {page.file:33} {page.title}: {page.command}"


def _measured(items: Sequence[Item], folder: Path) -> str:
    done = sum(item.file(folder) is not None for item in items)
    drawn = sum(bool(item.nothing) for item in items)
    left = f", {drawn} not applicable" if drawn else ""
    return f"{done} of {len(items)} figures and tables measured{left}"


def _wrapped(names: Sequence[str]) -> list[str]:
    # Two blanks between names, which `textwrap` leaves as they are; a name stays whole.
    return textwrap.wrap(
        "  ".join(names), 150, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
    )


def list_all(folder: Path) -> Iterator[str]:
    """Yield data sets, runs, and every figure and table of the papers with its state."""
    yield "data:"
    for problem in ALL_PROBLEMS.values():
        paths = ", ".join(map(_where, problem.files)) or problem.made_by
        yield f"  {problem.name:18} {problem.task}; {paths}; {problem.source}"
    yield "runs:"
    for run in runs().values():
        yield f"  {run.name:25} {run.title}. {run.description}"
    yield "figures and tables of the papers:"
    yield from (f"  {line}" for line in papers(folder))


def _where(file: PublishedFile) -> str:
    """Return the path of a file, and how an outsider gets it where that is not a download."""
    if file.url is not None:
        return file.path
    if file.original is not None:
        return f"{file.path} (converted from {file.original.url}, untried)"
    return f"{file.path} (not offered for download in this form)"


def _listed(word: str | None, folder: Path, *, everything: bool) -> Iterator[str]:
    if everything:
        return list_all(folder)
    if word is None:
        return list_short(folder)
    return list_group(next(group for group in Group if group.word == word), folder)


def write_pages(folder: Path, *, figures: bool) -> None:
    """Write every page again from its results, perhaps its figure too, and the page over all."""
    for run in runs().values():
        for path in (folder / f"{run.name}{ending}.csv" for ending in ("", QUICK)):
            if path.is_file():
                write_page(run, path)
                if figures:
                    draw_again(run, path)
    write_heads(folder)
    write_claims_page(folder)
    write_results_page(folder, NOTES)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Benchmarks of dpboost on public data. Data files are taken from the folder "
        f"that the environment variable {DATA_VARIABLE} names, else downloaded once.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    listed = commands.add_parser("list", help="list the runs by group")
    groups = [group.word for group in Group]
    listed.add_argument("group", nargs="?", choices=groups, help="what the runs of a group show")
    listed.add_argument("--all", action="store_true", help="data sets, runs, figures of the papers")
    pages = commands.add_parser("pages", help="write all pages again from their results")
    pages.add_argument("--figures", action="store_true", help="draw the figures again too")
    one = commands.add_parser(
        "run", help="measure, or go on with a run that was stopped", add_help=False
    )
    one.add_argument("run", metavar="NAME", nargs="?", help="as listed")
    one.add_argument("-h", "--help", action="store_true", help="describe NAME, or these options")
    one.set_defaults(help_of_run=one.format_help)
    one.add_argument("--quick", action="store_true", help="the short form: fewer repeats or sets")
    one.add_argument("--n-jobs", type=int, default=1, help="threads of a fit (default: 1)")
    one.add_argument("--processes", type=int, default=1, help="side by side (default: 1)")
    one.add_argument("--fresh", action="store_true", help="forget the results of a stopped run")
    one.add_argument("--repeats", type=int, help="of a run with repeats (default: as planned)")
    one.add_argument("--problem", help="of a run that takes one data set")
    one.add_argument("--seconds", type=float, help="of a run whose page can be made of a part")
    suite = commands.add_parser("lightgbm-suite", help="run LightGBM's tests against dpboost")
    suite.add_argument("folder", type=Path, help="LightGBM's tests/python_package_test")
    suite.add_argument("--epsilon", type=float, default=100.0, help="of fits that name none")
    suite.add_argument("--seconds", type=float, default=300.0, help="longest time of a test")
    suite.add_argument("--only", default="", help="files whose name holds this")
    for command in (listed, pages, one, suite):
        command.add_argument(
            "--output", type=Path, default=RESULTS, help="folder of the result files"
        )
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = parser().parse_args(arguments)
    try:
        import_pandas()
        if options.command == "list":
            print("\n".join(_listed(options.group, options.output, everything=options.all)))
            return 0
        if options.command == "pages":
            write_pages(options.output, figures=options.figures)
            return 0
        if options.command == "lightgbm-suite":
            from benchmarks.lightgbm_suite.command import write_suite

            page, faults = write_suite(
                options.folder,
                options.output,
                epsilon=options.epsilon,
                seconds=options.seconds,
                only=options.only,
            )
            print(page)
            return int(faults > 0)
        if options.run is None:
            if not options.help:
                raise BenchmarkError("Which run? `python -m benchmarks list` names all.")
            print(options.help_of_run())
            return 0
        known = runs()
        if options.run not in known:
            raise BenchmarkError(
                f"There is no run {options.run!r}. `python -m benchmarks list` names all."
            )
        request = Request(
            quick=options.quick,
            repeats=options.repeats,
            n_jobs=options.n_jobs,
            problem=options.problem,
            seconds=options.seconds,
            processes=options.processes,
        )
        run = known[options.run]
        if options.help:
            papers_of = {name: paper for paper, name in HEADLINES.items()}
            headline = papers_of.get(run.name, "")
            print(described(run, options.output, headline_of=headline))
            return 0
        page = carry_out(run, options.output, request, fresh=options.fresh)
        print(found(run, options.output, page, quick=options.quick))
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
