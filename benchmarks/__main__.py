"""Command line of the benchmarks: ``list``, ``run NAME``, ``audit-peers``, ``lightgbm-suite``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import peer_page
from benchmarks._compat import import_pandas
from benchmarks.budgets import DESCRIPTION as BUDGET_DESCRIPTION
from benchmarks.budgets import NAME as BUDGET
from benchmarks.catalogue import EXPERIMENTS
from benchmarks.dpboost_paper.catalogue import PAPER_RUNS
from benchmarks.errors import BenchmarkError
from benchmarks.experiments import Experiment
from benchmarks.figure import draw
from benchmarks.files import DATA_VARIABLE, write_atomically
from benchmarks.guarantees.marks import marks
from benchmarks.guarantees.readings import releases
from benchmarks.local.catalogue import LOCAL_RUNS
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.report import markdown
from benchmarks.results_page import write_results_page
from benchmarks.rows import to_text
from benchmarks.runner import Bench, cells, quick, run, without_missing_peers
from benchmarks.timing.runs import TIMED_RUNS, run_timed

RESULTS = Path(__file__).parent / "results"
NOTES = Path(__file__).parent / "notes"


def run_and_write(experiment: Experiment, folder: Path, bench: Bench, *, fresh: bool) -> str:
    """Run an experiment, write its result files into ``folder``, return the Markdown one.

    The rows of a run that is stopped wait in a file named ``.partial.csv``; a run that ends
    removes it, so that the next one measures everything again.
    """
    partial_path = folder / f"{experiment.name}.partial.csv"
    if fresh:
        partial_path.unlink(missing_ok=True)
    published = {
        name: bench.problems[name].is_published(bench.problems[name].local_digests())
        for name in experiment.problems
    }
    experiment, missing = without_missing_peers(experiment, bench)
    rows = run(experiment, partial_path, bench)
    notes = NOTES / f"{experiment.name}.md"
    stated: dict[str, Any] = {
        "n_jobs": bench.n_jobs,
        "published": published,
        "missing": missing,
        "notes": notes.read_text(encoding="utf-8") if notes.is_file() else "",
    }
    if experiment.alone:
        found = marks(folder)
        page = peer_page.markdown(
            rows, experiment, bench.problems, marks=found, releases=releases(), **stated
        )
        shown = peer_page.marked(rows, experiment, found)
    else:
        page = markdown(rows, experiment, bench.problems, **stated)
        shown = rows, experiment
    if experiment.figure:
        image = draw(*shown, bench.problems)
        write_atomically(folder / f"{experiment.name}.png", image)
    write_atomically(folder / f"{experiment.name}.csv", to_text(rows).encode())
    write_atomically(folder / f"{experiment.name}.md", page.encode())
    partial_path.unlink()
    return page


def list_all() -> str:
    """Return the data sets and experiments, one a line."""
    lines = ["problems:"]
    for problem in ALL_PROBLEMS.values():
        paths = ", ".join(file.path for file in problem.files) or problem.made_by
        lines.append(f"  {problem.name:14} {problem.task}; {paths}; {problem.source}")
    lines.append("runs:")
    for experiment in EXPERIMENTS.values():
        lines.append(
            f"  {experiment.name:15} {len(cells(experiment))} fits; {experiment.description}"
        )
    for local in LOCAL_RUNS.values():
        lines.append(f"  {local.name:15} {local.repeats} repeats; {local.description}")
    for timed in TIMED_RUNS.values():
        lines.append(f"  {timed.name:15} {timed.description}")
    lines += [f"  {name:15} {description}" for name, description in PAPER_RUNS.items()]
    lines.append(f"  {BUDGET:15} {BUDGET_DESCRIPTION}")
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Benchmarks of dpboost on public data. Data files are taken from the folder "
        f"that the environment variable {DATA_VARIABLE} names, else downloaded once.",
    )
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="list the data sets and the runs")
    page = commands.add_parser("page", help="write the page over all results")
    page.add_argument("--output", type=Path, default=RESULTS, help="folder of the result files")
    one = commands.add_parser("run", help="run an experiment, or go on with one that was stopped")
    names = sorted({*EXPERIMENTS, *LOCAL_RUNS, *PAPER_RUNS, *TIMED_RUNS, BUDGET})
    one.add_argument("experiment", choices=names)
    one.add_argument("--quick", action="store_true", help="one split, and the smaller sets")
    one.add_argument("--output", type=Path, default=RESULTS, help="folder of the result files")
    one.add_argument("--n-jobs", type=int, default=1, help="threads of a fit (default: 1)")
    one.add_argument("--fresh", action="store_true", help="forget the rows of a stopped run")
    one.add_argument("--repeats", type=int, help="of a run with repeats (default: as listed)")
    suite = commands.add_parser("lightgbm-suite", help="run LightGBM's tests against dpboost")
    suite.add_argument("folder", type=Path, help="LightGBM's tests/python_package_test")
    suite.add_argument("--epsilon", type=float, default=100.0, help="of fits that name none")
    suite.add_argument("--seconds", type=float, default=300.0, help="longest time of a test")
    suite.add_argument("--only", default="", help="files whose name holds this")
    suite.add_argument("--output", type=Path, default=RESULTS, help="folder of the result files")
    audit = commands.add_parser("audit-peers", help="audit the libraries that are measured")
    audit.add_argument("--quick", action="store_true", help="few fits: to see that all runs")
    audit.add_argument("--output", type=Path, default=RESULTS, help="folder of the result files")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    options = parser().parse_args(arguments)
    try:
        if options.command == "list":
            print(list_all())
            return 0
        if options.command == "page":
            print(write_results_page(options.output, NOTES))
            return 0
        if options.command == "lightgbm-suite":
            from benchmarks.lightgbm_suite.command import write_suite

            print(
                write_suite(
                    options.folder,
                    options.output,
                    epsilon=options.epsilon,
                    seconds=options.seconds,
                    only=options.only,
                )
            )
            return 0
        import_pandas()
        if options.command == "audit-peers":
            from benchmarks.guarantees.command import audit_and_write

            print(audit_and_write(options.output, quick=options.quick))
            return 0
        if options.experiment in LOCAL_RUNS:
            from benchmarks.local.runs import run_local

            local = LOCAL_RUNS[options.experiment]
            print(run_local(local, options.output, quick=options.quick, repeats=options.repeats))
            return 0
        if options.experiment in TIMED_RUNS:
            timed = TIMED_RUNS[options.experiment]
            print(
                run_timed(
                    timed,
                    options.output,
                    quick=options.quick,
                    repeats=options.repeats,
                    fresh=options.fresh,
                )
            )
            return 0
        if options.experiment == BUDGET:
            from benchmarks.budgets.run import run_budget

            print(run_budget(options.output, quick=options.quick, repeats=options.repeats))
            return 0
        if options.experiment in PAPER_RUNS:
            from benchmarks.dpboost_paper.runs import RUNS, run_paper

            paper = RUNS[options.experiment]
            folder, folds = options.output, options.repeats
            print(run_paper(paper, folder, quick=options.quick, fresh=options.fresh, folds=folds))
            return 0
        experiment = EXPERIMENTS[options.experiment]
        print(
            run_and_write(
                quick(experiment) if options.quick else experiment,
                options.output,
                Bench(n_jobs=options.n_jobs),
                fresh=options.fresh,
            )
        )
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
