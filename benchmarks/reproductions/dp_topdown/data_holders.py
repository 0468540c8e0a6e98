"""Figures 1 to 6 of Wang, Dick and Balcan, DP-TopDown, for four data holders.

They are those of one machine (`one_machine`) for the two algorithms whose rows are at several
data holders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from benchmarks.harness.results import Result
from benchmarks.reproductions.dp_topdown import holder_claims
from benchmarks.reproductions.dp_topdown.claims import SHARE_ALPHAS, part_name
from benchmarks.reproductions.dp_topdown.holder_claims import (
    ALGORITHMS,
    BARE,
    BUDGETS,
    BY_SPLIT,
    COUNTS,
    COUNTS_FULL,
    LOCAL,
    LOCAL_FULL,
    PRINTED,
    SINGLE,
)
from benchmarks.reproductions.dp_topdown.holders import Holders
from benchmarks.reproductions.dp_topdown.one_machine import (
    AXES,
    INFINITE,
    LARGE_SETS,
    LOGARITHMIC,
    OF_FIGURE_2,
    OF_FIGURE_3,
    OTHER_SETS,
    SETS,
    SMALL_SETS,
    Size,
    load,
    numbers_of,
    results_of,
)
from benchmarks.reproductions.dp_topdown.split_tables import AS_PRINTED, LITERAL, N_PARTIES
from benchmarks.reproductions.fits import ACCURACY, Paper, Piece, measured

#: Parts of the rows that the data holders have.
SPLITS = {"even": (0.25, 0.25, 0.25, 0.25), "uneven": (0.85, 0.1, 0.04, 0.01)}

#: Data sets of figure 4 whose trees take little time.
OTHER_SMALL_SETS = tuple(name for name in OTHER_SETS if name not in LARGE_SETS)


# As many repeats as on one machine, at every second budget.
FULL = Size(
    repeats=100,
    large_repeats=10,
    alphas=(0.125, 0.5, 2.0, 8.0, 32.0, 128.0, 512.0),
    shares=(0.015, 0.25, 0.5, 0.75, 0.985),
    share_alphas=SHARE_ALPHAS,
    fractions=(0.01, 0.05, 0.2, 1.0),
)
QUICK = Size(
    repeats=3,
    large_repeats=1,
    alphas=(0.5, 32.0),
    shares=(0.015, 0.5, 0.985),
    share_alphas=(1.0, 8.0),
    fractions=(0.01, 1.0),
)

_METHODS = (
    (COUNTS, "noisy_counts", 1),
    (COUNTS_FULL, "noisy_counts", N_PARTIES - 1),
    (LOCAL, "local_rnm", 1),
    (LOCAL_FULL, "local_rnm", N_PARTIES - 1),
)


def privacy_curves(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figures 2 and 5: trees against alpha, for rows that are divided evenly and unevenly."""
    table = load(name)
    rows, own = table.divided(repeat), table.settings
    # The recipes of data holders have the values of the paper and no other ones.
    by_split = {"max_bin": own["max_bin"]}
    held = {split: Holders(table, repeat, parts) for split, parts in SPLITS.items()}
    bare = numbers_of(rows, rows.fit(epsilon=INFINITE, **own))
    for alpha in size.alphas:
        trees = {
            SINGLE: rows.fit(epsilon=alpha, **own),
            BY_SPLIT: rows.fit(epsilon=alpha, recipe=AS_PRINTED, **by_split),
            PRINTED: rows.fit(epsilon=alpha, recipe=LITERAL, **by_split),
        }
        pooled = {method: numbers_of(rows, fitted) for method, fitted in trees.items()}
        for split, holders in held.items():
            found = {
                method: holders.numbers(holders.fit(recipe, colluding=colluding, epsilon=alpha))
                for method, recipe, colluding in _METHODS
            }
            # Figure 5 is of rows that are divided evenly, as in the paper.
            figures = OF_FIGURE_2 if split == "even" else {ACCURACY: "figure 2"}
            yield from results_of(
                figures, f"{name}, {split}", alpha, repeat, {**pooled, **found, BARE: bare}
            )


def leaf_shares(name: str, repeat: int, size: Size, figure: str) -> Iterator[Result]:
    """Figures 1 and 4: the share of the leaves, for both budgets."""
    holders = Holders(load(name), repeat, SPLITS["even"])
    for alpha in size.share_alphas:
        for share in size.shares:
            for budget in BUDGETS:
                for method, recipe in ALGORITHMS.items():
                    model = holders.fit(
                        recipe, epsilon=alpha, leaf_share=share, depth_budget=budget
                    )
                    yield measured(
                        figure=figure,
                        data=f"{name}, alpha {alpha:g}",
                        x=share,
                        method=f"{method}, {budget}",
                        repeat=repeat,
                        accuracy=holders.accuracy(model),
                    )


def training_sizes(name: str, repeat: int, size: Size) -> Iterator[Result]:
    """Figures 3 and 6: the curves for parts of the training rows."""
    table = load(name)
    for fraction in size.fractions:
        rows = table.divided(repeat, fraction)
        holders = Holders(table, repeat, SPLITS["even"], fraction)
        part = part_name(fraction)
        bare = numbers_of(rows, rows.fit(epsilon=INFINITE, **table.settings))
        for alpha in size.alphas:
            for method, recipe in ALGORITHMS.items():
                found = {
                    part: holders.numbers(holders.fit(recipe, epsilon=alpha)),
                    f"{part}, without noise": bare,
                }
                yield from results_of(OF_FIGURE_3, f"{name}, {method}", alpha, repeat, found)


def pieces(
    measures: Sequence[tuple[str, Callable[..., Iterator[Result]], Sequence[str]]],
    quick: bool,
    repeats: int | None,
) -> Iterator[Piece]:
    """Yield what is measured, one figure and data set after the other."""
    size = QUICK if quick else FULL
    for figure, measure, sets in measures:
        more = (figure,) if measure is leaf_shares else ()
        for name in sets:
            for repeat in range(repeats or size.of(name)):
                yield Piece(
                    name=f"{name}, {figure}, {repeat}",
                    measure=measure,
                    arguments=(name, repeat, size, *more),
                )


def _curves(name: str, figures: tuple[str, ...], more: str, sets: tuple[str, ...]) -> Paper:
    """Return figures 2 and 5 of some data sets; with those of the small ones goes figure 1."""
    shared = tuple(name for name in sets if name in SMALL_SETS)
    told = f"{', '.join(figure[-1] for figure in figures[:-1])} and {figures[-1][-1]}"
    return Paper(
        name=name,
        title=f"DP-TopDown paper, figures {told}: accuracy of one tree of four data holders{more}",
        description="Wang, Dick and Balcan 2020: accuracy on held-out and on training rows against "
        "alpha and the share of the leaves, and the size of the trees, with four data holders.",
        axes={figure: AXES[figure] for figure in figures},
        pieces=partial(
            pieces, (("figure 1", leaf_shares, shared), ("figure 2", privacy_curves, sets))
        ),
        claims=lambda: [
            *holder_claims.curve_claims(sets, tuple(SPLITS)),
            *holder_claims.share_claims("figure 1", shared),
        ],
        derived=holder_claims.derived,
        logarithmic=LOGARITHMIC,
    )


PAPERS = (
    _curves("federated-topdown", ("figure 1", "figure 2", "figure 5"), "", SETS),
    _curves("federated-topdown-large", ("figure 2", "figure 5"), ", large tables", LARGE_SETS),
    Paper(
        name="federated-topdown-shares",
        title="DP-TopDown paper, figure 4: share of the budget for the leaves, four data holders",
        description="Wang, Dick and Balcan 2020: accuracy against the share of the budget that the "
        "leaves get, on the other data sets, with four data holders.",
        axes={"figure 4": AXES["figure 1"]},
        pieces=partial(pieces, (("figure 4", leaf_shares, OTHER_SMALL_SETS),)),
        claims=lambda: list(holder_claims.share_claims("figure 4", OTHER_SMALL_SETS)),
        derived=holder_claims.derived,
    ),
    Paper(
        name="federated-topdown-rows",
        title="DP-TopDown paper, figures 3 and 6: accuracy against rows, four data holders",
        description="Wang, Dick and Balcan 2020: accuracy on held-out and on training rows against "
        "alpha for several sizes of the training set, with four data holders.",
        axes={figure: AXES[figure] for figure in ("figure 3", "figure 6")},
        pieces=partial(pieces, (("figure 3", training_sizes, SMALL_SETS),)),
        claims=lambda: list(holder_claims.size_claims(SMALL_SETS)),
        derived=holder_claims.derived,
        logarithmic=LOGARITHMIC,
    ),
)
