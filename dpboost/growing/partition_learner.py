"""Rounds of random partitions: a public structure, and one noisy vector of leaf sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.boosting_loop import TreeRows
from dpboost.growing.feature_sampler import FeatureQueue
from dpboost.growing.listed_parts import ListedParts
from dpboost.growing.shrunken_leaves import LeafRules, ShrunkenLeaf, split_gains
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.rows.boosting_queries import SumScale
from dpboost.trees.random_partition import Partition, PartitionGrid
from dpboost.trees.tree import WEIGHT_UNITS, LeafNoise, Tree

# After so many rounds the gains that they have shown decide.
FIRST_ROUNDS = 100
# Where they are less than this part of what there is to know of the labels, even with some
# deviations of their noise, steps are smaller in proportion, but for the least factor.
LITTLE, LEAST_FACTOR = 0.2, 0.25
# What earlier rounds count in the next one.
KEPT = 0.9
# The least typical step, as a part of that of the recipe's rule, which is the largest.
LEAST_PART = 1e-3


@dataclass(kw_only=True)
class SignalRate:
    """A learning rate factor from the gains of the first rounds.

    The noise variance of a model grows with the square of its steps. If there is little left to
    learn, further rounds with large steps add only noise.

    Proof: docs/proofs/constraints.md.

    Privacy
    -------
    Reads released gains and public numbers only: post-processing.
    """

    #: Released or declared.
    n_rows: float
    #: Of a label at the released shares of the classes, in nats.
    entropy: float
    #: Deviations of their noise that gains get in addition.
    doubt: float
    _n_rounds: int = field(default=0, init=False)
    _learned: float = field(default=0.0, init=False)
    _variance: float = field(default=0.0, init=False)

    @classmethod
    def of_classes(cls, n_rows: float, share: float, doubt: float) -> SignalRate:
        """Return the rule for two classes, one of which has this share."""
        parts = (share, 1 - share)
        entropy = -sum(part * math.log(part) for part in parts if part > 0)
        return cls(n_rows=n_rows, entropy=entropy, doubt=doubt)

    @property
    def factor(self) -> float:
        """What the learning rate of the next round is multiplied by."""
        if self._n_rounds < FIRST_ROUNDS:
            return 1.0
        known = self.n_rows * self.entropy
        most = self._learned + self.doubt * math.sqrt(self._variance)
        part = most / known if known > 0 else 1.0
        return min(1.0, max(part / LITTLE, LEAST_FACTOR))

    def learn(self, gain: float, variance: float, rate: float) -> None:
        """Take note of the released gain of a round that was learned at this rate.

        Gain and variance are the sums over its splits of
        `dpboost.growing.shrunken_leaves.split_gains`.
        """
        if self._n_rounds < FIRST_ROUNDS:
            self._learned += rate * gain
            self._variance += rate**2 * variance
        self._n_rounds += 1


@dataclass(kw_only=True)
class LearnedPrior:
    """Shrink steps by the fraction of signal in the released sums.

    A fit that continues a good model finds mostly noise in its first sums. With the prior of a fit
    that starts at a constant, it would add that noise to the model. Here the variance of steps is
    estimated from released steps minus the variance of their noise, over the last rounds (an
    empirical Bayes estimate, as that of James and Stein).

    Proof: docs/proofs/constraints.md.

    Privacy
    -------
    Post-processing of released sums and of the public size of their noise.
    """

    _signal: float = field(default=0.0, init=False)
    _weight: float = field(default=0.0, init=False)

    def leaf(
        self,
        leaf: ShrunkenLeaf,
        gradients: NDArray[np.float64],
        hessians: NDArray[np.float64],
        noise_stddev: float,
    ) -> ShrunkenLeaf:
        """Return the leaves of a round, with a prior that follows its sums and those before.

        ``leaf`` has the largest prior; the rest is as `ShrunkenLeaf.steps` takes it.
        """
        if noise_stddev == 0:
            return leaf
        denominator = np.maximum(hessians, 0.0) + leaf.reg_lambda
        variance = (noise_stddev / denominator) ** 2
        # Each leaf counts as its square tells of the variance of steps where that is small.
        weight = variance**-2
        signal = weight * ((gradients / denominator) ** 2 - variance)
        self._signal = KEPT * self._signal + float(signal.sum())
        self._weight = KEPT * self._weight + float(weight.sum())
        typical = max(self._signal / self._weight, 0.0) ** 0.5
        return replace(leaf, prior=min(leaf.prior, max(typical, LEAST_PART * leaf.prior)))


@dataclass(kw_only=True, eq=False)
class PartitionLearner:
    """Release the noisy leaf sums of one random partition a round.

    Privacy
    -------
    One release a round, a vector of the gradient and hessian sums of disjoint leaves
    (``constants.newton_sums``). Partitions depend on public randomness and released values.
    """

    loss: Loss
    #: The public bins.
    grid: PartitionGrid
    #: Chooses the features of a partition.
    queue: FeatureQueue
    #: Clips of a row's gradient and hessian, and their shares.
    scale: SumScale
    #: Turns noisy sums into steps.
    leaf: ShrunkenLeaf
    #: Features of a partition, at most three.
    features_per_tree: int
    #: Levels of a partition.
    depth: int
    learning_rate: float
    #: Nominal features that are still to be ordered: each gets one round with a leaf for every
    #: category, whose released steps then order them.
    to_order: list[int]
    public: np.random.Generator
    #: What else the user asks of steps.
    rules: LeafRules | None = None
    #: Levels of the first partitions, one for each feature, which cut nothing else. 0: no such.
    depth_alone: int = 0
    #: Part of the other rounds whose partitions have a level less.
    shallow: float = 0.0
    #: Makes steps smaller where little is learned. A learning rate of the round goes before it.
    signal: SignalRate | None = None
    #: Makes steps as small as released sums show, where a model is continued.
    prior: LearnedPrior | None = None
    #: Collects what released sums show of lists of categories.
    listed: ListedParts | None = None

    def learn(
        self,
        rows: TreeRows,
        index: int,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        learning_rate: float | None = None,
    ) -> tuple[Tree, ...]:
        """Release the trees of one round; their structure is shared by all outputs."""
        # A nominal feature that is to be ordered has a round of its own, one leaf a category: the
        # released steps are the order in which thresholds cut it from then on.
        ordering = self.to_order.pop() if self.to_order else None
        partition = self._partition(ordering)
        gradients, hessians, noise_stddev = rows.release(
            partition, self.scale, ledger.accountant.noise(budget), ledger
        )
        # From here on there are released sums alone: gains, order, rate and leaves cost nothing.
        if self.listed is not None:
            one = self.scale.weight_noise(noise_stddev, len(hessians))
            self.listed.learn(partition, _mean_of(hessians), one)
        leaf, rules = self.leaf, self.rules
        if self.prior is not None:
            leaf = self.prior.leaf(leaf, gradients, hessians, noise_stddev)
            rules = None if rules is None else replace(rules, leaf=leaf)
        steps = leaf_steps(partition, gradients, hessians, noise_stddev, leaf, rules)
        shown = split_gains(partition, gradients, hessians, noise_stddev, self.leaf)
        self.queue.learn(partition.features, partition.feature, *shown)
        if ordering is not None:
            self._order(ordering, steps)
        rate = self._rate(*shown) if learning_rate is None else learning_rate
        values = self.loss.to_score_units(steps, 1.0, rate)
        # The integers of the model text, not the steps: rows train on what will be predicted, and a
        # model that is read again goes on from the same scores.
        rows.add(values)
        gain = shown[0] * (self.loss.squared_step / len(values))
        noise = leaf_noise(leaf, rules, self.loss, noise_stddev, rate)
        return tuple(
            tree_of(partition, value, weight, gain, noise)
            for value, weight in zip(values, hessians, strict=True)
        )

    def _rate(self, gains: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
        """Return the learning rate of a round that shows these gains."""
        if self.signal is None:
            return self.learning_rate
        rate = self.learning_rate * self.signal.factor
        self.signal.learn(float(gains.sum()), float(variances.sum()), rate)
        return rate

    def _partition(self, ordering: int | None) -> Partition:
        """Return the public partition of the round."""
        if ordering is not None:
            return self.grid.by_category(ordering)
        if self.depth_alone and self.queue.has_new:
            return self.grid.random(self.queue.take_new(), self.depth_alone, self.public)
        features = self.queue.take(self.features_per_tree)
        less = self.shallow > 0 and self.public.random() < self.shallow
        return self.grid.random(features, self.depth - less, self.public)

    def _order(self, feature: int, steps: NDArray[np.float64]) -> None:
        """Order the categories of a feature by the steps of the output whose steps vary most."""
        categories = steps[:, : self.grid.n_bins[feature]]
        categories = categories[np.argmax(categories.var(axis=1))]
        self.grid.set_order(feature, np.argsort(categories, kind="stable"))


def _mean_of(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean over the outputs; NumPy takes its time for that of one."""
    return outputs.mean(axis=0) if len(outputs) > 1 else outputs[0]


def leaf_steps(
    partition: Partition,
    gradients: NDArray[np.float64],
    hessians: NDArray[np.float64],
    noise_stddev: float,
    leaf: ShrunkenLeaf,
    rules: LeafRules | None,
) -> NDArray[np.float64]:
    """Return what leaves make of released sums, of shape (n_outputs, n_leaves)."""
    if rules is None:
        return leaf.steps(gradients, hessians, noise_stddev)
    return rules.steps(partition, gradients, hessians, noise_stddev)


def leaf_noise(
    leaf: ShrunkenLeaf, rules: LeafRules | None, loss: Loss, noise_stddev: float, rate: float
) -> LeafNoise | None:
    """Return how noise came into the leaves, None if rules mix that of several leaves."""
    if rules is not None:
        return None
    return LeafNoise(
        gradient_stddev=noise_stddev,
        reg_lambda=leaf.reg_lambda,
        prior=leaf.prior,
        units_per_one=loss.units_per_one,
        learning_rate=rate,
        weight_unit=1 / WEIGHT_UNITS,
    )


def tree_of(
    partition: Partition,
    value: NDArray[np.int64],
    weight: NDArray[np.float64],
    gain: NDArray[np.float64],
    noise: LeafNoise | None,
) -> Tree:
    """Return the tree of one output."""
    return Tree(
        feature=partition.feature,
        left_bins=partition.left_bins,
        left=partition.left,
        right=partition.right,
        leaf_value=np.ascontiguousarray(value),
        # A noisy sum may be negative where LightGBM's counts are not.
        leaf_count=np.rint(np.maximum(weight, 0.0) * WEIGHT_UNITS).astype(np.int64),
        split_gain=gain,
        noise=noise,
    )
