"""Random ensembles over public bins, and a predictor that knows nothing of LightGBM."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpboost.trees.ensemble import Ensemble
from dpboost.trees.tree import Tree, pack_sets

# LightGBM squashes |x| up to this to 0 in some inputs, so bins have no edge in between.
ZERO = float(np.float32(1e-35))


@dataclass
class Bins:
    """Public bins: ``edges`` of a numeric feature or ``codes`` of a categorical one."""

    features: list[dict[str, Any]]
    categories: list[list[Any]] | None = None
    zero_as_missing: bool = False
    n_bins: np.ndarray = field(init=False)
    is_categorical: np.ndarray = field(init=False)

    def __post_init__(self):
        self.n_features = len(self.features)
        self.feature_names = tuple(f.get("name", f"x{i}") for i, f in enumerate(self.features))
        self.is_categorical = np.array(["codes" in f for f in self.features], dtype=np.uint8)
        sizes = [len(f["codes"]) if "codes" in f else len(f["edges"]) + 1 for f in self.features]
        self.n_bins = np.array(sizes, dtype=np.int32)

    def find_thresholds(self, features):
        """Nothing to prepare."""

    def thresholds(self, f):
        return np.array([*self.features[f]["edges"], math.inf])

    def category_codes(self, f):
        return np.array(self.features[f]["codes"], dtype=np.int64)

    def feature_infos(self):
        return [
            ":".join(map(str, [-1, *sorted(f["codes"])])) if "codes" in f else "[-100:100]"
            for f in self.features
        ]

    def pandas_categories(self):
        return self.categories


def random_tree(rng, bins, n_leaves, *, size, counts):
    """Grow a tree by splitting random leaves at random candidates; values up to ``size``."""
    feature, sets, left, right = [], [], [], []
    slots = [None]  # where each leaf hangs: (side, node)
    for node in range(n_leaves - 1):
        leaf = int(rng.integers(len(slots)))
        f = int(rng.integers(bins.n_features))
        feature.append(f)
        sets.append(random_set(rng, bins, f))
        left.append(~leaf)
        right.append(~len(slots))
        if slots[leaf] is not None:
            side, parent = slots[leaf]
            (left if side == 0 else right)[parent] = node
        slots[leaf] = (0, node)
        slots.append((1, node))
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        left_bins=pack_sets(np.array(sets, dtype=bool).reshape(-1, 256)),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        leaf_value=rng.integers(-size, size + 1, n_leaves),
        leaf_count=rng.integers(-50, 1000, n_leaves) if counts else None,
    )


def random_set(rng, bins, f):
    """Flags of the bins that go left: a threshold with or without missing, or categories."""
    n_bins = int(bins.n_bins[f])
    flags = np.zeros(256, dtype=bool)
    if bins.is_categorical[f]:
        flags[:n_bins] = rng.random(n_bins) < 0.5
        flags[rng.integers(n_bins)] = True
    else:
        flags[: 1 + rng.integers(n_bins)] = True
        flags[n_bins] = rng.random() < 0.5
    return flags


def random_bins(rng):
    """Bins with edges at odd positions: nearest to zero, denormal-free, huge, and constant."""
    odd = [-1e300, -1.5, float(np.nextafter(-ZERO, -1)), ZERO, 1e-30, 0.1, 1 / 3, 7.0, 1e300]
    return Bins(
        [
            {"edges": sorted(rng.normal(size=40).tolist())},
            {"edges": odd},
            {"edges": []},  # a constant: its one candidate is "missing or not"
            {"codes": [0, 1, 2, 3, 4]},
            {"codes": [0, 3, 31, 32, 63, 64, 70, 1000]},
            {"edges": np.sort(rng.normal(size=20).astype(np.float32)).astype(float).tolist()},
        ]
    )


def random_rows(rng, bins, n_rows):
    """Rows on the edges, next to them, missing, infinite, tiny, and unknown categories."""
    X = np.empty((n_rows, bins.n_features))
    tiny = [0.0, -0.0, 5e-324, 1e-36, -1e-36, ZERO, -ZERO, 1e-34, -1e-34]
    for f in range(bins.n_features):
        if bins.is_categorical[f]:
            codes = bins.category_codes(f)
            pool = np.concatenate([codes, codes, codes + 0.5, [-1, -0.5, 5.9, 999, 1e9, 2**31]])
            pool = np.append(pool, [np.nan, np.inf, -np.inf])
        else:
            edges = bins.thresholds(f)[:-1]
            near = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)]
            pool = np.concatenate([*near, rng.normal(size=20), tiny, [np.nan, np.inf, -np.inf]])
        X[:, f] = rng.choice(pool, n_rows)
    return X


def leaf_of(tree, bins, row):
    """Walk a tree by its definition and return the leaf."""
    node = 0 if tree.n_nodes else -1
    while node >= 0:
        f, left_bins = int(tree.feature[node]), tree.sets()[node]
        x = float(row[f])
        n_bins = int(bins.n_bins[f])
        if bins.is_categorical[f]:
            codes = bins.category_codes(f)
            known = math.isfinite(x) and x > -1 and int(x) in codes
            goes_left = known and left_bins >> list(codes).index(int(x)) & 1
        elif math.isnan(x):
            goes_left = left_bins >> n_bins & 1
        else:
            last = (left_bins & ((1 << n_bins) - 1)).bit_length() - 1
            goes_left = x <= bins.thresholds(f)[last]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return ~node


def raw_scores(ensemble, X):
    """Return raw scores from sums of whole units."""
    (start,) = (int(value / ensemble.unit) for value in ensemble.start)
    units = [
        start + sum(int(t.leaf_value[leaf_of(t, ensemble.binner, row)]) for t in ensemble.trees)
        for row in X
    ]
    return np.array([total * ensemble.unit for total in units])


def make_ensemble(seed, *, n_trees=10, n_leaves=12, unit=2.0**-16, counts=True, **changes):
    """Return a random ensemble; single-leaf trees are among its trees."""
    rng = np.random.default_rng(seed)
    bins = changes.pop("binner", None) or random_bins(rng)
    leaves = [
        1
        if n_trees > 2 and rng.random() < 0.1
        else int(rng.integers(min(8, n_leaves), n_leaves + 1))
        for _ in range(n_trees)
    ]
    facts = {
        "trees": tuple(random_tree(rng, bins, n, size=2**20, counts=counts) for n in leaves),
        "binner": bins,
        "start": (12345 * unit,),
        "unit": unit,
        "objective": "regression",
        "report": {"epsilon": 1.0, "note": 'a=b=c "größe" \n line', "entries": [1, None]},
    }
    if isinstance(changes.get("start"), float):
        changes["start"] = (changes["start"],)
    return Ensemble(**{**facts, **changes})


@pytest.fixture(scope="session")
def tools():
    """The functions of this file, for test modules."""
    return SimpleNamespace(
        Bins=Bins,
        ensemble=make_ensemble,
        tree=random_tree,
        bins=random_bins,
        rows=random_rows,
        raw_scores=raw_scores,
        leaf_of=leaf_of,
    )
