"""Pairs of neighboring tables on which a private tree attains its privacy loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dpboost.audit.neighboring_pairs import pair_of
from dpboost.audit.run_trace import Steering
from dpboost.audit.witnesses import DELTA, Witness, witnesses
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.single_tree import TREE_ALGORITHMS

#: Splits on which the added row makes the other, common change.
N_OTHERS = 40

#: Rows of one class that the row may join.
N_PURE = 1000

#: A released gain, in units of its scale, that passes every test.
LARGE_GAIN = 1 << 20

#: Candidates of a nominal feature of two categories, by recipe: one for each category, or one.
ONE_CANDIDATE = ("sulq_id3", "diffp_id3", "diffp_c45")

#: Recipes whose rows may lie at several sites.
BY_SUMS = ("noisy_counts", "local_rnm", "histograms", "histograms_saving")

_DEPTH = 2

# Witnesses of the ensembles whose forced outcomes mean something else to a single tree.
_STEERED = ("opposite children", "one-row leaf", "filter border", "late leaf", "five trees")


def tree_witnesses(recipe: str, neighbors: Neighbors) -> Iterator[Witness]:
    """Yield the bank of a recipe: settings are those of ``DPTreeClassifier``."""
    for criterion in (None, *_other_criteria(recipe)):
        yield lone_row(recipe, neighbors, 0, criterion=criterion)
    yield lone_row(recipe, neighbors, 0, n_classes=3)
    yield lone_row(recipe, neighbors, 1)
    yield two_nodes(recipe, neighbors)
    if recipe in BY_SUMS:
        yield lone_row(recipe, neighbors, 0, n_sites=3)
    if recipe == "histograms_saving":
        yield root_alone(neighbors)
    if TREE_ALGORITHMS[recipe].weights:
        yield weighted_row(recipe, neighbors)
    if recipe == "best":
        yield replace(lone_row(recipe, neighbors, 0, delta=DELTA), name="lone row, Gaussian counts")
    if recipe == "diffp_c45":
        lone = lone_row(recipe, neighbors, 0)
        yield replace(lone, name="lone row, pruned", settings={**lone.settings, "prune": True})
        for level in range(_DEPTH):
            yield numeric_row(neighbors, level)
    for witness in witnesses("binary", neighbors):
        if not witness.name.startswith(_STEERED):
            yield _of_tree(witness)


def _other_criteria(recipe: str) -> tuple[str, ...]:
    if recipe == "best":
        return ("max", "entropy", "root_gini")
    if recipe == "diffp_c45":
        return ("max", "entropy")
    if recipe in ("noisy_counts", "histograms", "histograms_saving"):
        # Nothing is released that depends on the criterion.
        return ()
    return ("gini", "root_gini") if recipe in ("dp_topdown", "local_rnm") else ("gini", "entropy")


def _of_tree(witness: Witness) -> Witness:
    """Give a witness of the ensembles the settings of a single tree."""
    settings = {name: value for name, value in witness.settings.items() if name != "n_estimators"}
    aims = tuple(part for part in witness.aims_at if part[0] not in ("split choice", "leaf values"))
    kept = {part: value for part, value in witness.pair.steering.items() if part[0] == "row count"}
    pair = replace(witness.pair, steering=kept)
    return replace(witness, task="tree", pair=pair, settings=settings, aims_at=aims)


def _settings(n_features: int, n_classes: int = 2, **more: Any) -> dict[str, Any]:
    """Declare everything: nominal features of two categories."""
    schema = {
        "categories": dict.fromkeys(range(n_features), (0, 1)),
        "classes": list(range(n_classes)),
    }
    return {"schema": schema, "max_depth": _DEPTH, **more}


def _split_by(recipe: str, feature: int) -> int:
    """Return the candidate that sends category 0 of a feature to the first child."""
    return feature if recipe in ONE_CANDIDATE else 2 * feature


def _steering(recipe: str, n_features: int, level: int) -> Steering:
    """Send all rows to the first child until the level that is looked at."""
    idle = _split_by(recipe, n_features - 1)
    chosen: dict[tuple[str, int], Any] = {("split choice", number): idle for number in range(level)}
    chosen |= {("split choice", level): _split_by(recipe, 0)}
    chosen |= {("split gain", number): LARGE_GAIN for number in range(_DEPTH)}
    if recipe == "sulq_id3":
        chosen |= _pure_feature(n_features, n_features - 1 if level else 0)
    if recipe in BY_SUMS and level:
        chosen |= _pure_split(recipe, n_features, n_features - 1)
    return chosen


def _pure_split(recipe: str, n_features: int, feature: int) -> dict[tuple[str, int], Any]:
    """Return released counts by which a feature separates the classes at the root."""
    apart = np.array([[N_PURE, 0], [0, N_PURE], [0, 0]])
    if recipe == "local_rnm":
        # Of the one chosen split: category 1, then category 0.
        return {("class counts", 0): apart[:2].ravel()}
    if recipe == "histograms_saving":
        # Its bound is the least one, and what it leaves is below all others.
        bounds = np.full(n_features, LARGE_GAIN)
        bounds[feature] = 0
        return {("impurity bounds", 0): bounds, ("class counts", 0): apart.ravel()}
    counts = np.full((3 * n_features, 2), N_PURE, dtype=np.int64)
    counts[3 * feature : 3 * feature + 3] = apart
    return {("class counts", 0): counts.ravel()}


def _pure_feature(n_features: int, feature: int) -> dict[tuple[str, int], Any]:
    """Return released histograms by which a feature is the best: the others' cells are mixed."""
    counts = np.full((3 * n_features, 2), N_PURE, dtype=np.int64)
    counts[3 * feature : 3 * feature + 3] = [3 * N_PURE, 0]
    sizes = np.full(3 * n_features, 2 * N_PURE, dtype=np.int64)
    return {("class counts", 0): counts.ravel(), ("cell sizes", 0): sizes}


def lone_row(
    recipe: str,
    neighbors: Neighbors,
    level: int,
    *,
    criterion: str | None = None,
    n_classes: int = 2,
    n_sites: int = 1,
    delta: float = 0.0,
) -> Witness:
    """One split does not feel the row and all others do: the range of the scores, and the gain.

    All rows are of one class and fall into the first category of every feature. The row, of
    another class, is alone in the second category of feature 0 and joins them by the others: the
    gain of feature 0 grows by as much as a row can do. Replaced, it is alone by all others.
    """
    n_features = N_OTHERS + 2
    X, y = np.zeros((N_PURE, n_features)), np.zeros(N_PURE, dtype=np.int64)
    row = np.zeros(n_features)
    row[0] = 1.0
    other = 1 - row
    other[-1] = 0.0
    label = n_classes - 1
    settings = _settings(n_features, n_classes)
    if criterion is not None:
        settings["criterion"] = criterion
    if n_sites > 1:
        settings["n_sites"] = n_sites
    if delta:
        settings["delta"] = delta
    aims = [("split choice", level), ("leaf counts", 0)]
    if recipe == "sulq_id3":
        aims = [("cell sizes", level), ("class counts", level), ("leaf counts", 0)]
    if recipe in BY_SUMS:
        aims.append(("class counts", level))
    if recipe == "histograms_saving":
        # The leaf of the row is not the first one: see `root_alone`.
        aims = [("class counts", level)]
    if neighbors is Neighbors.ADD_REMOVE:
        aims += [("node sizes", level), ("split gain", level), ("row count", 0)]
        aims += [("impurity bounds", level)]
    elif delta:
        # Another class moves two counts by one each, another node might do so in both classes.
        aims = [("split choice", level)]
    pair = pair_of(
        X,
        y,
        row,
        label,
        neighbors,
        instead=(other, label),
        steering=_steering(recipe, n_features, level) if n_classes == 2 else {},
    )
    return Witness(
        name=f"lone row, level {level}, {criterion or 'own criterion'}, {n_classes} classes"
        + (f", {n_sites} sites" if n_sites > 1 else ""),
        task="tree",
        neighbors=neighbors,
        pair=pair,
        settings=settings,
        # The scale of three classes is that of two but for a little of root-Gini.
        aims_at=tuple(aims) if n_classes == 2 else (),
    )


def two_nodes(recipe: str, neighbors: Neighbors) -> Witness:
    """Move a row from one node to another one: both sizes and both gains change."""
    n_features = N_OTHERS + 2
    bits = np.repeat([0.0, 1.0], N_PURE)
    X, y = np.zeros((2 * N_PURE, n_features)), np.zeros(2 * N_PURE, dtype=np.int64)
    X[:, -1] = bits
    row = np.zeros(n_features)
    row[0] = 1.0
    other = row.copy()
    other[-1] = 1.0
    steering = _steering(recipe, n_features, 1)
    pair = pair_of(X, y, row, 1, neighbors, instead=(other, 1), steering=steering)
    aims: tuple[tuple[str, int], ...] = ()
    if neighbors is Neighbors.REPLACE and recipe != "sulq_id3":
        aims = (("node sizes", 1), ("split gain", 1), ("impurity bounds", 1))
    return Witness("two nodes", "tree", neighbors, pair, _settings(n_features), aims_at=aims)


def root_alone(neighbors: Neighbors) -> Witness:
    """All of the budget is for the class counts of the root."""
    X, y = np.zeros((N_PURE, 1)), np.zeros(N_PURE, dtype=np.int64)
    return Witness(
        "root alone",
        "tree",
        neighbors,
        pair_of(X, y, np.zeros(1), 1, neighbors, instead=(np.zeros(1), 0)),
        {**_settings(1), "max_depth": 0},
        aims_at=(("leaf counts", 0),),
    )


def numeric_row(neighbors: Neighbors, level: int) -> Witness:
    """Thresholds chosen for each feature: one of them separates the row, and all others do not."""
    bins = 40
    X = np.column_stack((0.5 + np.arange(N_PURE) % (bins - 1), np.zeros(N_PURE)))
    y = np.zeros(N_PURE, dtype=np.int64)
    row, other = np.array([bins - 0.5, 0.0]), np.array([0.5, 0.0])
    schema = {"bounds": {0: (0.0, bins)}, "categories": {1: (0, 1)}, "classes": [0, 1]}
    # The last bin sends every row to the first child: the node below is the node above.
    steering = {("threshold choice", number): bins - 1 for number in range(level)}
    steering |= {("split choice", number): 0 for number in range(level)}
    return Witness(
        f"numeric row, level {level}",
        "tree",
        neighbors,
        pair_of(X, y, row, 1, neighbors, instead=(other, 1), steering=steering),
        {"schema": schema, "max_depth": _DEPTH, "max_bin": bins, "threshold_draws": "per_feature"},
        aims_at=(("threshold choice", level),) if neighbors is Neighbors.ADD_REMOVE else (),
    )


def weighted_row(recipe: str, neighbors: Neighbors) -> Witness:
    """Give the row a weight above the largest one, and others weights of all sizes.

    The last column is the weight. Every other column tells nothing.
    """
    X, y = np.zeros((N_PURE, 2)), np.zeros(N_PURE, dtype=np.int64)
    X[:, 1] = np.linspace(0, 1, N_PURE)
    row = np.array([0.0, 50.0])
    schema = {"categories": {0: (0, 1)}, "edges": {1: (60.0,)}, "classes": [0, 1]}
    return Witness(
        "weighted row",
        "tree",
        neighbors,
        pair_of(X, y, row, 1, neighbors, instead=(row, 0)),
        {"schema": schema, "max_depth": 0, "max_weight": 1.0, "weight_column": 1},
        aims_at=(("leaf counts", 0),),
    )


def number_witnesses(neighbors: Neighbors) -> Iterator[Witness]:
    """Yield the bank of the tree of numbers: settings are those of ``DPTreeRegressor``."""
    for delta in (0.0, DELTA):
        yield opposite_halves(neighbors, delta)
        yield lone_number(neighbors, delta, weight=1.0)
    yield lone_number(neighbors, 0.0, weight=7.0)


def opposite_halves(neighbors: Neighbors, delta: float) -> Witness:
    """Lower the gain of one split by three, and raise that of all others by one.

    Feature 0 tells rows of the largest label from rows of the least. The row has the least label
    among the former, and a cell of its own in all other features.
    """
    n_features = N_OTHERS + 1
    X = np.zeros((2 * N_PURE, n_features))
    X[N_PURE:, 0] = 1.0
    y = np.repeat([1.0, -1.0], N_PURE)
    row = np.ones(n_features)
    row[0] = 0.0
    other = np.zeros(n_features)
    other[0] = 1.0
    schema = {"categories": dict.fromkeys(range(n_features), (0, 1)), "label_bounds": (-1, 1)}
    aims: list[tuple[str, int]] = []
    if neighbors is Neighbors.ADD_REMOVE:
        aims = [("split choice", 0), ("row count", 0)]
    return Witness(
        "opposite halves" + (", Gaussian sums" if delta else ""),
        "tree of numbers",
        neighbors,
        pair_of(X, y, row, -1.0, neighbors, instead=(other, 1.0)),
        {"schema": schema, "max_depth": 1, "reg_lambda": 1e-6, "delta": delta},
        aims_at=tuple(aims),
    )


def lone_number(neighbors: Neighbors, delta: float, weight: float) -> Witness:
    """Give the row a label beyond its bounds, and maybe more than the largest weight."""
    X, y = np.ones((N_PURE, 2)), np.zeros(N_PURE)
    X[:, 0] = 0.0
    row, other = np.array([0.0, weight]), np.array([1.0, weight])
    schema = {"categories": {0: (0, 1)}, "edges": {1: (60.0,)}, "label_bounds": (-1, 1)}
    return Witness(
        f"lone number, weight {weight:g}" + (", Gaussian sums" if delta else ""),
        "tree of numbers",
        neighbors,
        pair_of(X, y, row, 1e9, neighbors, instead=(other, -1e9)),
        {"schema": schema, "max_depth": 1, "delta": delta, "max_weight": 1.0, "weight_column": 1},
        aims_at=(("leaf sums", 0),) if neighbors is Neighbors.ADD_REMOVE else (),
    )
