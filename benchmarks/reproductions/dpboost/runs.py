"""The runs, and how one is measured, taken up again and written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from benchmarks.errors import DataFileError
from benchmarks.harness import run as harness
from benchmarks.harness.groups import Group
from benchmarks.harness.page import SEPARATOR
from benchmarks.harness.results import Result, Results
from benchmarks.harness.run import Request, Run, Unit
from benchmarks.harness.style import Panel, draw
from benchmarks.problems import ALL_PROBLEMS
from benchmarks.reproductions.dpboost import curves, repeats, table2, table3
from benchmarks.reproductions.dpboost.methods import (
    BEST,
    BEST_PURE,
    CODE,
    CODE_LOGISTIC,
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
from benchmarks.reproductions.dpboost.plan import Plan, settings_of
from benchmarks.reproductions.dpboost.rows import Job
from benchmarks.reproductions.dpboost.sets import CLASSIFICATION, REGRESSION, SETS, Data, PaperSet

_HELD: dict[str, Data] = {}


def _held(own: PaperSet) -> Data:
    """Return the rows of a set, which every process keeps until it is asked for those of another.

    Two large sets at a time would not fit.
    """
    if own.name not in _HELD:
        _HELD.clear()
        _HELD[own.name] = own.load()
    return _HELD[own.name]


class Rows:
    """Loads sets, and says what is declared and read.

    Parameters
    ----------
    load : callable
        From a set to its rows.
    """

    def __init__(self, load: Callable[[PaperSet], Data] = _held) -> None:
        self._load = load

    def of(self, name: str) -> Data:
        """Return the rows of a set."""
        return self._load(SETS[name])

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


def _at_hand(plan: Plan, rows: Rows) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Return what each set is measured on, and why others are left out."""
    facts, missing = {}, {}
    for name in plan.sets:
        try:
            facts[name] = rows.facts(name)
        except DataFileError as error:
            missing[name] = str(error)
    return facts, missing


Measure = Callable[[Job, Data, Plan], Sequence[Result]]


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """A table or figure of the paper.

    Attributes
    ----------
    name, title, description : str
    plan, quick : Plan
        In full and in the short form.
    measure : callable
        ``measure(job, data, plan)``: the results of one fit.
    page : callable
        ``page(rows)``: lines of Markdown.
    finding : callable
        ``finding(rows)``: a sentence.
    panels : callable, optional
        ``panels(rows)``: of the image.
    timed : bool
    """

    name: str
    title: str
    description: str
    plan: Plan
    quick: Plan
    measure: Measure
    page: Callable[[Sequence[Result]], list[str]]
    finding: Callable[[Sequence[Result]], str]
    panels: Callable[[Sequence[Result]], list[Panel]] | None = None
    timed: bool = False

    def run(self, rows: Rows | None = None) -> Run:
        """Return the run, on rows of its own or those that are given."""
        rows = rows or Rows()
        return Run(
            name=self.name,
            title=self.title,
            group=Group.PAPERS,
            description=self.description,
            plan=lambda request: self._plan(request, rows),
            body=lambda results: self.page(results.rows),
            finding=lambda results: self.finding(results.rows),
            draw=None if self.panels is None else self._draw,
            timed=self.timed,
        )

    def _draw(self, results: Results) -> bytes:
        assert self.panels is not None
        return draw(self.panels(results.rows), columns=2)

    def _plan(self, request: Request, rows: Rows) -> harness.Plan:
        plan = self.quick if request.quick else self.plan
        if request.repeats is not None:
            plan = replace(plan, folds=request.repeats)
        facts, missing = _at_hand(plan, rows)
        jobs = [job for own in plan.sets if own in facts for job in plan.jobs(own)]
        more = {"run": self.name, "stages": plan.stages}

        def measured(job: Job) -> Sequence[Result]:
            return self.measure(job, rows.of(job.data), plan)

        units = [
            Unit(
                name=job.name,
                settings=settings_of(job, SETS[job.data], facts[job.data], more),
                measure=partial(measured, job),
            )
            for job in jobs
        ]
        slow = [
            f"{data}: {method}, it takes too long"
            for data, method in sorted(plan.too_slow)
            if data in facts
        ]
        # Where the files were looked for is a matter of this machine.
        gone = [f"{name}: its file is not at hand" for name in missing]
        own = [name for name in facts if not rows.published(name)]
        if not units:
            raise DataFileError("\n".join(missing.values()))
        return harness.Plan(
            units=units,
            facts={"not run": SEPARATOR.join(gone + slow), "other files": ", ".join(own)},
        )


# Of the paper's own methods.
_HEADLINE = ("constant", "NP", "SEQ", "PARA", "DPBoost")
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
                title="DPBoost paper, figures 2, 5 and 6: error against epsilon",
                description="Figures 2, 5 and 6 of the DPBoost paper: errors against epsilon, 50 "
                "trees in one ensemble, and with 20 and 40 trees as in its appendix.",
                plan=Plan(
                    sets=_ALL,
                    methods=_FIGURE_2,
                    epsilons=_EPSILONS,
                    n_trees=(50, 20, 40),
                    side_methods=("constant", "NP", "SEQ", "PARA", "DPBoost"),
                    fits=repeats.FIGURE_2,
                    too_slow=frozenset(
                        {
                            ("news20 for real-sim", "SEQ"),
                            ("real-sim", "SEQ"),
                            *((name, "SEQ, logistic") for name in _WIDE),
                        }
                    ),
                ),
                # The order of the paper's methods on its smallest set, with draws enough to decide
                # it: under a minute.
                quick=Plan(
                    sets=("abalone",),
                    methods=tuple(each for each in _FIGURE_2 if each.name in _HEADLINE),
                    epsilons=(4.0, 10.0),
                    draws=10,
                ),
                measure=curves.measure,
                page=curves.page_2,
                finding=curves.finding_2,
                panels=curves.panels_2,
            ),
            PaperRun(
                name="figure3",
                title="DPBoost paper, figure 3: error against the number of trees, "
                "50 in an ensemble",
                description="Figure 3 of the DPBoost paper: errors against the number of trees, in "
                "ensembles of 50 trees with epsilon 5 each, 20 in full; the others have the same "
                "in all.",
                plan=Plan(
                    sets=_SETS_3,
                    methods=_FIGURE_3,
                    epsilons=(100.0,),
                    n_trees=(1000,),
                    draws=1,
                    fits=repeats.FIGURE_3,
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
                finding=curves.finding_3,
                panels=curves.panels_3,
            ),
            PaperRun(
                name="figure3-code",
                title="DPBoost paper, figure 3: error of its released code against the number of "
                "trees",
                description="Figure 3 of the DPBoost paper with its released code, whose two "
                "branches are written again for these curves: not private, whatever the epsilon.",
                plan=Plan(
                    sets=("adult", "cod-rna"),
                    methods=(CONSTANT, NP, CODE, CODE_LOGISTIC),
                    epsilons=(100.0,),
                    n_trees=(1000,),
                    folds=2,
                    draws=1,
                    stages=_STAGES,
                ),
                quick=Plan(
                    sets=("adult",),
                    methods=(CONSTANT, NP, CODE, CODE_LOGISTIC),
                    epsilons=(20.0,),
                    n_trees=(200,),
                    folds=2,
                    draws=1,
                    stages=_STAGES,
                ),
                measure=curves.measure,
                page=curves.page_3,
                finding=curves.finding_of_code,
                panels=curves.panels_3,
            ),
            *(
                PaperRun(
                    name=name,
                    title=f"DPBoost paper, figure {name[-1]}: error against the number of trees, "
                    f"{size} in an ensemble",
                    description=f"Figure {name[-1]} of the DPBoost paper: as figure 3, with "
                    f"{size} trees in an ensemble and epsilon 5 for each, {1000 // size} in full.",
                    plan=Plan(
                        sets=_SMALL,
                        methods=_FIGURE_3,
                        epsilons=(5.0 * 1000 / size,),
                        n_trees=(1000,),
                        draws=1,
                        fits=fits,
                        stages=_STAGES,
                        trees_per_ensemble=size,
                    ),
                    quick=Plan(
                        sets=("adult",),
                        methods=_FIGURE_3,
                        epsilons=(5.0 * 200 / size,),
                        n_trees=(200,),
                        folds=2,
                        stages=_STAGES,
                        trees_per_ensemble=size,
                    ),
                    measure=curves.measure,
                    page=curves.page_3,
                    finding=curves.finding_3,
                    panels=curves.panels_3,
                )
                for name, size, fits in (
                    ("figure7", 20, repeats.FIGURE_7),
                    ("figure8", 40, repeats.FIGURE_3),
                )
            ),
            PaperRun(
                name="figure4",
                title="DPBoost paper, figure 4: error with and without leaf clipping",
                description="Figure 4 of the DPBoost paper: with and without geometric leaf "
                "clipping, 50 trees in one ensemble.",
                plan=Plan(
                    sets=(*REGRESSION, "adult", "cod-rna"),
                    methods=(CONSTANT, OURS, UNCLIPPED_METHOD),
                    epsilons=_EPSILONS,
                    draws=3,
                    fits=repeats.FIGURE_4,
                ),
                quick=Plan(
                    sets=_SMALL,
                    methods=(CONSTANT, OURS, UNCLIPPED_METHOD),
                    epsilons=(1.0, 4.0, 10.0),
                    folds=2,
                ),
                measure=curves.measure,
                page=curves.page_4,
                finding=curves.finding_4,
                panels=curves.panels_2,
            ),
            PaperRun(
                name="table2",
                title="DPBoost paper, table 2: time of a tree",
                description="Table 2 of the DPBoost paper: time of a tree beside LightGBM.",
                plan=Plan(
                    sets=_ALL,
                    methods=(NP, OURS),
                    epsilons=(10.0,),
                    n_trees=(1000,),
                    folds=2,
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
                finding=table2.finding,
                timed=True,
            ),
            PaperRun(
                name="table3",
                title="DPBoost paper, table 3: rows that the gradient filter drops",
                description="Table 3 of the DPBoost paper: rows that the gradient filter drops. "
                "Not private: counted on public rows.",
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
                finding=table3.finding,
            ),
        )
    }
)
