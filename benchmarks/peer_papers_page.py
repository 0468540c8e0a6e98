"""The page of ``run peer-papers``: claims of the papers beside what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.experiments import Experiment, Method
from benchmarks.harness.results import Results
from benchmarks.metrics import METRICS
from benchmarks.problems import Problem
from benchmarks.published_peers import PUBLISHED, Ours, Published
from benchmarks.rows import Row, rows_of
from benchmarks.runner import measured_part
from benchmarks.summary import Summary, listed, span, summarize, table

_ABALONE, _ADULT = "abalone", "adult"
_CONSTANT, _BEST, _LIGHTGBM = "constant", "best", "LightGBM"
#: Of the first version of S-BDT: epsilon and the coefficient of determination.
CLAIM = (0.15, 0.39)
_CLAIMANT = "S-BDT, 50 trees"
_OUR_LIBRARIES = ("dpboost_recipes", "dpboost_trees")
#: Budgets of the section on few trees.
FEW_EPSILONS = (0.5, 1.0)


class PeerPapers:
    """The results of the run with what is asked of them.

    Parameters
    ----------
    results : Results
    experiment : Experiment
    problems : mapping of str to Problem
    few_trees : mapping of str to tuple of Method
        Methods of the section on few trees, in the order of ``few``, by what a line is called.
    few : tuple of int
        Numbers of trees.
    """

    def __init__(
        self,
        results: Results,
        experiment: Experiment,
        problems: Mapping[str, Problem],
        few_trees: Mapping[str, tuple[Method, ...]],
        few: tuple[int, ...],
    ) -> None:
        self.rows = rows_of(results.rows)
        self.experiment = measured_part(experiment, self.rows)
        self.problems, self.few_trees, self.few = problems, few_trees, few
        self.values: dict[tuple[str, str, float | None], dict[int, Row]] = {}
        for row in self.rows:
            cell = row.cell
            own = self.values.setdefault((cell.problem, cell.method, cell.epsilon), {})
            own[cell.split] = row

    def own(self, problem: str, method: str, epsilon: float | None) -> dict[int, Row]:
        """Return the fits of a method by split; without privacy they are of every epsilon."""
        return self.values.get((problem, method, epsilon)) or self.values.get(
            (problem, method, None), {}
        )

    def measure(self, problem: str, method: str, epsilon: float | None) -> Summary | None:
        """Return the measure of the table."""
        found = [row.value for row in self.own(problem, method, epsilon).values()]
        return summarize(found) if found else None

    def accuracy(self, method: str, epsilon: float | None) -> Summary | None:
        """Return the share of right classes on Adult."""
        rows = self.own(_ADULT, method, epsilon).values()
        found = [row.accuracy for row in rows if row.accuracy is not None]
        return summarize(found) if found else None

    def determination(self, method: str, epsilon: float | None) -> Summary | None:
        """Return R2 on Abalone: by how much the squared error is below a constant's.

        The constant is the mean of the training rows.
        """
        constant = self.own(_ABALONE, _CONSTANT, None)
        rows = self.own(_ABALONE, method, epsilon)
        found = [
            1 - (row.value / constant[split].value) ** 2
            for split, row in rows.items()
            if split in constant
        ]
        return summarize(found) if found else None

    def beside(self, item: Published, ours: Ours) -> Summary | None:
        """Return what was measured here nearest to a published number, in its measure."""
        if item.measure == "R2":
            return self.determination(ours.method, ours.epsilon)
        if item.measure == "error":
            found = self.accuracy(ours.method, ours.epsilon)
            return found and Summary(mean=1 - found.mean, standard_error=found.standard_error)
        return self.measure(item.table, ours.method, ours.epsilon)


def finding(page: PeerPapers) -> str:
    """Return what was found, in one sentence."""
    epsilon, claimed = CLAIM
    own = page.determination(_BEST, epsilon)
    theirs = page.determination(_CLAIMANT, epsilon)
    exact = page.determination(f"{_CLAIMANT}, no noise", None)
    if own is None or theirs is None or exact is None:
        return ""
    return (
        f"On Abalone at epsilon {epsilon:g}, where the first version of S-BDT states an R2 of "
        f"{claimed:g}, our S-BDT reaches {theirs:3}, and {exact:3} without any noise; "
        f"`best` reaches {own:3}. {_lead_sentence(page)} {_few_sentence(page)}"
    ).strip()


def _lead_sentence(page: PeerPapers) -> str:
    """Return at how many points best is at least as good as all that are not of this library."""
    ahead = []
    for problem in (_ADULT, _ABALONE):
        higher = METRICS[page.problems[problem].task].higher_is_better
        for epsilon in page.experiment.epsilons:
            own = page.measure(problem, _BEST, epsilon)
            others = [
                found.mean
                for method in _shown(page, problem)
                if method.private and method.library not in _OUR_LIBRARIES
                if (found := page.measure(problem, method.name, epsilon)) is not None
            ]
            if own is not None and others:
                ahead.append(own.mean >= max(others) if higher else own.mean <= min(others))
    return (
        f"At {sum(ahead)} of {len(ahead)} points (Adult or Abalone, and an epsilon), `best` is at "
        "least as accurate as all three."
    )


def _few_sentence(page: PeerPapers) -> str:
    """Return how random splits stand beside chosen ones, by the number of trees."""
    epsilon, chosen = FEW_EPSILONS[-1], "dpboost"
    ahead, behind = [], []
    for at, n_trees in enumerate(page.few):
        pair = [
            page.measure(_ADULT, page.few_trees[line][at].name, epsilon) for line in (_BEST, chosen)
        ]
        if pair[0] is None or pair[1] is None:
            return ""
        (ahead if pair[0].mean >= pair[1].mean else behind).append(n_trees)
    if not behind:
        return f"On Adult at epsilon {epsilon:g}, random splits are never behind chosen ones."
    sentence = (
        f"On Adult at epsilon {epsilon:g}, the random splits of `best` are behind the chosen ones "
        f"of `{chosen}` with {listed([str(number) for number in behind])} of "
        f"{listed([str(number) for number in page.few])} trees"
    )
    if not ahead:
        return f"{sentence}."
    return f"{sentence}, and ahead with {listed([str(number) for number in ahead])}."


def body(page: PeerPapers) -> list[str]:
    """Return the lines of the page between description and notes."""
    parts = _determination(page)
    parts += _section(page, _ADULT, "AUC", _measure_of(page, _ADULT))
    parts += _section(page, _ADULT, "accuracy", page.accuracy)
    parts += _section(page, _ABALONE, "RMSE", _measure_of(page, _ABALONE))
    for problem in page.experiment.problems:
        parts += _few(page, problem)
    return [*parts, *_published(page)]


def _measure_of(page: PeerPapers, problem: str) -> Callable[[str, float | None], Summary | None]:
    """Return what gives the measure of a table by method and epsilon."""
    return lambda method, epsilon: page.measure(problem, method, epsilon)


def _shown(page: PeerPapers, problem: str) -> list[Method]:
    """Return the methods of a table that no section on few trees has."""
    elsewhere = {method.name for line in page.few_trees.values() for method in line}
    return [
        method for method in page.experiment.methods_on(problem) if method.name not in elsewhere
    ]


def _lines(
    page: PeerPapers,
    problem: str,
    figure: Callable[[str, float | None], Summary | None],
    digits: str,
) -> list[list[str]]:
    lines = []
    for method in _shown(page, problem):
        cells = []
        for epsilon in page.experiment.epsilons:
            found = figure(method.name, epsilon if method.private else None)
            cells.append("" if found is None else format(found, digits))
        if any(cells):
            lines.append([method.name, *cells])
    return lines


def _header(page: PeerPapers) -> list[str]:
    return ["method", *(f"epsilon {epsilon:g}" for epsilon in page.experiment.epsilons)]


def _extent(page: PeerPapers, problem: str) -> str:
    """Return on how many splits and rows the figures of a table are."""
    rows = [row for row in page.rows if row.cell.problem == problem]
    if not rows:
        return ""
    splits = span([len(own) for key, own in page.values.items() if key[0] == problem], "d")
    return (
        f"mean ± standard error of {splits} splits with {rows[0].n_train_rows:,} training and "
        f"{rows[0].n_test_rows:,} held-out rows."
    )


def _determination(page: PeerPapers) -> list[str]:
    """Return the section on the claim of S-BDT."""
    lines = _lines(page, _ABALONE, page.determination, "3")
    if not lines:
        return []
    epsilon, claimed = CLAIM
    return [
        "## The claim of S-BDT on Abalone",
        "",
        f"R2 on held-out rows (higher is better), {_extent(page, _ABALONE)} It is 1 less the "
        "squared error over that of the mean of the training labels. The first version of the "
        f"paper states {claimed:g} at epsilon {epsilon:g} and 0.47 at 0.54.",
        "",
        *table(_header(page), lines),
        "",
        *_needed(page),
    ]


def _needed(page: PeerPapers) -> list[str]:
    """Return in a sentence at which budget best first reaches the claim."""
    _, claimed = CLAIM
    for epsilon in page.experiment.epsilons:
        found = page.determination(_BEST, epsilon)
        if found is not None and found.mean >= claimed:
            return [f"`best` has {claimed:g} at epsilon {epsilon:g} and not below.", ""]
    return [f"`best` has {claimed:g} at none of these.", ""]


def _section(
    page: PeerPapers,
    problem: str,
    name: str,
    figure: Callable[[str, float | None], Summary | None],
) -> list[str]:
    lines = _lines(page, problem, figure, "3" if name == "RMSE" else "4")
    if not lines:
        return []
    direction = "lower" if name == "RMSE" else "higher"
    return [
        f"## {problem}: {name}",
        "",
        f"{name} on held-out rows ({direction} is better), {_extent(page, problem)}",
        "",
        *table(_header(page), lines),
        "",
    ]


def _few(page: PeerPapers, problem: str) -> list[str]:
    """Return how the measure grows with the number of trees, for random and for chosen splits."""
    metric = METRICS[page.problems[problem].task]
    parts: list[str] = []
    for epsilon in FEW_EPSILONS:
        lines = []
        for name, methods in page.few_trees.items():
            found = [page.measure(problem, method.name, epsilon) for method in methods]
            found.append(page.measure(problem, name, epsilon))
            cells = ["" if item is None else f"{item:3}" for item in found]
            if any(cells):
                lines.append([name, *cells])
        exact = page.measure(problem, _LIGHTGBM, None)
        if lines and exact is not None:
            lines.append([f"{_LIGHTGBM}, no privacy", *("" for _ in page.few), f"{exact:3}"])
        if lines:
            header = [f"epsilon {epsilon:g}", *(f"{number}" for number in page.few), "default"]
            parts += [*table(header, lines), ""]
    if not parts:
        return []
    direction = "higher" if metric.higher_is_better else "lower"
    return [
        f"## Few trees: {problem}",
        "",
        *([f"Data: {made}.", ""] if (made := page.problems[problem].made_by) else []),
        f"{metric.name} ({direction} is better) by the number of trees. The splits of best and of "
        "the random trees of Maddock et al. see no row; the others are chosen by the rows. "
        f"{_extent(page, problem).capitalize()}",
        "",
        *parts,
    ]


def _published(page: PeerPapers) -> list[str]:
    """Return the table of published numbers."""
    lines = []
    for item in PUBLISHED:
        found = [
            f"{ours.method} {summary:3}"
            for ours in item.ours
            if (summary := page.beside(item, ours)) is not None
        ]
        digits = 2 if item.measure == "R2" else 3
        lines.append(
            [
                item.paper,
                item.source,
                item.table,
                item.measure,
                item.epsilon,
                f"{item.value:.{digits}f}",
                "; ".join(found),
                item.comparable,
            ]
        )
    header = ["paper", "read in", "table", "measure", "epsilon", "published"]
    header += ["measured here", "comparable"]
    return [
        "## Published numbers",
        "",
        "Numbers of private trees since 2020 that were found in a text or file of their authors. "
        "An error is the share of wrong classes. Measured here: at the same or the next smaller "
        "epsilon of this run.",
        "",
        *table(header, lines, n_texts=8),
        "",
    ]
