"""Audit another library: the DP-EBM regressor of interpret, with labels in [1000, 1001].

    python -m pip install 'dpboost[audit-peers]'
    python examples/03_audit_a_peer.py

Its stated epsilon is 1. Both tables have labels inside the declared range; the second one has one
row less. With epsilon 1, no event could be more than e times as likely (plus delta).
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from dpboost import DPBoostRegressor
from dpboost.audit import EpsilonEstimate, estimate_epsilon

LABELS = (1000.0, 1001.0)
BOUNDS = (0.0, 1.0)
N_ROWS = 60


def peer(epsilon: float):
    """Return the DP-EBM regressor with everything that it may take as public declared."""
    from interpret.privacy import DPExplainableBoostingRegressor

    return DPExplainableBoostingRegressor(
        epsilon=epsilon,
        delta=1e-6,
        feature_types=["continuous"],
        privacy_bounds={0: BOUNDS},
        privacy_target_min=LABELS[0],
        privacy_target_max=LABELS[1],
        max_rounds=3,
        outer_bags=1,
        n_jobs=1,
    )


def ours(epsilon: float) -> DPBoostRegressor:
    """Return our regressor with the same knowledge."""
    return DPBoostRegressor(
        epsilon=epsilon,
        delta=1e-6,
        schema={"bounds": {0: BOUNDS}, "label_bounds": LABELS},
        n_estimators=3,
        max_depth=1,
        n_jobs=1,
        verbosity=0,
    )


def audit(make, epsilon: float, runs: int) -> EpsilonEstimate:
    """Compare a table of rows in the middle with that table less one row at the end."""
    X = np.append(np.full(N_ROWS - 1, 0.2), 0.9)[:, np.newaxis]
    y = np.append(np.full(N_ROWS - 1, LABELS[0]), LABELS[1])
    return estimate_epsilon(lambda: make(epsilon), X, y, N_ROWS - 1, n_runs=runs, delta=1e-6)


def main() -> int:
    """Audit both libraries and say what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300, help="fits on each of two tables")
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()
    try:
        import interpret.privacy  # noqa: F401
    except ImportError as error:
        print(
            f"This example needs interpret ({error}): python -m pip install 'dpboost[audit-peers]'"
        )
        return 2
    warnings.simplefilter("ignore")
    for name, make in (("interpret DP-EBM", peer), ("dpboost", ours)):
        found = audit(make, arguments.epsilon, arguments.runs)
        refuted = found.epsilon_at(1 - 1e-6) > arguments.epsilon
        print(f"{name}: claimed epsilon {arguments.epsilon:g}, {found}")
        print(f"{name}: the claim is {'REFUTED' if refuted else 'not refuted'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
