"""Figure 4: the more the rows that shape the tree are unlike, the larger the error."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.harness.claims import Claim, Kind
from benchmarks.harness.results import Result, pick
from benchmarks.harness.style import Panel
from benchmarks.reproductions.lpdt.rows import MSE, mean_of
from benchmarks.reproductions.lpdt.synthetic import MECHANISMS
from benchmarks.reproductions.lpdt.trees import Sizes, Split
from benchmarks.reproductions.lpdt.wine import EPSILONS, division
from benchmarks.summary import table

#: Shares of public rows among those that shape the tree; the rest are private rows.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def measure(repeat: int) -> list[Result]:
    """Return errors when private rows join the public ones that shape the tree."""
    rows = []
    split = division(repeat)
    random = np.random.default_rng(repeat)
    for share in SHARES:
        # As many rows shape the tree at every share.
        n_rows = len(split.y_public)
        n_public = round(share * n_rows)
        mine = random.permutation(n_rows)[:n_public]
        theirs = random.permutation(len(split.y))[: n_rows - n_public]
        mixed = Split(
            np.vstack([split.X_public[mine], split.X[theirs]]),
            np.concatenate([split.y_public[mine], split.y[theirs]]),
            split.X,
            split.y,
            split.X_test,
            split.y_test,
        )
        for mechanism, epsilon in itertools.product(MECHANISMS, EPSILONS):
            error = mixed.lpdt_error("LPDT-M", mechanism, epsilon, Sizes())
            rows.append(
                Result(
                    data="wine",
                    method=MECHANISMS[mechanism],
                    epsilon=epsilon,
                    x=str(share),
                    repeat=repeat,
                    measure=MSE,
                    value=error,
                )
            )
    return rows


def page(rows: Sequence[Result]) -> list[str]:
    """Return one line a mechanism and epsilon."""
    body = [
        [
            f"{label}, {epsilon:g}",
            *(
                f"{mean_of(rows, method=label, epsilon=epsilon, x=str(share)):3}"
                for share in SHARES
            ),
        ]
        for label, epsilon in itertools.product(MECHANISMS.values(), EPSILONS)
    ]
    note = (
        "Mean squared error of LPDT-M on white wines, over the share of red wines among the rows "
        "that shape the tree. White ones among them are taken from the private rows, as in the "
        "paper: they have no privacy here, so this is no deployment but a study of the shift."
    )
    return [note, "", *table(["mechanism, epsilon", *map(str, SHARES)], body)]


def claims(rows: Sequence[Result]) -> list[Claim]:
    """Return that few public rows of another distribution are better than many, at all budgets."""
    return [
        Claim(
            text=f"{label}: a share of {SHARES[0]:g} below one of {SHARES[-1]:g}, {at}",
            data=at,
            above=label,
            below=label,
            where=lambda data, position: position == SHARES[0],
            below_where=lambda data, position: position == SHARES[-1],
            margin=0.01,
            test=Kind.SIGNED_RANK,
            relative=True,
            source="4.3: a small share leads to a lower MSE for all values of epsilon",
            lower_is_better=True,
            ours=mechanism != "ratio",
        )
        for mechanism, label in MECHANISMS.items()
        for at in ("wine", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS))
    ]


def derived(rows: Sequence[Result]) -> list[Result]:
    """Return the same errors by budget."""
    return [replace(row, data=f"epsilon {row.epsilon:g}") for row in rows]


def panels(rows: Sequence[Result]) -> list[Panel]:
    """Return a panel for each mechanism."""
    return [
        Panel(
            title=label,
            x_label="share of public rows",
            y_label=MSE,
            rows=[
                replace(row, method=f"epsilon {row.epsilon:g}", epsilon=None)
                for row in pick(rows, method=label)
            ],
        )
        for label in MECHANISMS.values()
    ]
