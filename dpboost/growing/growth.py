"""The growth of a model, which a recipe builds: in boosting rounds or as one tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpboost.data.binner import Binner
from dpboost.growing.listed_parts import ListedParts
from dpboost.losses import Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowHandle
from dpboost.trees.exported_tree import ReleasedTree
from dpboost.trees.split_candidates import Candidates
from dpboost.trees.tree import Tree


class RoundCallback(Protocol):
    """Callback for released rounds; receives released and public values only."""

    def before(self, index: int) -> float | None:
        """Return the learning rate of the round, None for the learner's own."""

    def after(self, trees: tuple[Tree, ...]) -> bool:
        """Take the released trees of the round; return whether training ends with it."""

    def correct(self, trees: tuple[Tree, ...]) -> None:
        """Take trees that are added to all scores and are no round, one for each output."""

    @property
    def best_iteration(self) -> int:
        """The last round that is kept, 0 for all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grown:
    """The releases of a growth."""

    #: Round by round, in each one for each output.
    trees: tuple[Tree, ...]
    #: The tree for people, where it is a single one.
    readable: ReleasedTree | None = None
    #: Of shape (n_classes,). Released numbers of rows of each class, where the leaves hold any.
    class_sizes: NDArray[np.float64] | None = None
    noise_stddev: float = 0.0
    #: Released number of rows in the leaves, where they hold it.
    n_rows: float | None = None
    #: The trees as they were released, where they were brought into order afterwards.
    released: tuple[Tree, ...] = ()
    #: What they show of lists of categories.
    listed: ListedParts | None = None


class Growth(Protocol):
    """Strategies that fit trees to rows."""

    @property
    def n_rounds(self) -> int:
        """Rounds in all; a public number that no row can change."""

    @property
    def candidates(self) -> Candidates | None:
        """The splits of a single tree, None for boosting."""

    def run(
        self,
        rows: RowHandle,
        binner: Binner,
        loss: Loss,
        *,
        budget: PrivacyCost,
        ledger: Ledger,
        n_threads: int,
        on_tree: Callable[[], None],
        callback: RoundCallback | None = None,
    ) -> Grown:
        """Release all trees within the budget.

        Rows are in bins, as `EncodedRows.bin` returns them for ``candidates``, and the loss has its
        start value. The callback may set the learning rate of a round, and may end training.
        """
