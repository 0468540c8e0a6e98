"""A run: its units, how they are measured and taken up again, and the files that come of them."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.errors import BenchmarkError
from benchmarks.files import write_atomically
from benchmarks.harness import page
from benchmarks.harness.groups import Group
from benchmarks.harness.machine import machine_class, machine_load
from benchmarks.harness.record import code_of, commit, cpu_seconds
from benchmarks.harness.results import Result, Results, read, to_text
from benchmarks.harness.store import Store
from benchmarks.versions import versions

RESULTS = Path(__file__).parents[1] / "results"
NOTES = Path(__file__).parents[1] / "notes"

#: Ending of the names of short forms.
QUICK = "-quick"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the command line asks for.

    Attributes
    ----------
    quick : bool
        The short form.
    repeats : int, optional
        Of a run with repeats; by default as it is planned.
    n_jobs : int
        Threads of a fit.
    problem : str, optional
        Of a run that takes one data set.
    seconds : float, optional
        After which nothing more is measured; of a run whose page can be made of a part.
    processes : int
        That measure units side by side, each with its own copy of the data.
    """

    quick: bool = False
    repeats: int | None = None
    n_jobs: int = 1
    problem: str | None = None
    seconds: float | None = None
    processes: int = 1

    @property
    def options(self) -> str:
        """The options as they stand in a command."""
        text = " --quick" if self.quick else ""
        text += "" if self.repeats is None else f" --repeats {self.repeats}"
        text += "" if self.n_jobs == 1 else f" --n-jobs {self.n_jobs}"
        text += "" if self.processes == 1 else f" --processes {self.processes}"
        return text + ("" if self.problem is None else f" --problem {self.problem}")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What is measured together and counts only together.

    Attributes
    ----------
    name : str
        Unlike those of the other units of a run.
    settings : str
        Digest of everything that its results depend on.
    measure : callable
        Returns its results.
    """

    name: str
    settings: str
    measure: Callable[[], Iterable[Result]] = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The units of a run in their order, and facts that its page needs.

    Attributes
    ----------
    units : sequence of Unit
    facts : mapping of str to str
        Such as what is not run, and why.
    published : sequence of Result
        Numbers of a paper that stand beside the measured ones.
    """

    units: Sequence[Unit]
    facts: Mapping[str, str] = field(default_factory=dict)
    published: Sequence[Result] = ()


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run, which leaves a CSV file, a page and perhaps a figure of its name.

    Attributes
    ----------
    name : str
        On the command line and of the files.
    title : str
        What it shows, as a noun phrase: the heading of its page, and its entry in the index.
    group : Group
        Of the index.
    description : str
        What it is to show: a paragraph of its page.
    plan : callable
        ``plan(request)``: the `Plan`.
    body : callable
        ``body(results)``: the lines of the page between description and notes.
    finding : callable
        ``finding(results)``: what was found, in one sentence that is made of the results alone;
        empty where they are too few to say anything.
    draw : callable, optional
        ``draw(results)``: a PNG image.
    noise : str
        What is fixed and what is fresh.
    timed : bool
        Whether seconds are its subject, so that the load of the machine matters.
    code : callable, optional
        In whose file the experiment is, where that is not the file of ``plan``.
    partly : bool
        Whether its page can be made of a part of its units.
    """

    name: str
    title: str
    group: Group
    description: str
    plan: Callable[[Request], Plan]
    body: Callable[[Results], list[str]]
    finding: Callable[[Results], str]
    draw: Callable[[Results], bytes] | None = None
    noise: str = page.NOISE
    timed: bool = False
    code: Callable[..., Any] | None = None
    partly: bool = False

    @property
    def planned_by(self) -> Callable[..., Any]:
        """What says what is measured, whose file has the code of the experiment."""
        return self.code or self.plan


def digest(settings: Mapping[str, Any]) -> str:
    """Return what tells one state of settings from another."""
    text = json.dumps(settings, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def carry_out(
    run: Run,
    folder: Path,
    request: Request | None = None,
    *,
    fresh: bool = False,
    progress: bool | None = None,
) -> str:
    """Measure, write the files of a run into ``folder`` and return its page.

    A run that is stopped goes on where it was: the results of every unit are on disk as soon as
    it is measured, in a file that a run which has measured all of them removes.

    Parameters
    ----------
    run : Run
    folder : Path
    request : Request, optional
    fresh : bool
        Whether the results of a stopped run are forgotten.
    progress : bool, optional
        Whether a bar is shown; by default where someone looks.

    Raises
    ------
    BenchmarkError
        If nothing can be measured, or a stopped run cannot be taken up.
    """
    request = request or Request()
    if request.seconds is not None and not run.partly:
        raise BenchmarkError(f"The page of {run.name} needs all its units: leave out --seconds.")
    if request.processes > 1 and run.timed:
        raise BenchmarkError(f"{run.name} measures seconds, alone: leave out --processes.")
    progress = sys.stderr.isatty() if progress is None else progress
    name = run.name + (QUICK if request.quick else "")
    planned = run.plan(request)
    if not planned.units:
        raise BenchmarkError("\n".join(planned.facts.values()) or f"{run.name} has nothing to run.")
    path = folder / f"{name}.partial.csv"
    if fresh:
        path.unlink(missing_ok=True)
    store = Store(path, {unit.name: unit.settings for unit in planned.units})
    if store.n_dropped:
        tqdm.write(f"{store.n_dropped} units of other settings or versions are not taken over.")
    todo = [unit for unit in planned.units if unit.name not in store.results]
    start, done = time.perf_counter(), len(planned.units) - len(todo)
    side_by_side = Parallel(n_jobs=request.processes, return_as="generator_unordered")
    found = side_by_side(delayed(_measured)(unit) for unit in todo)
    with tqdm(total=len(planned.units), initial=done, disable=not progress) as bar:
        for unit, rows, cpu in found if _in_time(request, start) else ():
            store.add(unit.name, unit.settings, rows, cpu)
            bar.set_description(unit.name[:60])
            bar.update()
            if not _in_time(request, start):
                break
    measured = [unit.name for unit in planned.units if unit.name in store.results]
    left = len(planned.units) - len(measured)
    if not measured:
        raise BenchmarkError(f"Nothing of {run.name} is measured within {request.seconds:g} s.")
    facts = {
        "run": run.name,
        "form": "quick" if request.quick else "full",
        "command": f"python -m benchmarks run {run.name}{request.options}",
        "versions": ", ".join(f"{package} {version}" for package, version in versions().items()),
        "machine": f"{machine_class()}; {request.n_jobs} thread{'s'[: request.n_jobs > 1]} a fit",
        "load": machine_load(),
        "seconds": f"{time.perf_counter() - start:.0f}" + (" since it went on" if done else ""),
        "CPU hours": f"{sum(store.cpu.values()) / 3600:.3f}",
        "commit": commit(),
        "code": code_of(run.planned_by),
        "not measured": f"{left:,} of {len(planned.units):,} units" if left else "",
        **planned.facts,
    }
    rows = [row for name_of_unit in measured for row in store.results[name_of_unit]]
    results = Results(facts=facts, rows=[*planned.published, *rows])
    if run.draw is not None:
        write_atomically(folder / f"{name}.png", run.draw(results))
    write_atomically(folder / f"{name}.csv", to_text(results).encode())
    text = write_page(run, folder / f"{name}.csv")
    if not left:
        store.forget()
    return text


def _measured(unit: Unit) -> tuple[Unit, list[Result], float]:
    """Return a unit with its results and the seconds of CPU that they took."""
    used = cpu_seconds()
    with warnings.catch_warnings():
        # Fits of a benchmark are many, to public rows, with settings of papers: what the library
        # advises on each of them would bury the results.
        warnings.simplefilter("ignore", UserWarning)
        rows = list(unit.measure())
    return unit, rows, cpu_seconds() - used


def _in_time(request: Request, start: float) -> bool:
    return request.seconds is None or time.perf_counter() - start <= request.seconds


def page_of(run: Run, results: Results) -> str:
    """Return the page of results, made of nothing but them and the notes of the run."""
    notes = NOTES / f"{run.name}.md"
    kept = notes.read_text(encoding="utf-8") if notes.is_file() and not results.is_quick else ""
    name = run.name + (QUICK if results.is_quick else "")
    return page.markdown(
        name=name,
        title=run.title,
        finding=run.finding(results),
        description=run.description,
        figure=run.draw is not None,
        body=run.body(results),
        notes=kept,
        facts=results.facts,
        noise=run.noise,
        timed=run.timed,
    )


def write_page(run: Run, path: Path) -> str:
    """Write the page of a file of results beside it, and return it."""
    text = page_of(run, read(path))
    write_atomically(path.with_suffix(".md"), text.encode())
    return text


def draw_again(run: Run, path: Path) -> None:
    """Draw the figure of a file of results beside it, where the run has one."""
    if run.draw is not None:
        write_atomically(path.with_suffix(".png"), run.draw(read(path)))
