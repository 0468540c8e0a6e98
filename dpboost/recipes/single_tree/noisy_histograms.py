"""Federated private histograms, without and with budget saving.

H. Gubler, "Secure and Interpretable: Federated Differentially Private Decision Trees", EPFL 2023,
Algorithm 5 and its form with the node splitting of Algorithm 6. Everything that is computed comes
from noisy sums over the sites.

Deviations, each of which makes the stated guarantee true or its noise smaller:

* the bounds of the impurity come from the same rows for all p features, and their noise is scaled
  by p. Algorithm 6 scales it by the sensitivity of a single one, so that a node spends its bounds'
  budget p times; the constant for each feature is 1 instead of 5/4 (``privacy.impurities``);
* features are visited in growing groups in the order of their bounds, and a depth at once, so
  that a depth takes few exchanges of messages instead of one for each node and feature;
* a feature is dropped when its bound exceeds the impurity of the best split in rows, which is
  what Theorem 7 compares; impurity times the rows of another feature's histogram is not;
* with saving, a node stays a leaf only when the histograms of all features say so: those of the
  few that were visited are easily outvoted by noise;
* the tables of a node are made to agree before cells are added up: no cell below zero, and one
  total (``growing.released_splits.consistent_tables``). Printed are sums of the noisy cells, of
  which a class with a negative sum makes a branch look pure;
* what a leaf's path has not spent is added to its class counts (with saving);
* missing values have a bin of their own, and categories are split one against the rest.

With saving almost every node has a budget of its own: 2,600 releases for a tree of depth 10 of 250
rows and ten features. It takes 0.3 to 0.4 s of one processor, six to nine times as long as a tree
without.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree, release_leaf_counts
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.histogram_saving import SavedHistograms
from dpboost.growing.released_splits import (
    best_candidates,
    split_purity,
    worth_splitting,
)
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.privacy.exact_arithmetic import PrivacyCost, split_tree
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.impurities import BOUND_UNITS_PER_ROW, Impurity
from dpboost.recipes.dpboost import pure_accountant
from dpboost.recipes.recipe import (
    CRITERIA,
    DIRECTIONS,
    Given,
    Parameters,
    Recipe,
    Setting,
    unchanged,
)
from dpboost.recipes.single_tree.dp_topdown import counted_tree
from dpboost.recipes.single_tree.least_epsilon import least_of_parts
from dpboost.rows.class_queries import MOST_CLASSES
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates


@dataclass(frozen=True, kw_only=True)
class HistogramParameters(Parameters):
    """Parameters of Algorithm 5, with the values of the thesis."""

    max_depth: int = 5
    criterion: str = "gini"
    max_bin: int = 10
    leaf_share: float = 0.5
    min_rows: int = 10


@dataclass(frozen=True, kw_only=True)
class SavingParameters(HistogramParameters):
    """Parameters of Algorithm 6, with the values of the thesis."""

    bounds_share: float = 0.25


@dataclass(frozen=True, kw_only=True)
class WholeHistograms:
    """Histograms of all features at every node: Algorithm 5.

    Privacy
    -------
    One array of histograms a level and one of leaf counts. A row is in one node of each level, in
    one cell of each feature and in one leaf: features, levels and leaves add up.
    """

    measure: Impurity
    max_depth: int
    #: Part of the budget for the leaves; the levels share the rest equally.
    leaf_share: Fraction
    #: Nodes of fewer rows by all of their histograms stay leaves.
    min_rows: int

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        levels = iter(shares.levels)
        candidates = rows.candidates

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            level = next(levels, None)
            if level is None:
                return Splits.none()
            noise = ledger.accountant.noise(level)
            histograms = ledger.release(noise, rows.histograms(nodes), label="class counts")
            released = histograms / rows.row_units
            sums = np.add.reduceat(released, candidates.cell_offsets[:-1], axis=1)
            chosen, purity = best_candidates(
                released,
                candidates,
                lambda left, right: split_purity(self.measure, left, right),
            )
            go = worth_splitting(sums, self.min_rows) & (purity > -np.inf)
            return Splits.of(candidates, nodes[go], chosen[go])

        growing = grow(propose_splits, rows.split, DepthWise())
        counts, noise_stddev = release_leaf_counts(
            rows, growing.leaves, budget=shares.leaves, ledger=ledger
        )
        return GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev)


def build_histograms(setting: Setting) -> SingleTree:
    """Algorithm 5."""
    hyper: HistogramParameters = setting.hyper
    learner = WholeHistograms(
        measure=CRITERIA[hyper.criterion],
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        min_rows=hyper.min_rows,
    )
    return counted_tree(setting, learner, Candidates.of(setting.binner))


def build_saving(setting: Setting) -> SingleTree:
    """Algorithm 6."""
    hyper: SavingParameters = setting.hyper
    learner = SavedHistograms(
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        bounds_share=Fraction(str(hyper.bounds_share)),
        min_rows=hyper.min_rows,
    )
    return counted_tree(setting, learner, Candidates.of(setting.binner))


def parts(given: Given, n_features: int) -> float:
    """Return into how many parts the budget is divided at most, in units of a split score."""
    hyper = replace(SavingParameters(), **given)
    levels = max(hyper.max_depth, 1) / (1 - hyper.leaf_share)
    bounds = (BOUND_UNITS_PER_ROW + 1) / hyper.bounds_share
    return max(
        levels * n_features * max(bounds, 1 / (1 - hyper.bounds_share)) / 1026,
        1 / hyper.leaf_share / 1026,
    )


HISTOGRAMS = Recipe(
    name="histograms",
    parameters=HistogramParameters,
    choices={"criterion": ("gini", "entropy", "max", "root_gini")},
    max_bin=10,
    accountant=pure_accountant,
    defaults=unchanged(HistogramParameters),
    build=build_histograms,
    least_epsilon=least_of_parts(parts),
    constraints=DIRECTIONS,
    tasks=frozenset({"classification"}),
    single=True,
    most_classes=MOST_CLASSES,
    weights=True,
    needs_exact_sums=False,
)

HISTOGRAMS_SAVING = replace(
    HISTOGRAMS,
    name="histograms_saving",
    parameters=SavingParameters,
    choices={"criterion": ("gini",)},
    defaults=unchanged(SavingParameters),
    build=build_saving,
    weights=False,
)

# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: Gubler | Algorithm 2 | not shipped | the split without privacy, which the thesis
#   compares with | oracles/test_oracles.py
# Numbered: Gubler | Algorithm 3 | as printed | one histogram a feature and node |
#   oracles/test_oracles.py
# Numbered: Gubler | Lemma 3.1 | as printed | one release of the ledger |
#   unit/recipes/single_tree/test_noisy_histograms.py
# Numbered: Gubler | Algorithm 4 | corrected | bounds of all features together, in units of the
#   shipped constant | oracles/test_oracles.py
# Numbered: Gubler | Algorithm 5 | corrected | cells are cut at zero before they are added up |
#   oracles/test_oracles.py
# Numbered: Gubler | Theorem 6 | as printed | the sum of the ledger |
#   unit/recipes/single_tree/test_noisy_histograms.py
# Numbered: Gubler | Algorithm 6 | corrected | as printed it spends p times its budget for bounds
#   | oracles/test_oracles.py
