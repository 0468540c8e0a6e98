"""Our own single tree: few levels, one private choice for each, leaves shrunk by their noise.

Made of the parts of the other recipes: all thresholds and single categories are candidates of one
choice, nothing is spent on sizes or stopping, and a leaf that holds little says what the node
above it says, so that the depth hardly matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree, ShrunkenProbability, release_leaf_counts
from dpboost.growing.class_selectors import JointChoice, SplitSelector
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.privacy.budget import split_tree
from dpboost.privacy.exact_arithmetic import PrivacyCost, pure_epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.sensitivity.impurities import LEAST_ROWS, MOST_ROWS
from dpboost.recipes.tree_recipe import CRITERIA, TreeFacts, TreeHyperparameters, TreeRecipe
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates

USED = frozenset({"max_depth", "criterion", "max_bin", "selection", "leaf_share"})


@dataclass(frozen=True, kw_only=True)
class DepthWiseBudgets:
    """Split every node of every level, down to a public depth.

    Parameters
    ----------
    chooser : SplitSelector
    max_depth : int
    leaf_share : Fraction
        Part of the budget for the leaves; the levels share the rest equally.
    row_limit : int
        Clip of the impurities of all nodes.

    Privacy
    -------
    One array of splits a level and one of leaf counts. A row is in one node of each level and in
    one leaf: levels and leaves add up, nodes of a level do not.
    """

    chooser: SplitSelector
    max_depth: int
    leaf_share: Fraction
    row_limit: int

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        levels = iter(shares.levels)
        candidates = rows.candidates

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            level = next(levels, None)
            if level is None:
                return Splits.none()
            chosen = self.chooser.choose(
                rows,
                nodes,
                np.full(len(nodes), self.row_limit, dtype=np.int64),
                np.ones((len(nodes), candidates.n_features), dtype=bool),
                epsilon=pure_epsilon(level),
                ledger=ledger,
            )
            feature = candidates.features_of(chosen)
            return Splits(
                node=nodes,
                feature=feature,
                split_bin=candidates.split_bins(chosen),
                n_branches=candidates.n_branches(feature),
            )

        growing = grow(propose_splits, rows.split, DepthWise())
        counts, noise_stddev = release_leaf_counts(
            rows, growing.leaves, epsilon=pure_epsilon(shares.leaves), ledger=ledger
        )
        return GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev)


def depth_rule(information: float) -> int:
    """Return the depth for a released number of rows times epsilon."""
    steps = (200.0, 1_000.0, 6_000.0, 12_000.0, 24_000.0, 64_000.0, 160_000.0)
    return 1 + sum(information >= step for step in steps)


def defaults(facts: TreeFacts) -> TreeHyperparameters:
    """Return the rules for everything that the user leaves open."""
    assert facts.n_rows is not None
    return TreeHyperparameters(
        max_depth=depth_rule(facts.n_rows * min(facts.epsilon, 100.0)),
        criterion="gini",
        max_bin=64,
        selection="permute_and_flip",
        leaf_share=0.2,
    )


def build(hyper: TreeHyperparameters, facts: TreeFacts) -> DepthWiseBudgets:
    """Our single tree for filled hyper-parameters."""
    assert hyper.max_depth is not None
    assert hyper.criterion is not None
    assert hyper.selection is not None
    assert hyper.leaf_share is not None
    assert facts.n_rows is not None
    return DepthWiseBudgets(
        chooser=JointChoice(measure=CRITERIA[hyper.criterion], selection=hyper.selection),
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        row_limit=max(LEAST_ROWS, min(int(facts.n_rows) + 1, MOST_ROWS)),
    )


def parts(hyper: TreeHyperparameters, n_features: int) -> float:
    """Return into how many parts the smallest release divides the budget."""
    leaf_share = 0.2 if hyper.leaf_share is None else hyper.leaf_share
    return 1.1 * max(12 if hyper.max_depth is None else hyper.max_depth, 1) / (1 - leaf_share)


BEST_TREE = TreeRecipe(
    name="best",
    criteria=("gini", "max", "entropy", "root_gini"),
    used=USED,
    max_bin=64,
    defaults=defaults,
    candidates=Candidates.of,
    build=build,
    parts=parts,
    probability=ShrunkenProbability(),
    rows_share=Fraction(1, 50),
)
