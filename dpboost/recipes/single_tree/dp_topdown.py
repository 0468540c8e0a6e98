"""DP-TopDown for one machine: best-first growth from a queue of released gains.

K. Wang, T. Dick and M.-F. Balcan, "Scalable and Provably Accurate Algorithms for Differentially
Private Distributed Decision Tree Learning", 2020, the algorithm DP-TopDown with the subroutine
that they call SingleMachine.

Deviations, each of which makes the stated guarantee true or its noise smaller:

* a split is chosen by the exponential mechanism or permute-and-flip on unnormalized, monotone
  scores, and the gain of the chosen split is a separate release. The paper's noisy maximum
  returns index and value for the price of the index, which costs up to k / 2 times its budget
  for k candidates;
* a split is made unless its released gain is below the minimum by more than two standard deviations
  of its noise: the paper tests the largest of all noisy gains, which is rarely small;
* the noise is scaled by a released size of the node instead of the private one;
* the size of the root is released as well: the paper assumes a public number of rows, which is
  private under the add/remove relation;
* root-Gini has the sensitivity 2 sqrt(N) that holds (``privacy.impurities``);
* leaves release noisy class counts instead of the noisy maximum of the class counts. Counts move
  one way with a row: the noisy maximum takes the noise of the counts themselves, and has the law
  of the largest of them. A leaf without a count above zero takes the class of the node above.
  Labels alone are no option: on Adult those of the paper are never better, those of
  permute-and-flip by .0003 where leaves get half of the budget and .013 where they get .005 of it
  at most (``tests.oracles.leaf_labels``), and neither has probabilities;
* a depth whose part of the budget has no exact sampler is not split: with a budget that halves
  with each depth, the 16th from the root on at epsilon 0.125, the 19th at 1, the 25th at 64.

What the user leaves open: a shallow tree whose depths share the budget equally, a tenth of it in
the leaves. ``preset="paper"`` brings back the values of the paper's experiments: 512 splits and no
other cap on the depth, and a budget that halves with each depth, which leaves almost nothing for
the lower ones of a deep tree. On Adult (29,304 rows, one thread) such a fit takes 0.3 s at
epsilon 0.125 and 2.2 s at 512, with 14 to 22 depths and at most 1,025 nodes; the process has
291 MB, the table included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import CountedProbability, GrownTree, release_leaf_counts
from dpboost.growing.class_selectors import release_sizes, row_limits
from dpboost.growing.frontier import BestFirst
from dpboost.growing.grower import grow
from dpboost.growing.monotone_leaves import MonotoneLeaves
from dpboost.growing.selectors import SELECTIONS
from dpboost.growing.single_tree_growth import ClassResponse, SingleTree, TreeLearner
from dpboost.privacy.exact_arithmetic import PrivacyCost, divide
from dpboost.privacy.ledger import Disjoint, Ledger
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.recipes.dpboost import pure_accountant
from dpboost.recipes.recipe import (
    CRITERIA,
    DIRECTIONS,
    Given,
    Parameters,
    PublicFacts,
    Recipe,
    Setting,
    Terms,
)
from dpboost.recipes.single_tree.least_epsilon import least_of_parts
from dpboost.rows.class_queries import MOST_CLASSES
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates

#: Parts of a node's budget: half for its size, as in the paper, and half for its split, which
#: here is a choice and a gain.
SIZE, CHOICE, GAIN = Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)

#: Standard deviations of the noise of a gain by which it may fall below the least one.
GAIN_MARGIN = 2.0

#: Most depths: the paper has no cap but its number of splits, 512 in the experiments.
MOST_DEPTH = 512

#: What the recipe sets itself.
DEPTH, LEAF_SHARE = 3, 0.1


@dataclass(frozen=True, kw_only=True)
class TopDownParameters(Parameters):
    """Parameters of the algorithm and its variants, with the values of the paper's experiments."""

    max_depth: int = 10
    criterion: str = "entropy"
    max_bin: int = 11
    leaf_share: float = 0.5
    n_splits: int = 512
    depth_budget: str = "decay"
    target_error: float = 0.1
    min_gain: float = 0.01


@dataclass(frozen=True, kw_only=True)
class ChosenTopDownParameters(TopDownParameters):
    """The same for private choices of splits instead of released counts."""

    selection: str = "exponential"


@dataclass(frozen=True, kw_only=True)
class OneMachineParameters(ChosenTopDownParameters):
    """Parameters of the algorithm for rows in one process."""

    preset: str | None = None


def level_weights(depth_budget: str, max_depth: int) -> list[Fraction]:
    """Return the part of the splits' budget that each depth gets; at most 1 in all."""
    if depth_budget == "uniform":
        return [Fraction(1, max(max_depth, 1))] * max_depth
    return [Fraction(1, 2 ** (depth + 1)) for depth in range(max_depth)]


def large_nodes(
    sizes: NDArray[np.float64], root: np.float64, least_part: float
) -> NDArray[np.bool_]:
    """Return which nodes may be split: the paper's test w >= target_error / M, on released sizes.

    ``least_part`` is the least part of the root that such a node must have.
    """
    return sizes >= max(1.0, least_part * max(float(root), 1.0))


@dataclass(frozen=True, kw_only=True)
class TopDown:
    """Best-first growth by released gains.

    Privacy
    -------
    A node releases its size, a split and the gain of that split, once. Nodes of one depth hold
    disjoint rows, whenever they are looked at, so a depth costs what one of its nodes costs.
    Queue and tests see released numbers only.
    """

    measure: Impurity
    #: One of "exponential", "permute_and_flip".
    selection: str
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

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            depth = int(growing.depth[nodes[0]])
            if depth == len(self.weights):
                sizes.append(np.full(len(nodes), np.nan))
                return Splits.none()
            with (
                ledger.parallel(f"depth {depth}", Disjoint.CONTENT),
                ledger.sequential(f"nodes from {nodes[0]}"),
            ):
                own = split_budget * self.weights[depth]
                found, splits = self._appraise(
                    rows, nodes, sizes[0] if sizes else None, own, ledger
                )
            sizes.append(found)
            return splits

        with ledger.sequential("splits"):
            growing = grow(propose_splits, rows.split, BestFirst(self.n_splits))
        counts, noise_stddev = release_leaf_counts(
            rows, growing.leaves, budget=leaf_budget, ledger=ledger
        )
        return GrownTree(
            growing=growing, counts=counts, noise_stddev=noise_stddev, sizes=np.concatenate(sizes)
        )

    def _appraise(
        self,
        rows: ClassStatistics,
        nodes: NDArray[np.int32],
        root: NDArray[np.float64] | None,
        budget: PrivacyCost,
        ledger: Ledger,
    ) -> tuple[NDArray[np.float64], Splits]:
        """Release sizes of nodes, and splits of those that are large enough."""
        for_size, for_choice, for_gain = divide(budget, (SIZE, CHOICE, GAIN))
        sizes, noise_stddev = release_sizes(rows, nodes, budget=for_size, ledger=ledger)
        whole = (sizes if root is None else root)[0]
        large = large_nodes(sizes, whole, self.target_error / self.n_splits)
        if not large.any():
            return sizes, Splits.none()
        nodes, limits = nodes[large], row_limits(sizes[large], noise_stddev, self.max_rows)
        scores = rows.scores(nodes, self.measure, limits)
        mechanism = ledger.accountant.calibrate(SELECTIONS[self.selection], for_choice)
        chosen = ledger.release(mechanism, scores, label="split choice")
        noise = ledger.accountant.noise(for_gain)
        exact = rows.gains(scores, chosen, nodes, self.measure, limits)
        released = ledger.release(noise, exact, label="split gain")
        scales = [impurities.scale(self.measure, int(n), rows.n_classes) for n in limits]
        units = np.array(scales)
        gains = released / units
        # The largest of many noisy gains, which the paper tests, is hardly ever small for noise.
        margin = GAIN_MARGIN * exact.noise_stddev(noise) / units
        good = gains > self.min_gain * sizes[large] - margin
        # The priority is w J of the paper, times the number of rows.
        return sizes, Splits.of(rows.candidates, nodes[good], chosen[good], priority=gains[good])


def counted_tree(setting: Setting, learner: TreeLearner, candidates: Candidates) -> SingleTree:
    """Return a tree of classes whose probabilities are shares of the released counts."""
    response = ClassResponse(
        n_classes=setting.facts.n_classes,
        probability=CountedProbability(),
        weighted=setting.weighted,
        monotone=MonotoneLeaves.of(setting.constraints.monotone, setting.binner),
    )
    return SingleTree(learner=learner, response=response, candidates=candidates)


def build(setting: Setting) -> SingleTree:
    """DP-TopDown."""
    hyper: ChosenTopDownParameters = setting.hyper
    learner = TopDown(
        measure=CRITERIA[hyper.criterion],
        selection=hyper.selection,
        weights=level_weights(hyper.depth_budget, hyper.max_depth),
        leaf_share=Fraction(str(hyper.leaf_share)) if hyper.max_depth else Fraction(1),
        n_splits=hyper.n_splits,
        target_error=hyper.target_error,
        min_gain=hyper.min_gain,
        max_rows=setting.facts.max_rows,
    )
    return counted_tree(setting, learner, Candidates.of(setting.binner))


def own_values(given: Given) -> OneMachineParameters:
    """Return what the user has set, and the recipe's own values or those of the paper."""
    if "preset" in given:
        # The least budget that is taken is that of ten depths.
        return replace(OneMachineParameters(), **given)
    own = OneMachineParameters(max_depth=DEPTH, depth_budget="uniform", leaf_share=LEAF_SHARE)
    return replace(own, **given)


def defaults(facts: PublicFacts) -> OneMachineParameters:
    """Return the recipe's own values, or those of the paper where the user asks for them.

    The paper's tree has no cap on its depth but the number of splits. A depth whose part of the
    budget is too small for an exact draw has no release, and no split.
    """
    hyper = own_values(facts.given)
    if "preset" not in facts.given or "max_depth" in facts.given:
        return hyper
    return replace(hyper, max_depth=deepest(hyper, facts))


def deepest(hyper: OneMachineParameters, facts: PublicFacts) -> int:
    """Return the number of depths whose releases can all be drawn exactly, ten at least."""
    terms = Terms(
        delta=0.0,
        task="classification",
        neighbors=facts.neighbors,
        n_features=facts.n_features,
        weighted=facts.weighted,
    )
    given = {name: value for name, value in vars(hyper).items() if value is not None}
    depth = min(hyper.max_depth, hyper.n_splits)
    while depth < min(hyper.n_splits, MOST_DEPTH):
        if LEAST_EPSILON(given | {"max_depth": depth + 1}, terms) > facts.epsilon:
            break
        depth += 1
    return depth


def parts(given: Given, n_features: int) -> float:
    """Return into how many parts the smallest release divides the budget."""
    hyper = own_values(given)
    weights = level_weights(hyper.depth_budget, max(hyper.max_depth, 1))
    return float(1 / (min(weights) * min(CHOICE, GAIN))) / (1 - hyper.leaf_share)


LEAST_EPSILON = least_of_parts(parts)

DP_TOPDOWN = Recipe(
    name="dp_topdown",
    parameters=OneMachineParameters,
    choices={"criterion": ("entropy", "gini", "root_gini")},
    max_bin=11,
    accountant=pure_accountant,
    defaults=defaults,
    build=build,
    least_epsilon=LEAST_EPSILON,
    most_depth=MOST_DEPTH,
    constraints=DIRECTIONS,
    tasks=frozenset({"classification"}),
    single=True,
    most_classes=MOST_CLASSES,
    weights=True,
)

# What becomes of the numbered statements of the papers; docs/deviations.md is made of this.
# Numbered: DP-TopDown | Algorithm 1 | corrected | scores of their own noise, a stop rule that
#   noise cannot pass; leaves by noisy counts | oracles/test_oracles.py
# Numbered: DP-TopDown | Theorem 2 | not claimed | of TopDown without privacy, under weak learning
#   | -
# Numbered: DP-TopDown | Theorem 3 | not claimed | training error under weak learning, up to
#   constants; no one can check the assumption on private rows | -
# Numbered: DP-TopDown | Lemma 4 | not claimed | a rate up to constants and logarithms | -
# Numbered: DP-TopDown | Corollary 5 | not claimed | rows that Theorem 3 needs, up to constants |
#   -
# Numbered: DP-TopDown | Lemma 10 | not used | scores are not normalized | -
# Numbered: DP-TopDown | Lemma 13 | not used | a step of the proof of Theorem 3 | -
# Numbered: DP-TopDown | Theorem 14 | not claimed | the rate of Lemma 4 | -
