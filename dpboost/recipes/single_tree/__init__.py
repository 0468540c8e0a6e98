"""The single-tree recipes by name, for classification and for regression."""

from __future__ import annotations

from dpboost.recipes.recipe import Registry
from dpboost.recipes.single_tree.best_tree import BEST_NUMBER_TREE, BEST_TREE
from dpboost.recipes.single_tree.dp_topdown import DP_TOPDOWN
from dpboost.recipes.single_tree.friedman_schuster import DIFFP_C45, DIFFP_ID3, SULQ_ID3
from dpboost.recipes.single_tree.noisy_counts import LOCAL_RNM, NOISY_COUNTS
from dpboost.recipes.single_tree.noisy_histograms import HISTOGRAMS, HISTOGRAMS_SAVING

TREE_ALGORITHMS = Registry(
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
NUMBER_TREE_ALGORITHMS = Registry(BEST_NUMBER_TREE)

__all__ = ["NUMBER_TREE_ALGORITHMS", "TREE_ALGORITHMS"]
