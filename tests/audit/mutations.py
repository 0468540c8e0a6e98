"""Planted bugs: each is a patch of a strategy or a constant, never a switch in the library.

A mutation comes with the witness on which it shows and with the name of the check that must see
it. ``python -m tests.audit.mutations`` prints the table of the audit's README.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from dpboost.audit import Violation, Witness, replay_witness, witnesses
from dpboost.audit.boosting_audit import category_learner, stale_noise
from dpboost.audit.delta_audit import lone_category
from dpboost.growing import (
    boosting_loop,
    clipped_leaves,
    column_choice,
    grower,
    partition_learner,
    selectors,
    split_learner,
)
from dpboost.growing import boosting_loop as loop
from dpboost.privacy import ledger, mechanisms, queries
from dpboost.privacy.queries import store_of
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity import constants
from dpboost.privacy.sensitivity.bound import ContributionBound, Neighbors
from dpboost.rows import (
    boosting_queries,
    boosting_state,
    cell_counts,
    column_scores,
    gradient_statistics,
    linear_sums,
    node_rows,
    raw_rows,
)
from dpboost.training import fit, fitted_model, loss_choice, private_bins, public_schema, request
from dpboost.training.public_schema import KnownSchema
from dpboost.trees import gain

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE
ONE = ContributionBound.single(1)
BANNED = -(1 << 44)

Patches = list[tuple[Any, str, Any]]


def rows_of(handle):
    """Rows of this process behind a handle, where no mechanism may look."""
    return store_of(handle)._rows


def rows_in(sums):
    """Exact number of rows beside the sum of labels from which scores start."""
    return int(queries._reveal(sums)[1]) // raw_rows.ROW_UNITS


def counts_of(node_statistics):
    """Exact numbers of rows in the nodes of a level."""
    return node_statistics._row_store._rows.nodes.totals()[1]


# Bugs in scores or rows are planted where histograms are kept; without them they are the same.
KEPT_HISTOGRAMS = (node_rows, "MOST_ROWS", -1)


# Checks of other runs than the replays of a witness.
OTHER_RUNS = ("fresh noise", "failure chance")


@dataclass(frozen=True, kw_only=True)
class PlantedBug:
    """A bug, where to plant it, and what must notice.

    Parameters
    ----------
    patches : callable
        Returns what to replace: (object, attribute, value).
    witness : str
        Name of the witness.
    check : str
        Name of the check that must fail.
    """

    name: str
    recipe: str
    patches: Callable[[], Patches]
    witness: str
    check: str
    neighbors: Neighbors = ADD

    def setting(self) -> str:
        """Return what the audit runs on: where it is the same, so is the run without a bug."""
        # The check decides what is run where that is no replay of a witness.
        check = self.check if self.check in OTHER_RUNS else ""
        return repr(replace(self, name="", patches=list, check=check))

    def found(self, *, planted: bool) -> set[str]:
        """Names of the checks that fail, with or without the bug."""
        with ExitStack() as stack:
            for patch in self.patches() if planted else []:
                stack.enter_context(mock.patch.object(*patch, create=True))
            return {violation.check for violation in self._audit()}

    def _audit(self) -> list[Violation]:
        """Return what the audit finds."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class Mutation(PlantedBug):
    """A bug of boosting."""

    recipe: str = "dpboost"
    task: str = "regression"
    settings: dict[str, Any] | None = None

    def _audit(self) -> list[Violation]:
        if self.check == "fresh noise":
            return stale_noise(self.recipe)
        if self.check == "failure chance":
            return lone_category(category_learner(self.recipe, self.neighbors))
        audits = replay_witness(self.recipe, self._witness(), seed=20200207)
        return [violation for audit in audits for violation in audit.violations]

    def _witness(self) -> Witness:
        found = next(w for w in witnesses(self.task, self.neighbors) if w.name == self.witness)
        return replace(found, settings={**found.settings, **(self.settings or {})})


# -- mechanisms ---------------------------------------------------------------------------------


def too_little_noise(mechanism, factor):
    """Draw as if the sensitivity were smaller by a factor."""
    draw = mechanism.draw

    def mutated(self, value, bound, entropy):
        smaller = max(1, math.floor(bound.constant * factor))
        return draw(self, value, replace(bound, constant=smaller), entropy)

    return lambda: [(mechanism, "draw", mutated)]


def noise_in_doubles(dtype):
    def mutated(self, value, bound, entropy):
        scale = float(bound.constant / self.epsilon)
        generator = np.random.Generator(entropy.bit_generator)
        return value + generator.laplace(scale=scale, size=value.shape).astype(dtype)

    return lambda: [(mechanisms.DiscreteLaplace, "draw", mutated)]


def no_noise_on_splits():
    def mutated(self, value, bound, entropy):
        return self._best(value)

    return [(mechanisms.ExponentialMechanism, "draw", mutated)]


def fixed_seed():
    def secure():
        return Entropy(np.random.PCG64(42), private=True)

    return [(Entropy, "secure", secure)]


# -- constants ----------------------------------------------------------------------------------


def range_of_add_remove():
    def bound(self, neighbors):
        return constants.gain_score(gain.UNITS_PER_GAIN, ADD)

    return [(gain.GradientGain, "bound", bound)]


def leaf_of_add_remove():
    original = clipped_leaves.ClippedLeaf.bound
    return [(clipped_leaves.ClippedLeaf, "bound", lambda self, neighbors: original(self, ADD))]


def counts_of_add_remove():
    original = cell_counts.counts
    return [(cell_counts, "counts", lambda neighbors, units: original(ADD, units))]


def clip_apart_from_noise():
    original = clipped_leaves.ClippedLeaf.values

    def values(self, sums, counts):
        return original(replace(self, clip=4 * self.clip), sums, counts)

    return [(clipped_leaves.ClippedLeaf, "values", values)]


def clip_one_index_behind():
    at, values_of = split_learner.LeafClip.at, clipped_leaves.ClippedLeaf.values
    seen = {}

    def remembered(self, index):
        seen["earlier"] = at(self, max(index - 1, 0))
        return at(self, index)

    def values(self, sums, counts):
        return values_of(replace(self, clip=seen["earlier"]), sums, counts)

    return [
        (split_learner.LeafClip, "at", remembered),
        (clipped_leaves.ClippedLeaf, "values", values),
    ]


def scale_from_exact_count():
    original = gradient_statistics.NodeStatistics.leaf_values

    def leaf_values(self, leaf):
        bound = leaf.bound(self._neighbors)
        n_rows = int(counts_of(self).sum())
        smaller = replace(bound, constant=max(1, bound.constant // max(1, n_rows)))
        return original(self, leaf).map(lambda values: values, bounds=(smaller,))

    return [(gradient_statistics.NodeStatistics, "leaf_values", leaf_values)]


def norm_without_hessians():
    original = boosting_queries.newton_sums
    return [(boosting_queries, "newton_sums", lambda g, h, neighbors: original(g, ONE, neighbors))]


def leaf_sums_of_add_remove():
    original = boosting_queries.newton_sums
    return [(boosting_queries, "newton_sums", lambda g, h, neighbors: original(g, h, ADD))]


def gradients_clipped_apart_from_noise():
    original = boosting_loop.TreeRows.leaf_sums

    def leaf_sums(self, partition, scale, neighbors):
        looser = replace(scale, gradient_limit=2 * scale.gradient_limit)
        sums = original(self, partition, looser, neighbors)
        return sums.map(lambda values: values, bounds=scale.bounds(neighbors))

    return [(boosting_loop.TreeRows, "leaf_sums", leaf_sums)]


def one_histogram_for_all():
    def counts(neighbors, units, histograms):
        return constants.counts(neighbors, units, histograms=1)

    return [(private_bins, "counts", counts)]


def half_of(module, name):
    """Return patches under which a constant of a module is half as large."""
    original = getattr(module, name)

    def mutated(*arguments):
        bound = original(*arguments)
        return replace(bound, constant=bound.constant // 2)

    return [(module, name, mutated)]


def of_add_remove(module, name):
    """Return patches under which a constant of a module is that of add or remove."""
    original = getattr(module, name)
    return [(module, name, lambda *arguments: original(*arguments[:-1], ADD))]


def histograms_of_add_remove():
    original = private_bins.counts
    return [(private_bins, "counts", lambda neighbors, *rest, **more: original(ADD, *rest, **more))]


def exact_columns():
    def mutated(self, rows, loss, ledger, budget):
        query = column_scores.CellSums(
            cells=self.cells, gradient_limit=self.gradient_limit, n_outputs=loss.n_outputs
        )
        scores = np.abs(store_of(rows).exact(query)).sum(axis=(0, 2))
        self.queue.prefer(np.argsort(scores, kind="stable")[-self.plan.n_first :].tolist())
        return budget

    return [(column_choice.ColumnChoice, "release", mutated)]


def end_of_choices_by_exact_scores():
    def mutated(self, mechanism, scores, n_columns):
        return 4 * int(scores._value.max())

    return [(column_choice.ColumnChoice, "_margin", mutated)]


def exact_moments():
    original = boosting_loop.TrainingRows.released

    def mutated(self, query, budget, ledger, label):
        values, noise = original(self, query, budget, ledger, label)
        if label == "second moments":
            values = store_of(self.source).exact(query) * query.unit
        return values, noise

    return [(boosting_loop.TrainingRows, "released", mutated)]


def hessians_without_noise():
    draw = mechanisms.DiscreteGaussian.draw

    def mutated(self, value, bound, entropy):
        outcome = draw(self, value, bound, entropy)
        if value.ndim == 3:
            outcome[1] = value[1]
        return outcome

    return [(mechanisms.DiscreteGaussian, "draw", mutated)]


def threshold_for_each_column(mechanism):
    """Let the categories of each of two columns fail as often as those of both may."""
    original = mechanism.tail

    def tail(self, bound, probability):
        return original(self, bound, 2 * probability)

    return lambda: [(mechanism, "tail", tail)]


def threshold_of_the_continuous_law():
    def tail(self, bound, probability):
        return math.ceil(math.log(1 / (2 * probability)) * bound.constant / self.epsilon)

    return [(mechanisms.DiscreteLaplace, "tail", tail)]


def half_the_threshold():
    original = mechanisms.DiscreteGaussian.tail
    return [
        (
            mechanisms.DiscreteGaussian,
            "tail",
            lambda self, bound, probability: original(self, bound, probability) // 2,
        )
    ]


def every_row_among_those_of_no_class():
    def with_others(sums, rows):
        sums[-1] = raw_rows.ROW_UNITS * len(rows.present)
        return sums

    return [(raw_rows, "with_others", with_others)]


def start_of_exact_rows():
    original = loss_choice.release_start

    def release_start(loss, sums, **options):
        released, seen = original(loss, sums, **options)
        # One row more or less is then on the other side of a rule, wherever its border lies.
        n_rows = 1e3 if rows_in(sums) % 2 else 1e6
        return released, replace(seen, n_rows=n_rows)

    return [(loss_choice, "release_start", release_start)]


def order_of_exact_sums():
    leaf_sums, order = boosting_loop.TreeRows.leaf_sums, partition_learner.PartitionLearner._order
    seen = {}

    def remembered(self, partition, scale, neighbors):
        result = leaf_sums(self, partition, scale, neighbors)
        seen["sums"] = queries._reveal(result)[0].astype(float)
        return result

    def mutated(self, feature, steps):
        order(self, feature, seen["sums"])

    return [
        (boosting_loop.TreeRows, "leaf_sums", remembered),
        (partition_learner.PartitionLearner, "_order", mutated),
    ]


def exact_rows_of_large_tables():
    """Large tables know how many rows there are: one row more is on the other side of a rule."""
    original = loss_choice.release_start

    def release_start(loss, sums, **options):
        released, seen = original(loss, sums, **options)
        if seen.n_rows < 1.5e4:
            return released, seen
        odd = rows_in(sums) % 2
        return released, replace(seen, n_rows=1.6e4 if odd else 1e6)

    return [(loss_choice, "release_start", release_start)]


# -- accounting ---------------------------------------------------------------------------------


def one_level_charged():
    split, choose = grower.split_tree, selectors.PrivateArgmax.choose

    def split_tree(total, depth, *rest):
        budget = split(total, depth, *rest)
        return replace(budget, levels=(sum(budget.levels, Fraction(0)),) * depth)

    def mutated(self, statistics, *, epsilon, ledger):
        name = f"level of {statistics.n_nodes}"
        with ledger.parallel("levels"), ledger.sequential(name):
            return choose(self, statistics, epsilon=epsilon, ledger=ledger)

    return [(grower, "split_tree", split_tree), (selectors.PrivateArgmax, "choose", mutated)]


def whole_budget_for_every_ensemble():
    return [
        (loop, "divide", lambda total, weights: (total,) * len(weights)),
        (ledger.Ledger, "_check_covered", lambda self, entry, total, most=None: None),
    ]


def features_side_by_side():
    original = public_schema.release_bounds

    def release_bounds(ledger, source, column, *, budget, label):
        names = ledger._scope.children.get("features")
        number = len(names.children) if names else 0
        with ledger.parallel("features"), ledger.sequential(f"feature {number}"):
            return original(ledger, source, column, budget=2 * budget, label=label)

    return [(public_schema, "release_bounds", release_bounds)]


def released_past_the_ledger():
    original = clipped_leaves.ClippedLeaf.release

    def release(self, statistics, *, epsilon, ledger):
        outcome = original(self, statistics, epsilon=epsilon, ledger=ledger)
        shown = np.empty(2, dtype=np.int64)
        bits = ledger._entropy.bit_generator
        mechanisms.noise.discrete_laplace(bits, np.zeros(2, dtype=np.int64), 1, 1, shown)
        return outcome

    return [(clipped_leaves.ClippedLeaf, "release", release)]


# -- decisions on exact values ------------------------------------------------------------------


def least_rows_in_a_leaf():
    original = gain.GradientGain.scores

    def scores(self, sums, counts, layout, workspace=None):
        result = original(self, sums, counts, layout, workspace)
        for feature in range(len(layout.cell_offsets) - 1):
            cells = counts[:, layout.cell_offsets[feature] : layout.cell_offsets[feature + 1]]
            left = np.cumsum(cells[:, :-1], axis=1)
            small = (left < 1) | (cells.sum(axis=1, keepdims=True) - left < 1)
            part = slice(layout.candidate_offsets[feature], layout.candidate_offsets[feature + 1])
            result[:, part] = np.where(small, BANNED, result[:, part])
        return result

    return [(gain.GradientGain, "scores", scores), KEPT_HISTOGRAMS]


def no_split_without_gain():
    original = gain.GradientGain.scores

    def scores(self, sums, counts, layout, workspace=None):
        result = original(self, sums, counts, layout, workspace)
        stay = result[:, [1]]  # of two bins, none missing: everything goes left
        useless = result <= stay
        useless[:, 1] = False
        return np.where(useless, BANNED, result)

    return [(gain.GradientGain, "scores", scores), KEPT_HISTOGRAMS]


def empty_nodes_skipped():
    def release(self, statistics, *, epsilon, ledger):
        occupied = counts_of(statistics) > 0
        values = statistics.leaf_values(self)
        some = values.map(lambda array: array[occupied], bounds=values.bounds)
        outcome = np.zeros(len(occupied), dtype=np.int64)
        mechanism = mechanisms.DiscreteLaplace(epsilon=epsilon)
        outcome[occupied] = ledger.release(mechanism, some, label="leaf values")
        return outcome

    return [(clipped_leaves.ClippedLeaf, "release", release)]


# -- rows ---------------------------------------------------------------------------------------


def blocks_of_fixed_size():
    def deal(self, shares, coins):
        n_rows = len(self.labels)
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts = np.arange(len(shares) + 1) * n_rows // len(shares)

    return [(boosting_state.BoostingState, "deal", deal)]


def a_coin_for_every_tree():
    def deal(self, plan, ledger):
        coins = [ledger.row_coins() for _ in plan.shares]
        position = rows_of(self.source)
        members = [
            np.flatnonzero(coin.blocks((share,), len(position.labels)) == 0)
            for coin, share in zip(coins, plan.shares, strict=True)
        ]
        position._order = np.concatenate(members).astype(np.int32)
        position._starts = np.cumsum([0, *map(len, members)])

    return [(boosting_loop.TrainingRows, "deal", deal)]


def refill_after_the_filter():
    original = node_rows.NodeRows.__init__

    def init(self, bins, words, *others):
        kept = np.cumsum(words != 0)
        original(self, bins, np.where(kept <= 1, words, 0), *others)

    return [(node_rows.NodeRows, "__init__", init), KEPT_HISTOGRAMS]


# -- what leaves the process --------------------------------------------------------------------


def learned_exactly(change):
    original = fit.complete_schema

    def complete_schema(known, source, **options):
        completed = original(known, source, **options)
        raw = rows_of(source)
        return replace(completed, schema=change(completed.schema, raw.table, raw.labels))

    return [(KnownSchema, "whole", False), (fit, "complete_schema", complete_schema)]


def quantile_bins():
    def change(schema, table, labels):
        edges = {
            position: tuple(np.unique(np.nanquantile(table.column(position), [0.2, 0.7])).tolist())
            for position in range(table.n_features)
        }
        return replace(schema, bounds={}, edges=edges)

    return learned_exactly(change)


def label_bounds_from_data():
    def change(schema, table, labels):
        return replace(schema, label_bounds=(float(labels.min()) - 1, float(labels.max()) + 1))

    return learned_exactly(change)


def exact_start():
    original = fit.start_loss

    def start_loss(rows, *arguments):
        start, budget = original(rows, *arguments)
        mean = round(rows_of(rows).targets.mean())
        return start._replace(loss=replace(start.loss, start_units=mean)), budget

    return [(fit, "start_loss", start_loss)]


def exact_leaf_counts():
    original = grower.LevelwiseGrower.grow

    def grow(self, statistics, **options):
        tree = original(self, statistics, **options)
        return replace(tree, leaf_count=counts_of(statistics))

    return [(grower.LevelwiseGrower, "grow", grow)]


def categories_that_occur():
    def release_categories(ledger, source, query, **options):
        return {
            name: sorted({key[-1] for key in counted if key[-1]})
            for name, counted in zip(query.columns, store_of(source).tally(query), strict=True)
        }

    return [(public_schema, "release_categories", release_categories)]


def categories_of_the_column_type():
    """Publish the lists of pandas as they come, whatever may be assumed."""
    original = request.Inputs.of

    def of(columns, labels, lists, extras, asked):
        return replace(original(columns, labels, lists, extras, asked), lists=lists)

    return [(request.Inputs, "of", of)]


def after_encoding(act):
    original = raw_rows.RawRows.encode_labels

    def encode_labels(self, **given):
        act(self.labels)
        return original(self, **given)

    return lambda: [(raw_rows.RawRows, "encode_labels", encode_labels)]


def number_of_rows_in_the_report():
    original = fitted_model._facts
    encode = raw_rows.RawRows.encode_labels
    seen = []

    def encode_labels(self, **given):
        seen.append(len(self.labels))
        return encode(self, **given)

    def facts(*arguments):
        return {**original(*arguments), "rows": seen[-1]}

    return [
        (raw_rows.RawRows, "encode_labels", encode_labels),
        (fitted_model, "_facts", facts),
    ]


def complain(labels):
    if labels.max() > 0:
        raise ValueError("this label is too large")


MUTATIONS = [
    Mutation(
        name="half the noise on leaves",
        patches=too_little_noise(mechanisms.DiscreteLaplace, 0.5),
        witness="one-row leaf, tree 0",
        check="entry cost",
    ),
    Mutation(
        name="half the noise on learned bounds",
        patches=too_little_noise(mechanisms.DiscreteLaplace, 0.5),
        witness="nothing declared, 2 features",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="half the noise on a common bound",
        patches=too_little_noise(mechanisms.DiscreteLaplace, 0.5),
        witness="nothing declared, 60 features",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="half the noise on class labels",
        patches=too_little_noise(mechanisms.DiscreteLaplace, 0.5),
        witness="nothing declared, 2 features",
        task="binary",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="exponent of the split choice times 1.5",
        patches=too_little_noise(mechanisms.ExponentialMechanism, 2 / 3),
        witness="opposite children, tree 0, level 0",
        check="entry cost",
    ),
    Mutation(
        name="exponent of permute-and-flip doubled",
        patches=too_little_noise(mechanisms.PermuteAndFlip, 0.5),
        witness="opposite children, flipped",
        check="entry cost",
    ),
    Mutation(
        name="splits chosen without noise",
        patches=no_noise_on_splits,
        witness="opposite children, tree 0, level 0",
        check="entry cost",
    ),
    Mutation(
        name="range of add/remove under replace",
        patches=range_of_add_remove,
        witness="opposite children, tree 0, level 0",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="leaf sensitivity of add/remove under replace",
        patches=leaf_of_add_remove,
        witness="one-row leaf, tree 0",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="count sensitivity of add/remove under replace",
        patches=counts_of_add_remove,
        witness="nothing declared, 2 features",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="leaves clipped more loosely than the noise assumes",
        patches=clip_apart_from_noise,
        witness="late leaf, tree 1 of 2",
        check="entry cost",
    ),
    Mutation(
        name="a leaf's clip one index behind its noise",
        patches=clip_one_index_behind,
        witness="late leaf, tree 4 of 5",
        check="entry cost",
    ),
    Mutation(
        name="a leaf's clip one index behind its noise, replace",
        patches=clip_one_index_behind,
        witness="late leaf, tree 1 of 2",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="noise scaled by the exact number of rows",
        patches=scale_from_exact_count,
        witness="one-row leaf, tree 0",
        check="public path",
    ),
    Mutation(
        name="half the noise on leaf sums",
        patches=too_little_noise(mechanisms.DiscreteGaussian, 0.5),
        witness="one-row leaf, tree 0",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="half the noise on leaf sums, pure",
        patches=too_little_noise(mechanisms.DiscreteLaplace, 0.5),
        witness="one-row leaf, tree 0",
        recipe="best",
        settings={"delta": 0.0},
        check="entry cost",
    ),
    Mutation(
        name="hessians left out of the norm of leaf sums",
        patches=norm_without_hessians,
        witness="one-row leaf, tree 0",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="leaf sums of add/remove under replace",
        patches=leaf_sums_of_add_remove,
        witness="one-row leaf, tree 0",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="gradients clipped more loosely than the noise assumes",
        patches=gradients_clipped_apart_from_noise,
        witness="one-row leaf, tree 0",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="one fine histogram charged for all features",
        patches=one_histogram_for_all,
        witness="opposite children, tree 0, level 0",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="fine histograms of add/remove under replace",
        patches=histograms_of_add_remove,
        witness="outside all bounds",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="start value of add/remove under replace",
        patches=lambda: of_add_remove(raw_rows, "newton_sums"),
        witness="one-row leaf, tree 0",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="half the noise on second moments",
        patches=lambda: half_of(linear_sums, "second_moments"),
        witness="linear row, moved",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="half the noise on gradient moments",
        patches=lambda: half_of(linear_sums, "gradient_moments"),
        witness="linear row, turned",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="gradient moments of add/remove under replace",
        patches=lambda: of_add_remove(linear_sums, "gradient_moments"),
        witness="linear row, turned",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="second moments of add/remove under replace",
        patches=lambda: of_add_remove(linear_sums, "second_moments"),
        witness="linear row, moved",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="linear model by exact second moments",
        patches=exact_moments,
        witness="linear row, moved",
        recipe="best",
        check="visible output",
    ),
    Mutation(
        name="half the range of the scores of columns",
        patches=lambda: half_of(column_scores, "column_scores"),
        witness="telling columns",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="scores of columns of add/remove under replace",
        patches=lambda: of_add_remove(column_scores, "column_scores"),
        witness="telling columns",
        recipe="best",
        neighbors=REPLACE,
        check="entry cost",
    ),
    Mutation(
        name="end of the choices of columns by exact scores",
        patches=end_of_choices_by_exact_scores,
        witness="telling columns",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="columns chosen by their exact scores",
        patches=exact_columns,
        witness="telling columns",
        recipe="best",
        check="visible output",
    ),
    Mutation(
        name="every row counted among those of no class",
        patches=every_row_among_those_of_no_class,
        witness="one class",
        task="binary",
        recipe="best",
        check="entry cost",
    ),
    Mutation(
        name="every row counted among those of no class, pure",
        patches=every_row_among_those_of_no_class,
        witness="one class",
        task="binary",
        recipe="best",
        settings={"delta": 0.0},
        check="entry cost",
    ),
    Mutation(
        name="hessian sums without noise",
        patches=hessians_without_noise,
        witness="one-row leaf, tree 0",
        recipe="best",
        check="noise outside the kernels",
    ),
    Mutation(
        name="threshold of categories without its columns",
        patches=threshold_for_each_column(mechanisms.DiscreteLaplace),
        witness="lone category",
        check="failure chance",
    ),
    Mutation(
        name="threshold of the continuous Laplace law",
        patches=threshold_of_the_continuous_law,
        witness="lone category",
        neighbors=REPLACE,
        check="failure chance",
    ),
    Mutation(
        name="half the threshold of categories",
        patches=half_the_threshold,
        witness="lone category",
        recipe="best",
        check="failure chance",
    ),
    Mutation(
        name="rules that know the exact number of rows",
        patches=start_of_exact_rows,
        witness="49 rows or 50, first",
        recipe="best",
        settings={"n_estimators": 1, "max_bin": 16},
        check="support",
    ),
    Mutation(
        name="rules of large tables that know the exact number of rows",
        patches=exact_rows_of_large_tables,
        witness="1,000,000 rows released",
        recipe="best",
        check="support",
    ),
    Mutation(
        name="categories ordered by their exact sums",
        patches=order_of_exact_sums,
        witness="20,000 rows released",
        recipe="best",
        check="visible output",
    ),
    Mutation(
        name="one level charged for all",
        patches=one_level_charged,
        witness="opposite children, tree 0, level 1",
        check="scope total",
    ),
    Mutation(
        name="the whole budget for every ensemble",
        patches=whole_budget_for_every_ensemble,
        witness="five trees",
        recipe="seq",
        check="total cost",
    ),
    Mutation(
        name="parallel composition over features",
        patches=features_side_by_side,
        witness="nothing declared, 2 features",
        check="scope total",
    ),
    Mutation(
        name="noise drawn past the ledger",
        patches=released_past_the_ledger,
        witness="one-row leaf, tree 0",
        check="noise outside the ledger",
    ),
    Mutation(
        name="hard min_data_in_leaf on exact counts",
        patches=least_rows_in_a_leaf,
        witness="empty leaf",
        check="entry cost",
    ),
    Mutation(
        name="splits without gain dropped",
        patches=no_split_without_gain,
        witness="empty leaf",
        check="entry cost",
    ),
    Mutation(
        name="empty nodes skipped",
        patches=empty_nodes_skipped,
        witness="empty leaf",
        check="support",
    ),
    Mutation(
        name="blocks of fixed size",
        patches=blocks_of_fixed_size,
        witness="49 rows or 50, last",
        check="scope total",
    ),
    Mutation(
        name="an assignment for every tree instead of one for all",
        patches=a_coin_for_every_tree,
        witness="five trees",
        check="scope total",
    ),
    Mutation(
        name="refill after the gradient filter",
        patches=refill_after_the_filter,
        witness="49 rows or 50, one tree",
        check="entry cost",
    ),
    Mutation(
        name="noise from a fixed seed",
        patches=fixed_seed,
        witness="two fits",
        check="fresh noise",
    ),
    Mutation(
        name="noise in double precision",
        patches=noise_in_doubles(np.float64),
        witness="one-row leaf, tree 0",
        check="noise outside the kernels",
    ),
    Mutation(
        name="noise in single precision",
        patches=noise_in_doubles(np.float32),
        witness="one-row leaf, tree 0",
        check="noise outside the kernels",
    ),
    Mutation(
        name="quantile bins of the private rows",
        patches=quantile_bins,
        witness="outside all bounds",
        check="visible output",
    ),
    Mutation(
        name="label bounds of the private rows",
        patches=label_bounds_from_data,
        witness="outside all bounds",
        check="visible output",
    ),
    Mutation(
        name="exact mean as start value",
        patches=exact_start,
        witness="one class",
        check="visible output",
    ),
    Mutation(
        name="leaf counts in the model text",
        patches=exact_leaf_counts,
        witness="one-row leaf, tree 0",
        check="visible output",
    ),
    Mutation(
        name="all categories that occur are released",
        patches=categories_that_occur,
        witness="lone category",
        check="support",
    ),
    Mutation(
        name="categories of the column type are released",
        patches=categories_of_the_column_type,
        witness="lone category",
        check="support",
    ),
    Mutation(
        name="number of rows in the report",
        patches=number_of_rows_in_the_report,
        witness="one class",
        check="visible output",
    ),
    Mutation(
        name="largest label printed",
        patches=after_encoding(lambda labels: print(labels.max())),
        witness="one class",
        check="visible output",
    ),
    Mutation(
        name="an exception that depends on a label",
        patches=after_encoding(complain),
        witness="one class",
        check="visible output",
    ),
]


def table(bugs: Sequence[PlantedBug]) -> str:
    """Return the table of the audit's README."""
    lines = ["| planted bug | recipe, relation | witness | check that fails |", "|---|---|---|---|"]
    lines += [
        f"| {m.name} | {m.recipe}, {m.neighbors.value} | {m.witness} | {m.check} |" for m in bugs
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(MUTATIONS))
