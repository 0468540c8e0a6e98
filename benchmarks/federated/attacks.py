"""What a curious coordinator finds out from federated trees, without privacy and with it.

Five parties have rows of one table. The coordinator is handed models or trees that parties have
grown on their own rows, trees grown on the sums of all rows without noise, or the models of
`dpboost.federated`. Two attacks: rows are reconstructed, and single rows are singled out. What
they find is counted beside what the same attack finds of other people's rows: that much trees
reveal about the population, and about no one in particular.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks._compat import import_pandas
from benchmarks.federated.client_trees import (
    BAGGING,
    SMALL_LEAVES,
    bagged_trees,
    whole_model,
)
from benchmarks.federated.reconstruction import (
    TOLERANCE,
    Array,
    Grid,
    ReadTree,
    Reconstruction,
    Table,
    found_share,
    read_trees,
    spans,
    start_of,
)
from benchmarks.federated.singling_out import MOST_EXPECTED, counted
from benchmarks.harness.groups import Group
from benchmarks.harness.results import Result, Results, distinct, pick, values
from benchmarks.harness.run import Plan, Request, Run, Unit, digest
from benchmarks.harness.style import Panel
from benchmarks.harness.style import draw as draw_panels
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems import PROBLEMS
from benchmarks.summary import listed, summarize, table

DATA = ("adult", "default_credit")
N_PARTIES, N_ROWS, N_PUBLIC = 5, 200, 10_000
N_ROUNDS = 10
REPEATS, QUICK_REPEATS = 3, 1
EPSILONS = (1.0, 8.0)
DELTA = 1e-6
#: Trees of our models: as many as LightGBM's have.
N_TREES = 100
#: Numbers of trees after which found cells are counted; and after the last one.
LOOKS = (1, 3, 10, 30, 100)
#: Trees of our models that rows are reconstructed from, and that single rows are sought in, so
#: that a repeat ends within a minute. An attacker with more time could take all of them.
MOST_REBUILT, MOST_SOUGHT = 30, 50
MODELS, SMALL, BAGGED, TOGETHER, BEST = (
    "LightGBM",
    "small leaves",
    "bagging",
    "LightGBM, sums of all",
    "best",
)
GUESS, DRAWN, OTHERS = "guess", "drawn", "rows of others"
REBUILT, SINGLED = "reconstruction", "singling out"
CELLS, ROWS, NOT_THERE = "cells", "rows", "cells of rows that were not there"
CLAIMS, TRUE, CHANCE = "claims", "true claims", "claims true of rows that were not there"
_LABELS = {
    MODELS: "LightGBM models of each party",
    SMALL: "the same with leaves of one row",
    BAGGED: "bagging: trees of each party",
    TOGETHER: "LightGBM on sums of all rows, no noise",
}

Shares = dict[int, Array]


def looks(n_trees: int) -> set[int]:
    """Return after which trees the rows are looked at."""
    return {*(look for look in LOOKS if look < n_trees), n_trees}


def from_model(trees: Sequence[ReadTree], n_rows: int, public: Table, seed: int) -> Shares:
    """Return the rows that a model gives, by the number of its trees that were looked at."""
    rows = Reconstruction(Grid(trees, public), n_rows, start_of(trees[0]), seed)
    found = {}
    for number, tree in enumerate(trees, 1):
        rows.learn(tree)
        if number in looks(len(trees)):
            found[number] = rows.rows
    return found


def from_bagging(
    grown: Sequence[Sequence[ReadTree]], n_rows: int, public: Table, seed: int
) -> Shares:
    """Return the rows of all parties that their trees give, by the number of rounds.

    Parameters
    ----------
    grown : sequence of sequence of ReadTree
        The tree of each party, round by round.
    n_rows : int
        Of each party.
    public : Table
    seed : int
    """
    grid = Grid([tree for own in grown for tree in own], public)
    found: dict[int, list[Array]] = {}
    for party in range(len(grown[0])):
        rows = Reconstruction(grid, n_rows, 0.0, seed + party)
        for number, own in enumerate(grown, 1):
            rows.learn(own[party], reg_lambda=BAGGING["lambda_l2"])
            for other, tree in enumerate(own):
                if other != party:
                    rows.hear(tree)
            if number in looks(len(grown)):
                found.setdefault(number, []).append(rows.rows)
    return {number: np.vstack(parts) for number, parts in found.items()}


def _parties(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Assign rows out to parties."""
    return [(X.iloc[part::N_PARTIES], y[part::N_PARTIES]) for part in range(N_PARTIES)]


def models(
    method: str, epsilon: float | None, tables: Sequence[tuple[Any, Any]], name: str, seed: int
) -> list[list[ReadTree]]:
    """Return the trees that a method hands over: of every party, or one list of all."""
    if method == BAGGED:
        rounds = bagged_trees(tables, N_ROUNDS)
        return [[read_trees(own[party])[0] for own in rounds] for party in range(N_PARTIES)]
    if method in (MODELS, SMALL):
        parameters = SMALL_LEAVES if method == SMALL else {}
        return [read_trees(whole_model(X, y, seed, **parameters)) for X, y in tables]
    if method == TOGETHER:
        X = import_pandas().concat([own for own, _ in tables], ignore_index=True)
        return [read_trees(whole_model(X, np.concatenate([y for _, y in tables]), seed))]
    return [read_trees(_of_ours(tables, epsilon, name, seed))]


def rebuilt(method: str, found: Sequence[Sequence[ReadTree]], public: Table, seed: int) -> Shares:
    """Return the rows of all parties that the trees of a method give."""
    if method == BAGGED:
        return from_bagging(list(zip(*found, strict=True)), N_ROWS, public, seed)
    n_rows = N_PARTIES * N_ROWS // len(found)
    most = MOST_REBUILT if method == BEST else None
    parts = [
        from_model(trees[:most], n_rows, public, seed + number)
        for number, trees in enumerate(found)
    ]
    # A model that ended early stays as it was.
    shown = sorted({look for part in parts for look in part})
    last = [max(part) for part in parts]
    return {
        look: np.vstack([part.get(look, part[end]) for part, end in zip(parts, last, strict=True)])
        for look in shown
    }


def singled_out(
    method: str,
    found: Sequence[Sequence[ReadTree]],
    public: Table,
    present: Sequence[tuple[Any, Any]],
    absent: Sequence[tuple[Any, Any]],
) -> dict[str, float]:
    """Return how many claims of single rows the trees make, and how many are true."""
    most = MOST_SOUGHT if method == BEST else None
    sides = []
    for tables in (present, absent):
        whole = [Table.of(X) for X, _ in tables]
        if len(found) == 1:
            values = np.vstack([table.values for table in whole])
            whole = [Table(values, whole[0].n_categories)]
        sides.append(whole)
    total = dict.fromkeys((CLAIMS, TRUE, CHANCE), 0.0)
    for trees, own, others in zip(found, *sides, strict=True):
        numbers = counted(trees[:most], public, {TRUE: own, CHANCE: others})
        for measured, value in numbers.items():
            total[measured] += value
    return total


def _of_ours(
    parties: Sequence[tuple[Any, Any]], epsilon: float | None, name: str, seed: int
) -> str:
    from dpboost.federated import FederatedBoostingClassifier

    schema = PROBLEMS[name].dictionary.schema()
    model = FederatedBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        n_estimators=N_TREES,
        schema=schema,
        random_state=seed,
        verbosity=-1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(parties)
    return str(model.booster_.model_to_string())


@lru_cache(maxsize=1)
def _all_rows(name: str) -> tuple[Any, Any]:
    X, y = PROBLEMS[name].load()
    return X, np.asarray(y)


def _divided(name: str, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of the parties, as many of other people, and public ones."""
    X, y = _all_rows(name)
    n_all = N_PARTIES * N_ROWS
    order = np.random.default_rng(seed).permutation(len(X))
    for chosen in np.split(order[: 2 * n_all + N_PUBLIC], [n_all, 2 * n_all]):
        yield X.iloc[chosen].reset_index(drop=True), y[chosen]


def measure(name: str, method: str, epsilon: float | None, repeat: int) -> list[Result]:
    """Return what both attacks find in the trees of a method."""
    (X, y), (others, labels), (known, _) = _divided(name, repeat)
    public = Table.of(known)
    span = spans(public)
    truth, absent = Table.of(X), Table.of(others)
    present = _parties(X, y)
    found = models(method, epsilon, present, name, repeat)
    results = []
    for look, rows in rebuilt(method, found, public, repeat).items():
        cells, whole = found_share(truth, rows, span)
        numbers = {CELLS: cells, ROWS: whole, NOT_THERE: found_share(absent, rows, span)[0]}
        results += [
            Result(
                part=REBUILT, data=name, method=method, epsilon=epsilon, x=str(look),
                repeat=repeat, measure=measured, value=value,
            )
            for measured, value in numbers.items()
        ]  # fmt: skip
    singled = singled_out(method, found, public, present, _parties(others, labels))
    return results + [
        Result(
            part=SINGLED, data=name, method=method, epsilon=epsilon, repeat=repeat,
            measure=measured, value=value,
        )
        for measured, value in singled.items()
    ]  # fmt: skip


def guess(name: str, repeat: int) -> list[Result]:
    """Return what is found without any tree: by medians, by draws, by rows of other people."""
    (X, _), (others, _), (known, _) = _divided(name, repeat)
    public, truth = Table.of(known), Table.of(X)
    span = spans(public)
    random = np.random.default_rng(repeat)
    drawn = np.column_stack([random.choice(own, len(X)) for own in public.values.T])
    grid = Grid([], public)
    middle = grid.guess([np.ones((len(X), len(own)), dtype=bool) for own in grid.shares])
    return [
        Result(
            part=REBUILT, data=name, method=method, repeat=repeat, measure=measured, value=value
        )
        for method, rows in (
            (GUESS, middle),
            (DRAWN, drawn),
            (OTHERS, Table.of(others).values),
        )
        for measured, value in zip((CELLS, ROWS), found_share(truth, rows, span), strict=True)
    ]  # fmt: skip


def plan(request: Request) -> Plan:
    """Return every table, method and repeat as a unit."""
    number = request.repeats or (QUICK_REPEATS if request.quick else REPEATS)
    names = (request.problem,) if request.problem else DATA[: 1 if request.quick else None]
    settings = {
        "versions": dpboost_recipes.versions(),
        "rows": (N_PARTIES, N_ROWS, N_PUBLIC),
        "rounds": N_ROUNDS,
        "tolerance": TOLERANCE,
        "trees": (N_TREES, MOST_REBUILT, MOST_SOUGHT),
    }
    methods = [(MODELS, None), (SMALL, None), (BAGGED, None), (TOGETHER, None)]
    methods += [(BEST, epsilon) for epsilon in EPSILONS]
    units = []
    for repeat in range(number):
        for name in names:
            work = {f"{name}, guess, {repeat}": partial(guess, name, repeat)}
            for method, epsilon in methods:
                called = f"{name}, {method} {epsilon}, {repeat}"
                work[called] = partial(measure, name, method, epsilon, repeat)
            units += [
                Unit(name=called, settings=digest(settings), measure=own)
                for called, own in work.items()
            ]
    return Plan(units=units)


def label(method: str, epsilon: float | None) -> str:
    """Return how a page calls a method."""
    return _LABELS.get(method, method) if epsilon is None else f"{method}, epsilon {epsilon:g}"


def best_look(rows: Sequence[Result]) -> list[Result]:
    """Return the results after the number of trees that serves the attacker best."""
    counted = pick(rows, measure=CELLS)
    at = max(distinct(counted, "x"), key=lambda x: np.mean(values(counted, x=x)))
    return pick(rows, x=at)


def lines(rows: Sequence[Result], data: str) -> list[list[str]]:
    """Return the lines of the table of one data set."""
    own = pick(rows, data=data, part=REBUILT)
    marginals = [
        max(pair)
        for pair in zip(
            *(values(own, method=method, measure=CELLS) for method in (GUESS, DRAWN)), strict=True
        )
    ]
    found = [
        ["no trees: public marginals", f"{summarize(marginals):3}", "", "", ""],
        [
            "no trees: rows of other people",
            f"{summarize(values(own, method=OTHERS, measure=CELLS)):3}",
            "",
            "",
            f"{summarize(values(own, method=OTHERS, measure=ROWS)):3}",
        ],
    ]
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in own):
        if method in (GUESS, DRAWN, OTHERS):
            continue
        best = best_look(pick(own, method=method, epsilon=epsilon))
        cells, absent = values(best, measure=CELLS), values(best, measure=NOT_THERE)
        beyond = [one - other for one, other in zip(cells, marginals, strict=True)]
        present = [one - other for one, other in zip(cells, absent, strict=True)]
        found.append(
            [
                label(method, epsilon),
                f"{summarize(cells):3}",
                f"{summarize(beyond):3}",
                f"{summarize(present):3}",
                f"{summarize(values(best, measure=ROWS)):3}",
            ]
        )
    return found


def claim_lines(rows: Sequence[Result], data: str) -> list[list[str]]:
    """Return the lines of the table of claims of one data set."""
    own = pick(rows, data=data, part=SINGLED)
    found = []
    for method, epsilon in dict.fromkeys((row.method, row.epsilon) for row in own):
        counts = {
            measured: sum(values(own, method=method, epsilon=epsilon, measure=measured))
            for measured in (CLAIMS, TRUE, CHANCE)
        }
        shares = [
            f"{counts[measured] / counts[CLAIMS]:.3f}" if counts[CLAIMS] else "-"
            for measured in (TRUE, CHANCE)
        ]
        found.append([label(method, epsilon), f"{counts[CLAIMS]:.0f}", *shares])
    return found


HEAD = (
    "what the attacker has",
    "cells found",
    "beyond the marginals",
    "beyond rows that were not there",
    "rows found",
)
CLAIM_HEAD = ("what the attacker has", "claims", "true", "true of rows that were not there")


def body(results: Results) -> list[str]:
    """Return two tables for each data set."""
    rows = results.rows
    n = len({row.repeat for row in rows})
    repeats = (
        "One repeat, so that no figure has a standard error."
        if n == 1
        else f"Mean ± standard error of {n} repeats with other rows; claims are those of all."
    )
    names = distinct(rows, "data")
    text = [
        f"{repeats} {N_PARTIES} parties have {N_ROWS} rows each. Models have "
        f"{N_TREES} trees, bagging {N_ROUNDS} rounds. The attacker is "
        f"the coordinator, and knows {N_PUBLIC:,} rows of other people.",
        "",
        "## Rows are reconstructed",
        "",
        "In the manner of TimberStrike (arXiv 2506.07605): as many rows as there are, and what "
        "the leaves say of them that they most likely are in. The rest is guessed from public "
        "marginals. Of numbers, a cell is found within "
        f"{TOLERANCE:.0%} of the span that holds 98% of the column; of categories, if it is the "
        "right one. A row is found with nine cells of ten. Reconstructed rows have no order, and "
        "each is compared with the true row such that most cells agree; guesses too.",
        "",
        "*Beyond the marginals*: less what the better of two guesses finds, the median or most "
        "frequent value of each column, and columns drawn one by one. *Beyond rows that were not "
        "there*: less what the same reconstruction finds of other people's rows. Each method is "
        f"shown after the number of trees that serves the attacker best; of ours, {MOST_REBUILT} "
        "are looked at.",
        "",
    ]
    for data in names:
        text += [f"### {data}", "", *table(HEAD, lines(rows, data)), ""]
    text += [
        "## Single rows are singled out",
        "",
        "A claim is a box that by the stated numbers of rows holds exactly one: a node with one "
        "row, or two nested nodes that differ by one. Only boxes count of which the population "
        f"would have {MOST_EXPECTED:g} rows among so many, by the rows that the attacker knows. "
        f"Claims of all tables together; of ours, {MOST_SOUGHT} trees are looked at.",
        "",
    ]
    for data in names:
        text += [f"### {data}, single rows", "", *table(CLAIM_HEAD, claim_lines(rows, data)), ""]
    return text


def draw(results: Results) -> bytes:
    """Return a picture of cells found by the number of trees looked at."""
    panels = []
    for data in distinct(results.rows, "data"):
        own = pick(results.rows, data=data, part=REBUILT, measure=CELLS)
        shown = [
            Result(
                data=data,
                method=row.method if row.epsilon is None else label(row.method, row.epsilon),
                x=row.x,
                repeat=row.repeat,
                measure=CELLS,
                value=row.value,
            )
            for row in own
        ]
        panels.append(
            Panel(
                title=f"{data}: share of all cells that is found",
                x_label="trees that the attacker has looked at",
                y_label="cells found",
                rows=shown,
                log_x=True,
            )
        )
    return draw_panels(panels, columns=1)


def finding(results: Results) -> str:
    """Return how often claims to single out a row are true, without privacy and with it."""
    rows = pick(results.rows, part=SINGLED)
    said = []
    for epsilon in dict.fromkeys(row.epsilon for row in rows):
        own = pick(rows, epsilon=epsilon)
        claims, true, chance = (
            sum(row.value for row in pick(own, measure=measured))
            for measured in (CLAIMS, TRUE, CHANCE)
        )
        if claims:
            where = "without privacy" if epsilon is None else f"at epsilon {epsilon:g}"
            said.append(
                f"in {true / claims:.1%} of {claims:,.0f} cases {where} ({chance / claims:.1%} by "
                "chance)"
            )
    return f"A claim to single out a row of a party is true {listed(said)}." if said else ""


FEDERATED_ATTACKS = Run(
    name="federated-attacks",
    title="Reconstruction of rows from federated trees",
    group=Group.PRIVACY,
    description="Reconstruction of rows, and singling out of rows, from the trees of federated "
    "fits: models and trees of parties without privacy, and the models of dpboost.federated.",
    plan=plan,
    body=body,
    finding=finding,
    draw=draw,
)
