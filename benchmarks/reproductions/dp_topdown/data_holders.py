"""Figures 1 and 2 of Wang, Dick and Balcan, DP-TopDown, for four data holders."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import dpboost
from benchmarks.harness.claims import Claim
from benchmarks.harness.results import Result
from benchmarks.reproductions.dp_topdown.one_machine import Table, load
from benchmarks.reproductions.fits import Paper, Piece, accuracy, measured
from dpboost.federated.tree_classifier import FederatedTreeClassifier
from dpboost.growing.released_splits import branch_counts, split_gain
from dpboost.privacy.sensitivity import constants
from dpboost.recipes.single_tree.noisy_counts import (
    NOISY_COUNTS,
    HistogramFinder,
    build_noisy_counts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpboost.boosting.single_tree import SingleTree
    from dpboost.privacy.exact_arithmetic import PrivacyCost
    from dpboost.privacy.ledger import Ledger
    from dpboost.privacy.neighbours import Neighbours
    from dpboost.privacy.sensitivity.bound import Sensitivity
    from dpboost.recipes.recipe import Setting
    from dpboost.rows.class_node_rows import ClassRows
    from dpboost.rows.class_statistics import ClassStatistics

N_PARTIES = 4

#: Parts of the rows that the data holders have.
EVEN = (0.25, 0.25, 0.25, 0.25)
UNEVEN = (0.85, 0.1, 0.04, 0.01)

SINGLE = "SingleMachine"
COUNTS = "NoisyCounts, secure sum"
COUNTS_FULL = "NoisyCounts, every holder all of the noise"
LOCAL = "LocalRNM, secure sum"
LOCAL_FULL = "LocalRNM, every holder all of the noise"
BY_SPLIT = "NoisyCounts, a table for each split, trusted sum"
PRINTED = "NoisyCounts as printed, a table for each split, every holder all of the noise"
BARE = "without noise"

INFINITE = float("inf")


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitCounts:
    """Class counts of both branches of every split of some nodes: the tables of the paper."""

    nodes: NDArray[np.int32]
    n_candidates: int
    n_classes: int

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A number for each node, split, branch and class."""
        return (len(self.nodes), self.n_candidates, 2, self.n_classes)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Count rows."""
        counts, layout = rows.histograms(self.nodes), rows.candidates
        parts = []
        for feature, kind in enumerate(layout.kinds):
            cells = slice(layout.cell_offsets[feature], layout.cell_offsets[feature + 1])
            parts.append(np.stack(branch_counts(counts[:, cells], kind), axis=2))
        return np.concatenate(parts, axis=1).astype(np.int64)

    def bounds(self, neighbours: Neighbours) -> tuple[Sensitivity, ...]:
        """Return the bounds: a row is in one cell of each table."""
        return constants.counts(neighbours, histograms=self.n_candidates)


@dataclass(frozen=True, kw_only=True)
class TableFinder(HistogramFinder):
    """The best split by a noisy table for each split, alpha / |H| each.

    Attributes
    ----------
    n_holders : int
        Data holders that each add all of the noise to their own table, as the paper prints it:
        the sum has so many noises. That of one is released; the others come from NumPy in
        floating point, which takes nothing from the guarantee of the first.
    """

    n_holders: int = 1

    def find(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        limits: NDArray[np.int64],
        *,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return candidates, and their released gains for each row."""
        question = SplitCounts(
            nodes=nodes, n_candidates=rows.candidates.n_candidates, n_classes=rows.n_classes
        )
        released = ledger.release(
            ledger.accountant.noise(budget), rows.ask(question), label="class counts"
        )
        others = (self.n_holders - 1, *released.shape)
        epsilon = float(budget)
        scale = rows.candidates.n_candidates / epsilon
        noise = np.random.default_rng().laplace(scale=scale, size=others).sum(axis=0)
        inside = np.maximum(released + (noise if np.isfinite(epsilon) else 0.0), 0.0)
        gains = split_gain(self.measure, inside[:, :, 0], inside[:, :, 1])
        chosen = gains.argmax(axis=1).astype(np.int32)
        return chosen, gains[np.arange(len(nodes)), chosen]


def _build_by_split(n_holders: int, setting: Setting) -> SingleTree:
    tree = build_noisy_counts(setting)
    finder = TableFinder(measure=tree.learner.finder.measure, n_holders=n_holders)
    return replace(tree, learner=replace(tree.learner, finder=finder))


AS_PRINTED = replace(NOISY_COUNTS, name="a table for each split", build=partial(_build_by_split, 1))
LITERAL = replace(
    NOISY_COUNTS,
    name="a table for each split and holder",
    build=partial(_build_by_split, N_PARTIES),
)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run: repeats by data set, quantities, data sets of figures 1 and 2."""

    repeats: dict[str, int]
    alphas: tuple[float, ...]
    shares: tuple[float, ...]
    share_alphas: tuple[float, ...]
    share_repeats: int
    share_sets: tuple[str, ...]


FULL = Size(
    repeats={"adult": 4, "bank": 4, "skin": 2, "mnist": 2, "kddcup99": 2},
    alphas=(0.125, 1.0, 8.0, 64.0, 512.0),
    shares=(0.015, 0.25, 0.5, 0.75, 0.985),
    share_alphas=(0.125, 1.0, 8.0),
    share_repeats=2,
    share_sets=("adult", "bank"),
)
QUICK = Size(
    repeats={"adult": 3, "bank": 3, "skin": 1, "mnist": 1, "kddcup99": 1},
    alphas=(1.0, 64.0),
    shares=(0.015, 0.5, 0.985),
    share_alphas=(1.0, 8.0),
    share_repeats=2,
    share_sets=("bank",),
)

Rows = tuple[Any, Any]


def divide(train: Rows, parts: tuple[float, ...], repeat: int) -> list[Rows]:
    """Divide rows at random among the data holders."""
    X, y = train
    order = np.random.default_rng(repeat).permutation(len(y))
    ends = np.round(np.cumsum(parts)[:-1] * len(y)).astype(int)
    return [(X.iloc[own], y[own]) for own in np.split(order, ends)]


def federated_accuracy(
    holders: list[Rows], test: Rows, table: Table, recipe: str, colluding: int, **settings: Any
) -> float:
    """Fit a tree over data holders and return its accuracy on held-out rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
        model = FederatedTreeClassifier(
            recipe=recipe,
            colluding=colluding,
            schema=table.schema,
            max_bin=table.settings["max_bin"],
            **settings,
        ).fit(holders)
    return float(np.mean(model.predict(test[0]) == test[1]))


def privacy_curves(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figure 2: accuracy against alpha, for rows that are divided evenly and unevenly."""
    table = load(name)
    own = {**table.settings, "schema": table.schema}
    # The recipes of data holders have the values of the paper and no other ones.
    pooled_counts = {name: value for name, value in own.items() if name != "preset"}
    train, test = table.parts(repeat)
    bare = accuracy(train, test, epsilon=INFINITE, **own)
    for alpha in size.alphas:
        pooled = {
            SINGLE: accuracy(train, test, epsilon=alpha, **own),
            BY_SPLIT: accuracy(
                train, test, epsilon=alpha, **{**pooled_counts, "recipe": AS_PRINTED}
            ),
            PRINTED: accuracy(train, test, epsilon=alpha, **{**pooled_counts, "recipe": LITERAL}),
            BARE: bare,
        }
        for split, parts in (("even", EVEN), ("uneven", UNEVEN)):
            holders = divide(train, parts, repeat)
            found = {
                method: federated_accuracy(holders, test, table, recipe, colluding, epsilon=alpha)
                for method, recipe, colluding in (
                    (COUNTS, "noisy_counts", 1),
                    (COUNTS_FULL, "noisy_counts", N_PARTIES - 1),
                    (LOCAL, "local_rnm", 1),
                    (LOCAL_FULL, "local_rnm", N_PARTIES - 1),
                )
            }
            for method, value in {**pooled, **found}.items():
                yield measured(
                    figure="figure 2",
                    data=f"{table.name}, {split}",
                    x=alpha,
                    method=method,
                    repeat=repeat,
                    accuracy=value,
                )


def leaf_shares(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figure 1: the share of the leaves, for both budgets."""
    table = load(name)
    train, test = table.parts(repeat)
    holders = divide(train, EVEN, repeat)
    for alpha in size.share_alphas:
        for share in size.shares:
            for budget in ("decay", "uniform"):
                for name, recipe in (
                    ("NoisyCounts", "noisy_counts"),
                    ("LocalRNM", "local_rnm"),
                ):
                    found = federated_accuracy(
                        holders,
                        test,
                        table,
                        recipe,
                        1,
                        epsilon=alpha,
                        leaf_share=share,
                        depth_budget=budget,
                    )
                    yield measured(
                        figure="figure 1",
                        data=f"{table.name}, alpha {alpha:g}",
                        x=share,
                        method=f"{name}, {budget}",
                        repeat=repeat,
                        accuracy=found,
                    )


def _claims(sets: tuple[str, ...]) -> list[Claim]:
    """Return what the paper reports on some data sets."""
    ninth = 1 / 9
    pairs = [
        (SINGLE, COUNTS, "SingleMachine above NoisyCounts"),
        (SINGLE, LOCAL, "SingleMachine above LocalRNM"),
        (LOCAL, BY_SPLIT, "LocalRNM above a table for each split"),
        (LOCAL_FULL, PRINTED, "LocalRNM above NoisyCounts as printed, all the noise each"),
        (LOCAL_FULL, COUNTS_FULL, "LocalRNM above NoisyCounts, all the noise each"),
        (LOCAL, COUNTS, "LocalRNM above NoisyCounts, secure sum"),
        (COUNTS, BY_SPLIT, "a histogram for each feature above a table for each split"),
    ]
    found = [
        Claim(
            part="figure 2",
            text=f"{text}, {name}, {split}",
            above=above,
            below=below,
            where=lambda data, x, own=f"{name}, {split}": data == own and x <= 64,
            overlap=ninth,
        )
        for above, below, text in pairs
        for name in sets
        for split in ("even", "uneven")
    ]
    for name in sorted({*sets} & {*FULL.share_sets}):
        for method in ("NoisyCounts", "LocalRNM"):
            found.append(
                Claim(
                    part="figure 1",
                    text=f"decay above uniform, {method}, {name}",
                    above=f"{method}, decay",
                    below=f"{method}, uniform",
                    where=lambda data, x, own=name: data.startswith(own) and 0.1 < x < 0.9,
                    overlap=ninth,
                )
            )
            for budget in ("decay", "uniform"):
                found.append(
                    Claim(
                        part="figure 1",
                        text=f"interior leaf shares above extreme ones, {method}, {budget}, {name}",
                        above=f"{method}, {budget}",
                        below=f"{method}, {budget}",
                        where=lambda data, x, own=name: data.startswith(own) and 0.2 <= x <= 0.8,
                        below_where=lambda data, x, own=name: (
                            data.startswith(own) and not 0.1 < x < 0.9
                        ),
                        overlap=ninth,
                    )
                )
    return found


def pieces(sets: tuple[str, ...], quick: bool, repeats: int | None) -> Iterator[Piece]:
    """Yield what is measured, one data set after the other."""
    size = QUICK if quick else FULL
    for name in sets:
        parts = [("figure 2", privacy_curves, size.repeats[name])]
        if name in size.share_sets:
            parts = [("figure 1", leaf_shares, size.share_repeats), *parts]
        for figure, measure, n_repeats in parts:
            for repeat in range(repeats or n_repeats):
                yield Piece(
                    name=f"{name}, {figure}, {repeat}",
                    measure=measure,
                    arguments=(name, repeat, size),
                )


def _paper(name: str, title: str, sets: tuple[str, ...]) -> Paper:
    """Return some data sets as one page of results."""
    shares = {"figure 1": "share of the budget for the leaves"}
    return Paper(
        name=name,
        title=title,
        axes={**(shares if {*sets} & {*FULL.share_sets} else {}), "figure 2": "alpha"},
        pieces=partial(pieces, sets),
        claims=partial(_claims, sets),
        logarithmic=("figure 2",),
    )


PAPERS = (
    _paper(
        "federated-topdown",
        "Wang, Dick and Balcan 2020, figures 1 and 2, four data holders",
        ("adult", "bank", "skin"),
    ),
    _paper(
        "federated-topdown-large",
        "Wang, Dick and Balcan 2020, figure 2, four data holders, large tables",
        ("mnist", "kddcup99"),
    ),
)
