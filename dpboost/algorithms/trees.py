"""The recipes of single trees by name."""

from __future__ import annotations

from types import MappingProxyType

from dpboost.algorithms.best_tree import BEST_TREE
from dpboost.algorithms.dp_topdown import DP_TOPDOWN
from dpboost.algorithms.friedman_schuster import DIFFP_C45, DIFFP_ID3, SULQ_ID3
from dpboost.algorithms.noisy_counts import LOCAL_RNM, NOISY_COUNTS
from dpboost.algorithms.noisy_histograms import HISTOGRAMS, HISTOGRAMS_SAVING

TREE_ALGORITHMS = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            BEST_TREE,
            DP_TOPDOWN,
            SULQ_ID3,
            DIFFP_ID3,
            DIFFP_C45,
            NOISY_COUNTS,
            LOCAL_RNM,
            HISTOGRAMS,
            HISTOGRAMS_SAVING,
        )
    }
)

__all__ = ["TREE_ALGORITHMS"]
