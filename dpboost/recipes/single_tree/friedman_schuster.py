"""SuLQ-ID3, DiffPID3 and DiffPC4.5.

A. Friedman and A. Schuster, "Data Mining with Differential Privacy", KDD 2010, Algorithms 1 to 3.

Deviations, each of which makes the stated guarantee true or its noise smaller:

* a depth is processed at once: its nodes are disjoint, so the order makes no difference;
* the exponential mechanism divides by the range of the monotone scores, half of what the paper
  takes (``privacy.impurities``);
* information gain is clipped by the released size of the node, in the place of a bound on the
  size of the table, which would have to be true;
* numeric features have the cells of a public grid of at most 255 equal bins, over which the
  exponential mechanism of DiffPC4.5 draws as over their ranges; by default one draw serves all
  features, for which the paper pays n + 1 times;
* missing values are a branch of their own;
* under the replace relation every constant is doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.class_leaves import CountedProbability, GrownTree, release_leaf_counts
from dpboost.growing.class_selectors import (
    ChoicePerFeature,
    JointChoice,
    NoisyCountChoice,
    SplitSelector,
    numeric_features,
    release_sizes,
    row_limits,
)
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.pruning import prune
from dpboost.privacy.exact_arithmetic import Epsilon, PrivacyCost, pure_epsilon
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.tree_recipe import CRITERIA, TreeFacts, TreeHyperparameters, TreeRecipe
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import MULTIWAY, Candidates

DEFAULTS = TreeHyperparameters(
    max_depth=5,
    criterion="max",
    max_bin=10,
    selection="exponential",
    prune=False,
)


@dataclass(frozen=True, kw_only=True)
class TopDownInduction:
    """Level by level, with a stopping rule on released sizes.

    Parameters
    ----------
    chooser : SplitSelector
        Chooses the splits of a depth.
    draws : int
        Releases of full price in a choice.
    max_depth : int
    max_rows : int or None
        Declared.
    pruned : bool
        Whether the tree is pruned by its released counts.

    Privacy
    -------
    A row is in one node of each depth and in one leaf. With d levels of splits the budget is
    divided into (1 + draws) d + 2 equal parts: sizes and choices of a depth, sizes of the last
    one, and class counts of the leaves. All nodes of a depth are one release.
    """

    chooser: SplitSelector
    draws: int
    max_depth: int
    max_rows: int | None
    pruned: bool

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        part = pure_epsilon(budget) / Fraction((1 + self.draws) * self.max_depth + 2)
        sizes: list[NDArray[np.float64]] = []

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            depth = int(growing.depth[nodes[0]])
            with ledger.sequential(f"depth {depth}"):
                own, noise_stddev = release_sizes(rows, nodes, epsilon=part, ledger=ledger)
                sizes.append(own)
                if depth == self.max_depth:
                    return Splits.none()
                return self._splits(rows, nodes, growing, own, noise_stddev, part, ledger)

        growing = grow(propose_splits, rows.split, DepthWise())
        counts, noise_stddev = release_leaf_counts(
            rows, growing.leaves, epsilon=part, ledger=ledger
        )
        tree = GrownTree(
            growing=growing, counts=counts, noise_stddev=noise_stddev, sizes=np.concatenate(sizes)
        )
        return prune(tree) if self.pruned else tree

    def _splits(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        growing: GrowingTree,
        sizes: NDArray[np.float64],
        noise_stddev: float,
        part: Epsilon,
        ledger: Ledger,
    ) -> Splits:
        """Release splits of the nodes that are large enough."""
        candidates = rows.candidates
        # A feature that has split into all its bins has nothing left to say below.
        above = growing.features_above(nodes, candidates.n_features)
        offered = ~(above & (candidates.kinds == MULTIWAY))
        arity = np.where(
            candidates.kinds == MULTIWAY, candidates.n_bins, np.minimum(candidates.n_bins, 2)
        ).max()
        # Deviation of the noise is sqrt(2) / epsilon: the rule N / (t |C|) < sqrt(2) / epsilon.
        least = max(noise_stddev * float(arity) * rows.n_classes, 1.0)
        go = (sizes >= least) & offered.any(axis=1)
        if not go.any():
            return Splits.none()
        chosen = self.chooser.choose(
            rows,
            nodes[go],
            row_limits(sizes[go], noise_stddev, self.max_rows),
            offered[go],
            epsilon=part,
            ledger=ledger,
        )
        feature = candidates.features_of(chosen)
        return Splits(
            node=nodes[go],
            feature=feature,
            split_bin=candidates.split_bins(chosen),
            n_branches=candidates.n_branches(feature),
        )


def multiway(binner: Binner) -> Candidates:
    """Split every feature into all its bins."""
    return Candidates.of(binner, multiway=True, thresholds=False)


def mixed(binner: Binner) -> Candidates:
    """Split nominal features into their categories and numeric ones by thresholds."""
    return Candidates.of(binner, multiway=True, thresholds=True)


def _build(
    chooser: SplitSelector, draws: int, hyper: TreeHyperparameters, facts: TreeFacts
) -> TopDownInduction:
    assert hyper.max_depth is not None
    assert hyper.prune is not None
    return TopDownInduction(
        chooser=chooser,
        draws=draws,
        max_depth=hyper.max_depth,
        max_rows=facts.max_rows,
        pruned=hyper.prune,
    )


def build_sulq(hyper: TreeHyperparameters, facts: TreeFacts) -> TopDownInduction:
    """SuLQ-ID3 for filled hyper-parameters."""
    assert hyper.criterion is not None
    return _build(NoisyCountChoice(measure=CRITERIA[hyper.criterion]), 1, hyper, facts)


def build_id3(hyper: TreeHyperparameters, facts: TreeFacts) -> TopDownInduction:
    """DiffPID3 for filled hyper-parameters."""
    assert hyper.criterion is not None
    assert hyper.selection is not None
    chooser = JointChoice(measure=CRITERIA[hyper.criterion], selection=hyper.selection)
    return _build(chooser, 1, hyper, facts)


def build_c45(hyper: TreeHyperparameters, facts: TreeFacts) -> TopDownInduction:
    """DiffPC4.5 for filled hyper-parameters."""
    if hyper.threshold_draws == "joint":
        return build_id3(hyper, facts)
    assert hyper.criterion is not None
    assert hyper.selection is not None
    chooser = ChoicePerFeature(measure=CRITERIA[hyper.criterion], selection=hyper.selection)
    draws = 1 + len(numeric_features(facts.candidates))
    return _build(chooser, draws, hyper, facts)


def parts(defaults: TreeHyperparameters, hyper: TreeHyperparameters, n_features: int) -> float:
    """Return into how many parts the smallest release divides the budget at most."""
    filled = hyper.filled(defaults)
    assert filled.max_depth is not None
    draws = 1 + n_features if filled.threshold_draws == "per_feature" else 1
    # Of SuLQ-ID3 a feature gets half of a part divided by their number, but whole counts.
    return (1 + draws) * filled.max_depth + 2 + 2 * n_features / 1026


def sulq_parts(hyper: TreeHyperparameters, n_features: int) -> float:
    """Return into how many parts SuLQ-ID3 divides the budget, in units of a split score."""
    return max(1.0, 2 * n_features / 1026) * parts(SULQ_DEFAULTS, hyper, n_features)


SULQ_DEFAULTS = replace(DEFAULTS, selection=None)
C45_DEFAULTS = replace(DEFAULTS, max_bin=255, threshold_draws="joint", prune=True)

DIFFP_ID3 = TreeRecipe(
    name="diffp_id3",
    criteria=("max", "gini", "entropy"),
    used=frozenset(DEFAULTS.given()),
    max_bin=10,
    defaults=lambda facts: DEFAULTS,
    candidates=multiway,
    build=build_id3,
    parts=partial(parts, DEFAULTS),
    probability=CountedProbability(),
)

SULQ_ID3 = replace(
    DIFFP_ID3,
    name="sulq_id3",
    used=frozenset(SULQ_DEFAULTS.given()),
    defaults=lambda facts: SULQ_DEFAULTS,
    build=build_sulq,
    parts=sulq_parts,
    sums_alone=True,
)

DIFFP_C45 = replace(
    DIFFP_ID3,
    name="diffp_c45",
    used=frozenset(C45_DEFAULTS.given()),
    max_bin=255,
    defaults=lambda facts: C45_DEFAULTS,
    candidates=mixed,
    build=build_c45,
    parts=partial(parts, C45_DEFAULTS),
)
