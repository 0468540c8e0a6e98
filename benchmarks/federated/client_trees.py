"""Federated boosting without privacy: parties grow trees on their own rows and hand them over.

Two ways that are in use. Each party trains a whole model. Or, as with Flower's ``FedXgbBagging``,
each party adds one tree a round to the model of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

#: The defaults of XGBoost, which Flower's bagging trains with, in the words of LightGBM, and the
#: rate of Flower's examples.
BAGGING = {
    "objective": "binary",
    "max_depth": 6,
    "num_leaves": 64,
    "min_data_in_leaf": 1,
    "min_sum_hessian_in_leaf": 1.0,
    "lambda_l2": 1.0,
    "learning_rate": 0.1,
    "verbose": -1,
    "num_threads": 1,
}


#: Leaves of a single row, as scikit-learn's forests have by default.
SMALL_LEAVES = {"min_child_samples": 1, "min_child_weight": 1e-3, "num_leaves": 64}


def whole_model(X: Any, y: Any, seed: int, **parameters: Any) -> str:
    """Return the text of a model with LightGBM's defaults but for some parameters."""
    import lightgbm

    model = lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed, **parameters)
    model.fit(X, y)
    return str(model.booster_.model_to_string())


def bagged_trees(tables: Sequence[tuple[Any, Any]], n_rounds: int) -> list[list[str]]:
    """Return the text of the tree of each party, round by round.

    Parameters
    ----------
    tables : sequence of (X, y)
    n_rounds : int
    """
    import lightgbm

    scores = [np.zeros(len(y)) for _, y in tables]
    rounds = []
    for _ in range(n_rounds):
        grown = [
            lightgbm.train(BAGGING, lightgbm.Dataset(X, y, init_score=own), num_boost_round=1)
            for (X, y), own in zip(tables, scores, strict=True)
        ]
        for (X, _), own in zip(tables, scores, strict=True):
            own += sum(tree.predict(X, raw_score=True) for tree in grown)
        rounds.append([tree.model_to_string() for tree in grown])
    return rounds
