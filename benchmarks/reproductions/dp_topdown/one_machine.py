"""Figures 1 to 6 of Wang, Dick and Balcan, DP-TopDown, for one machine.

Figures 5 and 6 look at the trees of figures 2 and 3: their accuracy on training rows and their
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.harness.results import Result
from benchmarks.problems import PROBLEMS
from benchmarks.reproductions.dp_topdown.claims import (
    BARE,
    BEST,
    DECAY,
    SHARE_ALPHAS,
    UNIFORM,
    claims,
    losses,
    of_sizes,
    part_name,
    share_claims,
)
from benchmarks.reproductions.fits import (
    ACCURACY,
    DEPTH,
    NODES,
    TRAINING,
    Paper,
    Piece,
    measured,
)
from benchmarks.reproductions.read_once import Divided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dpboost.training.fitted_model import FittedModel

AXES = {
    "figure 1": "share of the budget for the leaves",
    "figure 2": "alpha",
    "figure 3": "alpha",
    "figure 5": "alpha",
    "figure 6": "alpha",
}
LOGARITHMIC = ("figure 2", "figure 3", "figure 5", "figure 6")

INFINITE = float("inf")
BUDGETS = ("decay", "uniform")

#: Data sets of figures 2 and 5: small tables, and those of which a fit takes ten times as long.
SETS = ("adult", "bank", "default_credit", "skin")
LARGE_SETS = ("kddcup99", "mnist")

#: Data sets of figures 1, 3 and 6, and of figure 4.
SMALL_SETS = ("adult", "bank")
OTHER_SETS = ("default_credit", "skin", "mnist", "kddcup99")

# Evenly spaced thresholds of a numeric feature; one more bin than thresholds.
_THRESHOLDS = {
    "adult": 10,
    "bank": 10,
    "default_credit": 10,
    "kddcup99": 10,
    "skin": 32,
    "mnist": 3,
}
_HELD_OUT = {"mnist": 1 / 7}
_SIDE, _BLOCK = 28, 4


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run.

    Attributes
    ----------
    repeats, large_repeats : int
        Divisions into training and held-out rows, the second for `LARGE_SETS`.
    alphas : tuple of float
        Of figures 2 and 3.
    shares, share_alphas : tuple of float
        Of figures 1 and 4.
    fractions : tuple of float
        Of the training rows, in figure 3.
    small_sets, other_sets : tuple of str
        Data sets of figures 1 and 3, and of figure 4.
    """

    repeats: int
    large_repeats: int
    alphas: tuple[float, ...]
    shares: tuple[float, ...]
    share_alphas: tuple[float, ...]
    fractions: tuple[float, ...]
    small_sets: tuple[str, ...] = SMALL_SETS
    other_sets: tuple[str, ...] = OTHER_SETS

    def of(self, name: str) -> int:
        """Return the repeats on a data set."""
        return self.large_repeats if name in LARGE_SETS else self.repeats


# As many as in the paper, and on the large tables what a word such as "confirmed" takes.
FULL = Size(
    repeats=100,
    large_repeats=10,
    alphas=tuple(2.0**power for power in range(-3, 10)),
    shares=(0.005, 0.015, 0.06, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.94, 0.985),
    share_alphas=SHARE_ALPHAS,
    fractions=(0.01, 0.05, 0.2, 1.0),
)
# Of one table, figures 2 and 5 alone: under a minute.
QUICK = Size(
    repeats=6,
    large_repeats=2,
    alphas=(0.125, 8.0, 512.0),
    shares=(0.005, 0.25, 0.5, 0.75, 0.985),
    share_alphas=SHARE_ALPHAS,
    fractions=(0.01, 0.2, 1.0),
    small_sets=(),
    other_sets=("default_credit",),
)
#: The table of the short form.
QUICK_SET = "bank"


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A data set as the paper uses it."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]
    schema: Any

    def divided(self, repeat: int, fraction: float = 1.0) -> Divided:
        """Return the same rows to fit many trees to."""
        return Divided(*self.parts(repeat, fraction), schema=self.schema)

    def parts(self, repeat: int, fraction: float = 1.0) -> tuple[Any, Any]:
        """Return training rows, perhaps only a share of them, and held-out rows."""
        held_out = _HELD_OUT.get(self.name, 0.1)
        positions = np.arange(len(self.y))
        train, test = train_test_split(positions, test_size=held_out, random_state=repeat)
        train = train[: max(1, round(fraction * len(train)))]
        return (self.X.iloc[train], self.y[train]), (self.X.iloc[test], self.y[test])

    @property
    def settings(self) -> dict[str, Any]:
        """The setting of the paper's experiments."""
        return {
            "recipe": "dp_topdown",
            "preset": "paper",
            "max_bin": _THRESHOLDS[self.name] + 1,
        }


@lru_cache(maxsize=1)
def load(name: str) -> Table:
    """Read a data set; MNIST by the means of its blocks of 4 by 4 pixels."""
    problem = PROBLEMS[name]
    X, y = problem.load()
    if name != "mnist":
        return Table(name=name, X=X, y=y, schema=problem.dictionary.schema())
    n = _SIDE // _BLOCK
    images = X.to_numpy().reshape(len(X), n, _BLOCK, n, _BLOCK)
    means = images.mean(axis=(2, 4)).reshape(len(X), n * n)
    names = [f"block{position}" for position in range(n * n)]
    schema = {"bounds": dict.fromkeys(names, (0.0, 255.0)), "classes": list(range(10))}
    return Table(name=name, X=pd.DataFrame(means, columns=names), y=y, schema=schema)


def leaf_shares(name: str, repeat: int, size: Size, figure: str) -> Iterator[Result]:
    """Figures 1 and 4: the share of the leaves, for both budgets."""
    table = load(name)
    rows = table.divided(repeat)
    for alpha in size.share_alphas:
        for share in size.shares:
            for budget in ("decay", "uniform"):
                yield measured(
                    figure=figure,
                    data=f"{table.name}, alpha {alpha:g}",
                    x=share,
                    method=budget,
                    repeat=repeat,
                    accuracy=rows.measured(
                        epsilon=alpha,
                        leaf_share=share,
                        depth_budget=budget,
                        **table.settings,
                    ),
                )


Numbers = dict[str, float]


def numbers_of(rows: Divided, fitted: FittedModel) -> Numbers:
    """Return accuracy and size of a tree by measure."""
    assert fitted.tree is not None
    return {
        ACCURACY: rows.accuracy(fitted),
        TRAINING: rows.accuracy(fitted, training=True),
        DEPTH: fitted.tree.depth,
        NODES: fitted.tree.n_nodes,
    }


def results_of(
    parts: dict[str, str], name: str, alpha: float, repeat: int, found: dict[str, Numbers]
) -> Iterator[Result]:
    """Yield the numbers of some trees for the figures that show them, by measure."""
    for method, numbers in found.items():
        for measure, figure in parts.items():
            yield measured(
                figure=figure,
                data=name,
                x=alpha,
                method=method,
                repeat=repeat,
                accuracy=numbers[measure],
                measure=measure,
            )


OF_FIGURE_2 = {ACCURACY: "figure 2", **dict.fromkeys((TRAINING, DEPTH, NODES), "figure 5")}
OF_FIGURE_3 = {ACCURACY: "figure 3", TRAINING: "figure 6"}


def privacy_curves(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figures 2 and 5: trees against alpha, beside the same algorithm without noise."""
    table = load(name)
    rows, own = table.divided(repeat), table.settings
    bare = numbers_of(rows, rows.fit(epsilon=INFINITE, **own))
    for alpha in size.alphas:
        trees = {
            DECAY: rows.fit(epsilon=alpha, **own),
            UNIFORM: rows.fit(epsilon=alpha, depth_budget="uniform", **own),
            BEST: rows.fit(epsilon=alpha),
        }
        found = {method: numbers_of(rows, fitted) for method, fitted in trees.items()}
        yield from results_of(OF_FIGURE_2, name, alpha, repeat, {**found, BARE: bare})


def training_sizes(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figures 3 and 6: the same curves for parts of the training rows."""
    table = load(name)
    for fraction in size.fractions:
        rows, own = table.divided(repeat, fraction), table.settings
        part = part_name(fraction)
        bare = numbers_of(rows, rows.fit(epsilon=INFINITE, **own))
        for alpha in size.alphas:
            found = {
                part: numbers_of(rows, rows.fit(epsilon=alpha, **own)),
                f"{part}, without noise": bare,
            }
            yield from results_of(OF_FIGURE_3, name, alpha, repeat, found)


def pieces(sets: Sequence[str], quick: bool, repeats: int | None) -> Iterator[Piece]:
    """Yield what is measured, one data set after the other."""
    size = QUICK if quick else FULL
    for name in [QUICK_SET] if quick and QUICK_SET in sets else sets:
        parts: list[tuple[str, Any, tuple[str, ...]]] = [("figure 2", privacy_curves, ())]
        if name in size.small_sets:
            parts = [
                ("figure 1", leaf_shares, ("figure 1",)),
                ("figure 3", training_sizes, ()),
                *parts,
            ]
        for figure, measure, more in parts:
            for repeat in range(repeats or size.of(name)):
                yield Piece(
                    name=f"{name}, {figure}, {repeat}",
                    measure=measure,
                    arguments=(name, repeat, size, *more),
                )


def other_pieces(quick: bool, repeats: int | None) -> Iterator[Piece]:
    """Yield what is measured for figure 4."""
    size = QUICK if quick else FULL
    for name in size.other_sets:
        for repeat in range(repeats or size.of(name)):
            yield Piece(
                name=f"{name}, figure 4, {repeat}",
                measure=leaf_shares,
                arguments=(name, repeat, size, "figure 4"),
            )


PAPERS = (
    Paper(
        name="dp-topdown",
        title="DP-TopDown paper, figures 1 to 3, 5 and 6: accuracy of one tree on one machine",
        description="Wang, Dick and Balcan 2020: accuracy on held-out and on training rows against "
        "alpha, the share of the leaves and the number of rows, and the size of the trees.",
        axes=AXES,
        pieces=partial(pieces, SETS),
        claims=partial(claims, SETS, SMALL_SETS),
        derived=lambda rows: [*losses(rows, BUDGETS), *of_sizes(rows)],
        logarithmic=LOGARITHMIC,
    ),
    Paper(
        name="dp-topdown-large",
        title="DP-TopDown paper, figures 2 and 5: accuracy of one tree on large tables",
        description="Wang, Dick and Balcan 2020: accuracy on held-out and on training rows against "
        "alpha, and the size of the trees, on KDD Cup and MNIST.",
        axes={figure: AXES[figure] for figure in ("figure 2", "figure 5")},
        pieces=partial(pieces, LARGE_SETS),
        claims=partial(claims, LARGE_SETS),
        logarithmic=LOGARITHMIC,
    ),
    Paper(
        name="dp-topdown-shares",
        title="DP-TopDown paper, figure 4: share of the budget for the leaves",
        description="Wang, Dick and Balcan 2020: accuracy against the share of the budget that the "
        "leaves get, on the other data sets, on one machine.",
        axes={"figure 4": AXES["figure 1"]},
        pieces=other_pieces,
        claims=partial(share_claims, "figure 4", OTHER_SETS),
        derived=lambda rows: losses(rows, BUDGETS),
    ),
)
