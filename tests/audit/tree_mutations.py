"""Planted bugs in single trees: each is a patch, never a switch in the library.

``python -m tests.audit.tree_mutations`` prints the table of the audit's README.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost.audit import Violation
from dpboost.audit.tree_audit import replay_tree_witness, stale_tree_noise
from dpboost.audit.tree_witnesses import number_witnesses, tree_witnesses
from dpboost.growing import class_leaves, class_selectors
from dpboost.privacy import ledger
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    PermuteAndFlip,
)
from dpboost.privacy.sensitivity import constants, impurities
from dpboost.privacy.sensitivity.bound import Sensitivity
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.recipes.single_tree import (
    dp_topdown,
    friedman_schuster,
    noisy_counts,
    noisy_histograms,
)
from dpboost.rows.boosting_queries import SumScale
from dpboost.rows.class_queries import ClassCounts, ClassHistograms, GroupedCells, NodeSizes
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.row_attributes import RowExtras
from tests.audit.mutations import ADD, REPLACE, PlantedBug, fixed_seed, table


@dataclass(frozen=True, kw_only=True)
class TreeMutation(PlantedBug):
    """A bug of single trees."""

    steering: dict[tuple[str, int], Any] = field(default_factory=dict)
    numbers: bool = False

    def _audit(self) -> list[Violation]:
        if self.check == "fresh noise":
            return stale_tree_noise(self.recipe)
        bank = (
            number_witnesses(self.neighbors)
            if self.numbers
            else tree_witnesses(self.recipe, self.neighbors)
        )
        witness = next(w for w in bank if w.name == self.witness)
        pair = replace(witness.pair, steering={**witness.pair.steering, **self.steering})
        audits = replay_tree_witness(self.recipe, replace(witness, pair=pair), seed=20100725)
        return [violation for audit in audits for violation in audit.violations]


def exact(rows, query):
    return rows._row_store.exact(query)


def exact_counts(rows, nodes):
    return exact(rows, ClassCounts(nodes=nodes, n_classes=rows.n_classes)).astype(float)


def larger_budget(mechanism, factor):
    """Draw as if the budget were larger than what is charged."""
    draw = mechanism.draw

    def mutated(self, value, bound, entropy):
        return draw(replace(self, epsilon=self.epsilon * factor), value, bound, entropy)

    return lambda: [(mechanism, "draw", mutated)]


def constant_of_add_remove(name):
    original = getattr(impurities, name)
    return lambda: [(impurities, name, lambda neighbors: original(ADD))]


def counts_of_add_remove():
    original = constants.counts
    return [
        (constants, "counts", lambda neighbors, *args, **options: original(ADD, *args, **options))
    ]


def lemma_20():
    """The paper's 10 / m for the normalized root-Gini: 10 rows for the other one."""
    original = impurities.most_change

    def mutated(measure, n_rows, n_classes):
        return 10.0 if measure is Impurity.ROOT_GINI else original(measure, n_rows, n_classes)

    return [(impurities, "most_change", mutated)]


def entropy_without_a_clip():
    """Believe a released size to bound the rows, as the paper warns: too small now and then."""
    original = ClassStatistics._clips

    def clips(self, measure, limits):
        caps, scales = original(self, measure, limits)
        return np.full_like(caps, np.inf), scales

    return [(ClassStatistics, "_clips", clips)]


def gain_by_the_private_size():
    """Noise of the gain scaled by the size of the node, as for the normalized gain."""
    original = ClassStatistics.gains

    def gains(self, scores, chosen, nodes, measure, limits):
        value = original(self, scores, chosen, nodes, measure, limits)
        sizes = exact(self, NodeSizes(nodes=nodes))
        (bound,) = value.bounds
        smaller = max(1, bound.constant * 32 // int(sizes.max() + 1))
        return value.map(lambda array: array, bounds=(replace(bound, constant=smaller),))

    return [(ClassStatistics, "gains", gains)]


def noisy_maximum_with_its_value():
    """One noisy score for each candidate, of which the largest is told for the price of one."""

    def gains(self, scores, chosen, nodes, measure, limits):
        (bound,) = (impurities.split_gain(self.neighbors),)
        # The noise of the candidates enters the maximum: the value is their sum of surprises.
        return scores.map(lambda values: values.sum(axis=1), bounds=(bound,))

    return [(ClassStatistics, "gains", gains)]


def every_depth_the_whole_budget():
    """Depths charged as if their rows were disjoint."""
    sequential = ledger.Ledger.sequential

    def mutated(self, name):
        return self.parallel(name) if name == "splits" else sequential(self, name)

    def weights(depth_budget, max_depth):
        return [Fraction(1)] * max_depth

    return [
        (ledger.Ledger, "sequential", mutated),
        (dp_topdown, "level_weights", weights),
    ]


def features_side_by_side():
    def bounds(self, neighbors):
        return constants.counts(neighbors)

    return [(ClassHistograms, "bounds", bounds)]


def empty_leaves_skipped():
    original = class_leaves.release_leaf_counts

    def mutated(rows, leaves, *, budget, ledger):
        sizes = exact(rows, NodeSizes(nodes=leaves))
        counts = np.zeros((len(leaves), rows.n_classes))
        found, noise_stddev = original(rows, leaves[sizes > 0], budget=budget, ledger=ledger)
        counts[sizes > 0] = found
        return counts, noise_stddev

    return [(friedman_schuster, "release_leaf_counts", mutated)]


def exact_sizes(rows, nodes, *, budget, ledger):
    original = class_selectors.release_sizes(rows, nodes, budget=budget, ledger=ledger)
    return exact(rows, NodeSizes(nodes=nodes)).astype(float), original[1]


def stop_by_exact_sizes():
    return [(friedman_schuster, "release_sizes", exact_sizes)]


def exact_counts_in_the_leaves():
    original = class_leaves.release_leaf_counts

    def mutated(rows, leaves, *, budget, ledger):
        _, noise_stddev = original(rows, leaves, budget=budget, ledger=ledger)
        return exact_counts(rows, leaves), noise_stddev

    return [(friedman_schuster, "release_leaf_counts", mutated)]


def pruned_by_exact_counts():
    original = friedman_schuster.prune
    seen = {}
    init = ClassStatistics.__init__

    def remember(self, *args, **options):
        init(self, *args, **options)
        seen["rows"] = self

    def mutated(tree):
        counts = exact_counts(seen["rows"], tree.growing.leaves)
        sizes = tree.sizes.copy()
        sizes[:] = class_leaves.add_up(tree.growing, counts).sum(axis=1)
        return original(replace(tree, counts=counts, sizes=sizes))

    return [
        (ClassStatistics, "__init__", remember),
        (friedman_schuster, "prune", mutated),
    ]


def bounds_for_the_price_of_one():
    """Algorithm 6 as printed: the sensitivity of one feature's bound for all of them."""
    original = impurities.split_bounds
    return [(impurities, "split_bounds", lambda n_features, neighbors: original(1, neighbors))]


def paths_side_by_side():
    """What is handed down is spent by the children, and booked as if they had other rows."""
    original = ClassStatistics.release_parts

    def mutated(self, asked, *, ledger, label):
        found = []
        for position, one in enumerate(asked):
            with ledger.branch([f"{label}, {self.n_asked}, {position}"]):
                found += original(self, [one], ledger=ledger, label=label)
        self.n_asked += 1
        return found

    return [
        (ClassStatistics, "n_asked", 0),
        (ClassStatistics, "release_parts", mutated),
        (
            noisy_histograms.SavedHistograms,
            "_left_over",
            lambda self, node, n_features: node.budget,
        ),
    ]


def tables_for_the_price_of_one():
    def bounds(self, neighbors):
        return constants.counts(neighbors, int(self.unit_value.max()))

    return [(GroupedCells, "bounds", bounds)]


def choices_without_noise():
    original = ClassStatistics.each

    def mutated(self, mechanism, query, *, ledger, label):
        original(self, mechanism, query, ledger=ledger, label=label)
        scores = exact(self, query)
        best = scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
        return best[np.newaxis].astype(np.int32)

    return [(ClassStatistics, "each", mutated)]


def order_by_exact_sizes():
    """Best-first growth by private sizes: which splits are kept tells them."""

    def mutated(rows, nodes, *, budget, ledger):
        found = class_selectors.release_sizes(rows, nodes, budget=budget, ledger=ledger)
        return exact(rows, NodeSizes(nodes=nodes)).astype(float), found[1]

    return [(noisy_counts, "release_sizes", mutated)]


def weights_as_they_come():
    """Weights that are not clipped to the public bound."""

    def weight_units(self, weighting, classes, targets):
        return np.rint(self.sample_weight / weighting.max_weight * 2**16).astype(np.int32)

    return [(RowExtras, "weight_units", weight_units)]


def half_the_range_of_a_gain():
    original = constants.gain_score
    return [
        (
            constants,
            "gain_score",
            lambda units, neighbors: original(units // 2, neighbors),
        )
    ]


def half_of_gaussian_noise():
    draw = DiscreteGaussian.draw

    def mutated(self, value, bound, entropy):
        return draw(replace(self, rho=4 * self.rho), value, bound, entropy)

    return [(DiscreteGaussian, "draw", mutated)]


def rows_left_out_of_the_norm():
    """The sums of a leaf for the price of its labels alone."""

    def bounds(self, neighbors):
        whole = neighbors.rows * self._reaches[0].l1
        return tuple(Sensitivity(kind, whole, "its labels alone") for kind in ("l1", "l2"))

    return [(SumScale, "bounds", bounds)]


LONE = "lone row, level 0, own criterion, 2 classes"
ROOT = "lone row, level 0, root_gini, 2 classes"

TREE_MUTATIONS = [
    TreeMutation(
        name="weights beyond the largest one",
        recipe="best",
        patches=weights_as_they_come,
        witness="weighted row",
        check="entry cost",
    ),
    TreeMutation(
        name="half the noise on Gaussian leaf counts",
        recipe="best",
        patches=half_of_gaussian_noise,
        witness="lone row, Gaussian counts",
        check="entry cost",
    ),
    TreeMutation(
        name="half the range of a gain of numbers",
        recipe="best",
        patches=half_the_range_of_a_gain,
        witness="opposite halves",
        check="entry cost",
        numbers=True,
    ),
    TreeMutation(
        name="numbers of rows left out of the norm of a leaf's sums",
        recipe="best",
        patches=rows_left_out_of_the_norm,
        witness="lone number, weight 1",
        check="entry cost",
        numbers=True,
    ),
    TreeMutation(
        name="half the noise on leaf counts",
        recipe="best",
        patches=larger_budget(DiscreteLaplace, 2),
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="exponent of the split choice times 1.5",
        recipe="diffp_id3",
        patches=larger_budget(ExponentialMechanism, Fraction(3, 2)),
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="exponent of permute-and-flip times 1.5",
        recipe="best",
        patches=larger_budget(PermuteAndFlip, Fraction(3, 2)),
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="range of add/remove under replace",
        recipe="diffp_c45",
        patches=constant_of_add_remove("split_score"),
        witness=LONE,
        neighbors=REPLACE,
        check="entry cost",
    ),
    TreeMutation(
        name="gain sensitivity of add/remove under replace",
        recipe="dp_topdown",
        patches=constant_of_add_remove("split_gain"),
        witness="two nodes",
        neighbors=REPLACE,
        check="entry cost",
    ),
    TreeMutation(
        name="count sensitivity of add/remove under replace",
        recipe="sulq_id3",
        patches=counts_of_add_remove,
        witness=LONE,
        neighbors=REPLACE,
        check="entry cost",
    ),
    TreeMutation(
        name="root-Gini with the constant of Lemma 20",
        recipe="dp_topdown",
        patches=lemma_20,
        witness=ROOT,
        check="entry cost",
    ),
    TreeMutation(
        name="information gain without its clip",
        recipe="dp_topdown",
        patches=entropy_without_a_clip,
        witness=LONE,
        check="entry cost",
        # A released size that is far too small: only the clip keeps the constant true.
        steering={("node sizes", 0): 20},
    ),
    TreeMutation(
        name="noise of a gain by the private size of its node",
        recipe="dp_topdown",
        patches=gain_by_the_private_size,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="value of a noisy maximum released for the price of its index",
        recipe="dp_topdown",
        patches=noisy_maximum_with_its_value,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="the whole budget for every depth",
        recipe="dp_topdown",
        patches=every_depth_the_whole_budget,
        witness="lone row, level 1, own criterion, 2 classes",
        check="scope total",
    ),
    TreeMutation(
        name="parallel composition over features",
        recipe="sulq_id3",
        patches=features_side_by_side,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="parallel composition over the features of noisy counts",
        recipe="noisy_counts",
        patches=features_side_by_side,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="parallel composition over the features of histograms",
        recipe="histograms",
        patches=features_side_by_side,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="noisy counts weighed by exact sizes",
        recipe="noisy_counts",
        patches=order_by_exact_sizes,
        witness=LONE,
        check="visible output",
    ),
    TreeMutation(
        name="impurity bounds of all features for the price of one",
        recipe="histograms_saving",
        patches=bounds_for_the_price_of_one,
        witness=LONE,
        check="entry cost",
    ),
    TreeMutation(
        name="budget handed down twice, paths recorded side by side",
        recipe="histograms_saving",
        patches=paths_side_by_side,
        witness=LONE,
        check="scope total",
    ),
    TreeMutation(
        name="range of add/remove for the choices of sites under replace",
        recipe="local_rnm",
        patches=constant_of_add_remove("split_score"),
        witness=LONE,
        neighbors=REPLACE,
        check="entry cost",
    ),
    TreeMutation(
        name="tables of several chosen splits for the price of one",
        recipe="local_rnm",
        patches=tables_for_the_price_of_one,
        witness=f"{LONE}, 3 sites",
        check="entry cost",
        # One category of three different features.
        steering={("split choice", 0): np.array([2, 4, 6])},
    ),
    TreeMutation(
        name="choices of sites without noise",
        recipe="local_rnm",
        patches=choices_without_noise,
        witness=LONE,
        check="visible output",
    ),
    TreeMutation(
        name="empty leaves skipped",
        recipe="diffp_id3",
        patches=empty_leaves_skipped,
        witness=LONE,
        check="support",
    ),
    TreeMutation(
        name="stopping by exact sizes",
        recipe="diffp_id3",
        patches=stop_by_exact_sizes,
        witness=LONE,
        check="visible output",
    ),
    TreeMutation(
        name="pruning by exact counts",
        recipe="diffp_c45",
        patches=pruned_by_exact_counts,
        witness="lone row, pruned",
        check="visible output",
    ),
    TreeMutation(
        name="exact class counts in the leaves",
        recipe="diffp_id3",
        patches=exact_counts_in_the_leaves,
        witness=LONE,
        check="visible output",
    ),
    TreeMutation(
        name="noise from a fixed seed",
        recipe="best",
        patches=fixed_seed,
        witness="two fits",
        check="fresh noise",
    ),
]


if __name__ == "__main__":
    print(table(TREE_MUTATIONS))
