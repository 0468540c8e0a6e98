"""Measure the epsilon of a model.

    python examples/02_audit.py
    python examples/02_audit.py --runs 20000

Two audits of one estimator. The replay auditor computes the exact privacy loss of every release
of a real fit on two neighboring tables; the black-box audit trains many models and
distinguishes them: it prints a lower bound on epsilon, above 0 and below the claim. More runs bring
it closer to the claim.
"""

from __future__ import annotations

import argparse

import numpy as np

from dpboost import DPBoostRegressor, Schema
from dpboost.audit import estimate_epsilon, estimator_fit, pair_of, replay_pair
from dpboost.privacy.sensitivity.bound import Neighbors

# With the edges declared too nothing is spent on bins: all that is told is told by the leaf.
SCHEMA = Schema(edges={0: (0.5,)}, label_bounds=(-1, 1))


def told(model: DPBoostRegressor) -> np.ndarray:
    """Return every number of a model of one tree: start value, leaf values and their weights."""
    (tree,) = model.ensemble_.trees
    return np.concatenate([model.ensemble_.start, tree.leaf_value, tree.leaf_count])


def main() -> None:
    """Replay one pair of tables, then look from outside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="fits on each of two tables")
    parser.add_argument("--epsilon", type=float, default=1.0)
    arguments = parser.parse_args()

    def make_estimator():
        return DPBoostRegressor(
            epsilon=arguments.epsilon,
            # Pure: what a delta buys shows in rare events, and those need many more runs.
            delta=0,
            schema=SCHEMA,
            n_estimators=1,
            max_depth=1,
            n_jobs=1,
            verbosity=0,
        )

    # As many labels of either side, so that the mean tells nothing, and a row that may join them.
    X, y = np.zeros((399, 1)), np.append(np.tile([-1.0, 1.0], 199), -1.0)
    row, label = np.zeros(1), 1.0

    pair = pair_of(X, y, row, label, Neighbors.ADD_REMOVE)
    audit = replay_pair(estimator_fit(make_estimator), pair)
    for entry in audit.entries:
        print(f"{entry.label}: charged {entry.charge:.4f}, tells at most {entry.cost:.4f}")
    print(f"replay: this fit revealed {abs(audit.loss):.4f} of epsilon {audit.epsilon:g}")
    print("violations:", *(audit.violations or ["none"]))

    both_X, both_y = np.vstack([X, row]), np.append(y, label)
    found = estimate_epsilon(
        make_estimator, both_X, both_y, len(y), n_runs=arguments.runs, statistic=told
    )
    print(f"black box: {found}")
    assert not audit.violations
    assert found.epsilon > 0
    assert found.epsilon_at(1 - 1e-6) <= arguments.epsilon


if __name__ == "__main__":
    main()
