"""Figures 2 to 5 of Gubler, federated private histograms with and without budget saving."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.reproductions.measure import Claim, Measured
from benchmarks.reproductions.mixture import Mixture
from benchmarks.reproductions.places import accuracy_of, fit_places
from dpboost.boosting.single_tree import SingleTree
from dpboost.growing.histogram_saving import SavedHistograms
from dpboost.privacy.neighbours import Neighbours
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.recipes.recipe import Setting
from dpboost.recipes.single_tree.noisy_histograms import HISTOGRAMS_SAVING, build_saving
from dpboost.rows.site_queries import ImpurityBounds

N_PARTIES = 5
N_TEST = 2000
SETTINGS = {"max_bin": 10, "least_rows": 10}

PLAIN = "histograms"
SAVING = "histograms, saving"
PRINTED = "saving as printed, over budget"
DOUBLED = "histograms, 2n rows as in the code"
DOUBLED_PRINTED = "saving as printed, 2n rows as in the code"
LOCAL = "CART of one party, not private"
CENTRAL = "CART of all rows, not private"
DOUBLED_CENTRAL = "CART of all 2n rows, not private"


@dataclass(frozen=True, kw_only=True, eq=False)
class OnePriceBounds(ImpurityBounds):
    """Bounds of all features for the price of one, as Algorithm 6 is printed: not private."""

    def bounds(self, neighbours: Neighbours) -> tuple[Sensitivity, ...]:
        """Return a sensitivity that forgets how many features there are."""
        return (impurities.split_bounds(1, neighbours),)


@dataclass(frozen=True, kw_only=True)
class PrintedSaving(SavedHistograms):
    """Algorithm 6 with the accounting of the paper: it spends more than its budget."""

    bounds_question: type[ImpurityBounds] = OnePriceBounds


def _build_printed(setting: Setting) -> SingleTree:
    tree = build_saving(setting)
    learner = PrintedSaving(**vars(tree.learner) | {"bounds_question": OnePriceBounds})
    return replace(tree, learner=learner)


AS_PRINTED = replace(HISTOGRAMS_SAVING, name="saving as printed", build=_build_printed)


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run."""

    repeats: dict[int, int]
    features: tuple[int, ...]
    epsilons: tuple[float, ...]
    printed_depths: tuple[int, ...]
    correlations: tuple[float, ...] = (0.9, 0.3)
    shares: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9)
    bounds_shares: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 0.9)
    share_repeats: int = 10
    share_epsilons: tuple[float, ...] = (1.0, 5.0)


FULL = Size(
    repeats={5: 10, 10: 10},
    features=(10, 25, 50),
    epsilons=(0.1, 1.2, 3.4, 5.6, 10.0),
    printed_depths=(5, 10),
)
QUICK = Size(
    repeats={5: 6},
    features=(10, 25, 50),
    epsilons=(0.5, 2.0, 10.0),
    printed_depths=(5,),
    shares=(0.1, 0.5, 0.9),
    bounds_shares=(0.1, 0.25, 0.75),
    share_repeats=6,
)


def parties(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide rows in random order among the parties."""
    return list(zip(np.array_split(X, N_PARTIES), np.array_split(y, N_PARTIES), strict=True))


def cart(X: np.ndarray, y: np.ndarray, test: tuple[np.ndarray, np.ndarray], depth: int) -> float:
    """Return the accuracy of a tree without privacy, with the same rules of stopping."""
    tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=10, random_state=0).fit(X, y)
    return float(tree.score(*test))


def curves(n_rows: int, figure: str, size: Size) -> Iterator[Measured]:
    """Measure accuracy against epsilon on tables of so many rows."""
    for correlation in size.correlations:
        for n_features in size.features:
            mixture = Mixture(n_features=n_features, correlation=correlation)
            for depth, repeats in size.repeats.items():
                data = f"rho {correlation:g}, p {n_features}, depth {depth}"
                for repeat in range(repeats):
                    yield from _repeat(mixture, n_rows, depth, repeat, figure, data, size)


def _repeat(
    mixture: Mixture,
    n_rows: int,
    depth: int,
    repeat: int,
    figure: str,
    data: str,
    size: Size,
) -> Iterator[Measured]:
    """Measure all methods on the rows of one repeat."""
    random = np.random.default_rng([repeat, n_rows, mixture.n_features, depth])
    X, y = mixture.sample(n_rows, random)
    test = mixture.sample(N_TEST, random)
    tables = parties(X, y)
    # The published code draws so many rows of either class.
    more = mixture.sample(2 * n_rows, random)
    doubled = parties(*more)
    bare = {
        LOCAL: cart(*tables[0], test, depth),
        CENTRAL: cart(X, y, test, depth),
        DOUBLED_CENTRAL: cart(*more, test, depth),
    }
    methods = {PLAIN: ("histograms", tables), SAVING: ("histograms_saving", tables)}
    if depth in size.printed_depths:
        methods |= {
            PRINTED: (AS_PRINTED, tables),
            DOUBLED: ("histograms", doubled),
            DOUBLED_PRINTED: (AS_PRINTED, doubled),
        }
    for epsilon in size.epsilons:
        found = {
            method: accuracy_of(
                fit_places(
                    rows,
                    recipe=recipe,
                    epsilon=epsilon,
                    schema=mixture.schema(),
                    max_depth=depth,
                    **SETTINGS,
                ),
                *test,
            )
            for method, (recipe, rows) in methods.items()
        }
        for method, accuracy in {**found, **bare}.items():
            yield Measured(
                figure=figure, data=data, x=epsilon, method=method, repeat=repeat, accuracy=accuracy
            )


def shares(size: Size) -> Iterator[Measured]:
    """Figure 2: how the budget is divided; 300 rows of 10 features, 7 levels."""
    mixture = Mixture(n_features=10, correlation=0.3)
    for epsilon in size.share_epsilons:
        for repeat in range(size.share_repeats):
            random = np.random.default_rng([repeat, 300])
            tables, test = parties(*mixture.sample(300, random)), mixture.sample(N_TEST, random)
            for share in size.shares:
                methods: dict[str, dict[str, Any]] = {PLAIN: {"recipe": "histograms"}}
                methods |= {
                    f"saving, {part:g} for the bounds": {
                        "recipe": "histograms_saving",
                        "bounds_share": part,
                    }
                    for part in size.bounds_shares
                }
                for method, own in methods.items():
                    fitted = fit_places(
                        tables,
                        epsilon=epsilon,
                        schema=mixture.schema(),
                        max_depth=7,
                        leaf_share=share,
                        **own,
                        **SETTINGS,
                    )
                    yield Measured(
                        figure="figure 2",
                        data=f"epsilon {epsilon:g}",
                        x=share,
                        method=method,
                        repeat=repeat,
                        accuracy=accuracy_of(fitted, *test),
                    )


def _share_claims() -> list[Claim]:
    return [
        Claim(
            figure="figure 2",
            text=f"leaf shares of .3 to .8 above those outside, epsilon {epsilon:g}",
            above=PLAIN,
            below=PLAIN,
            where=lambda data, x, own=f"epsilon {epsilon:g}": data == own and 0.3 <= x <= 0.8,
            below_where=lambda data, x, own=f"epsilon {epsilon:g}": (
                data == own and not 0.3 <= x <= 0.8
            ),
        )
        for epsilon in FULL.share_epsilons
    ]


def _curve_claims(figure: str) -> list[Claim]:
    pairs = [
        (SAVING, PLAIN, "saving above no saving"),
        (PRINTED, PLAIN, "saving as printed, over budget, above no saving"),
        (SAVING, LOCAL, "saving above one party's tree"),
        (PLAIN, LOCAL, "no saving above one party's tree"),
    ]
    found = []
    for above, below, text in pairs:
        for depth in FULL.repeats:
            if above == PRINTED and depth not in FULL.printed_depths:
                continue
            ends = [f"p {p}, depth {depth}" for p in FULL.features]
            for end in (f"depth {depth}", *ends):
                for low, high in ((0.0, 1.0), (1.5, 10.0)):
                    found.append(
                        Claim(
                            figure=figure,
                            text=f"{text}, {end}, epsilon {'2 to 10' if low else 'up to 1'}",
                            above=above,
                            below=below,
                            where=lambda data, x, end=end, low=low, high=high: (
                                data.endswith(end) and low <= x <= high
                            ),
                        )
                    )
    return found


@dataclass(frozen=True, kw_only=True)
class Page:
    """A figure, or two, as one page of results."""

    NAME: str
    TITLE: str
    figure: str
    n_rows: int
    with_shares: bool = False

    @property
    def AXES(self) -> dict[str, str]:  # noqa: N802 - as the modules of other papers
        """Quantities on the horizontal axes."""
        first = {"figure 2": "share of the budget for the leaves"} if self.with_shares else {}
        return {**first, self.figure: "epsilon"}

    def measure(self, *, quick: bool) -> Iterator[Measured]:
        """Measure the figures."""
        size = QUICK if quick else FULL
        if self.with_shares:
            yield from shares(size)
        yield from curves(self.n_rows, self.figure, size)

    def claims(self) -> list[Claim]:
        """Return what the paper reports."""
        return [*(_share_claims() if self.with_shares else []), *_curve_claims(self.figure)]


PAGES = (
    Page(
        NAME="federated-histograms-250",
        TITLE="Gubler 2023, figures 2 and 3, 250 rows at five parties",
        figure="figure 3",
        n_rows=250,
        with_shares=True,
    ),
    Page(
        NAME="federated-histograms-1000",
        TITLE="Gubler 2023, figure 4, 1,000 rows at five parties",
        figure="figure 4",
        n_rows=1000,
    ),
    Page(
        NAME="federated-histograms-100",
        TITLE="Gubler 2023, figure 5, 100 rows at five parties",
        figure="figure 5",
        n_rows=100,
    ),
)
