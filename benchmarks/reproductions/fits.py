"""What the papers of single trees share: a fit and its accuracy, and the form of their runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

import dpboost
from benchmarks.harness.claims import Claim, Verdict, finding, judged, sections
from benchmarks.harness.groups import Group
from benchmarks.harness.results import PUBLISHED, Result, Results, curves, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.harness.style import Panel, draw
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import summarize, table

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = "accuracy"
TRAINING = "training accuracy"
DEPTH = "depth"
NODES = "nodes"

#: A mean within this of a point of the paper's curve is said to be near it.
_NEAR = 0.03

#: What stands at the vertical axis.
_AXES = {
    ACCURACY: "accuracy on held-out rows",
    TRAINING: "accuracy on training rows",
    DEPTH: "depth of the tree",
    NODES: "nodes of the tree",
}


def accuracy(
    train: tuple[pd.DataFrame, np.ndarray],
    test: tuple[pd.DataFrame, np.ndarray],
    *,
    schema: Any,
    **settings: Any,
) -> float:
    """Fit a private tree on some rows and return its accuracy on others."""
    with warnings.catch_warnings():
        # Epsilons too small for a data set are what these figures are about.
        warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
        warnings.simplefilter("ignore", dpboost.ParameterWarning)
        model = dpboost.DPTreeClassifier(schema=schema, n_jobs=1, **settings).fit(*train)
    return float(np.mean(model.predict(test[0]) == test[1]))


def measured(
    *,
    figure: str,
    data: str,
    x: float,
    method: str,
    repeat: int,
    accuracy: float,
    measure: str = ACCURACY,
) -> Result:
    """Return the accuracy of one fit, or another number of it, as a result."""
    return Result(
        part=figure,
        data=data,
        x=f"{x:g}",
        method=method,
        repeat=repeat,
        measure=measure,
        value=round(accuracy, 6),
    )


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What is measured together: all methods on the rows of one repeat.

    Attributes
    ----------
    name : str
    measure : callable
        Called with the arguments; it yields results.
    arguments : tuple
        Their texts and the code of ``measure`` decide whether its results still count.
    """

    name: str
    measure: Callable[..., Iterable[Result]]
    arguments: tuple[Any, ...]

    def unit(self, versions: Mapping[str, str]) -> Unit:
        """Return the unit of a run; the versions are those that its results depend on."""
        code = inspect.getsource(inspect.getmodule(self.measure) or self.measure)
        settings = {
            "name": self.name,
            "arguments": [str(argument) for argument in self.arguments],
            "code": digest({"code": code}),
            "versions": dict(versions),
        }
        return Unit(
            name=self.name,
            settings=digest(settings),
            measure=lambda: self.measure(*self.arguments),
        )


_ONE_KIND: Mapping[str, Callable[[str], bool]] = {"": lambda method: True}


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Figures of a paper: accuracy against one quantity, for several methods.

    Attributes
    ----------
    name, title : str
    description : str
        What is drawn in which figures of which paper.
    axes : mapping of str to str
        Quantity on the horizontal axis, by figure.
    pieces : callable
        ``pieces(quick, repeats)``: what is measured.
    claims : callable
        The orderings that the paper reports.
    derived : callable
        ``derived(rows)``: numbers made of the results that claims are about besides.
    published : callable, optional
        Numbers of the paper.
    logarithmic : tuple of str
        Figures with a logarithmic axis.
    columns : int
        Panels beside each other.
    said : callable, optional
        ``said(results)``: lines before the tables.
    kinds : mapping of str to callable
        Panels into which the methods of one are divided: what follows their title, and
        ``shown(method)``. Numbers of the paper are in all of them.
    """

    name: str
    title: str
    description: str
    axes: Mapping[str, str]
    pieces: Callable[[bool, int | None], Iterator[Piece]]
    claims: Callable[[], Sequence[Claim]]
    derived: Callable[[Sequence[Result]], Sequence[Result]] = field(default=lambda rows: ())
    published: Callable[[], Sequence[Result]] = tuple
    logarithmic: tuple[str, ...] = ()
    columns: int = 2
    said: Callable[[Results], list[str]] | None = None
    kinds: Mapping[str, Callable[[str], bool]] = field(default_factory=lambda: _ONE_KIND)

    def run(self) -> Run:
        """Return the run."""
        return Run(
            name=self.name,
            title=self.title,
            group=Group.PAPERS,
            description=self.description,
            plan=self._plan,
            body=self._body,
            finding=lambda results: finding(self.judged(results)),
            draw=self._draw,
            code=self.pieces,
        )

    def _plan(self, request: Request) -> Plan:
        pieces = self.pieces(request.quick, request.repeats)
        versions = dpboost_recipes.versions()  # it reads all files of the library
        units = [piece.unit(versions) for piece in pieces]
        return Plan(units=units, published=list(self.published()))

    def _body(self, results: Results) -> list[str]:
        lines = [*sections(self.judged(results))]
        if self.said is not None:
            lines += self.said(results)
        panels = list(self._panels(results))
        lines += _beside_published(panels)
        for figure, data, measure, own in panels:
            lines += _table(_title(figure, data, measure), measure, self.axes[figure], own)
        return lines

    def judged(self, results: Results) -> list[Verdict]:
        """Return the verdicts on all claims."""
        rows = results.measured()
        rows = [*rows, *self.derived(rows)]
        return judged(self.claims(), rows, only_measured=results.is_quick)

    def _panels(self, results: Results) -> Iterator[tuple[str, str, str, list[Result]]]:
        """Yield figure, data, measure and numbers of every panel, those of the paper among them."""
        for figure in self.axes:
            mine = pick(results.rows, part=figure)
            for data in dict.fromkeys(row.data for row in mine):
                own = pick(mine, data=data)
                for measure in dict.fromkeys(_plain(row.measure) for row in own):
                    yield figure, data, measure, [r for r in own if _plain(r.measure) == measure]

    def _draw(self, results: Results) -> bytes:
        panels = []
        for figure, data, measure, rows in self._panels(results):
            for kind, shown in self.kinds.items():
                own = [row for row in pick(rows, measure=measure) if shown(row.method)]
                if len(self.kinds) > 1 and all(self._everywhere(row.method) for row in own):
                    continue
                panels.append(
                    Panel(
                        title=", ".join(filter(None, (_title(figure, data, measure), kind))),
                        x_label=self.axes[figure],
                        y_label=_AXES[measure],
                        rows=own,
                        published=[row for row in rows if row.measure != measure],
                        log_x=figure in self.logarithmic,
                        log_y=measure == NODES,
                        limits=_of_nodes(own) if measure == NODES else None,
                    )
                )
        return draw(panels, columns=self.columns)

    def _everywhere(self, method: str) -> bool:
        """Say whether a method is in the panels of all kinds, to be compared with."""
        return all(shown(method) for shown in self.kinds.values())


def _of_nodes(rows: Sequence[Result]) -> tuple[float, float]:
    """Return what of a logarithmic axis is shown: a tree has a node at least."""
    return 0.9, 1.3 * max(row.value for row in rows)


def _plain(measure: str) -> str:
    """Return what is measured, here or in the paper."""
    return measure.removeprefix(f"{PUBLISHED} ")


def _title(figure: str, data: str, measure: str) -> str:
    return f"{figure}: {data}" + ("" if measure == ACCURACY else f", {measure}")


def _beside_published(panels: Sequence[tuple[str, str, str, list[Result]]]) -> list[str]:
    """Return how far the methods are from the curves of the paper, panel by panel."""
    found: dict[tuple[str, str], dict[float, float]] = {}
    for _, data, measure, rows in panels:
        mine = dict(curves(pick(rows, measure=measure)))
        for method, points in curves([row for row in rows if row.measure != measure]):
            own = mine.get(method, {})
            apart = {x: float(np.mean(own[x]) - np.mean(points[x])) for x in points if x in own}
            if apart:
                found[data, method] = apart
    positions = sorted({x for apart in found.values() for x in apart})
    if not positions:
        return []
    starts = positions[:2]
    near = []
    for method in dict.fromkeys(method for _, method in found):
        own = [apart for (_, name), apart in found.items() if name == method]
        near.append([method])
        for start in starts:
            parts = [apart[x] for apart in own for x in apart if x >= start]
            n_near = sum(abs(part) <= _NEAR for part in parts)
            near[-1] += [f"{n_near} of {len(parts)}", f"{max(parts, key=abs):+.3f}"]
    lines = [
        [data, method, *(f"{apart[x]:+.3f}" if x in apart else "" for x in positions)]
        for (data, method), apart in found.items()
    ]
    headings = [words for x in starts for words in (f"from {x:g} on", "furthest")]
    return [
        "## Beside the curves of the paper",
        "",
        "Mean of the repeats less what was read from the figure of the paper: how many points are "
        f"within {_NEAR:g} of it, and all of them.",
        "",
        *table(["method", *headings], near),
        "",
        *table(["panel", "method", *(f"{x:g}" for x in positions)], lines),
        "",
    ]


def _table(title: str, measure: str, axis: str, rows: Sequence[Result]) -> list[str]:
    positions = sorted({row.position for row in rows if row.position is not None})
    digits = 3 if measure in (ACCURACY, TRAINING) else 1
    lines = []
    for kind in dict.fromkeys(row.measure for row in rows):
        for method, points in curves(pick(rows, measure=kind)):
            cells = [f"{summarize(points[x]):{digits}}" if x in points else "" for x in positions]
            lines.append([method if kind == measure else f"paper: {method}", *cells])
    own = list(curves(pick(rows, measure=measure)))
    repeats = [len(found) for _, points in own for found in points.values()]
    said = "of the paper alone: not measured here"
    if repeats:
        n = " to ".join(str(n) for n in dict.fromkeys((min(repeats), max(repeats))))
        said = f"± standard error of {n} repeats"
    return [
        f"## {title}",
        "",
        f"{measure.capitalize()} against {axis}, {said}.",
        "",
        *table([axis, *(f"{position:g}" for position in positions)], lines),
        "",
    ]
