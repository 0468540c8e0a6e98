"""Figure 4: the more the rows that shape the tree are unlike, the larger the error."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.local.plots import figure_of, line
from benchmarks.local.rows import LocalRow, mean_of
from benchmarks.local.synthetic import MECHANISMS
from benchmarks.local.trees import Sizes, Split
from benchmarks.local.wine import EPSILONS, division
from benchmarks.summary import table

#: Shares of public rows among those that shape the tree; the rest are private rows.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


def measure(repeats: int) -> list[LocalRow]:
    """Return errors when private rows join the public ones that shape the tree."""
    rows = []
    for repeat in range(repeats):
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
                    LocalRow(
                        problem="wine",
                        method=MECHANISMS[mechanism],
                        epsilon=epsilon,
                        setting=str(share),
                        repeat=repeat,
                        value=error,
                    )
                )
    return rows


def page(rows: Sequence[LocalRow]) -> list[str]:
    """Return one line a mechanism and epsilon."""
    body = [
        [
            f"{label}, {epsilon:g}",
            *(
                f"{mean_of(rows, method=label, epsilon=epsilon, setting=str(share)):3}"
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


def draw(rows: Sequence[LocalRow]) -> bytes:
    """Return a panel for each mechanism."""

    def fill(panels: Any) -> None:
        for panel, label in zip(panels[0], MECHANISMS.values(), strict=True):
            for epsilon in EPSILONS:
                means = [
                    mean_of(rows, method=label, epsilon=epsilon, setting=str(share))
                    for share in SHARES
                ]
                line(panel, SHARES, means, f"epsilon {epsilon:g}")
            panel.set(title=label, xlabel="share of public rows", ylabel="mean squared error")
            panel.legend(fontsize=8)

    return figure_of(1, len(MECHANISMS), fill)
