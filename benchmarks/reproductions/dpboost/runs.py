"""The runs, and how one is measured, taken up again and written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from tqdm import tqdm

from benchmarks.dpboost_paper import curves, table2, table3
from benchmarks.dpboost_paper.catalogue import PAPER_RUNS
from benchmarks.dpboost_paper.methods import (
    BEST,
    BEST_PURE,
    CODE,
    CONSTANT,
    FROZEN,
    NP,
    OURS,
    PARA,
    SEQ,
    TEXT,
    UNCLIPPED_METHOD,
    logistic,
)
from benchmarks.dpboost_paper.plan import Plan, digest
from benchmarks.dpboost_paper.rows import Job, Measured, Value, to_text
from benchmarks.dpboost_paper.sets import CLASSIFICATION, REGRESSION, SETS, Data, PaperSet
from benchmarks.errors import BenchmarkError, DataFileError
from benchmarks.files import write_atomically
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.report import machine_class
from benchmarks.versions import versions

NOTES = Path(__file__).parents[1] / "notes"
Measure = Callable[[Job, Data, Plan], Mapping[tuple[int, str], float]]


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """A table or figure of the paper.

    Attributes
    ----------
    name : str
        Name in `PAPER_RUNS`, on the command line and of the result files.
    plan, quick : Plan
        In full and with ``--quick``.
    measure : callable
        ``measure(job, data, plan)``: the values of one fit by stage and measure.
    page : callable
        ``page(values, plan)``: lines of Markdown.
    draw : callable, optional
        ``draw(values, plan)``: a PNG image.
    """

    name: str
    plan: Plan
    quick: Plan
    measure: Measure
    page: Callable[[Sequence[Value], Plan], list[str]]
    draw: Callable[[Sequence[Value], Plan], bytes] | None = None


_SMALL = ("adult", "cod-rna", "abalone")
# Small sets first, so that a run that is stopped has something to show.
_ALL = (*_SMALL, *(name for name in (*REGRESSION, *CLASSIFICATION) if name not in _SMALL))
_SETS_3 = ("adult", "cod-rna", "abalone", "real-sim", "covtype", "susy")
_WIDE = ("news20 for real-sim", "real-sim", "webdata", "synthetic_cls")
_STAGES = (*range(1, 10), *range(10, 50, 5), *range(50, 200, 10), *range(200, 1000, 25))
_PAPERS = (NP, SEQ, PARA, OURS)
_EPSILONS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
_FIGURE_2 = (
    CONSTANT,
    *_PAPERS,
    *(logistic(method) for method in _PAPERS),
    BEST,
    BEST_PURE,
    TEXT,
    CODE,
    FROZEN,
)
# With logistic loss no filter drops rows; SEQ, the slowest, is hopeless with either loss.
_FIGURE_3 = (CONSTANT, *_PAPERS, *(logistic(method) for method in (NP, PARA, OURS)), BEST)

RUNS: MappingProxyType[str, PaperRun] = MappingProxyType(
    {
        run.name: run
        for run in (
            PaperRun(
                name="figure2",
                plan=Plan(
                    sets=_ALL,
                    methods=_FIGURE_2,
                    epsilons=_EPSILONS,
                    n_trees=(50, 20, 40),
                    side_methods=("constant", "NP", "SEQ", "PARA", "DPBoost"),
                    too_slow=frozenset(
                        {
                            ("news20 for real-sim", "SEQ"),
                            ("real-sim", "SEQ"),
                            *((name, "SEQ, logistic") for name in _WIDE),
                        }
                    ),
                ),
                quick=Plan(
                    sets=_SMALL,
                    methods=_FIGURE_2,
                    epsilons=(1.0, 4.0, 10.0),
                    n_trees=(50, 20),
                    side_methods=("constant", "NP", "SEQ", "PARA", "DPBoost"),
                    folds=4,
                    draws=2,
                ),
                measure=curves.measure,
                page=curves.page_2,
                draw=curves.draw_2,
            ),
            PaperRun(
                name="figure3",
                plan=Plan(
                    sets=_SETS_3,
                    methods=_FIGURE_3,
                    epsilons=(100.0,),
                    n_trees=(1000,),
                    folds=3,
                    draws=1,
                    too_slow=frozenset({("real-sim", "SEQ")}),
                    stages=_STAGES,
                ),
                quick=Plan(
                    sets=("adult",),
                    methods=_FIGURE_3,
                    epsilons=(20.0,),
                    n_trees=(200,),
                    folds=2,
                    stages=_STAGES,
                ),
                measure=curves.measure,
                page=curves.page_3,
                draw=curves.draw_3,
            ),
            PaperRun(
                name="figure4",
                plan=Plan(
                    sets=(*REGRESSION, "adult", "cod-rna"),
                    methods=(CONSTANT, OURS, UNCLIPPED_METHOD),
                    epsilons=_EPSILONS,
                    draws=3,
                ),
                quick=Plan(
                    sets=_SMALL,
                    methods=(CONSTANT, OURS, UNCLIPPED_METHOD),
                    epsilons=(1.0, 4.0, 10.0),
                    folds=2,
                ),
                measure=curves.measure,
                page=curves.page_4,
                draw=curves.draw_4,
            ),
            PaperRun(
                name="table2",
                plan=Plan(
                    sets=_ALL,
                    methods=(NP, OURS),
                    epsilons=(10.0,),
                    n_trees=(100,),
                    folds=3,
                    draws=1,
                ),
                quick=Plan(
                    sets=_SMALL,
                    methods=(NP, OURS),
                    epsilons=(10.0,),
                    n_trees=(100,),
                    folds=3,
                    draws=1,
                ),
                measure=table2.measure,
                page=table2.page,
            ),
            PaperRun(
                name="table3",
                plan=Plan(
                    sets=(*REGRESSION, "adult", "cod-rna"),
                    methods=(OURS,),
                    epsilons=(float("inf"), 10.0, 4.0, 1.0),
                    draws=1,
                ),
                quick=Plan(
                    sets=("abalone",), methods=(OURS,), epsilons=(float("inf"),), folds=2, draws=1
                ),
                measure=table3.measure,
                page=table3.page,
            ),
        )
    }
)


class Rows:
    """Loads sets, one at a time, and says what is declared and read.

    Parameters
    ----------
    load : callable
        From a set to its rows.
    """

    def __init__(self, load: Callable[[PaperSet], Data] = PaperSet.load) -> None:
        self._load = load
        self._held: Data | None = None

    def of(self, name: str) -> Data:
        """Return the rows of a set."""
        if self._held is None or self._held.set.name != name:
            self._held = None  # two large sets at a time would not fit
            self._held = self._load(SETS[name])
        return self._held

    def facts(self, name: str) -> dict[str, object]:
        """Return digests of the files and what is declared.

        Raises
        ------
        DataFileError
            If a file is neither at hand nor to be downloaded.
        """
        problem = ALL_PROBLEMS[SETS[name].problem]
        known = problem.dictionary
        bounds = sorted(map(str, known.bounds.items()))
        return {
            "files": problem.local_digests(),
            "declared": [bounds, str(known.categories), known.classes, known.label_bounds],
            "made by": problem.made_by,
        }

    def published(self, name: str) -> bool:
        """Say whether the files are those of the publisher."""
        problem = ALL_PROBLEMS[SETS[name].problem]
        return problem.is_published(problem.local_digests())


def run_paper(
    run: PaperRun,
    folder: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    folds: int | None = None,
    rows: Rows | None = None,
    progress: bool = True,
) -> str:
    """Measure, write the result files into ``folder`` and return the Markdown one.

    A run that is stopped goes on where it was: every fit is on disk as soon as it is done, in a
    file that a run which ends removes.

    Parameters
    ----------
    run : PaperRun
    folder : Path
    quick : bool
        The quick version, under a name of its own.
    fresh : bool
        Whether the values of a stopped run are forgotten.
    folds : int, optional
        Folds of five at most; by default as planned.
    rows : Rows, optional
    progress : bool
        Whether a bar is shown.
    """
    rows = rows or Rows()
    plan = run.quick if quick else run.plan
    if folds is not None:
        plan = replace(plan, folds=folds)
    name = f"{run.name}-quick" if quick else run.name
    partial = folder / f"{name}.partial.csv"
    if fresh:
        partial.unlink(missing_ok=True)
    facts, missing = _at_hand(plan, rows)
    if not facts:
        raise BenchmarkError("\n".join(missing.values()))
    jobs = [job for own in plan.sets if own in facts for job in plan.jobs(own)]
    more = {"run": run.name, "stages": plan.stages}
    wanted = {job: digest(job, SETS[job.data], facts[job.data], more) for job in jobs}
    measured = Measured(partial, wanted)
    if measured.n_dropped:
        tqdm.write(f"{measured.n_dropped} fits of other settings or versions are not taken over.")
    todo = [job for job in jobs if job not in measured.values]
    for job in tqdm(todo, initial=len(jobs) - len(todo), total=len(jobs), disable=not progress):
        measured.add(job, run.measure(job, rows.of(job.data), plan), wanted[job])
    values = [value for job in jobs for value in measured.values[job]]
    title = [f"# {name}", "", PAPER_RUNS[run.name], ""]
    if run.draw is not None:
        write_atomically(folder / f"{name}.png", run.draw(values, plan))
        title += [f"![{name}]({name}.png)", ""]
    lines = [*title, *run.page(values, plan), ""]
    lines += _gaps(missing, plan)
    notes = NOTES / f"{run.name}.md"
    if notes.is_file():
        lines += [notes.read_text(encoding="utf-8").strip(), ""]
    lines += list(_how(run, quick=quick, folds=folds, names=list(facts), rows=rows))
    page = "\n".join(lines) + "\n"
    write_atomically(folder / f"{name}.csv", to_text(values).encode())
    write_atomically(folder / f"{name}.md", page.encode())
    partial.unlink()
    return page


def _at_hand(plan: Plan, rows: Rows) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Return what each set is measured on, and why others are left out."""
    facts, missing = {}, {}
    for name in plan.sets:
        try:
            facts[name] = rows.facts(name)
        except DataFileError as error:
            missing[name] = str(error)
    return facts, missing


def _gaps(missing: Mapping[str, str], plan: Plan) -> list[str]:
    if not missing and not plan.too_slow:
        return []
    # Where the files were looked for is a matter of this machine.
    reasons = [f"* {name}: not run, its file is not at hand." for name in missing]
    reasons += [
        f"* {data}: {method} not run, it takes too long."
        for data, method in sorted(plan.too_slow)
        if data not in missing
    ]
    return ["## Not run", "", *reasons, ""]


def _how(
    run: PaperRun, *, quick: bool, folds: int | None, names: Sequence[str], rows: Rows
) -> Iterator[str]:
    options = (" --quick" if quick else "") + ("" if folds is None else f" --repeats {folds}")
    stated = ", ".join(f"{package} {version}" for package, version in versions().items())
    own = [name for name in names if not rows.published(name)]
    yield from ("## How", "", f"* Command: `python -m benchmarks run {run.name}{options}`")
    yield f"* Versions: {stated}"
    yield f"* Machine: {machine_class()}; 1 thread a fit"
    yield (
        "* Seeds: folds and public randomness have fixed seeds. The noise of the private methods "
        "is fresh entropy of the operating system in each fit: a second run gives other figures."
    )
    if own:
        yield f"* Files that are not the publisher's: {', '.join(own)}."
