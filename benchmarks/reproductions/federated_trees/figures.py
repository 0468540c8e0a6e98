"""Figures 2 to 5 of Gubler, federated private histograms with and without budget saving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.harness.claims import Claim
from benchmarks.harness.derived import differences
from benchmarks.harness.results import Result
from benchmarks.reproductions.federated_trees.mixture import Mixture
from benchmarks.reproductions.federated_trees.plan import FULL, QUICK
from benchmarks.reproductions.federated_trees.published import published
from benchmarks.reproductions.federated_trees.sites import HeldOutRows, PooledRows
from benchmarks.reproductions.fits import Paper, Piece, measured
from dpboost.growing.histogram_saving import SavedHistograms
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.recipes.recipe import Setting
from dpboost.recipes.single_tree.noisy_histograms import HISTOGRAMS_SAVING, build_saving
from dpboost.rows.site_queries import ImpurityBounds

N_PARTIES = 5
N_TEST = 2000
_SMALL = 1.2
SETTINGS = {"max_bin": 10, "min_rows": 10}

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

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return a sensitivity that forgets how many features there are."""
        return (impurities.split_bounds(1, neighbors),)


@dataclass(frozen=True, kw_only=True)
class PrintedSaving(SavedHistograms):
    """Algorithm 6 with the accounting of the paper: it spends more than its budget."""

    bounds_question: type[ImpurityBounds] = OnePriceBounds


def _build_printed(setting: Setting) -> SingleTree:
    tree = build_saving(setting)
    learner = PrintedSaving(**vars(tree.learner) | {"bounds_question": OnePriceBounds})
    return replace(tree, learner=learner)


AS_PRINTED = replace(HISTOGRAMS_SAVING, name="saving as printed", build=_build_printed)


def panel(correlation: float, n_features: int, depth: int) -> str:
    """Return the name of a panel."""
    return f"rho {correlation:g}, p {n_features}, depth {depth}"


def parties(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Divide rows in random order among the parties."""
    return list(zip(np.array_split(X, N_PARTIES), np.array_split(y, N_PARTIES), strict=True))


def cart(X: np.ndarray, y: np.ndarray, test: tuple[np.ndarray, np.ndarray], depth: int) -> float:
    """Return the accuracy of a tree without privacy, with the same rules of stopping."""
    tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=10, random_state=0).fit(X, y)
    return float(tree.score(*test))


def curves(
    n_features: int,
    correlation: float,
    n_rows: int,
    depth: int,
    repeat: int,
    figure: str,
    epsilons: tuple[float, ...],
    printed: bool,
) -> Iterator[Result]:
    """Accuracy against epsilon: measure all methods on the rows of one repeat.

    Parameters
    ----------
    n_features : int
    correlation : float
    n_rows, depth, repeat : int
    figure : str
    epsilons : tuple of float
    printed : bool
        Whether the readings that are not private are among the methods.
    """
    mixture = Mixture(n_features=n_features, correlation=correlation)
    data = panel(correlation, n_features, depth)
    random = np.random.default_rng([repeat, n_rows, mixture.n_features, depth])
    X, y = mixture.sample(n_rows, random)
    test = mixture.sample(N_TEST, random)
    schema = mixture.schema()
    tables = parties(X, y)
    rows, held_out = PooledRows(tables, schema=schema), HeldOutRows(*test, schema=schema)
    # The published code draws so many rows of either class.
    more = mixture.sample(2 * n_rows, random)
    doubled = PooledRows(parties(*more), schema=schema)
    bare = {
        LOCAL: cart(*tables[0], test, depth),
        CENTRAL: cart(X, y, test, depth),
        DOUBLED_CENTRAL: cart(*more, test, depth),
    }
    methods = {PLAIN: ("histograms", rows), SAVING: ("histograms_saving", rows)}
    if printed:
        methods |= {
            PRINTED: (AS_PRINTED, rows),
            DOUBLED: ("histograms", doubled),
            DOUBLED_PRINTED: (AS_PRINTED, doubled),
        }
    for epsilon in epsilons:
        found = {
            method: held_out.accuracy(
                own.fit(recipe=recipe, epsilon=epsilon, max_depth=depth, **SETTINGS)
            )
            for method, (recipe, own) in methods.items()
        }
        for method, accuracy in {**found, **bare}.items():
            yield measured(
                figure=figure, data=data, x=epsilon, method=method, repeat=repeat, accuracy=accuracy
            )


def shares(
    epsilon: float, repeat: int, leaf_shares: tuple[float, ...], bounds_shares: tuple[float, ...]
) -> Iterator[Result]:
    """Figure 2: how the budget is divided; 300 rows of 10 features, 7 levels."""
    mixture = Mixture(n_features=10, correlation=0.3)
    random = np.random.default_rng([repeat, 300])
    schema = mixture.schema()
    rows = PooledRows(parties(*mixture.sample(300, random)), schema=schema)
    held_out = HeldOutRows(*mixture.sample(N_TEST, random), schema=schema)
    for share in leaf_shares:
        methods: dict[str, dict[str, Any]] = {PLAIN: {"recipe": "histograms"}}
        methods |= {
            f"saving, {part:g} for the bounds": {
                "recipe": "histograms_saving",
                "bounds_share": part,
            }
            for part in bounds_shares
        }
        for method, own in methods.items():
            fitted = rows.fit(epsilon=epsilon, max_depth=7, leaf_share=share, **own, **SETTINGS)
            yield measured(
                figure="figure 2",
                data=f"epsilon {epsilon:g}",
                x=share,
                method=method,
                repeat=repeat,
                accuracy=held_out.accuracy(fitted),
            )


#: Smallest difference of accuracies that counts.
MARGIN = 0.005

GAIN = "gain by saving"
GAIN_PRINTED = "gain by saving as printed"
LEAD = "lead over one party's tree"
LEAD_PRINTED = "lead of saving as printed over one party's tree"
_GAINS = ((GAIN, SAVING, PLAIN), (GAIN_PRINTED, PRINTED, PLAIN))
_LEADS = ((LEAD, PLAIN, LOCAL), (LEAD_PRINTED, PRINTED, LOCAL))


#: What tables and trees differ by, and how the name of a panel says it.
_SHAPES = {"features": "p {:g},", "correlation": "rho {:g},", "depth": "depth {:g}"}


def derived(rows: Sequence[Result]) -> list[Result]:
    """Return what saving gains and what private trees lead by, by the shape of the table."""
    found = []
    values = {"features": FULL.features, "correlation": FULL.correlations, "depth": FULL.repeats}
    for name, above, below in (*_GAINS, *_LEADS):
        mine = [row for row in rows if row.part != "figure 2" and row.method in (above, below)]
        for shape, words in _SHAPES.items():
            for value in values[shape]:
                # A name may end with the words: a blank more tells 10 from 100.
                own = [row for row in mine if words.format(value) in f"{row.data} "]
                found += differences(
                    own,
                    name=name,
                    first=lambda row, own=above: row.method == own,
                    second=lambda row, own=below: row.method == own,
                    by=lambda row, own=shape: f"by {own}",
                    x=f"{value:g}",
                )
    return found


def _shape_claim(
    figure: str, name: str, shape: str, more: float, less: float, **about: Any
) -> Claim:
    return Claim(
        part=figure,
        above=name,
        below=name,
        data=f"by {shape}",
        where=lambda data, position: position == more,
        below_where=lambda data, position: position == less,
        margin=MARGIN,
        measure="difference",
        **about,
    )


def _shape_claims(figure: str, depth: int) -> list[Claim]:
    """Return for what tables saving gains more, and private trees lead by more."""
    most, least = max(FULL.features), min(FULL.features)
    high, low = max(FULL.correlations), min(FULL.correlations)
    found = [
        _shape_claim(
            figure,
            name,
            "features",
            most,
            least,
            text=f"{name} larger with {most} features than with {least}, depth {depth}",
            ours=name == GAIN,
            source="4.2: particularly notable with an increasing number of features",
        )
        for name, *_ in _GAINS
    ]
    found += [
        _shape_claim(
            figure,
            name,
            "correlation",
            high,
            low,
            text=f"{name} larger at correlation {high:g} than at {low:g}, depth {depth}",
            source="4.2: better in the high correlation setting, compared with the local tree",
        )
        for name, *_ in _LEADS
    ]
    return found


def depth_claims(figure: str) -> list[Claim]:
    """Return that saving gains more in deeper trees: a claim over two runs."""
    return [
        _shape_claim(
            figure,
            name,
            "depth",
            10,
            5,
            text=f"{name} larger at depth 10 than at 5, {figure}",
            ours=name == GAIN,
            source="4.2: as well as with an increasing maximal depth allowance",
        )
        for name, *_ in _GAINS
    ]


def _share_claims() -> list[Claim]:
    few = f"saving, {min(FULL.bounds_shares):g} for the bounds"
    much = f"saving, {max(FULL.bounds_shares):g} for the bounds"
    return [
        *(
            Claim(
                part="figure 2",
                text=f"saving: small shares of leaves and bounds above large ones of both, epsilon "
                f"{epsilon:g}",
                above=few,
                below=much,
                where=lambda data, x, own=f"epsilon {epsilon:g}": data == own and x <= 0.5,
                below_where=lambda data, x, own=f"epsilon {epsilon:g}": data == own and x >= 0.7,
                margin=MARGIN,
                source="3.4: a combination with at least one of them large has lower accuracy",
            )
            for epsilon in FULL.share_epsilons
        ),
        *_leaf_share_claims(),
    ]


def _leaf_share_claims() -> list[Claim]:
    return [
        Claim(
            part="figure 2",
            margin=MARGIN,
            source="3.4: a leaf proportion between .3 and .8 leads to higher accuracies",
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


_OF_LOCAL = "4.2: almost always above the local tree after a budget of 0 to 2"
_OF_SAVING = "4.2: the saving version consistently yields higher accuracies"


def _curve_claims(figure: str, depth: int) -> list[Claim]:
    """Return the orderings over all panels of a depth; what we charge is compared as ours."""
    pairs = [
        (PRINTED, PLAIN, "saving as printed, over budget, above no saving", False),
        (PRINTED, LOCAL, "saving as printed, over budget, above one party's tree", False),
        (PLAIN, LOCAL, "no saving above one party's tree", False),
        (SAVING, PLAIN, "saving, charged, above no saving", True),
        (SAVING, LOCAL, "saving, charged, above one party's tree", True),
        (DOUBLED, PLAIN, "2n rows above n rows, no saving", True),
    ]
    return [
        Claim(
            part=figure,
            text=f"{text}, depth {depth}, epsilon {'above' if low else 'up to'} {_SMALL:g}",
            above=above,
            below=below,
            where=lambda data, position, low=low: (
                data.endswith(f"depth {depth}")
                and (position > _SMALL if low else position <= _SMALL)
            ),
            ours=ours,
            margin=MARGIN,
            source=_OF_LOCAL if below == LOCAL else _OF_SAVING,
        )
        for above, below, text, ours in pairs
        for low in (False, True)
    ]


def pieces(
    n_rows: int, figure: str, depth: int, with_shares: bool, quick: bool, repeats: int | None
) -> Iterator[Piece]:
    """Yield what is measured: the shares, then all panels of a depth repeat by repeat."""
    size = QUICK if quick else FULL
    for epsilon in size.share_epsilons if with_shares else ():
        for repeat in range(repeats or size.share_repeats):
            yield Piece(
                name=f"figure 2, epsilon {epsilon:g}, {repeat}",
                measure=shares,
                arguments=(epsilon, repeat, size.shares, size.bounds_shares),
            )
    for repeat in range(repeats or size.repeats[depth]):
        for correlation in size.correlations:
            for n_features in size.features:
                yield Piece(
                    name=f"{figure}, {panel(correlation, n_features, depth)}, {repeat}",
                    measure=curves,
                    arguments=(
                        n_features,
                        correlation,
                        n_rows,
                        depth,
                        repeat,
                        figure,
                        size.epsilons,
                        depth in size.printed_depths,
                    ),
                )


def _paper(figure: str, n_rows: int, depth: int) -> Paper:
    """Return one depth of a figure as a page of results; with figure 3 goes figure 2."""
    with_shares = (figure, depth) == ("figure 3", 5)
    first = {"figure 2": "share of the budget for the leaves"} if with_shares else {}
    figures = "figures 2 and 3" if with_shares else figure
    return Paper(
        name=f"federated-histograms-{n_rows}" + ("" if depth == 5 else f"-depth-{depth}"),
        title=f"Federated trees, {figures}: accuracy against epsilon, {n_rows:,} rows, depth "
        f"{depth}",
        description=f"Gubler 2023: federated trees of depth {depth} with and without saving of "
        f"budget, {n_rows:,} rows at five parties.",
        axes={**first, figure: "epsilon"},
        pieces=partial(pieces, n_rows, figure, depth, with_shares),
        claims=lambda: [
            *(_share_claims() if with_shares else []),
            *_curve_claims(figure, depth),
            *_shape_claims(figure, depth),
        ],
        derived=derived,
        published=partial(published, figure, n_rows, depth),
        logarithmic=(figure,),
        kinds={
            "": lambda method: "2n" not in method,
            "2n rows": lambda method: "2n" in method or method == LOCAL,
        },
    )


PAPERS = tuple(
    _paper(figure, n_rows, depth)
    for depth in FULL.repeats
    for figure, n_rows in (("figure 3", 250), ("figure 4", 1000), ("figure 5", 100))
)
