"""The recipes of single trees by name."""

from __future__ import annotations

from types import MappingProxyType

from dpboost.recipes.single_tree.best import BEST_TREE
from dpboost.recipes.single_tree.dp_topdown import DP_TOPDOWN
from dpboost.recipes.single_tree.friedman_schuster import DIFFP_C45, DIFFP_ID3, SULQ_ID3
from dpboost.recipes.single_tree.noisy_counts import LOCAL_RNM, NOISY_COUNTS
from dpboost.recipes.single_tree.noisy_histograms import HISTOGRAMS, HISTOGRAMS_SAVING

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
