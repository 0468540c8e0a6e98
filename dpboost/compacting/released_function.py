"""What a released model says of every cell of its bins."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.explain.masses import shares_of
from dpboost.lightgbm.model_text.read_trees import TextForest, TextTree, read_trees
from dpboost.lightgbm.model_text.trees import GRID_TOTAL
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.forest import Forest
from dpboost.trees.tree import SET_WORDS, Tree, pack_sets, threshold_sets

#: LightGBM's numbers for what a feature takes as missing.
NOTHING, ZEROS, NANS = 0, 1, 2
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MOST_CELLS = 64 * SET_WORDS - 1
_COUNTS = re.compile(r"^leaf_count=(.*)$", re.MULTILINE)
_INFOS = re.compile(r"^feature_infos=(.*)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedFunction:
    """The raw scores of a model, as a function of the cells between its edges.

    Privacy
    -------
    Released trees, and shares that are computed from released numbers.
    """

    #: Round by round, one for each output.
    trees: Sequence[Tree]
    #: Raw scores begin there, one for each output.
    start: tuple[float, ...]
    #: Of the leaf values.
    unit: float
    #: Of shape (n_features,). Cells of each feature; what is missing, and other categories, come
    #: after them.
    n_bins: NDArray[np.int32]
    #: Of a number the largest value of each cell but the last; of categories their codes.
    values: tuple[NDArray[np.float64], ...]
    #: Of shape (n_features,).
    is_categorical: NDArray[np.bool_]
    #: Of shape (n_features,). What is missing: nothing, zeros and NaN, or NaN.
    missing: NDArray[np.int64]
    #: Of shape (n_bins + 1,) each. Share of the rows in each cell; None where nothing of them was
    #: released.
    shares: list[NDArray[np.float64]] | None

    @classmethod
    def of_ensemble(cls, ensemble: Ensemble) -> ReleasedFunction:
        """Return the function of a fit, whose released bins say where rows are."""
        binner = ensemble.binner
        nominal = np.asarray(binner.is_categorical).astype(bool)
        split = np.zeros(len(nominal), dtype=bool)
        for tree in ensemble.trees:
            split[tree.feature] = True
        binner.find_thresholds(np.flatnonzero(split & ~nominal).tolist())
        values = tuple(
            np.asarray(binner.category_codes(f) if nominal[f] else binner.thresholds(f)[:-1], float)
            if split[f]
            else np.empty(0)
            for f in range(len(nominal))
        )
        known = bool(ensemble.masses) or any(tree.leaf_count is not None for tree in ensemble.trees)
        shares = shares_of(ensemble.trees[:: ensemble.n_outputs], binner.n_bins, ensemble.masses)
        missing = ZEROS if binner.zero_as_missing else NANS
        return cls(
            trees=ensemble.trees,
            start=ensemble.start,
            unit=ensemble.unit,
            n_bins=binner.n_bins,
            values=values,
            is_categorical=nominal,
            missing=np.where(nominal, NANS, missing),
            shares=shares if known else None,
        )

    @classmethod
    def of_text(cls, text: str) -> ReleasedFunction:
        """Return the function of a model text that has been checked.

        Where rows are is estimated from the counts of its leaves.
        """
        forest = read_trees(text)
        start = text.index("\nTree=0\n")
        found = _INFOS.search(text, 0, start + 1)
        infos = found[1].split(" ") if found else []
        counts = [np.array(line.split(), dtype=np.int64) for line in _COUNTS.findall(text, start)]
        if "\naverage_output\n" in text[: start + 1] or any(t.is_linear for t in forest.trees):
            raise InvalidParameterError(
                "compact carries sums of trees with constant leaves, and this model has linear "
                "leaves or averages its trees. Keep the full model."
            )
        return _of_forest(forest, infos, counts)

    @property
    def n_outputs(self) -> int:
        """Raw scores of a row."""
        return len(self.start)

    @property
    def used(self) -> NDArray[np.intp]:
        """Features that some tree splits."""
        return np.unique(np.concatenate([np.empty(0, np.intp), *(t.feature for t in self.trees)]))

    @property
    def n_cells(self) -> NDArray[np.int64]:
        """Cells that a row can be in, of each feature."""
        return self.n_bins + (self.missing != NOTHING)

    def scores(
        self, bins: NDArray[np.uint8], trees: Sequence[Tree], n_threads: int = 1
    ) -> NDArray[np.float64]:
        """Return the sums of some of the trees for rows of cells."""
        n_rows = bins.shape[1]
        sums = np.zeros(n_rows, dtype=np.int64)
        rows = np.arange(n_rows, dtype=np.int32)
        nothing_seen = np.zeros(n_rows, dtype=np.int32)
        Forest.of(trees).add_to(sums, bins, rows, nothing_seen, n_threads)
        return np.asarray(self.unit * sums)


def _of_forest(
    forest: TextForest, infos: Sequence[str], counts: Sequence[NDArray[np.int64]]
) -> ReleasedFunction:
    """Return the function of trees as a text has them."""
    trees = forest.trees
    feature = np.concatenate([tree.feature for tree in trees])
    threshold = np.concatenate([tree.threshold for tree in trees])
    decision = np.concatenate([tree.decision_type for tree in trees])
    n_features = len(forest.feature_names)
    nominal, missing = np.zeros(n_features, dtype=bool), np.full(n_features, NOTHING)
    values = [np.empty(0)] * n_features
    for f in np.unique(feature).tolist():
        own = feature == f
        kinds = set((decision[own] >> 2).tolist()) - {NOTHING}
        nominal[f] = bool((decision[own] & _CATEGORICAL).any())
        missing[f] = NANS if nominal[f] else max(kinds, default=NOTHING)
        mixed = kinds == {ZEROS, NANS} or (nominal[f] and not (decision[own] & _CATEGORICAL).all())
        if mixed:
            raise _not_carried(forest.feature_names[f], "read in two ways by its trees")
        if nominal[f]:
            values[f] = _codes(infos[f], [tree for tree in trees if f in tree.feature])
        else:
            values[f] = np.unique(threshold[own])
        if len(values[f]) + (not nominal[f]) > _MOST_CELLS:
            raise _not_carried(forest.feature_names[f], f"split into more than {_MOST_CELLS} cells")
    n_bins = np.array([len(v) for v in values], dtype=np.int32) + ~nominal
    split_bin = np.zeros(len(feature), dtype=np.uint8)
    for f in np.unique(feature).tolist():
        own = (feature == f) & ~nominal[f]
        split_bin[own] = np.searchsorted(values[f], threshold[own])
    sets = threshold_sets(split_bin, np.zeros(len(feature), dtype=bool)).copy()
    # A split without missing values sends them where it sends zero.
    by_zero = (decision >> 2 == NOTHING) & (threshold >= 0)
    low = (((decision & _DEFAULT_LEFT) != 0) & (decision >> 2 != NOTHING)) | by_zero
    high = ~nominal[feature]
    last = n_bins[feature]
    for word in range(SET_WORDS):
        mine = high & (last >> 6 == word)
        bit = np.uint64(1) << (last & 63).astype(np.uint64)
        sets[mine, word] &= ~bit[mine]
        sets[mine & low, word] |= bit[mine & low]
    size = max((float(np.abs(tree.leaf_value).max()) for tree in trees), default=0.0) or 1.0
    unit = math.ldexp(1.0, math.frexp(size * len(trees))[1] - 52)
    made, first = [], 0
    for tree, count in zip(trees, counts, strict=True):
        own_sets = sets[first : first + len(tree.feature)]
        first += len(tree.feature)
        made.append(_tree(tree, own_sets, count, nominal, values, unit))
    known = any(tree.leaf_count is not None for tree in made)
    return ReleasedFunction(
        trees=made,
        start=(0.0,) * forest.n_outputs,
        unit=unit,
        n_bins=n_bins,
        values=tuple(values),
        is_categorical=nominal,
        missing=missing,
        shares=shares_of(made[:: forest.n_outputs], n_bins, {}) if known else None,
    )


def _tree(
    tree: TextTree,
    sets: NDArray[np.uint64],
    count: NDArray[np.int64],
    nominal: NDArray[np.bool_],
    values: Sequence[NDArray[np.float64]],
    unit: float,
) -> Tree:
    """Return a tree of a text over cells."""
    by_set = np.flatnonzero(nominal[tree.feature])
    if len(by_set):
        inside = np.zeros((len(by_set), 64 * SET_WORDS), dtype=bool)
        for line, node in zip(inside, by_set.tolist(), strict=True):
            listed = tree.sets[int(tree.threshold[node])]
            line[np.searchsorted(values[tree.feature[node]], listed)] = True
        sets[by_set] = pack_sets(inside)
    # Every leaf of a text counts for one at least, and shares of the grid add up to its total.
    released = len(count) > 1 and count.sum() != GRID_TOTAL
    return Tree(
        feature=tree.feature.astype(np.int32),
        left_bins=sets,
        left=tree.left.astype(np.int32),
        right=tree.right.astype(np.int32),
        leaf_value=np.rint(tree.leaf_value / unit).astype(np.int64),
        leaf_count=count - 1 if released else None,
    )


def _codes(info: str, trees: Sequence[TextTree]) -> NDArray[np.float64]:
    """Return the categories of a feature that the text lists, or that its trees name."""
    listed = {int(code) for code in info.split(":")} if ":" in info and "[" not in info else set()
    for tree in trees:
        for node in np.flatnonzero(tree.decision_type & _CATEGORICAL).tolist():
            listed |= set(tree.sets[int(tree.threshold[node])].tolist())
    return np.array(sorted(code for code in listed if code >= 0), dtype=np.float64)


def _not_carried(name: str, why: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"compact cannot carry this model: the feature {name!r} is {why}. Keep the full model."
    )
