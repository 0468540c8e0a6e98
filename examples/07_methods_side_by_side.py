"""The methods of the papers side by side: accuracy against epsilon on one table, with a plot.

    python examples/07_methods_side_by_side.py
    python examples/07_methods_side_by_side.py --rows 50000 --plot methods.png

Boosting: `dpboost`, `para` and `seq` of Li, Wu, Wen and He, and `best`, the default. Single trees:
`diffp_c45` of Friedman and Schuster, `dp_topdown` of Wang, Dick and Balcan, and `best`. All have
the same rows, the same declared bounds and the same pure epsilon; LightGBM keeps no privacy.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier, DPTreeClassifier, Schema

SCHEMA = Schema(bounds=dict.fromkeys(range(5), (0, 1)), classes=[0, 1])
EPSILONS = (0.5, 2.0, 8.0)
BOOSTING = ("best", "dpboost", "para", "seq")
TREES = ("best", "dp_topdown", "diffp_c45")


def sample(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw five uniform features; two of them and a product of two decide the class."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 5))
    odds = 6 * (X[:, 0] - 0.5) + 8 * (X[:, 1] - 0.5) * (X[:, 2] - 0.5)
    return X, (random.uniform(size=n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def main() -> None:
    """Fit every method at every epsilon, print a table and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--plot", type=Path, default=Path("methods.png"))
    options = parser.parse_args()
    # The warnings say what the plot shows: a small epsilon is too little for the paper's methods.
    warnings.simplefilter("ignore")
    X, y = sample(options.rows, seed=0)
    test_X, test_y = sample(20_000, seed=1)

    def auc(model) -> float:
        return roc_auc_score(test_y, model.fit(X, y).predict_proba(test_X)[:, 1])

    shared = {"schema": SCHEMA, "n_jobs": 1}
    curves = {}
    for recipe in BOOSTING:
        curves[recipe] = [
            auc(DPBoostClassifier(recipe=recipe, epsilon=epsilon, delta=0, verbosity=0, **shared))
            for epsilon in EPSILONS
        ]
    for recipe in TREES:
        curves[f"one tree, {recipe}"] = [
            auc(DPTreeClassifier(recipe=recipe, epsilon=epsilon, **shared)) for epsilon in EPSILONS
        ]
    top = auc(lightgbm.LGBMClassifier(verbosity=-1, n_jobs=1))

    print(f"AUC on held-out rows; LightGBM without privacy {top:.3f}")
    print(f"{'':24}" + "".join(f"epsilon {epsilon:<6g}" for epsilon in EPSILONS))
    for name, values in curves.items():
        print(f"{name:24}" + "".join(f"{value:<14.3f}" for value in values))
    draw(curves, top, options.plot)


def draw(curves: dict[str, list[float]], top: float, path: Path) -> None:
    """Draw the table, where matplotlib is installed; every line has its name at its end."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure = Figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    panel.plot(EPSILONS, [top] * len(EPSILONS), color="black", linestyle="--", linewidth=1)
    panel.annotate("LightGBM, not private", (EPSILONS[0], top), xytext=(0, 3),
                   textcoords="offset points", fontsize=8)  # fmt: skip
    # Names stand apart even where lines end together.
    lowest = min(min(values) for values in curves.values())
    gap, position = (top - lowest) / 22, -np.inf
    for end, name in sorted((values[-1], name) for name, values in curves.items()):
        position = max(end, position + gap)
        (line,) = panel.plot(EPSILONS, curves[name], marker="o", markersize=4)
        panel.text(
            EPSILONS[-1] * 1.1, position, name, fontsize=8, color=line.get_color(), va="center"
        )
    panel.set_ylim(lowest - gap, max(top, position) + gap)
    panel.set_xscale("log")
    panel.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    panel.minorticks_off()
    panel.set_xlim(EPSILONS[0] * 0.9, EPSILONS[-1] * 3)
    panel.set(xlabel="epsilon", ylabel="AUC on held-out rows")
    panel.grid(alpha=0.3)
    figure.savefig(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    main()
