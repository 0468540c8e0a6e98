"""What is measured: each function measures one unit and returns its numbers by name."""

from __future__ import annotations

import warnings
from typing import Any

import lightgbm
import numpy as np

from benchmarks.glass_box.tables import (
    DELTA,
    DIRECTIONS,
    EPSILON,
    GENERATED,
    Parts,
    generated,
    head,
    parts,
)
from dpboost import DPBoostClassifier, DPBoostRegressor, check_constraints
from dpboost.data.sparse import dense_matrix
from dpboost.data.table import read_table
from dpboost.explain.effects import EffectSums
from dpboost.explain.masses import feature_shares
from dpboost.trees.leaf_index import leaf_index
from dpboost.trees.tree import SlopeNoise

LEVEL = 0.9
#: Quantiles that are fitted together.
ALPHAS = (0.05, 0.25, 0.5, 0.75, 0.95)
# New rows for which intervals and quantiles are looked at.
N_NEW = 20_000
# Predictions whose spread is looked at.
N_SPREADS = 1_000

Numbers = dict[str, float]


def directions(name: str, seed: int) -> Numbers:
    """Compare a constrained fit with a free one, on the same rows, and LightGBM's likewise."""
    own, known = parts(name, seed), DIRECTIONS[name]
    free = own.of(own.fitted(seed=seed))
    model = own.fitted(seed=seed, monotone_constraints=known)
    return {
        f"{own.measure} free": free,
        own.measure: own.of(model),
        f"{own.measure} free, LightGBM": own.of(own.stock()),
        f"{own.measure}, LightGBM": own.of(own.stock(known)),
        "pairs in order": in_order(model, own.test_X, known),
        "proved": float(bool(check_constraints(model, known))),
    }


def in_order(model: Any, X: Any, known: dict[str, int]) -> float:
    """Return the share of neighbors on a grid of each feature that are in order."""
    binner, rows = model.ensemble_.binner, read_table(head(X, 200), schema=model.schema_)
    bins = dense_matrix(rows.bins(binner, 1))
    right = total = 0
    for name, sign in known.items():
        feature = binner.feature_names.index(name)
        scores = []
        for place in range(binner.n_bins[feature]):
            moved = bins.copy()
            moved[feature] = place
            scores.append(
                sum(tree.leaf_value[leaf_index(tree, moved)] for tree in model.ensemble_.trees)
            )
        steps = sign * np.diff(scores, axis=0)
        right, total = right + int((steps >= 0).sum()), total + steps.size
    return right / total


def single_shapes(name: str, seed: int, epsilon: float) -> Numbers:
    """Measure a sum of single features."""
    own = parts(name, seed)
    model = own.fitted(seed=seed, max_interaction=1, epsilon=epsilon)
    return {own.measure: own.of(model)}


def bands(name: str, seed: int) -> Numbers:
    """Compare bands with the shapes of the same structures and factors without noise."""
    own = parts(name, 0)
    model = own.fitted(seed=seed)
    ensemble = model.ensemble_
    vectors = [value[:, np.newaxis] for value in without_noise(model, own)]
    shares = feature_shares(ensemble)
    exact = EffectSums(ensemble.trees, vectors, shares, ensemble.binner.n_bins).mains()
    covered, widths, deviations = [], [], []
    for shape in model.explain(pairs=0).shapes:
        inside = shape.share > 0
        real = ensemble.unit * exact[shape.feature][inside, 0]
        low, high = (end[inside] for end in shape.band(LEVEL))
        covered.append(((low <= real) & (real <= high)).mean())
        widths.append((shape.error[0][inside] ** 2).mean())
        deviations.append(((shape.effect[0][inside] - real) ** 2).mean())
    return {
        "bins covered": float(np.mean(covered)),
        "squared error": float(np.mean(widths)),
        "squared deviation": float(np.mean(deviations)),
    }


def without_noise(model: Any, own: Parts) -> list[np.ndarray]:
    """Return the leaves of the same structures, denominators and shrink weights without noise.

    A linear model that comes first is kept as it was released: the trees after it answer its noise.
    """
    ensemble = model.ensemble_
    table = read_table(own.train_X, schema=model.schema_)
    bins = dense_matrix(table.bins(ensemble.binner, 1))
    regression = own.task == "regression"
    first = ensemble.trees[-1].noise
    score = np.full(len(own.train_y), ensemble.start[0] / ensemble.unit)
    clip = model.gradient_clip_
    leaves = []
    for tree in ensemble.trees:
        place = leaf_index(tree, bins)
        if isinstance(tree.noise, SlopeNoise):
            leaves.append(tree.leaf_value.astype(np.float64))
            score = score + leaves[-1][place]
            continue
        if regression:
            gradient = (score * ensemble.unit - own.train_y) / (first.units_per_one * ensemble.unit)
        else:
            gradient = 1 / (1 + np.exp(-score * ensemble.unit)) - own.train_y
        sums = np.bincount(place, np.clip(gradient, -clip, clip), tree.n_leaves)
        value = -tree.noise.response(tree.leaf_count) * sums
        leaves.append(value)
        score = score + value[place]
    return leaves


def spreads(name: str, n_refits: int) -> Numbers:
    """Compare simulated spreads with refits."""
    own = parts(name, 0)
    some = head(own.test_X, N_SPREADS)
    found, said = [], []
    for number in range(n_refits):
        model = own.fitted(seed=0)
        regression = own.task == "regression"
        found.append(model.predict(some) if regression else model.predict_proba(some)[:, 1])
        if number < 3:
            spread = model.prediction_std(some)
            said.append(spread if spread.ndim == 1 else spread[:, 1])
    return {
        "squared spread": float(np.mean(np.square(said))),
        "squared deviation": float(np.mean(np.var(found, axis=0, ddof=1))),
        "refits": float(n_refits),
    }


def intervals(seed: int) -> Numbers:
    """Measure coverage and width of intervals at 5,000 rows, and LightGBM's width."""
    X, y = generated("product", 5_000, seed)
    X_new, y_new = _new_rows()
    model = DPBoostRegressor(schema=GENERATED, **_settings(seed))
    ends = model.fit(X, y, conformal=LEVEL).predict_interval(X_new)
    inside = (ends[:, 0] <= y_new) & (y_new <= ends[:, 1])
    return {
        "coverage": float(inside.mean()),
        "width": float((ends[:, 1] - ends[:, 0]).mean()),
        "width of LightGBM's": _width_of_lightgbm(X, y, X_new, seed),
    }


def sets(seed: int) -> Numbers:
    """Measure coverage of sets of three classes at 5,000 rows."""
    X, y = generated("product", 5_000, seed)
    X_new, y_new = _new_rows()
    cuts = np.quantile(y_new, [1 / 3, 2 / 3])
    schema = {"bounds": GENERATED["bounds"], "classes": [0, 1, 2]}
    model = DPBoostClassifier(schema=schema, **_settings(seed))
    found = model.fit(X, np.digitize(y, cuts), conformal=LEVEL).predict_set(X_new)
    covered = found[np.arange(len(y_new)), np.digitize(y_new, cuts)]
    return {"coverage": float(covered.mean()), "classes in a set": float(found.sum(1).mean())}


def _new_rows() -> tuple[np.ndarray, np.ndarray]:
    return generated("product", N_NEW, 10**6)


def _settings(seed: int) -> dict[str, Any]:
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "verbosity": 0,
        "random_state": seed,
        "n_jobs": 1,
    }


def _width_of_lightgbm(X: np.ndarray, y: np.ndarray, X_new: np.ndarray, seed: int) -> float:
    """Return the width of split conformal intervals of LightGBM with as many rows held out."""
    held = np.random.default_rng(seed).random(len(y)) < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lightgbm.LGBMRegressor(verbosity=-1, n_jobs=1).fit(X[~held], y[~held])
        errors = np.abs(model.predict(X[held]) - y[held])
    return 2 * float(np.quantile(errors, LEVEL))


def quantiles(seed: int) -> Numbers:
    """Measure several quantiles of one fit: their coverage, and how often neighbors cross."""
    X, y = generated("product", 20_000, seed)
    X_new, y_new = _new_rows()
    model = DPBoostRegressor(
        objective="quantile", alpha=list(ALPHAS), schema=GENERATED, **_settings(seed)
    ).fit(X, y)
    found = model.predict(X_new)
    raw = model.predict(X_new, raw_score=True)
    numbers = {
        f"coverage at {a:g}": float((y_new <= q).mean())
        for a, q in zip(ALPHAS, found.T, strict=True)
    }
    return {
        **numbers,
        "rows that cross": float((np.diff(found, axis=1) < 0).any(axis=1).mean()),
        "rows of the scores that cross": float((np.diff(raw, axis=1) < 0).any(axis=1).mean()),
    }
