"""Figure 1: why public rows are needed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.local.plots import figure_of
from benchmarks.local.rows import LocalRow, mean_of
from benchmarks.local.synthetic import MECHANISMS, fitted, truth
from benchmarks.local.synthetic import draw as draw_rows
from benchmarks.local.trees import Predict
from benchmarks.summary import table

METHODS = MECHANISMS

_DEPTHS = (1, 2, 3, 4, 5, 6)


def grid_without_public(depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose max-edge tree is the regular grid of that depth: no knowledge at all."""
    middle = (np.arange(1 << depth) + 0.5) / (1 << depth)
    return middle[:, np.newaxis], np.zeros(1 << depth)


def measure(repeats: int) -> list[LocalRow]:
    """Return errors at epsilon 8: 500 public and 7,000 private rows, or 8,000 private ones."""
    rows = []
    for repeat, mechanism in itertools.product(range(repeats), METHODS):
        X, y = draw_rows(8_000, repeat)
        X_test, y_test = draw_rows(2_000, 50_000 + repeat)
        public = draw_rows(500, 90_000 + repeat)

        def note(
            setting: str,
            predict: Predict,
            *,
            mechanism: str = mechanism,
            repeat: int = repeat,
            X_test: np.ndarray = X_test,
            y_test: np.ndarray = y_test,
        ) -> None:
            error = float(np.mean((predict(X_test) - y_test) ** 2))
            rows.append(
                LocalRow(
                    problem="synthetic",
                    method=METHODS[mechanism],
                    epsilon=8.0,
                    setting=setting,
                    repeat=repeat,
                    value=error,
                )
            )

        shared = {"epsilon": 8.0, "mechanism": mechanism}
        note("with public rows", fitted(X[:7_000], y[:7_000], public, **shared))
        for depth in _DEPTHS:
            sizes = {"max_depth": depth, "min_samples_leaf": 1}
            grid = fitted(X, y, grid_without_public(depth), **shared, **sizes)
            note(f"without, depth {depth}", grid)
    return rows


def page(rows: Sequence[LocalRow]) -> list[str]:
    """Return the table of errors; 1 of each is the noise of the labels."""
    header = ["mechanism", "with public rows", *(f"without, depth {depth}" for depth in _DEPTHS)]
    body = [
        [
            label,
            *(f"{mean_of(rows, method=label, setting=column):3}" for column in header[1:]),
        ]
        for label in METHODS.values()
    ]
    note = (
        "Mean squared error at epsilon 8 for y = sin(16 x) + N(0, 1), x from N(0.5, 0.025): 7,000 "
        "private rows with 500 public ones, of which the size is chosen too, or 8,000 private rows "
        "on a regular grid. A perfect model has 1, the noise of the labels. The paper reports 1.08 "
        "with and 1.19 without public rows, at the best depth. Its estimate divides noisy sums by "
        "noisy counts, and without public rows the empty cells at the sides spoil it; the others "
        "shrink what is noisy, which takes most of that need away."
    )
    return [note, "", *table(header, body)]


def draw(rows: Sequence[LocalRow]) -> bytes:
    """Return the curves of one repeat: without public rows at their best depth, and with them."""
    X, y = draw_rows(8_000, 0)
    line_of_x = np.linspace(0.0, 1.0, 1_000)[:, np.newaxis]

    def fill(panels: Any) -> None:
        for place, (mechanism, label) in enumerate(METHODS.items()):
            means = [mean_of(rows, method=label, setting=f"without, depth {d}") for d in _DEPTHS]
            best = _DEPTHS[int(np.argmin([mean.mean for mean in means if mean is not None]))]
            grid = grid_without_public(best)
            sizes = {"max_depth": best, "min_samples_leaf": 1}
            shared = {"epsilon": 8.0, "mechanism": mechanism}
            models = [
                ("without public rows", fitted(X, y, grid, **shared, **sizes)),
                (
                    "with public rows",
                    fitted(X[:7_000], y[:7_000], draw_rows(500, 90_000), **shared),
                ),
            ]
            for panel, (title, predict) in zip(panels[place], models, strict=True):
                panel.plot(X[:1_000, 0], y[:1_000], ".", color="tab:green", markersize=1.5)
                panel.plot(line_of_x, truth(line_of_x), color="black", linewidth=1, label="truth")
                curve = predict(line_of_x)
                panel.plot(line_of_x, curve, color="tab:red", linewidth=1.5, label="LPDT-M")
                panel.set_title(f"{label}, {title}", fontsize=8)
                panel.set(ylim=(-3.2, 3.2))
                panel.legend(fontsize=8)

    return figure_of(len(METHODS), 2, fill)
