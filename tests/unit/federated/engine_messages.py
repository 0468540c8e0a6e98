"""Queries and commands of the engine as a coordinator sends them, for the tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpboost.data.feature_bins import N_CELLS, AffineBins
from dpboost.federated.party.admission import admitted
from dpboost.federated.party.boosting_admission import sent
from dpboost.federated.party.loss_numbers import LossNumbers
from dpboost.federated.party.partition_table import without_table
from dpboost.federated.protocol import wire
from dpboost.recipes import ALGORITHMS
from dpboost.rows.boosting_commands import AssignRows, EnterNodes, SelectRound
from dpboost.rows.boosting_queries import LeafSums
from dpboost.rows.encoded_rows import BinRows, EncodeLabels
from dpboost.rows.newton_sums import SumScale
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.loss_choice import choose_loss, weighting_of
from dpboost.training.private_bins import FineCounts
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree

TAKE = SelectRound(index=0)
ENTER = EnterNodes(gradient_bound=1.0)


def told(command, rows):
    """Have a party carry out a command."""
    return admitted(command, rows).execute(rows)


def over_the_wire(message):
    """Return what a party reads of a message, of the engine's or as it is sent."""
    ready = isinstance(getattr(message, "loss", None), LossNumbers)
    return wire.decode(wire.encode(message if ready else sent(message)), object)


def loss_of(terms, label_bounds=None):
    """Return the loss that the engine has at a coordinator, and its classes."""
    schema = terms.declared.resolve(terms.features)
    if label_bounds is not None:
        schema = replace(schema, label_bounds=label_bounds)
    recipe = ALGORITHMS.find(terms.recipe, "a test")
    return choose_loss(recipe, terms.learns, schema, RowExtras())


def encode(terms, label_bounds=None):
    loss, classes = loss_of(terms, label_bounds)
    return sent(EncodeLabels(loss=loss, classes=classes))


def bins(terms, binner, start_units=(0,)):
    loss, classes = loss_of(terms)
    weighting = weighting_of(terms.learns, classes)
    started = loss.starting_from(start_units)
    return sent(BinRows(binner=binner, loss=started, weighting=weighting))


def assign(shares):
    return AssignRows(shares=shares, coins=None)


def leaf_sums(terms, partition, limit, share, **wrong):
    loss, _ = loss_of(terms)
    norm = "l2" if terms.delta > 0 else "l1"
    scale = SumScale.of(loss, gradient_limit=limit, hessian_share=share, norm=norm)
    return LeafSums(
        partition=without_table(partition),
        scale=replace(scale, **wrong),
        n_outputs=loss.n_outputs,
    )


def fine_counts(bounds, units):
    fine = {
        position: AffineBins(lower=low, upper=high, n_cells=N_CELLS, table=bytes(N_CELLS))
        for position, (low, high) in bounds.items()
    }
    return FineCounts(fine=fine, zero_as_missing=False, units=units)


def tree_of(partition, leaf_value):
    return Tree(
        feature=partition.feature,
        left_bins=partition.left_bins,
        left=partition.left,
        right=partition.right,
        leaf_value=leaf_value,
    )


def chain(n_leaves):
    """A partition by one feature with a leaf at every node."""
    right = np.arange(1, n_leaves, dtype=np.int32)
    right[-1] = ~(n_leaves - 1)
    return Partition(
        features=np.zeros(1, dtype=np.int32),
        steps=np.empty((0, 256), dtype=np.int32),
        table=np.empty(0, dtype=np.uint16),
        n_leaves=n_leaves,
        feature=np.zeros(n_leaves - 1, dtype=np.int32),
        left_bins=np.zeros((n_leaves - 1, 4), dtype=np.uint64),
        left=~np.arange(n_leaves - 1, dtype=np.int32),
        right=right,
    )
