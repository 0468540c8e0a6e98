"""Fit LightGBM's trees to a released function and write them over its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray

from dpboost.compacting.released_function import NOTHING, ReleasedFunction
from dpboost.lightgbm.model_text.syntax import text_parts

#: Of LightGBM, beside the numbers of trees and leaves.
_SETTINGS: dict[str, Any] = {
    "objective": "regression",
    "learning_rate": 0.15,
    "lambda_l2": 1.0,
    "min_data_in_leaf": 5,
    "max_bin": 256,
    "min_data_in_bin": 1,
    "feature_pre_filter": False,
    "enable_bundle": False,
    "deterministic": True,
    "force_row_wise": True,
    "monotone_constraints_method": "intermediate",
    "verbosity": -1,
}
# Of many features a tree may use half, which takes less time and comes nearer to the full model on
# held-out rows; of few it may use all, since they have to meet.
_LEAST_FRACTION, _MEET = 0.5, 6
_CATEGORICAL, _DEFAULT_LEFT, _NAN_MISSING = 1, 2, 8
# LightGBM's threshold of a split that parts what is missing from every number.
_BEYOND = 1e300
# Digits of what is no threshold; a threshold is an edge of the model, to the last bit.
_DIGITS = 9


@dataclass(frozen=True, kw_only=True, eq=False)
class SmallTrees:
    """Trees of one output over one set of features."""

    #: Over the codes of cells of some features.
    booster: lightgbm.Booster
    features: NDArray[np.intp]
    #: Of shape (n_bins + 1,) each. Codes of the cells of a feature of categories, other ones last.
    ranks: dict[int, NDArray[np.int64]]

    @classmethod
    def fitted(
        cls,
        function: ReleasedFunction,
        bins: NDArray[np.uint8],
        target: NDArray[np.float64],
        features: NDArray[np.intp],
        directions: Sequence[int],
        *,
        n_trees: int,
        num_leaves: int,
        n_threads: int,
    ) -> SmallTrees:
        """Fit trees to scores of rows of cells.

        Categories are put in the order of their mean scores, other ones and missing among them, so
        that every split is a threshold.
        """
        ranks = {}
        for f in features[function.is_categorical[features]].tolist():
            n = function.n_bins[f] + 1
            sums, sizes = np.bincount(bins[f], target, n), np.bincount(bins[f], minlength=n)
            mean = np.divide(sums, sizes, out=np.full(n, target.mean()), where=sizes > 0)
            ranks[f] = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        codes = _codes(function, bins, features, ranks)
        settings = {
            **_SETTINGS,
            "num_leaves": num_leaves,
            "num_threads": n_threads,
            "feature_fraction": min(1.0, max(_LEAST_FRACTION, _MEET / len(features))),
        }
        if any(directions):
            settings["monotone_constraints"] = [directions[f] for f in features]
        bounds = {"bin_construct_sample_cnt": len(codes)}
        data = lightgbm.Dataset(codes, target, params={**settings, **bounds})
        booster = lightgbm.train({**settings, **bounds}, data, n_trees)
        return cls(booster=booster, features=features, ranks=ranks)

    def scores(self, function: ReleasedFunction, bins: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return what the trees say of rows of cells."""
        codes = _codes(function, bins, self.features, self.ranks)
        return np.asarray(self.booster.predict(codes))

    def blocks(self, function: ReleasedFunction) -> list[str]:
        """Return the blocks of a model text."""
        _, blocks, _ = text_parts(self.booster.model_to_string(num_iteration=-1))
        return [self._over_edges(function, block) for block in blocks]

    def _over_edges(self, function: ReleasedFunction, block: str) -> str:
        """Return a tree over codes as one over the edges and categories of the model."""
        fields = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        for key in ("leaf_value", "split_gain", "internal_value"):
            fields[key] = _shorter(fields[key])
        if int(fields["num_leaves"]) > 1:
            self._split_over_edges(function, fields)
        fields["leaf_weight"], fields["internal_weight"] = (
            fields["leaf_count"],
            fields["internal_count"],
        )
        return "".join(f"{key}={value}\n" for key, value in fields.items()) + "\n\n"

    def _split_over_edges(self, function: ReleasedFunction, fields: dict[str, str]) -> None:
        feature = self.features[np.array(fields["split_feature"].split(), dtype=np.intp)]
        codes = np.array(fields["threshold"].split(), dtype=np.float64)
        cell = np.floor(np.minimum(codes, 256)).astype(np.intp)
        given = np.array(fields["decision_type"].split(), dtype=np.intp)
        children = [fields[side].split() for side in ("left_child", "right_child")]
        thresholds, decisions, words, ends = [], [], [], [0]
        for node, f in enumerate(feature.tolist()):
            if not function.is_categorical[f]:
                edges = function.values[f]
                last = cell[node] >= len(edges)
                thresholds.append(repr(_BEYOND if last else float(edges[cell[node]])))
                kind = int(function.missing[f])
                left = given[node] & _DEFAULT_LEFT if kind != NOTHING else _DEFAULT_LEFT
                decisions.append(int(left | kind << 2))
                continue
            goes_left = self.ranks[f] <= cell[node]
            if goes_left[-1]:  # what is not listed goes right
                goes_left = ~goes_left
                for_left, for_right = children[0][node], children[1][node]
                children[0][node], children[1][node] = for_right, for_left
            thresholds.append(str(len(ends) - 1))
            decisions.append(_CATEGORICAL | _NAN_MISSING)
            listed = function.values[f][goes_left[:-1]].astype(np.int64)
            bits = np.zeros(32 * (listed.max() // 32 + 1), dtype=np.uint8)
            bits[listed] = 1
            words += np.packbits(bits, bitorder="little").view("<u4").tolist()
            ends.append(len(words))
        fields["split_feature"] = _joined(feature.tolist())
        fields["threshold"], fields["decision_type"] = _joined(thresholds), _joined(decisions)
        fields["left_child"], fields["right_child"] = map(_joined, children)
        fields["num_cat"] = str(len(ends) - 1)
        if words:
            fields["cat_boundaries"], fields["cat_threshold"] = _joined(ends), _joined(words)


def _codes(
    function: ReleasedFunction,
    bins: NDArray[np.uint8],
    features: NDArray[np.intp],
    ranks: dict[int, NDArray[np.int64]],
) -> NDArray[np.float32]:
    """Return rows of cells as numbers for LightGBM."""
    codes = np.empty((bins.shape[1], len(features)), dtype=np.float32, order="F")
    for column, f in zip(codes.T, features.tolist(), strict=True):
        if f in ranks:
            column[:] = ranks[f][bins[f]]
        else:
            column[:] = bins[f]
            column[bins[f] == function.n_bins[f]] = np.nan
    return codes


def _shorter(line: str) -> str:
    return _joined(f"{float(number):.{_DIGITS}g}" for number in line.split())


def _joined(items: Any) -> str:
    return " ".join(map(str, items))
