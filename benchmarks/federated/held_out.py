"""Rows of a data set to train on and to evaluate by, and what all fits have in common."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from benchmarks.problems import PROBLEMS

EPSILON = 1.0
TEST_SHARE = 0.2


@lru_cache(maxsize=1)
def rows_of(name: str) -> tuple[Any, NDArray[Any], Any]:
    """Return rows, labels and schema of a data set."""
    problem = PROBLEMS[name]
    X, y = problem.load()
    return X, np.asarray(y), problem.dictionary.schema()


def held_out(name: str, repeat: int) -> tuple[tuple[Any, ...], Any]:
    """Return rows to train on and to evaluate by, and the schema."""
    X, labels, schema = rows_of(name)
    order = np.random.default_rng(repeat).permutation(len(labels))
    test, train = np.split(order, [int(TEST_SHARE * len(labels))])
    return (X.iloc[train], labels[train], X.iloc[test], labels[test]), schema


def shared(schema: Any, seed: int) -> dict[str, Any]:
    """Return the parameters of every fit."""
    return {"epsilon": EPSILON, "schema": schema, "random_state": seed, "verbosity": 0}


def judge(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Return the AUC of a model of two classes."""
    return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
