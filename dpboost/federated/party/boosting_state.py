"""A party's rows in a boosting run, which check what they are told and keep its place.

Commands and queries of the engine find here what they find in the engine's own state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.federated.party.admission import check
from dpboost.federated.party.party_rows import HeldRows
from dpboost.federated.party.tree_structure import check_tree, check_values
from dpboost.losses import Loss
from dpboost.privacy.randomness import RowCoins
from dpboost.rows.boosting_state import BoostingState
from dpboost.rows.encoded_rows import EncodedRows
from dpboost.rows.node_rows import NodeRows
from dpboost.rows.small_node_rows import FewRows
from dpboost.trees.bin_layout import Layout
from dpboost.trees.random_partition import Partition
from dpboost.trees.tree import Tree

# Rounds of an ensemble, and bits of the common denominator of their shares: sums of fractions
# that have none in common take for ever.
MOST_ROUNDS = 1 << 16
MOST_SHARE_BITS = 1 << 15


@dataclass(frozen=True, kw_only=True, eq=False)
class AgreedRows(EncodedRows):
    """Rows with labels on the grid of the party's own loss.

    Parameters
    ----------
    held : HeldRows
        The rows as they came.
    loss : Loss
        By the agreement, within a released range of labels.
    classes : tuple
        In their order, empty for a regression.
    """

    held: HeldRows
    loss: Loss
    classes: tuple[Any, ...]


class BoostingRows:
    """Binned rows of a party on the private side of its gate.

    Parameters
    ----------
    state : BoostingState
    held : HeldRows
        The rows as they came.
    n_bins : ndarray of shape (n_features,), int32

    Attributes
    ----------
    stage : str or None
        Ensemble that the rows were last dealt for: releases of different ensembles add up.
    branch : tuple of str
        Round of the ensemble that is taken up: where rows were dealt by coins, rounds of one
        ensemble hold disjoint rows. A second deal is another stage.
    n_nodes : int
        Nodes of the level that the rows are in; 0 before they enter a tree.
    """

    def __init__(self, state: BoostingState, held: HeldRows, n_bins: NDArray[np.int32]) -> None:
        self.state = state
        self.held = held
        self.n_bins = n_bins
        self.stage: str | None = None
        self.branch: tuple[str, ...] = ()
        self.n_nodes = 0
        self._last_leaves = 0
        self._n_deals = 0
        self._n_rounds: int | None = None
        self._taken = False

    @property
    def loss(self) -> Any:
        """The party's own loss."""
        return self.state.loss

    @property
    def layout(self) -> Layout:
        """Public positions of cells and candidates."""
        return self.state.layout

    @property
    def nodes(self) -> NodeRows | FewRows:
        """The rows in the nodes of the level."""
        check(self.n_nodes > 0)
        return self.state.nodes

    def deal(self, shares: tuple[Fraction, ...] | None, coins: RowCoins | None) -> None:
        """Deal rows for an ensemble by this party's own coins: none are sent."""
        check(coins is None)
        check_shares(shares)
        self.state.deal(shares, None if shares is None else self.held.draw_coins())
        self.stage, self.branch = f"ensemble {self._n_deals}", ()
        self._n_deals += 1
        self._n_rounds = None if shares is None else len(shares)
        # The rows at hand are still those of a round of the last deal.
        self._taken = False
        self.n_nodes = self._last_leaves = 0

    def take(self, index: int) -> None:
        """Take up the rows of a round."""
        check(self.stage is not None and type(index) is int and index >= 0)
        check(self._n_rounds is None or index < self._n_rounds)
        self.state.take(index)
        self.branch = () if self._n_rounds is None else (f"tree {index}",)
        self._taken = True
        self.n_nodes = self._last_leaves = 0

    def enter_nodes(
        self,
        gradient_bound: float,
        *,
        whole: bool = False,
        features: NDArray[np.int32] | None = None,
    ) -> None:
        """Put the rows of the round into the root of a tree over all features."""
        bound = getattr(self.loss, "gradient_bound", None)
        check(bound is not None and type(gradient_bound) is float and gradient_bound == bound)
        # One party never has all rows of a fit.
        check(whole is False and features is None)
        check(self._taken and not len(self.state.weights))
        self.state.enter_nodes(gradient_bound)
        self.n_nodes = 1

    def split(self, feature: NDArray[np.int32], split_bin: NDArray[np.uint8]) -> None:
        """Send the rows of every node on."""
        n_features = len(self.n_bins)
        check(self.n_nodes > 0 and feature.shape == split_bin.shape == (self.n_nodes,))
        check(feature.dtype == np.int32 and split_bin.dtype == np.uint8)
        check(bool(((feature >= 0) & (feature < n_features)).all()))
        self.state.split(feature, split_bin)
        self.n_nodes *= 2

    def leaf_sums(self, partition: Partition, gradient_limit: float) -> NDArray[np.int64]:
        """Return sums of the leaves of a partition, to which values may be added next."""
        check(self._taken)
        self._last_leaves = 0
        sums = self.state.leaf_sums(partition, gradient_limit)
        self._last_leaves = partition.n_leaves
        return sums

    def add(self, values: NDArray[np.int64]) -> None:
        """Add the leaf values of the partition that was asked about last."""
        check(values.dtype == np.int64 and self._last_leaves > 0)
        check(values.shape == (self.loss.n_outputs, self._last_leaves))
        check_values(values)
        self.state.add(np.ascontiguousarray(values))
        self._last_leaves = 0

    def append(self, trees: Sequence[Tree]) -> None:
        """Take note of the trees of a round."""
        check(len(trees) == self.loss.n_outputs)
        for tree in trees:
            check_tree(tree, len(self.n_bins))
        self.state.append(tuple(trees))


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
