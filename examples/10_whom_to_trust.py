"""Compare trust models: the same rows with one curator, with five hospitals, and with no trust.

    python examples/10_whom_to_trust.py
    python examples/10_whom_to_trust.py --rows 50000 --plot trust.png

*Central*: one curator has all rows. *Federated*: five parties keep theirs and send masked sums;
each adds a share of the noise, so that a coalition of one, or of four, learns nothing more.
*Local*: every device sends one randomized report, and trusts no one. Less trust costs accuracy, and
the plot shows how much.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier, LPDTClassifier, Schema
from dpboost.federated import FederatedBoostingClassifier

SCHEMA = Schema(bounds=dict.fromkeys(range(4), (0, 1)), classes=[0, 1])
EPSILONS = (0.5, 1.0, 2.0, 4.0)
N_PARTIES = 5


def sample(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw four uniform features and a class."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 4))
    odds = 8 * (X[:, 0] + X[:, 1] * (X[:, 2] > 0.5) - 0.8)
    return X, (random.uniform(size=n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def main() -> None:
    """Fit under every kind of trust at every epsilon, print a table and draw it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--plot", type=Path, default=Path("trust.png"))
    options = parser.parse_args()
    X, y = sample(options.rows, seed=0)
    public_X, public_y = sample(1_000, seed=1)  # volunteers, who shape the tree of LPDT
    test_X, test_y = sample(20_000, seed=2)
    parties = [(X[part::N_PARTIES], y[part::N_PARTIES]) for part in range(N_PARTIES)]
    shared = {"schema": SCHEMA, "n_estimators": 50, "verbosity": 0}

    def central(epsilon: float):
        return DPBoostClassifier(epsilon=epsilon, **shared).fit(X, y)

    def federated(epsilon: float, colluding: int):
        model = FederatedBoostingClassifier(epsilon=epsilon, colluding=colluding, **shared)
        return model.fit(parties)

    def local(epsilon: float):
        model = LPDTClassifier(epsilon=epsilon, schema=SCHEMA)
        return model.fit(X, y, X_public=public_X, y_public=public_y)

    kinds = {
        "one curator": central,
        "parties, one may be curious": lambda epsilon: federated(epsilon, 1),
        "parties, four may collude": lambda epsilon: federated(epsilon, N_PARTIES - 1),
        "no trust: local reports": local,
    }
    curves = {
        name: [
            roc_auc_score(test_y, fit(epsilon).predict_proba(test_X)[:, 1]) for epsilon in EPSILONS
        ]
        for name, fit in kinds.items()
    }
    print("AUC on held-out rows")
    print(f"{'whom rows are shown to':30}" + "".join(f"epsilon {e:<6g}" for e in EPSILONS))
    for name, values in curves.items():
        print(f"{name:30}" + "".join(f"{value:<14.3f}" for value in values))
    draw(curves, options.plot)


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """Draw the table, where matplotlib is installed; every line has its name at its end."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    panel = figure.subplots()
    lowest, top = (pick(map(pick, curves.values())) for pick in (min, max))
    gap, position = (top - lowest) / 18, -np.inf
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
    panel.set_xlim(EPSILONS[0] * 0.9, EPSILONS[-1] * 3.5)
    panel.set(xlabel="epsilon", ylabel="AUC on held-out rows")
    panel.grid(alpha=0.3)
    figure.savefig(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    main()
