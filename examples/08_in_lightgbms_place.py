"""A LightGBM script with another import: `train`, early stopping on public rows, and `cv`.

    python examples/08_in_lightgbms_place.py
    python examples/08_in_lightgbms_place.py --plot rounds.png

The script runs twice, with `lightgbm` and with `dpboost` under the same name. Only the
guarantee changes: training and cross-validation each use an epsilon, and report it.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

import dpboost

# Known before any row is seen. LightGBM would warn of it, so it gets the others only.
PUBLIC = {"schema": {"bounds": dict.fromkeys(range(4), (0, 1)), "classes": [0, 1]}}


def sample(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw four uniform features and a class."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n_rows, 4))
    odds = 5 * (X[:, 0] + X[:, 1] * (X[:, 2] > 0.5) - 0.75)
    return X, (random.uniform(size=n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def train(lgb, params, n_rows: int):
    """Train with early stopping, as any LightGBM script does; ``lgb`` is either module."""
    X, y = sample(n_rows, seed=0)
    public_X, public_y = sample(2_000, seed=1)  # rows that anybody may see
    train_set = lgb.Dataset(X, y)
    valid_set = lgb.Dataset(public_X, public_y, reference=train_set)
    history: dict = {}
    booster = lgb.train(
        {"objective": "binary", "metric": "auc", "verbosity": -1, "num_threads": 1, **params},
        train_set,
        num_boost_round=200,
        valid_sets=[valid_set],
        valid_names=["public rows"],
        callbacks=[lgb.record_evaluation(history), lgb.early_stopping(30, verbose=False)],
    )
    return booster, history["public rows"]["auc"]


def main() -> None:
    """Run the script with both modules, cross-validate, and draw the rounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--plot", type=Path, default=Path("rounds.png"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that the validation rows are taken as public: they are
    private = {"epsilon": options.epsilon, **PUBLIC}
    test_X, test_y = sample(20_000, seed=2)
    rounds = {}
    for lgb, params in ((lightgbm, {}), (dpboost, private)):
        booster, rounds[lgb.__name__] = train(lgb, params, options.rows)
        score = roc_auc_score(test_y, booster.predict(test_X))
        print(f"{lgb.__name__}: AUC {score:.3f} with {booster.num_trees()} trees")
    print(booster.privacy_report)

    # All fits and the metric are one mechanism with one epsilon: folds are secret, metrics paid.
    X, y = sample(options.rows, seed=0)
    found = dpboost.cv(
        {"objective": "binary", "verbosity": -1, **private},
        dpboost.Dataset(X, y),
        num_boost_round=100,
        nfold=3,
        metrics="binary_error",
    )
    error = found["valid binary_error-mean"][-1]
    print(f"cv: error {error:.3f}, epsilon {found.privacy_report.epsilon} for all of it")
    draw(rounds, options.epsilon, options.plot)


def draw(rounds: dict[str, list[float]], epsilon: float, path: Path) -> None:
    """Draw the AUC on the public rows, round by round, where matplotlib is installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no plot: matplotlib is not installed")
        return
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    panel = figure.subplots()
    for name, values in rounds.items():
        label = f"dpboost, epsilon {epsilon:g}" if name == "dpboost" else "LightGBM, not private"
        (line,) = panel.plot(range(1, len(values) + 1), values)
        panel.annotate(label, (len(values), values[-1]), xytext=(4, 0), va="center",
                       textcoords="offset points", color=line.get_color())  # fmt: skip
    panel.margins(x=0.25)
    panel.set_xlim(left=0)
    panel.set(xlabel="round", ylabel="AUC on public rows")
    panel.grid(alpha=0.3)
    figure.savefig(path)
    print(f"plot: {path}")


if __name__ == "__main__":
    main()
