"""Test that errors about invalid input reveal no cell, row or number of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dpboost.audit.run_trace import Violation
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.tree_estimators import DPTreeClassifier

Attempt = Callable[[], Any]


def telling_refusals() -> list[Violation]:
    """Hand over two bad tables of each kind, and compare the words of their refusals."""
    found = []
    for where, first, second in _pairs():
        told = [_words(attempt) for attempt in (first, second)]
        if "" in told:
            found.append(Violation("refusal", where, "is not refused"))
        elif told[0] != told[1]:
            found.append(Violation("refusal", where, " | ".join(told)))
    return found


def _words(attempt: Attempt) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attempt()
    except Exception as error:  # noqa: BLE001 - what it says is what is looked at
        return f"{type(error).__name__}: {error}"
    return ""


def _pairs() -> Iterator[tuple[str, Attempt, Attempt]]:
    known = {"bounds": {0: (0.0, 1.0)}}
    numbers = {**known, "label_bounds": (-1.0, 1.0)}
    classes = {**known, "classes": [0, 1]}
    sizes = (5, 9)

    def regression(y: Any, **more: Any) -> Attempt:
        X = np.zeros((len(y), 1))
        return lambda: DPBoostRegressor(schema=numbers, n_jobs=1, n_estimators=1).fit(X, y, **more)

    def labels(n_rows: int, position: int, value: float) -> Any:
        y = np.zeros(n_rows)
        y[position] = value
        return y

    for bad, other in ((np.nan, np.nan), (np.inf, -np.inf)):
        yield (
            f"label {bad}",
            regression(labels(sizes[0], 1, bad)),
            regression(labels(sizes[1], 7, other)),
        )

    def classification(kind: Callable[..., Any], n_rows: int, position: int) -> Attempt:
        X, y = np.zeros((n_rows, 1)), labels(n_rows, position, np.nan)
        return lambda: kind(schema=classes, n_jobs=1).fit(X, y)

    for kind in (DPBoostClassifier, DPTreeClassifier):
        attempts = [
            classification(kind, n, position) for n, position in zip(sizes, (1, 7), strict=True)
        ]
        yield f"label nan of {kind.__name__}", attempts[0], attempts[1]
    for argument, values in (
        ("sample_weight", (-1.0, -7.0)),
        ("sample_weight", (np.nan, np.nan)),
        ("init_score", (np.inf, np.nan)),
    ):
        attempts = [
            regression(np.zeros(n), **{argument: labels(n, position, value)})
            for n, position, value in zip(sizes, (1, 7), values, strict=True)
        ]
        yield f"{argument} {values[0]}", attempts[0], attempts[1]
