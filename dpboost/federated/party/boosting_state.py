"""A party's rows in a boosting run, with all that the party works out for itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.protocol.agreement import Agreement
from dpboost.losses import Loss
from dpboost.recipes import ALGORITHMS
from dpboost.rows.boosting_state import INIT_LIMIT, BoostingState
from dpboost.rows.encoded_rows import BinRows, EncodedRows, EncodeLabels
from dpboost.rows.row_attributes import RowExtras
from dpboost.training.loss_choice import choose_loss
from dpboost.training.objective import ObjectiveRequest
from dpboost.trees.bin_layout import Layout
from dpboost.trees.tree import Tree

# Largest released leaf value in score units: sums over all rounds stay far from the ends of int64.
VALUE_LIMIT = 1 << 40
# Label ranges are wider than this part of their magnitude.
FINEST_RANGE = 2.0**-39
# Rounds of an ensemble, and bits of the common denominator of their shares: sums of fractions
# that have none in common take for ever.
MOST_ROUNDS = 1 << 16
MOST_SHARE_BITS = 1 << 15


class BoostingRows:
    """Rows of a party on the private side of its gate.

    The loss, its bounds and the binning are functions of the agreement and of released numbers;
    the party computes them itself and takes nothing of them from a message.

    Parameters
    ----------
    held : HeldRows
        The rows as they came.
    label_bounds : (float, float), optional
        A released range of labels in the place of the agreement's bounds.

    Attributes
    ----------
    stage : str or None
        Ensemble that the rows were last dealt for: releases of different ensembles add up.
    branch : tuple of str
        Round of the ensemble that is taken up: where rows were dealt by coins, rounds of one
        ensemble hold disjoint rows. A second deal is another stage.
    """

    def __init__(self, held: HeldRows, label_bounds: tuple[float, float] | None = None) -> None:
        agreement = held.agreement
        resolved = agreement.declared.resolve(agreement.features)
        if label_bounds is not None:
            resolved = replace(resolved, label_bounds=label_bounds)
        recipe = ALGORITHMS.find(agreement.recipe, "a party")
        objective = ObjectiveRequest(task=agreement.task)
        loss, classes = choose_loss(recipe, objective, resolved, RowExtras())
        self.held = held
        self.loss: Loss = loss
        encode = EncodeLabels(loss=loss, classes=classes)
        self.state: EncodedRows | BoostingState = encode.execute(held)
        self.layout: Layout | None = None
        self.n_bins = np.empty(0, dtype=np.int32)
        self.stage: str | None = None
        self.branch: tuple[str, ...] = ()
        self.last_leaves = 0
        self.n_nodes = 0
        self._n_deals = 0
        self._n_rounds: int | None = None
        self._taken = False

    @property
    def agreement(self) -> Agreement:
        """The public terms."""
        return self.held.agreement

    @property
    def boosting(self) -> BoostingState:
        """The rows once they are binned."""
        check(isinstance(self.state, BoostingState))
        assert isinstance(self.state, BoostingState)
        return self.state

    @property
    def taught(self) -> EncodedRows:
        """The rows before they are binned."""
        check(isinstance(self.state, EncodedRows))
        assert isinstance(self.state, EncodedRows)
        return self.state

    def bin(self, binner: Binner, start_units: tuple[int, ...]) -> None:
        """Go over to released bins and scores that begin at a released start."""
        check(binner.feature_names == tuple(self.held.table.feature_names))
        check(len(start_units) == self.loss.n_outputs)
        check(all(type(units) is int and abs(units) <= INIT_LIMIT for units in start_units))
        loss = self.loss.starting_from(start_units)
        binned = BinRows(binner=binner, loss=loss, weighting=None).execute(self.taught)
        assert isinstance(binned, BoostingState)
        self.state = binned
        self.loss, self.layout, self.n_bins = loss, binned.layout, binner.n_bins

    def deal(self, shares: tuple[Fraction, ...] | None) -> None:
        """Deal rows for an ensemble by this party's own coins."""
        check_shares(shares)
        coins = None if shares is None else self.held.draw_coins()
        self.boosting.deal(shares, coins)
        self.stage, self.branch = f"ensemble {self._n_deals}", ()
        self._n_deals += 1
        self._n_rounds = None if shares is None else len(shares)
        # The rows at hand are still those of a round of the last deal.
        self._taken = False
        self.n_nodes = self.last_leaves = 0

    def take(self, index: int) -> None:
        """Take up the rows of a round."""
        check(self.stage is not None and type(index) is int and index >= 0)
        check(self._n_rounds is None or index < self._n_rounds)
        self.boosting.take(index)
        self.branch = () if self._n_rounds is None else (f"tree {index}",)
        self._taken = True
        self.n_nodes = self.last_leaves = 0

    def enter_nodes(self, gradient_bound: float) -> None:
        """Put the rows of the round into the root of a tree."""
        bound = getattr(self.loss, "gradient_bound", None)
        check(bound is not None and type(gradient_bound) is float and gradient_bound == bound)
        check(self._taken and not len(self.boosting.weights))
        self.boosting.enter_nodes(gradient_bound)
        self.n_nodes = 1

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of every node on."""
        n_features = len(self.n_bins)
        check(self.n_nodes > 0 and feature.shape == split_bin.shape == (self.n_nodes,))
        check(feature.dtype == np.int32 and split_bin.dtype == np.uint8)
        check(bool(((feature >= 0) & (feature < n_features)).all()))
        self.boosting.nodes.split(feature, split_bin)
        self.n_nodes *= 2

    def leaf_sums(self, query: Any) -> NDArray[np.int64]:
        """Answer what is asked of the leaves of a partition, whose values may be added next."""
        check(self._taken)
        self.last_leaves = 0
        answer: NDArray[np.int64] = query.evaluate(self.boosting)
        self.last_leaves = query.partition.n_leaves
        return answer

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the leaf values of the partition that was asked about last."""
        check(values.dtype == np.int64 and self.last_leaves > 0)
        check(values.shape == (self.loss.n_outputs, self.last_leaves))
        check_values(values)
        self.boosting.add(np.ascontiguousarray(values))
        self.last_leaves = 0

    def append(self, trees: Sequence[Tree]) -> None:
        """Take note of the trees of a round."""
        check(len(trees) == self.loss.n_outputs)
        for tree in trees:
            check_tree(tree, len(self.n_bins))
        self.boosting.append(tuple(trees))


class UnusableMessageError(ValueError):
    """A message whose parts do not fit together, or do not fit what was told before."""


def check(holds: bool) -> None:
    """Raise unless a public condition holds."""
    if not holds:
        raise UnusableMessageError("A message does not fit what was told before.")


def is_range(bounds: Any, agreement: Agreement) -> bool:
    """Say whether these are two numbers inside the agreed label bounds that the loss can take."""
    outer = agreement.declared.label_bounds
    if outer is None or not isinstance(bounds, tuple) or len(bounds) != 2:
        return False
    low, high = bounds
    if type(low) is not float or type(high) is not float:
        return False
    return outer[0] <= low < high <= outer[1] and high - low > FINEST_RANGE * max(-low, high)


def check_values(values: NDArray[np.int64]) -> None:
    """Raise unless leaf values are so small that no sum of them leaves int64."""
    # The least int64 has no absolute value.
    check(bool(((values >= -VALUE_LIMIT) & (values <= VALUE_LIMIT)).all()))


def check_shares(shares: Any) -> None:
    """Raise unless these are fractions of rows whose sum is soon found."""
    if shares is None:
        return
    check(isinstance(shares, tuple) and 1 <= len(shares) <= MOST_ROUNDS)
    common = 1
    for share in shares:
        check(isinstance(share, Fraction))
        common = math.lcm(common, share.denominator)
        check(common.bit_length() <= MOST_SHARE_BITS)


def check_tree(tree: Any, n_features: int) -> None:
    """Raise unless kernels can follow a tree: every node and leaf reached once, from above."""
    check(isinstance(tree, Tree))
    check(tree.leaf_value.dtype == np.int64 and tree.leaf_value.ndim == 1)
    check_values(tree.leaf_value)
    check_structure(tree, tree.n_leaves, n_features)


def check_structure(tree: Any, n_leaves: int, n_features: int) -> None:
    """Raise unless nodes and leaves make one binary tree whose children come after parents."""
    n_nodes = n_leaves - 1
    arrays = (tree.feature, tree.left, tree.right)
    check(n_leaves >= 1 and all(isinstance(part, np.ndarray) for part in arrays))
    check(all(part.dtype == np.int32 and part.shape == (n_nodes,) for part in arrays))
    check(isinstance(tree.left_bins, np.ndarray) and tree.left_bins.dtype == np.uint64)
    check(tree.left_bins.shape == (n_nodes, 4))
    check(bool(((tree.feature >= 0) & (tree.feature < n_features)).all()))
    children = np.concatenate([tree.left, tree.right])
    parents = np.tile(np.arange(n_nodes), 2)
    inner = children >= 0
    check(bool((children[inner] > parents[inner]).all()))
    check(np.array_equal(np.sort(children[inner]), np.arange(1, n_nodes)))
    leaves = np.sort(~children[~inner]) if n_nodes else np.zeros(1, dtype=np.int32)
    check(np.array_equal(leaves, np.arange(n_leaves)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Meant:
    """A question of the engine, asked of the engine's part of a party's rows."""

    query: Any

    @property
    def unit(self) -> float:
        """Worth of one unit of the answer."""
        return float(self.query.unit)

    @property
    def shape(self) -> tuple[int, ...]:
        """Public shape of the answer."""
        return tuple(self.query.shape)

    def evaluate(self, rows: BoostingRows) -> NDArray[np.int64]:
        """Return the answer of the party."""
        answer: NDArray[np.int64] = self.query.evaluate(rows.state)
        return answer

    def bounds(self, neighbours: Any) -> Any:
        """Return the sensitivities."""
        return self.query.bounds(neighbours)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeantLeaves(Meant):
    """A question about the leaves of a partition, to which an order may add values."""

    def evaluate(self, rows: BoostingRows) -> NDArray[np.int64]:
        """Return the answer of the party."""
        return rows.leaf_sums(self.query)
