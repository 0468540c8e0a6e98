"""Local privacy: every device sends one randomized report, without trust in a server.

    python examples/04_local_reports.py
    python examples/04_local_reports.py --devices 50000 --epsilon 1

The rows of a few volunteers are public and determine the tree structure. All devices receive the
tree. Each device finds its cell, draws one report with its own random bits, stores it, and sends
it. The server adds the reports and computes a LightGBM model.
"""

from __future__ import annotations

import argparse

import lightgbm
import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import LPDTAggregator, LPDTPartition
from dpboost.local import MalformedReportError, MemoizedReports


def sample(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of four features and whether the user stays."""
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 4))
    chance = 1 / (1 + np.exp(-8 * (X[:, 0] + X[:, 1] * (X[:, 2] > 0.5) - 0.8)))
    return X, np.where(random.uniform(size=n) < chance, "stays", "leaves")


class Device:
    """A user's device: the partition came over the network, the record never leaves."""

    def __init__(self, partition_text: str, epsilon: float) -> None:
        self._keeper = MemoizedReports(LPDTPartition.from_json(partition_text), epsilon)

    def answer(self, x: np.ndarray, y: str) -> bytes:
        """Return the report; asked again, the same one, so that epsilon is spent once."""
        return self._keeper.report("my record", x, y)


def main() -> None:
    """Play one collection, from the public rows to the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=1_000)
    parser.add_argument("--epsilon", type=float, default=2.0)
    options = parser.parse_args()

    # The server, before anything is collected: public rows only.
    X_public, y_public = sample(1_000, seed=1)
    partition = LPDTPartition.from_public(
        X_public,
        y_public,
        classes=["leaves", "stays"],
        epsilon=options.epsilon,
        n_reports=options.devices,
    )
    text = partition.to_json()
    print(f"partition: {partition.n_cells} cells, {len(text)} bytes of JSON")

    # The devices, each with a record of its own. Two servers collect and are merged later.
    servers = [LPDTAggregator(partition, options.epsilon) for _ in range(2)]
    X, y = sample(options.devices, seed=2)
    for number in range(options.devices):
        device = Device(text, options.epsilon)
        report = device.answer(X[number], str(y[number]))
        assert report == device.answer(X[number], str(y[number]))
        servers[number % 2].add(report)
    print(f"reports: {len(report)} bytes each, epsilon {options.epsilon:g} each")

    # What was not made for this collection is refused: here a device spent twice the epsilon.
    # A report that a device makes up is not: nobody can tell it from a true one.
    stray = Device(text, 2 * options.epsilon).answer(X[0], str(y[0]))
    try:
        servers[0].add(stray)
    except MalformedReportError as error:
        print(f"refused: {error}")

    servers[0].merge(servers[1])
    model = servers[0].to_model()
    model.save_model("local_model.txt")

    # Whoever has the file predicts with LightGBM alone.
    X_test, y_test = sample(20_000, seed=3)
    scores = lightgbm.Booster(model_file="local_model.txt").predict(X_test)
    print(f"AUC of {servers[0].n_reports} reports: {roc_auc_score(y_test == 'stays', scores):.3f}")
    print(servers[0].privacy_report())


if __name__ == "__main__":
    main()
