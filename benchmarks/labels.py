"""What becomes of labels of many kinds: ``python -m benchmarks.labels``.

Generated tables, recipe best: coverage of quantiles, labels whose bounds nobody declares, and
objectives with a logarithm. Every fit has noise of its own.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from benchmarks._compat import import_pandas
from benchmarks.files import write_atomically
from dpboost import DPBoostRegressor

RESULTS = Path(__file__).parent / "results"
REPEATS = 3
N_FEATURES = 5
N_TEST = 10_000
DELTA = 1e-5

Array = NDArray[np.float64]
#: Labels of a line and of randomness.
LAWS: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "line": lambda g, random: g,
    "years 1940 to 2010": lambda g, random: np.clip(np.round(1975 + 8 * g), 1940, 2010),
    "1e9 and the line": lambda g, random: 1e9 + g,
    "tiny, 1e-9 of the line": lambda g, random: 1e-9 * g,
    "huge, around 1e13": lambda g, random: 1e12 * (10 + g),
    "constant": lambda g, random: np.full(len(g), 3.7),
    "two clusters": lambda g, random: np.where(g > 0, 1000.0, -5000.0) + g,
    "counts": lambda g, random: random.poisson(np.exp(g / 3)).astype(float),
}
LINKS: dict[str, Callable[[Array], Array]] = {
    "gamma": lambda g: np.exp(g / 4),
    "tweedie": lambda g: np.maximum(g, 0),
}


def table(
    n_rows: int, seed: int, *, law: str = "normal", noise: float = 0.3
) -> tuple[Array, Array, np.random.Generator]:
    """Return features and ``g = 3 x0 + x2 + noise``, the last rows held out."""
    random = np.random.default_rng(seed)
    size = (n_rows + N_TEST, N_FEATURES)
    X = random.normal(size=size) if law == "normal" else random.uniform(-1, 1, size=size)
    return X, 3 * X[:, 0] + X[:, 2] + noise * random.normal(size=len(X)), random


def schema(law: str, label_bounds: tuple[float, float] | None) -> dict[str, Any]:
    """Declare the features, and labels where their bounds are given."""
    edge = 5 if law == "normal" else 1
    known: dict[str, Any] = {"bounds": dict.fromkeys(range(N_FEATURES), (-edge, edge))}
    return known if label_bounds is None else {**known, "label_bounds": label_bounds}


def coverage(n_rows: int, alpha: float, noise: float, half: float, seed: int) -> float:
    """Return the part of held-out labels at or below the predicted quantile."""
    X, y, _ = table(n_rows, seed, noise=noise)
    model = DPBoostRegressor(
        objective="quantile",
        alpha=alpha,
        epsilon=8.0,
        delta=DELTA,
        schema=schema("normal", (-half, half)),
        random_state=seed,
    ).fit(X[:n_rows], y[:n_rows])
    return float(np.mean(y[n_rows:] <= model.predict(X[n_rows:])))


def error(name: str, n_rows: int, epsilon: float, seed: int) -> tuple[float, tuple[float, float]]:
    """Return the RMSE in deviations of the labels, and the learned bounds; nothing is declared."""
    X, g, random = table(n_rows, seed)
    y = LAWS[name](g, random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPBoostRegressor(epsilon=epsilon, delta=DELTA, random_state=seed)
        model.fit(X[:n_rows], y[:n_rows])
    left = y[n_rows:] - model.predict(X[n_rows:])
    scale = float(y.std()) if name != "constant" else float(np.abs(y).max())
    assert model.schema_.label_bounds is not None
    return float(np.sqrt(np.mean(left**2))) / scale, model.schema_.label_bounds


def explained(objective: str, law: str, n_rows: int, seed: int) -> tuple[float, float]:
    """Return the R2 of the recipe at epsilon 8 and of LightGBM."""
    X, g, _ = table(n_rows, seed, law=law)
    y = LINKS[objective](g)
    own = DPBoostRegressor(
        objective=objective,
        epsilon=8.0,
        delta=DELTA,
        schema=schema(law, (float(y.min()), float(y.max()))),
        random_state=seed,
    )
    stock = lightgbm.LGBMRegressor(objective=objective, verbose=-1, n_jobs=1)
    scores = []
    for model in (own, stock):
        left = y[n_rows:] - model.fit(X[:n_rows], y[:n_rows]).predict(X[n_rows:])
        scores.append(1 - float(np.mean(left**2) / y[n_rows:].var()))
    return scores[0], scores[1]


def coverage_lines(repeats: int) -> list[str]:
    """Return the table of quantiles."""
    lines = [
        "## Quantiles",
        "",
        "Part of held-out labels at or below the prediction, mean and the value furthest from "
        "alpha; epsilon 8, labels 3 x0 + x2 + noise.",
        "",
        "| rows | noise | label bounds | alpha .1 | alpha .5 | alpha .9 |",
        "| ---: | ---: | :-- | :-- | :-- | :-- |",
    ]
    for n_rows in (5_000, 30_000):
        for noise in (0.3, 1.0):
            for half in (20.0, 200.0):
                cells = []
                for alpha in (0.1, 0.5, 0.9):
                    found = [coverage(n_rows, alpha, noise, half, seed) for seed in range(repeats)]
                    worst = max(found, key=lambda value, alpha=alpha: abs(value - alpha))
                    cells.append(f"{np.mean(found):.3f} ({worst:.3f})")
                bounds = f"-{half:g} to {half:g}"
                lines.append(f"| {n_rows:,} | {noise:g} | {bounds} | {' | '.join(cells)} |")
    return lines


def law_lines(repeats: int) -> list[str]:
    """Return the table of labels whose bounds are learned."""
    lines = [
        "## Nothing declared",
        "",
        "RMSE on held-out rows in standard deviations of the labels (of a constant: in its size), "
        "mean and largest; bounds learned in the last fit.",
        "",
        "| labels | rows | epsilon | RMSE | learned bounds |",
        "| :-- | ---: | ---: | :-- | :-- |",
    ]
    for name in LAWS:
        for n_rows, epsilon in ((3_000, 1.0), (20_000, 1.0), (20_000, 8.0)):
            found = [error(name, n_rows, epsilon, seed) for seed in range(repeats)]
            values = [value for value, _ in found]
            low, high = found[-1][1]
            lines.append(
                f"| {name} | {n_rows:,} | {epsilon:g} | {np.mean(values):.2g} "
                f"({max(values):.2g}) | {low:.12g} to {high:.12g} |"
            )
    return lines


def link_lines(repeats: int) -> list[str]:
    """Return the table of objectives with a logarithm."""
    lines = [
        "## Objectives with a logarithm",
        "",
        "R2 on held-out rows, mean; epsilon 8, labels exp(g / 4) (gamma) and max(0, g) (tweedie) "
        "with g = 3 x0 + x2 + .3 noise, label bounds of the generated range.",
        "",
        "| objective | features | rows | best | LightGBM |",
        "| :-- | :-- | ---: | ---: | ---: |",
    ]
    for objective in LINKS:
        for law in ("normal", "uniform"):
            for n_rows in (3_000, 30_000):
                found = [explained(objective, law, n_rows, seed) for seed in range(repeats)]
                own, stock = np.mean(found, axis=0)
                lines.append(f"| {objective} | {law} | {n_rows:,} | {own:.3f} | {stock:.3f} |")
    return lines


def page(repeats: int) -> str:
    """Measure everything and write it as Markdown."""
    lines = [
        "# Labels of many kinds",
        "",
        f"Written by `python -m benchmarks.labels`: recipe best, delta {DELTA:g}, {repeats} "
        f"generated tables each, {N_TEST:,} held-out rows.",
        "",
    ]
    for part in (coverage_lines, law_lines, link_lines):
        lines += [*part(repeats), ""]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write ``results/labels.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.labels")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where to write the page")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    given = parser.parse_args(arguments)
    import_pandas()
    text = page(given.repeats)
    write_atomically(given.folder / "labels.md", text.encode())
    print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
