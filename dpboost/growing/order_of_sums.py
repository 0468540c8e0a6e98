"""Sums of released trees that are brought into order while rounds go on, and at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dpboost.growing.growth import RoundCallback
from dpboost.growing.training_rows import TrainingRows
from dpboost.trees.tree import Tree


class TreesInOrder(Protocol):
    """Brings sums of released trees into order: post-processing."""

    def stops(self, n_rounds: int) -> frozenset[int]:
        """Return the numbers of rounds after which this is done on the way."""

    def corrections(
        self, trees: tuple[Tree, ...], earlier: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> list[tuple[Tree, ...]]:
        """Return trees that bring those so far, and earlier corrections, into order."""

    def rewrite(
        self, trees: tuple[Tree, ...], corrections: Sequence[tuple[Tree, ...]], n_outputs: int
    ) -> tuple[Tree, ...]:
        """Return the trees of the model, from released ones and from all corrections."""


@dataclass(kw_only=True, eq=False)
class OrderOfSums:
    """Corrects the scores of the rows on the way, and writes the trees of the model.

    Proof: docs/proofs/constraints.md.

    Parameters
    ----------
    n_rounds : int
        Planned.

    Privacy
    -------
    Post-processing: corrections are functions of released trees, and come after rounds whose
    numbers are public.
    """

    trees_in_order: TreesInOrder
    n_rounds: int
    n_outputs: int
    _made: list[tuple[int, tuple[Tree, ...]]] = field(default_factory=list, init=False)

    @classmethod
    def of(
        cls, trees_in_order: TreesInOrder | None, n_rounds: int, n_outputs: int
    ) -> OrderOfSums | None:
        """Return what brings sums into order, None where nothing asks for it."""
        if trees_in_order is None:
            return None
        return cls(trees_in_order=trees_in_order, n_rounds=n_rounds, n_outputs=n_outputs)

    def after(
        self, trees: Sequence[Tree], rows: TrainingRows, callback: RoundCallback | None
    ) -> None:
        """Correct all scores where the rounds so far are one of the stops."""
        n_rounds = len(trees) // self.n_outputs
        if n_rounds not in self.trees_in_order.stops(self.n_rounds):
            return
        earlier = self._until(n_rounds)
        found = self.trees_in_order.corrections(tuple(trees), earlier, self.n_outputs)
        for own in found:
            rows.correct(own)
            if callback is not None:
                callback.correct(own)
            self._made.append((n_rounds, own))

    def rewritten(self, trees: tuple[Tree, ...]) -> tuple[Tree, ...]:
        """Return the trees of the model, from the rounds that are kept.

        Corrections after the last of them were made of rounds that are not kept.
        """
        made = self._until(len(trees) // self.n_outputs)
        return self.trees_in_order.rewrite(trees, made, self.n_outputs)

    def _until(self, n_rounds: int) -> list[tuple[Tree, ...]]:
        return [own for after, own in self._made if after < n_rounds]
