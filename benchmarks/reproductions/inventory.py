"""Every figure and table of the five papers, and what there is of it here.

The state of an item is read from the files of results: it is *full* when its run is there in its
full form, on what the paper used and with at least its repeats. With fewer of them it has *fewer
repeats*, whose number is counted in the results. It is a *substitute* when the data or the sizes
are others, a *quick form* when only that is there. What is not available is named once, here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchmarkError
from benchmarks.harness.results import read
from benchmarks.harness.run import QUICK

DPBOOST = "DPBoost (Li, Wu, Wen, He; AAAI 2020)"
LPDT = "LPDT (NeurIPS 2023)"
TOPDOWN = "DP-TopDown (Wang, Dick, Balcan; 2020)"
FEDERATED = "Federated trees (Gubler; 2023)"
FRIEDMAN = "Friedman and Schuster (KDD 2010)"

#: The run of the main result of each paper.
HEADLINES = {
    DPBOOST: "figure2",
    LPDT: "lpdt-figure1",
    TOPDOWN: "dp-topdown",
    FEDERATED: "federated-histograms-1000",
    FRIEDMAN: "friedman-schuster",
}

#: What no publisher offers in a form or size that can be had here, and why.
MISSING = {
    "real-sim": "its publisher's file is not at hand; news20 stands in",
    "the full covtype": "its publisher's file is not at hand; a random sixth of its rows stands in",
    "SUSY": "its publisher's file of 2.4 GB is not at hand",
    "YearPredictionMSD": "its publisher's file is not at hand",
    "taxi trips": "the challenge that handed them out has ended; the wines stand in",
    "Avazu": "its publisher asks for a login",
    "ALG, BUI and MUS of LPDT's table 2": "their publisher's files are not at hand",
}

_DIAGRAM = "a drawing, nothing is measured in it"
_SETS = "substitutes or smaller sets for real-sim, covtype, SUSY, YearPredictionMSD and synthetic"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A figure or table.

    Attributes
    ----------
    paper, name : str
    shows : str
        In a few words.
    run : str
        Name of the run; empty without one.
    stand_in : str
        What is other than in the paper.
    repeats : (int, str)
        How many repeats the paper has, and what it repeats.
    nothing : str
        Why there is nothing.
    part : str
        Part of the results that it is, where the run has several figures.
    """

    paper: str
    name: str
    shows: str
    run: str = ""
    stand_in: str = ""
    repeats: tuple[int, str] = (0, "")
    nothing: str = ""
    part: str = ""

    def file(self, folder: Path) -> Path | None:
        """Return the file of its results: the full form, or else the short one."""
        for ending in ("", QUICK):
            path = folder / f"{self.run}{ending}.csv"
            if self.run and path.is_file() and self._is_in(path):
                return path
        return None

    def _is_in(self, path: Path) -> bool:
        try:
            rows = read(path).rows
        except BenchmarkError:
            return False
        return not self.part or any(row.part == self.part for row in rows)

    def state(self, folder: Path) -> str:
        """Return what there is of it."""
        if self.nothing:
            return self.nothing
        path = self.file(folder)
        if path is None:
            return f"not measured yet: `python -m benchmarks run {self.run}`"
        quick, fewer = path.stem.endswith(QUICK), self._fewer(path)
        kinds = ["quick form"] * quick + ["substitute"] * bool(self.stand_in)
        kind = ", ".join(kinds) or ("fewer repeats" if fewer else "full")
        told = "; ".join(filter(None, (self.stand_in, fewer)))
        return f"{kind}: {told}" if told else kind

    def _fewer(self, path: Path) -> str:
        """Say how many repeats there are, where they are fewer than the paper's."""
        wanted, what = self.repeats
        found: dict[tuple[object, ...], set[int]] = {}
        for row in read(path).measured():
            if not self.part or row.part == self.part:
                point = (row.part, row.data, row.method, row.epsilon, row.x, row.measure)
                found.setdefault(point, set()).add(row.repeat)
        counts = sorted({len(repeats) for repeats in found.values()})
        if not counts or counts[0] >= wanted:
            return ""
        span = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
        return f"{span} of the paper's {wanted} {what}, for time"


def _dpboost(name: str, shows: str, run: str = "", **more: str) -> Item:
    # Of its tables the paper does not say what they are means of.
    folds = 5 if name.startswith("figure") else 0
    return Item(paper=DPBOOST, name=name, shows=shows, run=run, repeats=(folds, "folds"), **more)


def _topdown(
    number: int, where: str, shows: str, run: str = "dp-topdown", stand_in: str = ""
) -> Item:
    return Item(
        paper=TOPDOWN,
        name=f"figure {number} ({where})",
        shows=shows,
        run=run,
        stand_in=stand_in,
        repeats=(100, "repeats"),
        part=f"figure {number}",
    )


_ONE, _HOLDERS, _LARGE = "one machine", "data holders", "KDD Cup, MNIST"
_AVAZU = "without Avazu"
_TOPDOWN = {
    1: "share of the leaves, Adult and Bank",
    2: "accuracy against alpha",
    3: "sizes of the training set",
    4: "share of the leaves, other sets",
    5: "training accuracy and size of trees",
    6: "training accuracy of figure 3",
}


def _topdown_figure(number: int) -> Iterator[Item]:
    """Yield a figure for one machine, and for the two algorithms of data holders."""
    shows = _TOPDOWN[number]
    if number in (2, 5):
        for where, run in ((_ONE, "dp-topdown"), (_HOLDERS, "federated-topdown")):
            yield _topdown(number, f"{where}, tables", shows, run, _AVAZU)
            yield _topdown(number, f"{where}, {_LARGE}", shows, f"{run}-large")
    elif number == 4:
        yield _topdown(number, _ONE, shows, "dp-topdown-shares", _AVAZU)
        few = "credit card and skin; without Avazu, KDD Cup and MNIST"
        yield _topdown(number, _HOLDERS, shows, "federated-topdown-shares", few)
    else:
        stand_in = "" if number == 1 else "Adult and Bank"
        run = "federated-topdown" if number == 1 else "federated-topdown-rows"
        yield _topdown(number, _ONE, shows, stand_in=stand_in)
        yield _topdown(number, _HOLDERS, shows, run, stand_in)


def _friedman(number: int, shows: str, repeats: tuple[int, str], stand_in: str = "") -> Item:
    return Item(
        paper=FRIEDMAN,
        name=f"figure {number}",
        shows=shows,
        run="friedman-schuster",
        stand_in=stand_in,
        repeats=repeats,
        part=f"figure {number}",
    )


_REPEATS = (50, "repeats")
_TWENTY = (20, "repeats")
_RUNS = (200, "runs")
# Twenty runs of each of ten trees; ten cross-validations of ten folds.
_TREES = (200, "runs")
_FOLDS = (100, "folds")
_SMALL = "the three small sets"
ITEMS = (
    _dpboost("figure 1", "the two levels of boosting", nothing=f"not applicable: {_DIAGRAM}"),
    _dpboost(
        "table 1", "the data sets", nothing="not applicable: a list of data, nothing measured"
    ),
    _dpboost("figure 2", "errors against epsilon, 50 trees", "figure2", stand_in=_SETS),
    _dpboost("figure 3", "convergence to 1,000 trees", "figure3", stand_in=_SMALL),
    _dpboost("figure 4", "leaf clipping", "figure4", stand_in=_SETS),
    _dpboost(
        "figure 5",
        "errors against epsilon, 20 trees",
        "figure2",
        stand_in=_SMALL,
        part="20 trees",
    ),
    _dpboost(
        "figure 6",
        "errors against epsilon, 40 trees",
        "figure2",
        stand_in=_SMALL,
        part="40 trees",
    ),
    _dpboost("figure 7", "1,000 trees, 20 in an ensemble", "figure7", stand_in=_SMALL),
    _dpboost("figure 8", "1,000 trees, 40 in an ensemble", "figure8", stand_in=_SMALL),
    _dpboost("table 2", "time of a tree", "table2", stand_in="one thread; " + _SETS),
    _dpboost("table 3", "rows that the filter drops", "table3", stand_in=_SETS),
    Item(
        paper=LPDT,
        name="table 1",
        shows="complexities",
        nothing="not applicable: formulas, nothing is measured in it",
    ),
    Item(paper=LPDT, name="figure 1", shows="with and without public rows", run="lpdt-figure1"),
    Item(
        paper=LPDT,
        name="figure 2",
        shows="depth, leaf size and epsilon",
        run="lpdt-figure2",
        repeats=_TWENTY,
    ),
    Item(
        paper=LPDT,
        name="table 2",
        shows="errors on real tables",
        run="lpdt-table2",
        repeats=_REPEATS,
        stand_in="11 of its 14 tables, without ALG, BUI and MUS",
    ),
    Item(
        paper=LPDT,
        name="table 3",
        shows="public rows unlike private ones",
        run="lpdt-table3",
        repeats=_TWENTY,
        stand_in="wines instead of taxi trips",
    ),
    Item(
        paper=LPDT,
        name="figure 3",
        shows="fares in and out of a zone",
        nothing="not applicable: it shows taxi trips, which are not at hand",
    ),
    Item(
        paper=LPDT,
        name="figure 4 (a)",
        shows="share of public rows, wine",
        run="lpdt-figure4",
        repeats=_TWENTY,
    ),
    Item(
        paper=LPDT,
        name="figure 4 (b)",
        shows="share of public rows, taxi trips",
        nothing="not applicable: the taxi trips are not at hand",
    ),
    *(item for number in range(1, 7) for item in _topdown_figure(number)),
    Item(
        paper=FEDERATED,
        name="figure 1",
        shows="an example of a tree",
        nothing=f"not applicable: {_DIAGRAM}",
    ),
    Item(
        paper=FEDERATED,
        name="figure 2",
        shows="how the budget is divided",
        run="federated-histograms-250",
        repeats=_REPEATS,
        part="figure 2",
    ),
    *(
        Item(
            paper=FEDERATED,
            name=f"figure {number} (depth {depth})",
            shows=f"accuracy against epsilon, {n_rows} rows",
            run=f"federated-histograms-{n_rows}{ending}",
            repeats=_REPEATS,
            part=f"figure {number}",
        )
        for number, n_rows in ((3, 250), (4, 1000), (5, 100))
        for depth, ending in ((5, ""), (10, "-depth-10"))
    ),
    Item(
        paper=FRIEDMAN,
        name="figure 1",
        shows="access to private data",
        nothing=f"not applicable: {_DIAGRAM}",
    ),
    Item(
        paper=FRIEDMAN,
        name="figure 2",
        shows="a Pareto frontier",
        nothing="not applicable: an example with synthetic algorithms",
    ),
    Item(
        paper=FRIEDMAN,
        name="table 1",
        shows="accuracy and deviations of figure 3",
        run="friedman-schuster",
        repeats=_RUNS,
        part="figure 3",
    ),
    _friedman(3, "a nominal split", _RUNS),
    _friedman(4, "a numeric split", _RUNS, "CART instead of J48"),
    _friedman(5, "numeric splits or ten bins", _RUNS),
    _friedman(6, "trees of nominal attributes", _TREES),
    _friedman(7, "trees of mixed attributes", _TREES, "CART instead of J48"),
    _friedman(8, "Adult", _FOLDS),
)


def lines(folder: Path) -> Iterator[str]:
    """Yield a line for every figure and table, then one for everything that is not available."""
    for item in ITEMS:
        yield f"{item.paper}, {item.name} ({item.shows}): {item.state(folder)}"
    for name, why in MISSING.items():
        yield f"not available: {name}: {why}"
