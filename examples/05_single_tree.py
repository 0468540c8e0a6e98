"""Train one interpretable private tree.

    python examples/05_single_tree.py
    python examples/05_single_tree.py --epsilon 0.5 --recipe diffp_c45

Trains trees on a table of synthetic patients, prints the released tree with its noisy counts, the
charges, and its accuracy on held-out rows.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPTreeClassifier, NotPrivateWarning, Schema

SCHEMA = Schema(
    bounds={0: (18, 98), 1: (15, 45), 2: (0, 60)},
    classes=["healthy", "ill"],
)
NAMES = ["age", "bmi", "cigarettes"]


def patients(n_rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of (age, body mass index, cigarettes a day) and whether a person is ill."""
    age = random.uniform(18, 98, n_rows)
    bmi = random.normal(26, 4, n_rows)
    cigarettes = random.poisson(4, n_rows) * random.integers(0, 3, n_rows)
    odds = -5 + 0.05 * age + 1.5 * (bmi > 30) + 1.2 * (cigarettes > 10)
    ill = random.random(n_rows) < 1 / (1 + np.exp(-odds))
    return np.column_stack((age, bmi, cigarettes)), np.where(ill, "ill", "healthy")


def main() -> None:
    """Fit, print and score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--recipe", default="best")
    parser.add_argument("--depth", type=int, default=3)
    arguments = parser.parse_args()

    random = np.random.default_rng(0)
    X, y = patients(20_000, random)
    held_out, held_out_y = patients(5_000, random)

    def auc(model: DPTreeClassifier) -> float:
        return roc_auc_score(held_out_y == "ill", model.predict_proba(held_out)[:, 1])

    options = {"recipe": arguments.recipe, "max_depth": arguments.depth, "schema": SCHEMA}
    model = DPTreeClassifier(epsilon=arguments.epsilon, **options).fit(X, y)
    print(model.export_text(feature_names=NAMES, decimals=1))
    print(model.privacy_report_)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        bare = DPTreeClassifier(epsilon=float("inf"), **options).fit(X, y)
    print(f"\nAUC on held-out rows: {auc(model):.3f} at epsilon {arguments.epsilon:g}")
    print(f"AUC of the same tree without noise: {auc(bare):.3f}")


if __name__ == "__main__":
    main()
