"""Figure 2: what depth, leaf size and epsilon do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.harness.claims import Claim, Kind
from benchmarks.harness.derived import best_positions, differences
from benchmarks.harness.results import Result, pick
from benchmarks.harness.style import Panel
from benchmarks.reproductions.lpdt.baselines import (
    Scale,
    deconvolution_predictions,
    deconvolution_rows,
    histogram_predictions,
)
from benchmarks.reproductions.lpdt.rows import MSE, mean_of
from benchmarks.reproductions.lpdt.synthetic import MECHANISMS, fitted
from benchmarks.reproductions.lpdt.synthetic import draw as draw_rows
from benchmarks.reproductions.lpdt.trees import RULES
from benchmarks.summary import table

_DEPTHS = (1, 2, 3, 4, 5, 6)
_LEAVES = (15, 25, 35, 55, 75, 95, 115, 135)
_EPSILONS = (3.0, 4.0, 6.0, 8.0)
_SWEEP = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)
_SIDES = 8
_BANDWIDTH = 0.1
_BEST = "best size"
#: Smallest difference of errors that counts, where a perfect model has 1.
_MARGIN = 0.01


def measure(repeat: int) -> list[Result]:
    """Return errors over depth, leaf size and epsilon: 6,000 private, 2,000 public, 2,000 test."""
    rows = []
    X, y = draw_rows(6_000, repeat)
    public = draw_rows(2_000, 90_000 + repeat)
    X_test, y_test = draw_rows(2_000, 50_000 + repeat)

    def note(
        panel: str,
        method: str,
        epsilon: float,
        setting: object,
        predicted: np.ndarray,
        *,
        repeat: int = repeat,
        y_test: np.ndarray = y_test,
    ) -> None:
        rows.append(
            Result(
                data=panel,
                method=method,
                epsilon=epsilon,
                x=str(setting),
                repeat=repeat,
                measure=MSE,
                value=float(np.mean((predicted - y_test[: len(predicted)]) ** 2)),
            )
        )

    for mechanism, label in MECHANISMS.items():
        for epsilon in _EPSILONS:
            shared = {"epsilon": epsilon, "mechanism": mechanism}
            for depth in _DEPTHS:
                predict = fitted(X, y, public, **shared, max_depth=depth, min_samples_leaf=15)
                note("depth", label, epsilon, depth, predict(X_test))
            for leaf in _LEAVES:
                predict = fitted(X, y, public, **shared, max_depth=6, min_samples_leaf=leaf)
                note("leaf size", label, epsilon, leaf, predict(X_test))
        for epsilon, method in itertools.product(_SWEEP, RULES):
            shared = {"epsilon": epsilon, "mechanism": mechanism}
            predict = fitted(X, y, public, **shared, rule=RULES[method])
            predicted = predict(X_test)
            note("epsilon", f"{method}, {label}", epsilon, "", predicted)
    for method, epsilon, predicted in _baselines(X, y, public, X_test, repeat):
        note("epsilon", method, epsilon, "", predicted)
    return rows


def _baselines(
    X: np.ndarray,
    y: np.ndarray,
    public: tuple[np.ndarray, np.ndarray],
    X_test: np.ndarray,
    repeat: int,
) -> list[tuple[str, float, np.ndarray]]:
    """Return the predictions of histograms and deconvolution at every epsilon."""
    scale = Scale.of(*public)
    found = []
    for epsilon in _SWEEP:
        random = np.random.default_rng(repeat)
        for kind in ("PHIST", "APHIST"):
            predicted = histogram_predictions(
                X,
                y,
                X_test,
                scale,
                epsilon=epsilon,
                n_sides=_SIDES,
                adjusted=kind == "APHIST",
                random=random,
            )
            found.append((kind, epsilon, predicted))
        some = X_test[deconvolution_rows(len(X_test))]
        predicted = deconvolution_predictions(
            X, y, some, scale, epsilon=epsilon, bandwidth=_BANDWIDTH, random=random
        )
        found.append(("DECONV", epsilon, predicted))
    return found


def page(rows: Sequence[Result]) -> list[str]:
    """Return a table for each panel."""
    lines = [
        "Mean squared error for y = sin(16 x) + N(0, 1), x from N(0.5, 0.025), with 6,000 private, "
        "2,000 public and 2,000 test rows. Over depth the leaves have at least 15 public rows, "
        "over leaf sizes the depth is 6; over epsilon the sizes are the defaults, the histograms "
        f"have {_SIDES} sides and deconvolution has bandwidth {_BANDWIDTH}.",
        "",
    ]
    for panel, settings in (("depth", _DEPTHS), ("leaf size", _LEAVES)):
        header = ["mechanism, epsilon", *map(str, settings)]
        body = [
            [
                f"{label}, {epsilon:g}",
                *(
                    f"{_mean(rows, panel, label, epsilon, str(setting)):.3f}"
                    for setting in settings
                ),
            ]
            for label, epsilon in itertools.product(MECHANISMS.values(), _EPSILONS)
        ]
        lines += [f"## {panel}", "", *table(header, body), ""]
    header = ["method", *(f"epsilon {epsilon:g}" for epsilon in _SWEEP)]
    body = [
        [method, *(f"{_mean(rows, 'epsilon', method, epsilon, ''):.3g}" for epsilon in _SWEEP)]
        for method in _methods()
    ]
    return [*lines, "## epsilon", "", *table(header, body), ""]


def _methods() -> list[str]:
    pairs = itertools.product(MECHANISMS.values(), RULES)
    return [*(f"{method}, {label}" for label, method in pairs), "PHIST", "APHIST", "DECONV"]


def _mean(rows: Sequence[Result], panel: str, method: str, epsilon: float, setting: str) -> float:
    found = mean_of(rows, data=panel, method=method, epsilon=epsilon, x=setting)
    assert found is not None
    return found.mean


def claims(rows: Sequence[Result]) -> list[Claim]:
    """Return that LPDT is ahead at every budget, and what its best sizes do with the budget."""
    found = []
    for mechanism, label in MECHANISMS.items():
        ours = mechanism != "ratio"
        found += [
            Claim(
                text=f"{rule}, {label}, below {kind}",
                above=f"{rule}, {label}",
                below=kind,
                data="epsilon",
                lower_is_better=True,
                ours=ours,
                margin=_MARGIN,
                test=Kind.SIGNED_RANK,
                source="figure 2 (c): LPDT below the other methods",
            )
            for rule in RULES
            for kind in ("PHIST", "APHIST", "DECONV")
        ]
        found += [
            Claim(
                text=f"the error of {rule}, {label}, falls more from epsilon 2 to 10 than that of "
                f"{kind}",
                above=_fall(f"{rule}, {label}"),
                below=_fall(kind),
                data="epsilon",
                ours=ours,
                margin=_MARGIN,
                test=Kind.SIGNED_RANK,
                source="4.1: the MSE of LPDT decreases much faster than that of the other methods",
            )
            for rule in RULES
            for kind in ("PHIST", "APHIST", "DECONV")
        ]
        found += [
            Claim(
                text=f"{label}: the best {panel} is {'larger' if panel == 'depth' else 'smaller'} "
                f"at epsilon {_EPSILONS[-1]:g} than at {_EPSILONS[0]:g}",
                above=label,
                below=label,
                data=panel,
                where=lambda data, position: position == _EPSILONS[-1],
                below_where=lambda data, position: position == _EPSILONS[0],
                lower_is_better=panel != "depth",
                measure=_BEST,
                part=_BEST,
                ours=ours,
                source=source,
            )
            for panel, source in (
                ("depth", "4.1: the depth of the least error increases as epsilon increases"),
                ("leaf size", "4.1: decreasing epsilon favors larger leaves"),
            )
        ]
    return found


def _fall(method: str) -> str:
    return f"{method}, from epsilon 2 to 10"


def derived(rows: Sequence[Result]) -> list[Result]:
    """Return the best sizes, and by how much errors fall from the least budget to the largest."""
    found = []
    for panel in ("depth", "leaf size"):
        best = best_positions(pick(rows, data=panel), measure=_BEST)
        found += [replace(row, part=_BEST) for row in best]
    for method in _methods():
        found += differences(
            pick(rows, data="epsilon", method=method),
            name=_fall(method),
            first=lambda row: row.epsilon == _SWEEP[0],
            second=lambda row: row.epsilon == _SWEEP[-1],
            by=lambda row: row.data,
        )
    return found


def panels(rows: Sequence[Result]) -> list[Panel]:
    """Return a panel for depth, leaf size and epsilon, a row for each mechanism."""
    found = []
    for label in MECHANISMS.values():
        for data, axis in (("depth", "depth"), ("leaf size", "public rows of a leaf")):
            mine = [
                replace(row, method=f"epsilon {row.epsilon:g}", epsilon=None)
                for row in pick(rows, data=data, method=label)
            ]
            found.append(
                Panel(title=label, x_label=axis, y_label=MSE, rows=mine, limits=(0.95, 1.8))
            )
        methods = [*(f"{rule}, {label}" for rule in RULES), "PHIST", "APHIST", "DECONV"]
        mine = [
            replace(row, method=row.method.removesuffix(f", {label}"))
            for row in pick(rows, data="epsilon")
            if row.method in methods
        ]
        found.append(
            Panel(title=label, x_label="epsilon", y_label=MSE, rows=mine, limits=(0.95, 1.8))
        )
    return found
