"""Pairs of neighboring tables for further options of fits, each with its fit.

Several classes, other losses, weights, initial scores, users, a model to go on from, learned
ranges of labels. The last column of a table may hold what is not a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.pair_replay import FAULTS, Fit
from dpboost.audit.released_surface import overhear, shown
from dpboost.audit.witnesses import DELTA, START_UNITS, Witness
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.lightgbm.dataset import Dataset
from dpboost.model_selection.cross_validation import cv
from dpboost.privacy.sensitivity.bound import Neighbors

Case = tuple[Witness, Fit]

#: A row count that keeps a released start value where it is put: no second one is released.
MANY_ROWS = 16384 * START_UNITS

#: A class that looks certain, and one that looks next to impossible.
SURE, RARE = 1 << 28, 1 << 18


def _squared(y: Any, s: Any) -> tuple[Any, Any]:
    return 3 * (s - y), np.ones(len(s))


def _far_from_classes(y: Any, s: Any) -> tuple[Any, Any]:
    return 3.0 - 6.0 * (np.arange(s.shape[1]) == y[:, np.newaxis]) + 0 * s, 0 * s + 1


#: Parameters of a regression, its label bounds, and the start value that makes gradients largest.
_TOP, _MIDDLE = [MANY_ROWS, MANY_ROWS], [0, MANY_ROWS]
OBJECTIVES: dict[str, tuple[dict[str, Any], tuple[float, float], list[int]]] = {
    "quantile": ({"objective": "quantile", "alpha": 0.8}, (-1.0, 1.0), _MIDDLE),
    "quantiles": ({"objective": "quantile", "alpha": [0.2, 0.8]}, (-1.0, 1.0), _MIDDLE),
    "regression_l1": ({"objective": "l1"}, (-1.0, 1.0), _MIDDLE),
    # A row whose label is the smallest in size has the largest weight.
    "mape": ({"objective": "mape"}, (-4.0, -1.0), _MIDDLE),
    "huber": ({"objective": "huber"}, (-1.0, 1.0), _MIDDLE),
    "fair": ({"objective": "fair", "fair_c": 0.05}, (-1.0, 1.0), _MIDDLE),
    "poisson": ({"objective": "poisson"}, (0.0, 4.0), _TOP),
    "gamma": ({"objective": "gamma"}, (0.01, 4.0), _MIDDLE),
    "tweedie": ({"objective": "tweedie"}, (0.0, 4.0), _MIDDLE),
    "cross_entropy": ({"objective": "cross_entropy"}, (0.0, 1.0), _MIDDLE),
    # The row count is released alone.
    "custom": ({"objective": _squared, "gradient_bound": 1.0}, (-1.0, 1.0), []),
}

#: Parameters of a classifier and its number of classes.
CLASSES: dict[str, tuple[dict[str, Any], int]] = {
    "multiclass": ({}, 4),
    "multiclassova": ({"objective": "multiclassova"}, 3),
    "multiclass, 2 classes": ({"objective": "multiclass"}, 2),
    "multiclassova, 2 classes": ({"objective": "multiclassova"}, 2),
    "custom, 3 classes": ({"objective": _far_from_classes, "gradient_bound": 1.0}, 3),
    "balanced, 3 classes": ({"class_weight": "balanced"}, 3),
    "balanced, 2 classes": ({"class_weight": "balanced"}, 2),
    "class weights": ({"class_weight": {0: 0.5, 1: 4.0}}, 2),
    "scale_pos_weight": ({"scale_pos_weight": 3.0}, 2),
}

_OPTIONS: dict[str, Any] = {
    "n_estimators": 3,
    "max_depth": 2,
    "max_bin": 8,
    "random_state": 0,
    "n_jobs": 1,
    "verbosity": 0,
}


def other_cases(
    neighbors: Neighbors, *, epsilon: float = 1.0, delta: float = DELTA
) -> Iterator[Case]:
    """Yield all cases under one relation, each of task ``"other"``."""
    common = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors.value, **_OPTIONS}
    for name in CLASSES:
        yield from _classes(name, neighbors, common)
    for name in OBJECTIVES:
        yield _objective(name, neighbors, common)
    yield from _with_rows(neighbors, common)
    yield from _label_ranges(neighbors, common)
    yield from _continued(neighbors, common)
    yield _in_order(neighbors, common)
    yield from _users(neighbors, common)
    yield _missing(neighbors, common)
    yield from _ensembles(neighbors, common)
    yield from _cross_validated(neighbors, common)


def _case(name: str, neighbors: Neighbors, pair: Pair, fit: Fit, **more: Any) -> Case:
    witness = Witness(name=name, task="other", neighbors=neighbors, pair=pair, **more)
    return witness, fit


def fit_of(make: Callable[[], Any], argument: str | None = None, **given: Any) -> Fit:
    """Return a fit that shows all that leaves the process; the last column may be an argument."""

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        heard: dict[str, Any] = {}
        own, more = X, dict(given)
        if argument is not None:
            own, more[argument] = X[:, :-1], X[:, -1]
            if argument == "user_ids":
                more[argument] = more[argument].astype(np.int64)
        with overhear(heard):
            estimator = make().fit(own, y, **more)
        return shown(estimator, heard)

    return fit


def _classes(name: str, neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield rows that move the sums far: of a class that looks impossible, of a lone class."""
    parameters, n_classes = CLASSES[name]
    random = np.random.default_rng(0)
    X, y = random.uniform(0, 1, (60, 2)), random.integers(0, n_classes, 60)
    schema = {"bounds": {0: (0.0, 1.0), 1: (0.0, 1.0)}, "classes": list(range(n_classes))}
    fit = fit_of(lambda: DPBoostClassifier(schema=schema, **common, **parameters))
    far, last = np.array([0.999, 0.001]), n_classes - 1
    rest = [RARE] * (n_classes - 1)
    steering: dict[str, Any] = {}
    objective = parameters.get("objective")
    if (n_classes > 2 or objective is not None) and not callable(objective):
        # The last class looks impossible; the first two look equally likely.
        steering["wrong"] = {("start value", 0): np.array([SURE, *rest, 0])}
        steering["even"] = {("start value", 0): np.array([SURE, SURE, *rest[1:], 0])}
    pairs = {
        "wrong class": pair_of(
            X, y, far, last, neighbors, instead=(far, 1), steering=steering.get("wrong")
        ),
        "opposite": pair_of(
            X, y, far, 0, neighbors, instead=(far, 1), steering=steering.get("even")
        ),
        "lone class": pair_of(X, np.zeros_like(y), far, 1, neighbors, instead=(far, 0)),
        "no class of the list": pair_of(X, y, far, 9, neighbors, instead=(far, 1)),
        "missing cells": pair_of(X, y, far * np.nan, last, neighbors, instead=(far, last)),
    }
    for kind, pair in pairs.items():
        yield _case(f"{name}, {kind}", neighbors, pair, fit)


def _table(label_bounds: tuple[float, float]) -> dict[str, Any]:
    return {"bounds": dict.fromkeys(range(2), (0.0, 1.0)), "label_bounds": label_bounds}


def _row(bounds: tuple[float, float], neighbors: Neighbors, start: list[int], own: float) -> Pair:
    """Return two rows and a third one of the largest gradient; replaced, it turns around."""
    low, high = bounds
    X = np.array([[0.0, 0.0, 0.5], [1.0, 1.0, 2.0]])
    label = low if start is _TOP else high
    row = np.array([0.0, 1.0, own])
    return pair_of(
        X,
        np.array([low, high]),
        row,
        label,
        neighbors,
        instead=(row * [1, 1, -1 if own < 0 else 1], low + high - label),
        steering={("start value", 0): np.array(start)} if start else {},
    )


def _objective(name: str, neighbors: Neighbors, common: dict[str, Any]) -> Case:
    parameters, bounds, start = OBJECTIVES[name]
    pair = _row(bounds, neighbors, start, 3.0)
    without = replace(pair, X=pair.X[:, :2], X_other=pair.X_other[:, :2])
    schema = _table(bounds)
    fit = fit_of(lambda: DPBoostRegressor(schema=schema, **common, **parameters))
    return _case(f"objective {name}", neighbors, without, fit)


def _with_rows(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield weights and initial scores, of which the row has an extreme one."""
    schema = _table((-1.0, 1.0))
    for name, argument, own, parameters in (
        ("weights", "sample_weight", 3.0, {"max_weight": 3.0}),
        ("weights among many", "sample_weight", 3.0, {"max_weight": 3.0}),
        ("weights beyond their bound", "sample_weight", 9.0, {"max_weight": 3.0}),
        ("weighted quantile", "sample_weight", 3.0, {"objective": "quantile", "max_weight": 3.0}),
        ("initial scores", "init_score", -0.4, {}),
    ):
        # With scores of rows' own, the row count is released alone.
        pair = _row((-1.0, 1.0), neighbors, [] if argument == "init_score" else _MIDDLE, own)
        if name == "weights among many":
            pair = _among(pair, 200)
        make = partial(DPBoostRegressor, schema=schema, **common, **parameters)
        fit = fit_of(make, argument)
        yield _case(name, neighbors, pair, fit)


def _among(pair: Pair, copies: int) -> Pair:
    """Repeat the rows that come first, which both tables share, with small weights.

    Whatever one more row does to all of them shows.
    """
    n_shared = 2
    X, X_other = pair.X.copy(), pair.X_other.copy()
    X[:n_shared, -1] /= 20
    X_other[:n_shared, -1] /= 20
    first, other = len(pair.y), len(pair.y_other)

    def repeated(rows: Any) -> Any:
        return np.concatenate([np.repeat(rows[:n_shared], copies, axis=0), rows[n_shared:]])

    more = n_shared * (copies - 1)
    return replace(
        pair,
        X=repeated(X),
        y=repeated(pair.y),
        X_other=repeated(X_other),
        y_other=repeated(pair.y_other),
        ids=np.arange(first + more),
        other_ids=np.arange(other + more),
    )


def _label_ranges(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield labels whose range is released: inside declared bounds, and far from zero.

    The row is alone at one end; replaced, it goes to the other one, and moves two counts. Some
    releases do not move then: the number of rows, and counts of cells that hold both ends.
    """
    n = 400
    X = np.tile([0.0, 1.0], n // 2)[:, np.newaxis]
    narrow = np.tile([-0.1, 0.0, 0.1, 0.2], n // 4)
    one_column = {"bounds": {0: (0.0, 1.0)}}
    declared = one_column | {"label_bounds": (-200.0, 200.0)}
    row = X[0]
    for name, schema, y, ends, label in (
        ("label range", declared, narrow, (190.0, -190.0), "label range"),
        ("label range, beyond it", declared, narrow, (1e9, -1e9), "label range"),
        ("far labels", one_column, 1940.0 + narrow, (2010.0, -1900.0), "label bounds"),
    ):
        pair = pair_of(X, y, row, ends[0], neighbors, instead=(row, ends[1]))
        make = partial(DPBoostRegressor, schema=schema, objective="l1", **common)
        aims = tuple((label, look) for look in ((1, 2) if label == "label range" else (3,)))
        yield _case(name, neighbors, pair, fit_of(make), aims_at=aims)


def _continued(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield fits that go on from a model, whose predictions rows begin at."""
    schema = _table((-1.0, 1.0))
    random = np.random.default_rng(1)
    X, y = random.uniform(size=(40, 2)), np.tile([-1.0, 1.0], 20)
    make = partial(DPBoostRegressor, schema=schema, **common)
    pair = pair_of(X, y, X[0], 1.0, neighbors, instead=(1 - X[0], -1.0))
    earlier: list[Any] = []

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        heard: dict[str, Any] = {}
        with overhear(heard):
            estimator = make().fit(X, y, init_model=earlier[0])
        told = float(estimator.privacy_report_.earlier_epsilon)
        if told != common["epsilon"]:
            heard[FAULTS].append(("claim", f"the earlier model's epsilon is reported as {told}"))
        return shown(estimator, heard)

    def before() -> None:
        heard: dict[str, Any] = {}
        with overhear(heard):
            earlier[:] = [make().fit(random.uniform(size=(40, 2)), y)]

    yield _case("continued model", neighbors, pair, fit, before=before)


def _in_order(neighbors: Neighbors, common: dict[str, Any]) -> Case:
    """Return a fit whose scores are corrected on the way, by functions of released trees."""
    random = np.random.default_rng(2)
    X, y = random.uniform(size=(40, 2)), np.tile([-1.0, 1.0], 20)
    pair = pair_of(X, y, X[0], 1.0, neighbors, instead=(1 - X[0], -1.0))
    schema = _table((-1.0, 1.0))
    make = partial(DPBoostRegressor, schema=schema, monotone_constraints=[1, -1], **common)
    return _case("features with directions", neighbors, pair, fit_of(make))


def _users(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield tables of users, of whom one with three rows or with one comes; two rows count."""
    if neighbors is Neighbors.REPLACE:
        return
    schema = _table((-1.0, 1.0))
    X = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [0.2, 0.4, 2.0]])
    y = np.array([-1.0, 1.0, 1.0, 0.5])
    make = partial(DPBoostRegressor, schema=schema, rows_per_user=2, **common)
    for n_own, copies in ((3, 1), (1, 3)):
        shared, told = np.repeat(X, copies, axis=0), np.repeat(y, copies)
        own = np.tile([0.0, 1.0, 7.0], (n_own, 1))
        pair = Pair(
            X=shared,
            y=told,
            X_other=np.vstack([shared, own]),
            y_other=np.append(told, np.ones(n_own)),
            ids=np.arange(len(told)),
            other_ids=np.arange(len(told) + n_own),
            steering={("start value", 0): np.array(_MIDDLE)},
        )
        name = f"users, of whom one has {n_own} rows"
        yield _case(name, neighbors, pair, fit_of(make, "user_ids"), group=2)


def _missing(neighbors: Neighbors, common: dict[str, Any]) -> Case:
    """Return many rows with a missing cell, and one that would change what stands in for it."""
    X = np.full((60, 2), np.nan)
    X[:4], X[:, 1] = 0.1, 0.5
    y = np.tile([-1.0, 1.0], 30)
    row, other = np.array([1.0, 0.5]), np.array([0.0, 0.5])
    pair = pair_of(X, y, row, 1.0, neighbors, instead=(other, 1.0))
    make = partial(DPBoostRegressor, schema=_table((-1.0, 1.0)), **common)
    return _case("missing cells of others", neighbors, pair, fit_of(make))


def _ensembles(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield ensembles of two trees on disjoint rows; the row is in the first or the second."""
    schema = _table((-1.0, 1.0))
    settings = {**common, "n_estimators": 4, "trees_per_ensemble": 2}
    make = partial(DPBoostRegressor, schema=schema, **settings)
    for tree, coin in enumerate((0.05, 0.95)):
        pair = _row((-1.0, 1.0), neighbors, _MIDDLE, 3.0)
        pair = replace(pair, X=pair.X[:, :2], X_other=pair.X_other[:, :2], coin=coin)
        yield _case(f"tree {tree} of an ensemble", neighbors, pair, fit_of(make))


def _cross_validated(neighbors: Neighbors, common: dict[str, Any]) -> Iterator[Case]:
    """Yield cross-validations, in whose metrics the row counts as it does in the fits."""
    own = {name: common[name] for name in ("epsilon", "delta", "neighbors", "max_depth")}
    params = {**own, "schema": _table((-1.0, 1.0)), "seed": 0, "num_threads": 1, "verbosity": -1}
    random = np.random.default_rng(2)
    X, y = random.uniform(size=(30, 2)), np.tile([-1.0, 1.0], 15)

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        heard: dict[str, Any] = {}
        with overhear(heard):
            found = cv(
                {**params, "objective": "regression", "metric": "l2"},
                Dataset(X, y),
                num_boost_round=2,
                nfold=3,
                return_cvbooster=True,
            )
        boosters = found["cvbooster"].boosters
        return {
            **heard,
            "model texts": [booster.model_to_string() for booster in boosters],
            "history": {name: list(told) for name, told in found.items() if name != "cvbooster"},
            "report": found.privacy_report.details(),
        }

    for first in (True, False):
        pair = pair_of(
            X, y, X[0], 1.0, neighbors, instead=(1 - X[0], -1.0), first=first, steering={}
        )
        name = f"cross-validation, row {'first' if first else 'last'}"
        yield _case(name, neighbors, pair, fit, several=True)
