"""Figures 1 to 3 of Wang, Dick and Balcan, DP-TopDown, for one machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.harness.claims import Claim
from benchmarks.harness.results import Result
from benchmarks.problems import PROBLEMS
from benchmarks.reproductions.fits import Paper, Piece, accuracy, measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

AXES = {
    "figure 1": "share of the budget for the leaves",
    "figure 2": "alpha",
    "figure 3": "alpha",
}

INFINITE = float("inf")

DECAY = "DP-TopDown"
UNIFORM = "DP-TopDown, uniform budget"
BARE = "DP-TopDown without noise"

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
    """How much is run: repeats of a point, its quantities, and the data sets of figures 1 to 3."""

    repeats: int
    alphas: tuple[float, ...]
    shares: tuple[float, ...]
    share_alphas: tuple[float, ...]
    fractions: tuple[float, ...]
    sets: tuple[str, ...]
    small_sets: tuple[str, ...]


FULL = Size(
    repeats=20,
    alphas=tuple(2.0**power for power in range(-3, 10)),
    shares=(0.005, 0.015, 0.06, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 0.94, 0.985),
    share_alphas=(0.125, 1.0, 8.0),
    fractions=(0.01, 0.05, 0.2, 1.0),
    sets=("adult", "bank", "default_credit", "kddcup99", "mnist", "skin"),
    small_sets=("adult", "bank"),
)
QUICK = Size(
    repeats=8,
    alphas=(0.125, 1.0, 8.0, 64.0, 512.0),
    shares=(0.005, 0.25, 0.5, 0.75, 0.985),
    share_alphas=(0.125, 1.0, 8.0),
    fractions=(0.01, 0.1, 1.0),
    sets=("adult", "bank", "default_credit", "kddcup99", "mnist", "skin"),
    small_sets=("adult", "bank"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A data set as the paper uses it."""

    name: str
    X: pd.DataFrame
    y: NDArray[np.int64]
    schema: Any

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
            "schema": self.schema,
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


def leaf_shares(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figure 1: the share of the leaves, for both budgets."""
    table = load(name)
    parts = table.parts(repeat)
    for alpha in size.share_alphas:
        for share in size.shares:
            for budget in ("decay", "uniform"):
                found = accuracy(
                    *parts,
                    epsilon=alpha,
                    leaf_share=share,
                    depth_budget=budget,
                    **table.settings,
                )
                yield measured(
                    figure="figure 1",
                    data=f"{table.name}, alpha {alpha:g}",
                    x=share,
                    method=budget,
                    repeat=repeat,
                    accuracy=found,
                )


def privacy_curves(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figure 2: accuracy against alpha, beside the same algorithm without noise."""
    table = load(name)
    parts = table.parts(repeat)
    bare = accuracy(*parts, epsilon=INFINITE, **table.settings)
    for alpha in size.alphas:
        found = {
            DECAY: accuracy(*parts, epsilon=alpha, **table.settings),
            UNIFORM: accuracy(*parts, epsilon=alpha, depth_budget="uniform", **table.settings),
            "our best tree": accuracy(*parts, epsilon=alpha, schema=table.schema, recipe="best"),
            BARE: bare,
        }
        for method, value in found.items():
            yield measured(
                figure="figure 2",
                data=table.name,
                x=alpha,
                method=method,
                repeat=repeat,
                accuracy=value,
            )


def training_sizes(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figure 3: the same curves for parts of the training rows."""
    table = load(name)
    for fraction in size.fractions:
        parts = table.parts(repeat, fraction)
        bare = accuracy(*parts, epsilon=INFINITE, **table.settings)
        for alpha in size.alphas:
            found = {
                f"{fraction:g} of the rows": accuracy(*parts, epsilon=alpha, **table.settings),
                f"{fraction:g}, without noise": bare,
            }
            for method, value in found.items():
                yield measured(
                    figure="figure 3",
                    data=table.name,
                    x=alpha,
                    method=method,
                    repeat=repeat,
                    accuracy=value,
                )


def pieces(quick: bool, repeats: int | None) -> Iterator[Piece]:
    """Yield what is measured, one data set after the other."""
    size = QUICK if quick else FULL
    for name in size.sets:
        parts = [("figure 2", privacy_curves)]
        if name in size.small_sets:
            parts = [("figure 1", leaf_shares), ("figure 3", training_sizes), *parts]
        for figure, measure in parts:
            for repeat in range(repeats or size.repeats):
                yield Piece(
                    name=f"{name}, {figure}, {repeat}",
                    measure=measure,
                    arguments=(name, repeat, size),
                )


def _interior(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and 0.2 <= share <= 0.8


def _tiny(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and share < 0.02


def _huge(name: str, data: str, share: float) -> bool:
    return data.startswith(name) and share > 0.95


def claims() -> list[Claim]:
    """Return what the paper reports."""
    ninth = 1 / 9
    found = [
        Claim(
            part="figure 1",
            text=f"decay above uniform, {name}, alpha {alpha:g}",
            above="decay",
            below="uniform",
            where=lambda data, x, own=f"{name}, alpha {alpha:g}": data == own and 0.1 < x < 0.9,
            overlap=ninth,
        )
        for name in FULL.small_sets
        for alpha in FULL.share_alphas
    ]
    for name in FULL.small_sets:
        for budget in ("decay", "uniform"):
            for side, extreme in (("small", _tiny), ("large", _huge)):
                found.append(
                    Claim(
                        part="figure 1",
                        text=f"interior leaf shares above {side} ones, {name}, {budget}",
                        above=budget,
                        below=budget,
                        where=partial(_interior, name),
                        below_where=partial(extreme, name),
                        overlap=ninth,
                    )
                )
    return [
        *found,
        *(
            Claim(
                part="figure 3",
                text=f"all rows above a hundredth of them, {name}",
                above="1 of the rows",
                below="0.01 of the rows",
                where=lambda data, x, own=name: data == own,
                overlap=ninth,
            )
            for name in FULL.small_sets
        ),
        *(
            Claim(
                part="figure 2",
                text=f"the curve reaches the one without noise at alpha 512, {name}",
                above=DECAY,
                below=BARE,
                where=lambda data, x, own=name: data == own and x == 512,
                overlap=ninth,
            )
            for name in FULL.sets
        ),
        *(
            Claim(
                part="figure 2",
                text=f"with a uniform budget it reaches the one without noise at alpha 512, {name}",
                above=UNIFORM,
                below=BARE,
                where=lambda data, x, own=name: data == own and x == 512,
                overlap=ninth,
                ours=True,
            )
            for name in FULL.sets
        ),
        *(
            Claim(
                part="figure 2",
                ours=True,
                text=f"our best tree above DP-TopDown, {name}",
                above="our best tree",
                below=DECAY,
                where=lambda data, x, own=name: data == own and x <= 8,
                overlap=ninth,
            )
            for name in FULL.sets
        ),
    ]


PAPERS = (
    Paper(
        name="dp-topdown",
        title="Wang, Dick and Balcan 2020, figures 1 to 3, one machine",
        axes=AXES,
        pieces=pieces,
        claims=claims,
        logarithmic=("figure 2", "figure 3"),
    ),
)
