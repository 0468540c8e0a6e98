"""Splits as a model text spells them: thresholds, decision types and sets of categories."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpboost._validation import InvalidParameterError
from dpboost.lightgbm.nodes import Nodes, set_sizes

if TYPE_CHECKING:
    from dpboost.data.binner import Binner

# Bits of a node's decision_type: 1 categorical, 2 missing goes left, 4 and 8 the missing type.
# What is missing (NaN, or zero and NaN) goes right or left.
_NUMERIC = {False: (8, 10), True: (4, 6)}
_CATEGORICAL = 9  # NaN is missing and goes right


@dataclass(frozen=True, kw_only=True, eq=False)
class Splits:
    """The spelled splits of all nodes.

    Parameters
    ----------
    threshold : list of str, of length ``n_nodes``
        The edge of a numeric split; the number of the set, in its tree, of a categorical one.
    decision_type : list of int, of length ``n_nodes``
        LightGBM's bits.
    n_sets : list of int, of length ``n_trees``
        Number of categorical splits of each tree.
    set_lines : list of str, of length ``n_trees``
        The lines that hold the sets of a tree's categorical splits; empty without such splits.
    """

    threshold: list[str]
    decision_type: list[int]
    n_sets: list[int]
    set_lines: list[str]


def spell_splits(nodes: Nodes, binner: Binner) -> Splits:
    """Return the splits of all nodes; every edge and every set is spelled once.

    Raises
    ------
    InvalidParameterError
        If a feature with a split has category codes that the format cannot hold.
    """
    categorical = binner.is_categorical[nodes.feature] != 0
    numeric, places = np.flatnonzero(~categorical), np.flatnonzero(categorical)
    start = np.searchsorted(places, nodes.node_start)
    n_sets = np.diff(start)
    threshold = np.empty(nodes.n_nodes, dtype=object)
    decision_type = np.full(nodes.n_nodes, _CATEGORICAL)
    threshold[numeric], decision_type[numeric] = _numeric_splits(
        nodes.feature[numeric], nodes.left_bins[numeric], binner
    )
    number_in_tree = np.arange(len(places)) - np.repeat(start[:-1], n_sets)
    threshold[places] = [str(number) for number in number_in_tree.tolist()]
    sets = _category_sets(nodes.feature[places], nodes.left_bins[places], binner)
    return Splits(
        threshold=threshold.tolist(),
        decision_type=decision_type.tolist(),
        n_sets=n_sets.tolist(),
        set_lines=[_set_lines(sets[low:high]) for low, high in zip(start, start[1:], strict=False)],
    )


def check_code(code: int, name: str) -> int:
    """Return a category code, raising unless the format can hold it."""
    if not 0 <= code < 2**31:
        raise InvalidParameterError(
            f"Category code {code} of feature {name!r} cannot be written to a LightGBM model: "
            "codes are integers from 0 to 2^31 - 1."
        )
    return code


def _numeric_splits(
    feature: NDArray[np.int32], left_bins: NDArray[np.uint64], binner: Binner
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Return the spelled thresholds and the decision types of numeric splits."""
    n_bins = binner.n_bins.astype(np.int64)
    first = np.cumsum(n_bins) - n_bins
    edges = np.empty(n_bins.sum())
    binner.find_thresholds(np.unique(feature).tolist())
    for f in np.unique(feature).tolist():
        edges[first[f] : first[f] + n_bins[f]] = binner.thresholds(f)
    missing_bin = n_bins[feature]
    word = left_bins[np.arange(len(feature)), missing_bin // 64]
    missing_left = (word >> (missing_bin % 64).astype(np.uint64) & np.uint64(1)).astype(np.int64)
    last = set_sizes(left_bins) - missing_left - 1
    # 17 digits give back the same double, so a value on the edge goes left in both.
    used, number = np.unique(edges[first[feature] + last], return_inverse=True)
    spelled = np.array([f"{edge:.17g}" for edge in used.tolist()], dtype=object)
    return spelled[number], np.array(_NUMERIC[binner.zero_as_missing])[missing_left]


def _category_sets(
    feature: NDArray[np.int32], left_bins: NDArray[np.uint64], binner: Binner
) -> list[list[str]]:
    """Return the spelled 32-bit words of each set of category codes."""
    codes = {
        f: [check_code(code, binner.feature_names[f]) for code in binner.category_codes(f).tolist()]
        for f in np.unique(feature).tolist()
    }

    @cache
    def spelled(f: int, *words: int) -> list[str]:
        return _spell_set(codes[f], sum(word << 64 * place for place, word in enumerate(words)))

    return [*map(spelled, feature.tolist(), *left_bins.T.tolist())]


def _spell_set(codes: list[int], left_bins: int) -> list[str]:
    """Spell the words of the codes of some categories, given as a set of bins."""
    if codes == [*range(len(codes))]:
        bits = left_bins & ((1 << len(codes)) - 1)
    else:
        bits = 0
        for split_bin, code in enumerate(codes):
            if left_bins >> split_bin & 1:
                bits |= 1 << code
    n_words = max(1, -(-bits.bit_length() // 32))
    words = struct.unpack(f"<{n_words}I", bits.to_bytes(4 * n_words, "little"))
    return [*map(str, words)]


def _set_lines(sets: Sequence[Sequence[str]]) -> str:
    if not sets:
        return ""
    boundaries = " ".join(map(str, accumulate(map(len, sets), initial=0)))
    words = " ".join([word for words in sets for word in words])
    return f"cat_boundaries={boundaries}\ncat_threshold={words}\n"
