"""Growth by noisy histograms of features that bounds do not exclude, to save budget.

Proofs: docs/proofs/impurity-bounds.md and docs/proofs/composition.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.growing.class_leaves import GrownTree
from dpboost.growing.frontier import DepthWise
from dpboost.growing.grower import grow
from dpboost.growing.released_splits import (
    branch_counts,
    consistent_tables,
    split_purity,
    worth_splitting,
)
from dpboost.privacy.exact_arithmetic import NO_COST, PrivacyCost, pure_epsilon, split_tree
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import DiscreteLaplace, Mechanism
from dpboost.privacy.queries import Query
from dpboost.privacy.sensitivity.impurities import BOUND_UNITS_PER_ROW, Impurity
from dpboost.rows.class_queries import ClassCounts, FeatureCells
from dpboost.rows.class_statistics import ClassStatistics
from dpboost.rows.site_queries import ImpurityBounds
from dpboost.trees.growing_tree import GrowingTree, Splits
from dpboost.trees.split_candidates import Candidates

#: Features of the first group that a node visits, and by how much groups grow.
FIRST_GROUP, GROWTH = 1, 4


@dataclass(kw_only=True, eq=False)
class Node:
    """The released numbers and public budgets of a node."""

    number: int
    #: For its bounds and histograms.
    budget: PrivacyCost
    #: Path of the part of the rows in whose scope its releases are recorded: its parent's while
    #: it does the same as its siblings, then its own.
    branch: tuple[str, ...]
    #: Its own path.
    path: tuple[str, ...]
    #: Of shape (n_features,). Released bounds of the impurity in rows.
    bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    #: Features that are neither visited nor dropped, by ascending bounds.
    waiting: list[int] = field(default_factory=list)
    #: Class counts by each visited feature.
    sums: list[NDArray[np.int64]] = field(default_factory=list)
    #: Impurity for each row of the best split so far, its impurity in rows, and its candidate.
    best: tuple[float, float, int] = (np.inf, np.inf, -1)
    visited: int = 0


@dataclass(frozen=True, kw_only=True)
class SavedHistograms:
    """Histograms of the features that bounds do not exclude: Algorithm 6.

    Privacy
    -------
    A node releases bounds of all features and histograms of some of them; what it does not spend
    is handed on to its children, whose rows are disjoint, and at last to the class counts of the
    leaves. All budgets are functions of released numbers, and what is spent on any path from the
    root to a leaf adds up to the budget of the tree: each release is recorded in the scope of its
    path.
    """

    max_depth: int
    #: Part of the budget for the leaves; the levels share the rest equally.
    leaf_share: Fraction
    #: Part of a node's budget for the bounds.
    bounds_share: Fraction
    #: Nodes of fewer rows by the histograms of all features stay leaves.
    min_rows: int
    #: Asks for the bounds.
    bounds_question: type[ImpurityBounds] = ImpurityBounds

    def learn(self, rows: ClassStatistics, *, budget: PrivacyCost, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        per_level = shares.levels[0] if shares.levels else NO_COST
        waiting = {0: Node(number=0, budget=per_level, branch=(), path=())}
        leaves: dict[int, Node] = {}

        def propose_splits(nodes: NDArray[np.int32], growing: GrowingTree) -> Splits:
            level = [waiting.pop(int(number)) for number in nodes]
            depth = int(growing.depth[nodes[0]])
            if depth < self.max_depth:
                self._look(rows, level, ledger)
            go = [depth < self.max_depth and self._goes(node) for node in level]
            chosen = np.array([node.best[2] for node in level], dtype=np.int32)
            splits = Splits.of(rows.candidates, nodes[go], chosen[go])
            first = growing.n_nodes
            for node, splits_now in zip(level, go, strict=True):
                left_over = self._left_over(node, rows.candidates.n_features)
                if not splits_now:
                    levels_below = max(self.max_depth - 1 - depth, 0)
                    rest = _part(per_level, levels_below)
                    node.budget = shares.leaves + rest + left_over
                    leaves[node.number] = node
                    continue
                after = per_level if depth + 1 < self.max_depth else NO_COST
                for child in (first, first + 1):
                    path = (*node.path, str(child))
                    waiting[child] = Node(
                        number=child, budget=after + left_over, branch=node.path, path=path
                    )
                first += 2
            return splits

        growing = grow(propose_splits, rows.split, DepthWise())
        counts, noise_stddev = self._leaf_counts(
            rows, [leaves[int(number)] for number in growing.leaves], ledger
        )
        return GrownTree(growing=growing, counts=counts, noise_stddev=noise_stddev)

    def _look(self, rows: ClassStatistics, level: list[Node], ledger: Ledger) -> None:
        """Release bounds of some nodes, and histograms until no feature is left."""
        n_features = rows.candidates.n_features
        share = self.bounds_share
        found = _release(
            rows,
            [(node, _part(node.budget, share), 0) for node in level],
            lambda nodes, branch: self.bounds_question(
                nodes=_numbers(nodes), n_features=n_features, branch=branch
            ),
            ledger,
            "impurity bounds",
        )
        for node, bounds in zip(level, found, strict=True):
            node.bounds = bounds / BOUND_UNITS_PER_ROW
            # The most promising features first: a good split found early rules out the most others.
            node.waiting = np.argsort(node.bounds, kind="stable").tolist()
        size = FIRST_GROUP
        while any(node.waiting for node in level):
            self._visit(rows, [node for node in level if node.waiting], size, ledger)
            # Small groups first, which may rule the others out; then larger ones, since each is a
            # release of its own, a round of messages where rows lie at parties.
            size *= GROWTH

    def _visit(self, rows: ClassStatistics, level: list[Node], size: int, ledger: Ledger) -> None:
        """Release histograms of the next features of some nodes, and drop what they rule out."""
        candidates = rows.candidates
        each = (1 - self.bounds_share) / candidates.n_features
        asked = []
        for node in level:
            features, node.waiting = node.waiting[:size], node.waiting[size:]
            node.visited += len(features)
            asked.append((node, _part(node.budget, each * len(features)), features))
        wanted = {node.number: features for node, _, features in asked}
        found = _release(
            rows,
            [(node, budget, len(features)) for node, budget, features in asked],
            lambda nodes, branch: FeatureCells(
                nodes=_numbers(nodes),
                features=np.array([wanted[node.number] for node in nodes], dtype=np.int32),
                cell_offsets=candidates.cell_offsets,
                n_classes=rows.n_classes,
                branch=branch,
            ),
            ledger,
            "class counts",
        )
        for number in sorted({len(features) for _, _, features in asked}):
            alike = [position for position, part in enumerate(asked) if len(part[2]) == number]
            self._weigh(
                [asked[position][0] for position in alike],
                np.array([asked[position][2] for position in alike]),
                np.stack([found[position] for position in alike]),
                candidates,
            )

    def _weigh(
        self,
        nodes: list[Node],
        features: NDArray[np.integer],
        counts: NDArray[np.int64],
        candidates: Candidates,
    ) -> None:
        """Compare the best splits of some features of some nodes with the best ones so far.

        ``features`` has shape (n_nodes, n_asked), ``counts`` (n_nodes, n_asked, n_cells,
        n_classes).
        """
        # Cells that a feature lacks hold noise.
        there = np.arange(counts.shape[2]) <= candidates.n_bins[features][..., np.newaxis]
        counts = np.where(there[..., np.newaxis], counts, 0)
        # The missing bin, a feature's last cell, goes with the second branch of a threshold.
        n_nodes, n_asked, n_cells, _ = counts.shape
        tables = np.repeat(np.arange(n_asked), n_cells)
        agreed = consistent_tables(counts.reshape(n_nodes, n_asked * n_cells, -1), tables)
        left, right = branch_counts(agreed.reshape(counts.shape), candidates.kinds[features])
        purity = np.where(there[..., 1:], split_purity(Impurity.GINI, left, right), -np.inf)
        position = purity.argmax(axis=2)[..., np.newaxis]
        impurity = -np.take_along_axis(purity, position, axis=2)[..., 0]
        in_all = np.take_along_axis((left + right).sum(axis=3), position, axis=2)[..., 0]
        # n p (1 - p) is half of Gini.
        in_rows = np.where(np.isfinite(impurity), impurity, 0.0) / 2 * in_all
        chosen = candidates.candidate_offsets[features] + position[..., 0]
        for node, sums, own, rows, split in zip(
            nodes, counts.sum(axis=2), impurity, in_rows, chosen, strict=True
        ):
            node.sums.extend(sums)
            best = int(own.argmin())
            if own[best] < node.best[0]:
                node.best = (float(own[best]), float(rows[best]), int(split[best]))
            # A feature whose released bound is above the impurity of a split that is there cannot
            # win.
            node.waiting = [f for f in node.waiting if node.bounds[f] <= node.best[1]]

    def _goes(self, node: Node) -> bool:
        """Return whether a node is split: it is a leaf when all features say so.

        A feature that was dropped says nothing, and with few histograms there is little to
        outvote the noise.
        """
        if node.visited < node.bounds.size:
            return True
        enough = worth_splitting(np.stack(node.sums)[np.newaxis], self.min_rows)
        return bool(enough[0]) and node.best[2] >= 0

    def _left_over(self, node: Node, n_features: int) -> PrivacyCost:
        """Return what a node has not spent of its budget."""
        if not node.bounds.size:
            return node.budget
        each = (1 - self.bounds_share) / n_features
        return _part(node.budget, each * (n_features - node.visited))

    def _leaf_counts(
        self, rows: ClassStatistics, leaves: list[Node], ledger: Ledger
    ) -> tuple[NDArray[np.float64], float]:
        """Release class counts with all that is left on the way to each leaf."""
        found = _release(
            rows,
            [(leaf, leaf.budget, 0) for leaf in leaves],
            lambda nodes, branch: ClassCounts(
                nodes=_numbers(nodes), n_classes=rows.n_classes, branch=branch
            ),
            ledger,
            "leaf counts",
        )
        poorest = min(leaf.budget for leaf in leaves)
        query = ClassCounts(nodes=_numbers(leaves), n_classes=rows.n_classes)
        noise_stddev = rows.noise_stddev(DiscreteLaplace(epsilon=pure_epsilon(poorest)), query)
        return np.stack(found).astype(np.float64), noise_stddev


def _part(budget: PrivacyCost, share: Fraction | int) -> PrivacyCost:
    """Return a part of a budget; nothing of an infinite one is nothing."""
    return budget * share if share else NO_COST


def _numbers(nodes: Sequence[Node]) -> NDArray[np.int32]:
    return np.array([node.number for node in nodes], dtype=np.int32)


def _release(
    rows: ClassStatistics,
    asked: Sequence[tuple[Node, PrivacyCost, int]],
    question_of: Callable[[list[Node], tuple[str, ...]], Query],
    ledger: Ledger,
    label: str,
) -> list[NDArray[np.int64]]:
    """Release something of every node with a budget of its own, all in one exchange.

    Siblings that have always done the same, and do so now, are one release in the scope of their
    parent. A node that goes on by itself has a scope of its own from then on. With each node come
    its budget, and a number in which releases must agree that are made together.
    ``question_of(nodes, branch)`` asks.
    """
    groups: dict[tuple, list[int]] = {}
    for position, (node, budget, kind) in enumerate(asked):
        groups.setdefault((node.branch, budget, kind), []).append(position)
    for positions in groups.values():
        if len(positions) == 1:
            asked[positions[0]][0].branch = asked[positions[0]][0].path
    queries: list[tuple[Mechanism, Query]] = []
    for positions in groups.values():
        nodes = [asked[position][0] for position in positions]
        mechanism = DiscreteLaplace(epsilon=pure_epsilon(asked[positions[0]][1]))
        queries.append((mechanism, question_of(nodes, nodes[0].branch)))
    outcomes = rows.release_parts(queries, ledger=ledger, label=label)
    found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(asked)
    for positions, outcome in zip(groups.values(), outcomes, strict=True):
        for position, own in zip(positions, outcome, strict=True):
            found[position] = own
    return found
