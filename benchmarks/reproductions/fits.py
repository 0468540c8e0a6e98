"""What the papers of single trees share: a fit and its accuracy, and the form of their runs."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import dpboost
from benchmarks.harness.claims import Claim, judged, sections
from benchmarks.harness.results import Result, Results, curves, pick
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.harness.style import Panel, draw
from benchmarks.libraries import dpboost_recipes
from benchmarks.summary import summarise, table

if TYPE_CHECKING:
    import pandas as pd

ACCURACY = "accuracy"


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
    *, figure: str, data: str, x: float, method: str, repeat: int, accuracy: float
) -> Result:
    """Return the accuracy of one fit as a result."""
    return Result(
        part=figure,
        data=data,
        x=f"{x:g}",
        method=method,
        repeat=repeat,
        measure=ACCURACY,
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

    def unit(self) -> Unit:
        """Return the unit of a run."""
        code = inspect.getsource(inspect.getmodule(self.measure) or self.measure)
        settings = {
            "name": self.name,
            "arguments": [str(argument) for argument in self.arguments],
            "code": digest({"code": code}),
            "versions": dpboost_recipes.versions(),
        }
        return Unit(
            name=self.name,
            settings=digest(settings),
            measure=lambda: self.measure(*self.arguments),
        )


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Figures of a paper: accuracy against one quantity, for several methods.

    Attributes
    ----------
    name, title : str
    axes : mapping of str to str
        Quantity on the horizontal axis, by figure.
    pieces : callable
        ``pieces(quick, repeats)``: what is measured.
    claims : callable
        The orderings that the paper reports.
    published : callable, optional
        Numbers of the paper.
    logarithmic : tuple of str
        Figures with a logarithmic axis.
    columns : int
        Panels beside each other.
    said : callable, optional
        ``said(results)``: lines before the tables.
    """

    name: str
    title: str
    axes: Mapping[str, str]
    pieces: Callable[[bool, int | None], Iterator[Piece]]
    claims: Callable[[], Sequence[Claim]]
    published: Callable[[], Sequence[Result]] = tuple
    logarithmic: tuple[str, ...] = ()
    columns: int = 2
    said: Callable[[Results], list[str]] | None = None

    def run(self) -> Run:
        """Return the run."""
        return Run(
            name=self.name,
            description=f"{self.title}.",
            plan=self._plan,
            body=self._body,
            draw=self._draw,
        )

    def _plan(self, request: Request) -> Plan:
        pieces = self.pieces(request.quick, request.repeats)
        return Plan(units=[piece.unit() for piece in pieces], published=list(self.published()))

    def _body(self, results: Results) -> list[str]:
        rows = results.measured()
        lines = [*sections(judged(self.claims(), rows))]
        if self.said is not None:
            lines += self.said(results)
        for figure, axis in self.axes.items():
            own = pick(results.rows, part=figure)
            for data in dict.fromkeys(row.data for row in own):
                lines += _table(figure, data, axis, pick(own, data=data))
        return lines

    def _draw(self, results: Results) -> bytes:
        panels = []
        for figure, axis in self.axes.items():
            own = pick(results.rows, part=figure)
            for data in dict.fromkeys(row.data for row in own):
                mine = pick(own, data=data)
                panels.append(
                    Panel(
                        title=f"{figure}: {data}",
                        x_label=axis,
                        y_label="accuracy on held-out rows",
                        rows=pick(mine, measure=ACCURACY),
                        published=[row for row in mine if row.measure != ACCURACY],
                        log_x=figure in self.logarithmic,
                    )
                )
        return draw(panels, columns=self.columns)


def _table(figure: str, data: str, axis: str, rows: Sequence[Result]) -> list[str]:
    positions = sorted({row.position for row in rows if row.position is not None})
    lines = []
    for kind in dict.fromkeys(row.measure for row in rows):
        for method, points in curves(pick(rows, measure=kind)):
            cells = [f"{summarise(points[x]):3}" if x in points else "" for x in positions]
            lines.append([method if kind == ACCURACY else f"paper: {method}", *cells])
    own = list(curves(pick(rows, measure=ACCURACY)))
    repeats = [len(found) for _, points in own for found in points.values()]
    said = "of the paper alone: not measured here"
    if repeats:
        n = " to ".join(str(n) for n in dict.fromkeys((min(repeats), max(repeats))))
        said = f"± standard error of {n} repeats"
    return [
        f"## {figure}: {data}",
        "",
        f"Accuracy against {axis}, {said}.",
        "",
        *table([axis, *(f"{position:g}" for position in positions)], lines),
        "",
    ]
