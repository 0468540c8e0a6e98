"""Callbacks of a cross-validation, which run after its fits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import lightgbm
import numpy as np
from lightgbm.callback import CallbackEnv, EarlyStopException

from dpboost._utils.validation import check_integer
from dpboost.estimators.evaluation_sets import STOPPING, result_line
from dpboost.lightgbm.parameters import canonical_names, value_of


class CVBooster(lightgbm.CVBooster):
    """The models of all folds; method calls are forwarded to each of them."""


def run_callbacks(
    booster: CVBooster,
    history: Sequence[Any],
    *,
    callbacks: Sequence[Callable[..., Any]],
    params: Mapping[str, Any],
    judged: Collection[int] | None = None,
) -> dict[str, list[float]]:
    """Run callbacks over the metrics of finished fits, and return LightGBM's dict.

    Parameters
    ----------
    booster : CVBooster
        All models; early stopping sets their best iteration.
    callbacks : sequence of callable
        Those that come after a round, in their order.
    params : mapping
        What they see.
    judged : collection of int, optional
        Rounds, from 1, that early stopping looks at; all by default. What is nan it never sees.

    Returns
    -------
    dict of str to list of float
        Up to the best iteration, where there is one.
    """
    results: dict[str, list[float]] = defaultdict(list)
    n_rounds = min(each.current_iteration() for each in booster.boosters)
    first = n_rounds - len(history)
    for position, line in enumerate(history):
        for name, metric, mean, _, noise_stddev in line:
            results[f"{name} {metric}-mean"].append(mean)
            results[f"{name} {metric}-stdv"].append(noise_stddev)
        try:
            for callback in callbacks:
                seen = line
                if isinstance(callback, STOPPING):
                    seen = [each for each in line if not np.isnan(each[2])]
                    skipped = judged is not None and not {1, position + 1} <= set(judged)
                    if not seen or skipped:  # it begins with the first round, or not at all
                        continue
                callback(
                    CallbackEnv(
                        model=booster,
                        params=dict(params),
                        iteration=first + position,
                        begin_iteration=first,
                        end_iteration=n_rounds,
                        evaluation_result_list=[result_line(each) for each in seen],
                    )
                )
        except EarlyStopException as stopped:
            booster.best_iteration = stopped.best_iteration + 1
            for each in booster.boosters:
                each.best_iteration = booster.best_iteration
            kept = booster.best_iteration - first
            return {name: values[:kept] for name, values in results.items()}
    return dict(results)


def mean_lines(of_folds: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the mean and deviation over all folds of the metrics of one round."""
    lines = []
    for same in zip(*of_folds, strict=True):
        values = [each[2] for each in same]
        name, metric, _, higher = same[0][:4]
        lines.append((name, metric, float(np.mean(values)), higher, float(np.std(values))))
    return lines


def without_early_stopping(
    params: dict[str, Any],
) -> tuple[dict[str, Any], list[Callable[..., Any]]]:
    """Take early stopping out of the parameters of the fits: it looks at all of them."""
    names = canonical_names()
    own = ("early_stopping_round", "first_metric_only", "early_stopping_min_delta")
    kept = {name: value for name, value in params.items() if names.get(name) not in own}
    rounds = value_of(params, "early_stopping_round") or 0
    if check_integer("early_stopping_round", "cv", rounds) <= 0:
        return kept, []
    return kept, [
        lightgbm.early_stopping(
            stopping_rounds=rounds,
            first_metric_only=bool(value_of(params, "first_metric_only")),
            min_delta=value_of(params, "early_stopping_min_delta") or 0.0,
            verbose=False,
        )
    ]
