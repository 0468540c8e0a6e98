"""Public rules for the order in which nodes are split."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Protocol

from dpboost.trees.growing_tree import Splits


class Frontier(Protocol):
    """Splits that are found and not yet applied."""

    def push(self, splits: Splits) -> None:
        """Take in the splits of new nodes."""

    def pop(self) -> Splits:
        """Return those to be made now; none ends the growth."""


class DepthWise:
    """Apply all splits at once, so that a tree grows level by level."""

    def __init__(self) -> None:
        self._waiting = Splits.none()

    def push(self, splits: Splits) -> None:
        """Take in the splits of a level."""
        self._waiting = splits

    def pop(self) -> Splits:
        """Return the splits of the level."""
        waiting, self._waiting = self._waiting, Splits.none()
        return waiting


@dataclass(eq=False)
class BestFirst:
    """Apply the split of the highest released priority, a public number of times."""

    #: Splits in all.
    n_splits: int

    def __post_init__(self) -> None:
        # Equal priorities: the older node first.
        self._queue: list[tuple[float, int, Splits]] = []
        self._made = 0

    def push(self, splits: Splits) -> None:
        """Take in splits with their priorities."""
        assert splits.priority is not None or not len(splits)
        for position in range(len(splits)):
            assert splits.priority is not None
            entry = (
                -float(splits.priority[position]),
                int(splits.node[position]),
                splits.at(position),
            )
            heapq.heappush(self._queue, entry)

    def pop(self) -> Splits:
        """Return the best one alone."""
        if not self._queue or self._made == self.n_splits:
            return Splits.none()
        self._made += 1
        return heapq.heappop(self._queue)[2]
