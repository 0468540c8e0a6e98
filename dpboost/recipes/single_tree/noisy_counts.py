"""DP-TopDown for several data holders: NoisyCounts and LocalRNM.

K. Wang, T. Dick and M.-F. Balcan, "Scalable and Provably Accurate Algorithms for Differentially
Private Distributed Decision Tree Learning", 2020, the algorithm DP-TopDown with the subroutines
that they call NoisyCounts and LocalRNM. Everything that is computed comes from sums of noisy
counts and from private choices of the sites, so that the rows may lie at parties that show
neither.

Deviations, each of which makes the stated guarantee true or its noise smaller:

* NoisyCounts releases one histogram of the classes for each feature, from which all its
  thresholds are read off: the budget is divided by the number of features and not by the number
  of splits. The paper releases c_{y,h}, c_y and c_h for every split h, for 3 alpha / |H| by its
  appendix A.4 and for alpha / (3 |H|) by its proof of Theorem 15; all of them follow from one
  joint table, which costs a third of that;
* LocalRNM chooses by permute-and-flip or the exponential mechanism on unnormalized scores, and
  never by a noisy maximum. Splits on one feature share one histogram with cells between their
  borders;
* the noise of a sum is drawn once, in shares, where the sites can add up in secret; the paper
  adds it at every site, which the number of colluding sites asks for only in the worst case;
* a split is made unless its released gain is below the least one by two deviations of the noise of
  a count, over the size of the node;
* a depth is appraised at once and the best-first order is taken afterwards: what a node releases
  does not depend on when it is asked, and a depth takes one exchange of messages;
* the number of rows is the released size of the root;
* the uniform budget divides by the public depth instead of by the number of splits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree, release_leaf_counts
from dpboost.growing.class_selectors import release_sizes, row_limits
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.released_splits import keep_best
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.growing.split_finders import (
    CHOICES,
    COUNTS,
    HistogramFinder,
    LocalChoiceFinder,
    SplitFinder,
)
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import CRITERIA, Given, Setting, unchanged
from dpboost.recipes.single_tree.dp_topdown import (
    DP_TOPDOWN,
    GAIN_MARGIN,
    ChosenTopDownParameters,
    TopDownParameters,
    counted_tree,
    large_nodes,
    level_weights,
)
from dpboost.recipes.single_tree.least_epsilon import least_of_parts
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates

#: Parts of a node's budget for its size and for its split, as in the paper.
SIZE, SPLIT = Fraction(1, 2), Fraction(1, 2)


@dataclass(frozen=True, kw_only=True)
class SummedTopDown:
    """Growth by released gains from sums over parties.

    Privacy
    -------
    A depth releases the sizes of its nodes and splits of those that are large enough, once; then
    the leaves release class counts. Nodes of a depth hold disjoint rows. Tests and order see
    released numbers only.
    """

    finder: SplitFinder
    #: Part of the splits' budget for each depth.
    weights: list[Fraction]
    #: Part of the budget for the leaves.
    leaf_share: Fraction
    n_splits: int
    #: Tests on released numbers.
    target_error: float
    min_gain: float
    #: Declared.
    max_rows: int | None

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        leaf_budget, split_budget = divide(budget, (self.leaf_share, 1 - self.leaf_share))
        sizes: list[NDArray[np.float64]] = []
        priority: list[NDArray[np.float64]] = []

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            depth = int(growing.depth[nodes[0]])
            priority.append(np.zeros(len(nodes)))
            if depth == len(self.weights):
                sizes.append(np.full(len(nodes), np.nan))
                return Splits.none()
            with ledger.sequential(f"depth {depth}"):
                own = split_budget * self.weights[depth]
                splits = self._appraise(rows, nodes, sizes, own, ledger)
            priority[-1][np.isin(nodes, splits.node)] = splits.priority
            return splits

        growing = grow(propose_splits, rows.split, DepthWise())
        kept, origin = keep_best(growing, np.concatenate(priority), self.n_splits)
        counts, noise_stddev = release_leaf_counts(
            rows, origin[kept.leaves], budget=leaf_budget, ledger=ledger
        )
        found = np.concatenate(sizes)[origin]
        return GrownTree(growing=kept, counts=counts, noise_stddev=noise_stddev, sizes=found)

    def _appraise(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        sizes: list[NDArray[np.float64]],
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> Splits:
        """Release sizes of nodes, and splits of those that are large enough."""
        for_size, for_split = divide(budget, (SIZE, SPLIT))
        own, noise_stddev = release_sizes(rows, nodes, budget=for_size, ledger=ledger)
        sizes.append(own)
        large = large_nodes(own, sizes[0][0], self.target_error / self.n_splits)
        if not large.any():
            return replace(Splits.none(), priority=np.empty(0))
        found = self.finder.find(
            rows,
            nodes[large],
            row_limits(own[large], noise_stddev, self.max_rows),
            budget=for_split,
            ledger=ledger,
        )
        # A count that is wrong by a row moves a gain by about a row of the node.
        margin = GAIN_MARGIN * found.noise_stddev / own[large]
        good = found.gains > self.min_gain - margin
        return Splits.of(
            rows.candidates,
            nodes[large][good],
            found.chosen[good],
            # w J of the paper, times the number of rows.
            priority=(found.gains * own[large])[good],
        )


@dataclass(frozen=True, kw_only=True)
class LocalParameters(ChosenTopDownParameters):
    """Parameters of LocalRNM."""

    selection: str = "permute_and_flip"


def _build(setting: Setting, finder: SplitFinder) -> SingleTree:
    hyper: TopDownParameters = setting.hyper
    learner = SummedTopDown(
        finder=finder,
        weights=level_weights(hyper.depth_budget, hyper.max_depth),
        leaf_share=Fraction(str(hyper.leaf_share)) if hyper.max_depth else Fraction(1),
        n_splits=hyper.n_splits,
        target_error=hyper.target_error,
        min_gain=hyper.min_gain,
        max_rows=setting.facts.max_rows,
    )
    return counted_tree(setting, learner, Candidates.of(setting.binner))


def build_noisy_counts(setting: Setting) -> SingleTree:
    """NoisyCounts."""
    return _build(setting, HistogramFinder(measure=CRITERIA[setting.hyper.criterion]))


def build_local_rnm(setting: Setting) -> SingleTree:
    """LocalRNM."""
    hyper: LocalParameters = setting.hyper
    finder = LocalChoiceFinder(measure=CRITERIA[hyper.criterion], selection=hyper.selection)
    return _build(setting, finder)


def _levels(given: Given) -> float:
    """Return into how many parts the budget of the last depth's splits divides the whole."""
    hyper = replace(LocalParameters(), **given)
    weights = level_weights(hyper.depth_budget, max(hyper.max_depth, 1))
    return float(1 / (min(weights) * SPLIT)) / (1 - hyper.leaf_share)


def noisy_counts_parts(given: Given, n_features: int) -> float:
    """Return into how many parts NoisyCounts divides the budget, in units of a split score."""
    return _levels(given) * max(1.0, n_features / 1026)


def local_rnm_parts(given: Given, n_features: int) -> float:
    """Return into how many parts LocalRNM divides the budget, in units of a split score.

    In the tables of the chosen splits a row counts half of those units at most.
    """
    return _levels(given) / float(min(CHOICES, COUNTS))


NOISY_COUNTS = replace(
    DP_TOPDOWN,
    name="noisy_counts",
    parameters=TopDownParameters,
    defaults=unchanged(TopDownParameters),
    build=build_noisy_counts,
    least_epsilon=least_of_parts(noisy_counts_parts),
    # A depth is looked at as a whole, before the order of the splits is known.
    most_depth=12,
    needs_exact_sums=False,
)

LOCAL_RNM = replace(
    NOISY_COUNTS,
    name="local_rnm",
    parameters=LocalParameters,
    defaults=unchanged(LocalParameters),
    build=build_local_rnm,
    least_epsilon=least_of_parts(local_rnm_parts),
    weights=False,
)

# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DP-TopDown | Lemma 6 | not claimed | a rate up to constants; one histogram a feature
#   takes the place of a table for each split | -
# Numbered: DP-TopDown | Corollary 7 | not claimed | rows that Theorem 3 needs, up to constants |
#   -
# Numbered: DP-TopDown | Theorem 15 | corrected | its proof and the algorithm differ by a factor
#   9; the shares that are charged add up to alpha | oracles/test_oracles.py
# Numbered: DP-TopDown | Corollary 16 | not claimed | rows that Theorem 3 needs with several
#   holders, up to constants | -
