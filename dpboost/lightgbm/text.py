"""LightGBM's model text (v4) of an ensemble, from released and public values only."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dpboost._validation import InvalidParameterError, refuse
from dpboost.lightgbm.counts import leaf_counts
from dpboost.lightgbm.footer import pandas_line, parameter_lines, report_line

if TYPE_CHECKING:
    from dpboost.boosting.ensemble import Ensemble
    from dpboost.data.binner import Binner
    from dpboost.tree.structure import Tree

# Bits of a node's decision_type: 1 categorical, 2 missing goes left, 4 and 8 the missing type.
# What is missing (NaN, or zero and NaN) goes right or left.
_NUMERIC = {False: ("8", "10"), True: ("4", "6")}
_CATEGORICAL = "9"  # NaN is missing and goes right
_LARGEST_EXACT = 2**53
_JSON_CHARACTERS = frozenset('",:[]{}\\')


def model_text(ensemble: Ensemble, *, parameters: Mapping[str, Any] | None = None) -> str:
    """Return the ensemble as a model text that every LightGBM 4 loads.

    The start values are folded into the leaves of the first round, as LightGBM itself does, so
    the text has as many trees as the ensemble (one for each output, if the ensemble has none).
    All leaf values are multiples of one power of two, hence exact doubles, and so is every
    partial sum of them.

    Parameters
    ----------
    ensemble : Ensemble
        What training has released.
    parameters : mapping of str to str, int, float or bool, optional
        Public training parameters by LightGBM's canonical names, for the file's footer. Paths
        and seeds are refused.

    Returns
    -------
    str
        The text, ASCII but for feature names and the objective.

    Raises
    ------
    InvalidParameterError
        If a feature name, a parameter, a category or a value cannot be written in the format.

    Privacy
    -------
    Post-processing: every number of the text is released, public, or computed from such.
    Counts are the released ones, or shares of the public bin grid where none were released;
    gains are 1; feature_infos hold declared ranges and categories.
    """
    binner = ensemble.binner
    names = feature_names(binner.feature_names)
    writer = _TreeWriter(binner, ensemble.unit)
    starts = [_start_units(start, ensemble.unit) for start in ensemble.start]
    blocks = [
        writer.block(number, tree, starts[number] if number < len(starts) else 0)
        for number, tree in enumerate(ensemble.trees)
    ] or [
        _single_leaf(number, _exact(start, ensemble.unit), 1) for number, start in enumerate(starts)
    ]
    header = _header(ensemble, names, [len(block) for block in blocks])
    base = {"boosting": "gbdt", "objective": (ensemble.objective.split() or ["custom"])[0]}
    return (
        f"{header}\n{''.join(blocks)}end of trees\n\n"
        f"feature_importances:\n{_importances(ensemble.trees, names)}\n"
        f"parameters:\n{parameter_lines({**base, **(parameters or {})})}\nend of parameters\n\n"
        f"{report_line(ensemble.report)}\n\n{pandas_line(binner.pandas_categories())}\n"
    )


def check_writable(
    binner: Binner, *, objective: str = "", parameters: Mapping[str, Any] | None = None
) -> None:
    """Raise unless models over these bins can be written: to be called before a budget is spent.

    Parameters
    ----------
    binner : Binner
        The public bins.
    objective : str
        LightGBM's objective string.
    parameters : mapping, optional
        As in `model_text`.

    Raises
    ------
    InvalidParameterError
        As `model_text` would.
    """
    feature_names(binner.feature_names)
    for f in range(binner.n_features):
        if binner.is_categorical[f]:
            for code in binner.category_codes(f).tolist():
                _check_code(code, binner.feature_names[f])
    _check_objective(objective)
    parameter_lines(parameters or {})
    pandas_line(binner.pandas_categories())


def feature_names(names: Sequence[str]) -> list[str]:
    """Return the names as the format can hold them: blanks become ``_``, as in LightGBM.

    Raises
    ------
    InvalidParameterError
        For characters that break the format or LightGBM's JSON dump, and for names that are
        empty or the same.
    """
    written = []
    for name in names:
        safe = str(name).replace(" ", "_")
        bad = sorted(c for c in set(safe) if c in _JSON_CHARACTERS or not c.isprintable())
        if bad or not safe:
            raise InvalidParameterError(
                f"The feature name {name!r} cannot be written to a LightGBM model. Rename the "
                "feature without " + (", ".join(map(repr, bad)) if bad else "an empty name") + "."
            )
        written.append(safe)
    twice = [name for name, times in Counter(written).items() if times > 1]
    if twice:
        raise InvalidParameterError(
            f"The feature name {twice[0]!r} appears more than once (LightGBM writes blanks as "
            "'_'). Rename the features."
        )
    return written


def _check_objective(objective: str) -> str:
    if not re.fullmatch(r"[a-z0-9_:. +-]*", objective):
        raise refuse("objective", "the model text", "a LightGBM objective string", objective)
    return objective


def _check_code(code: int, name: str) -> int:
    if not 0 <= code < 2**31:
        raise InvalidParameterError(
            f"Category code {code} of feature {name!r} cannot be written to a LightGBM model: "
            "codes are integers from 0 to 2^31 - 1."
        )
    return code


def _header(ensemble: Ensemble, names: Sequence[str], tree_sizes: Sequence[int]) -> str:
    binner = ensemble.binner
    objective = _check_objective(ensemble.objective)
    infos = " ".join(binner.feature_info(f) for f in range(len(names)))
    return (
        f"tree\nversion=v4\nnum_class={len(ensemble.start)}\n"
        f"num_tree_per_iteration={len(ensemble.start)}\nlabel_index=0\n"
        f"max_feature_idx={len(names) - 1}\n"
        + (f"objective={objective}\n" if objective else "")
        + f"feature_names={' '.join(names)}\nfeature_infos={infos}\n"
        f"tree_sizes={' '.join(map(str, tree_sizes))}\n"
    )


def _importances(trees: Sequence[Tree], names: Sequence[str]) -> str:
    """Count the splits on each feature, most used first: informative, LightGBM never reads it."""
    used = np.zeros(len(names), dtype=np.int64)
    for tree in trees:
        used += np.bincount(tree.feature, minlength=len(names))
    order = np.argsort(-used, kind="stable")
    return "".join(f"{names[f]}={used[f]}\n" for f in order if used[f])


def _start_units(start: float, unit: float) -> int:
    if not (unit > 0 and math.isfinite(unit) and math.frexp(unit)[0] == 0.5):
        raise refuse("unit", "the ensemble", "a power of two", unit)
    units = start / unit
    if not (abs(units) <= _LARGEST_EXACT and units == int(units)):
        raise refuse("start", "the ensemble", f"a multiple of the unit {unit!r}", start)
    return int(units)


def _exact(value: int, unit: float) -> float:
    """Return the double of a leaf value in units, refusing to round it."""
    if abs(value) > _LARGEST_EXACT:
        raise refuse("leaf_value", "the ensemble", "at most 2^53 units in size", value)
    return value * unit


def _single_leaf(number: int, value: float, count: int) -> str:
    return (
        f"Tree={number}\nnum_leaves=1\nnum_cat=0\nsplit_feature=\nsplit_gain=\nthreshold=\n"
        f"decision_type=\nleft_child=\nright_child=\nleaf_value={value:.17g}\nleaf_weight=\n"
        f"leaf_count={count}\ninternal_value=\ninternal_weight=\ninternal_count=\nis_linear=0\n"
        "shrinkage=1\n\n\n"
    )


class _TreeWriter:
    """Write trees over one binner; thresholds and category bit sets are spelled once."""

    def __init__(self, binner: Binner, unit: float) -> None:
        self.binner = binner
        self.unit = unit
        self.categorical = [bool(flag) for flag in binner.is_categorical]
        self.threshold: Callable[[int], list[str]] = lru_cache(maxsize=None)(self._thresholds)
        self.bit_set: Callable[[int, int], list[str]] = lru_cache(maxsize=None)(self._bit_set)
        self.n_bins = [int(n) for n in binner.n_bins]
        self.numeric = _NUMERIC[binner.zero_as_missing]

    def _thresholds(self, feature: int) -> list[str]:
        # 17 digits give back the same double, so a value on the edge goes left in both.
        return [f"{edge:.17g}" for edge in self.binner.thresholds(feature).tolist()]

    def _bit_set(self, feature: int, left_bins: int) -> list[str]:
        """Spell the 32-bit words of the codes of some categories, given as a set of bins."""
        codes = self.binner.category_codes(feature)
        bits = 0
        for split_bin in range(self.n_bins[feature]):
            if left_bins >> split_bin & 1:
                code = _check_code(int(codes[split_bin]), self.binner.feature_names[feature])
                bits |= 1 << code
        n_words = max(1, -(-bits.bit_length() // 32))
        return [str(bits >> 32 * word & 0xFFFFFFFF) for word in range(n_words)]

    def block(self, number: int, tree: Tree, start: int) -> str:
        """Return one tree's block; ``start`` (in units) is added to its leaves."""
        values = [_exact(value + start, self.unit) for value in tree.leaf_value.tolist()]
        counts = leaf_counts(tree, self.binner)
        if tree.n_nodes == 0:
            return _single_leaf(number, values[0], counts[0])
        threshold, decisions, boundaries, words = self._splits(tree)
        node_counts, node_values = _node_sums(tree, counts, values)
        spelled_counts = _join(counts)
        gains = " ".join(["1"] * tree.n_nodes)
        categories = (
            f"cat_boundaries={_join(boundaries)}\ncat_threshold={' '.join(words)}\n"
            if words
            else ""
        )
        return (
            f"Tree={number}\nnum_leaves={tree.n_leaves}\nnum_cat={len(boundaries) - 1}\n"
            f"split_feature={_join(tree.feature.tolist())}\nsplit_gain={gains}\n"
            f"threshold={' '.join(threshold)}\ndecision_type={' '.join(decisions)}\n"
            f"left_child={_join(tree.left.tolist())}\nright_child={_join(tree.right.tolist())}\n"
            f"leaf_value={' '.join(f'{value:.17g}' for value in values)}\n"
            f"leaf_weight={spelled_counts}\nleaf_count={spelled_counts}\n"
            f"internal_value={' '.join(f'{value:g}' for value in node_values)}\n"
            f"internal_weight={' '.join(f'{count:g}' for count in node_counts)}\n"
            f"internal_count={_join(node_counts)}\n{categories}is_linear=0\nshrinkage=1\n\n\n"
        )

    def _splits(self, tree: Tree) -> tuple[list[str], list[str], list[int], list[str]]:
        """Spell the splits: thresholds, decisions, and the bit sets of categorical ones."""
        threshold: list[str] = []
        decisions: list[str] = []
        boundaries, words = [0], []
        for feature, left_bins in zip(tree.feature.tolist(), tree.sets(), strict=True):
            if self.categorical[feature]:
                threshold.append(str(len(boundaries) - 1))
                decisions.append(_CATEGORICAL)
                words += self.bit_set(feature, left_bins)
                boundaries.append(len(words))
            else:
                missing = 1 << self.n_bins[feature]
                last = (left_bins & (missing - 1)).bit_count() - 1
                threshold.append(self.threshold(feature)[last])
                decisions.append(self.numeric[bool(left_bins & missing)])
        return threshold, decisions, boundaries, words


def _node_sums(
    tree: Tree, counts: Sequence[int], values: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Return each node's count and the count-weighted mean of its leaves, children first."""
    left, right = tree.left.tolist(), tree.right.tolist()
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [child for child in (left[node], right[node]) if child >= 0]
    node_counts, node_values = [0] * tree.n_nodes, [0.0] * tree.n_nodes
    for node in reversed(order):
        total, weighted = 0, 0.0
        for child in (left[node], right[node]):
            count = counts[~child] if child < 0 else node_counts[child]
            value = values[~child] if child < 0 else node_values[child]
            total += count
            weighted += count * value
        node_counts[node], node_values[node] = total, weighted / total
    return node_counts, node_values


def _join(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
