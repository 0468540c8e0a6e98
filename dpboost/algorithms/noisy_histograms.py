"""Federated private histograms, without and with budget saving.

H. Gubler, "Secure and Interpretable: Federated Differentially Private Decision Trees", EPFL 2023,
Algorithm 5 and its form with the node splitting of Algorithm 6. Everything that is computed comes
from noisy sums over the places.

Deviations, each of which makes the stated guarantee true or its noise smaller:

* the bounds of the impurity come from the same rows for all p features, and their noise is scaled
  by p. Algorithm 6 scales it by the sensitivity of a single one, so that a node spends its bounds'
  budget p times; the constant for each feature is 1 instead of 5/4 (``privacy.impurities``);
* features are visited in growing groups in the order of their bounds, and a depth at once, so
  that a depth takes few exchanges of messages instead of one for each node and feature;
* a feature is dropped when its bound exceeds the impurity of the best split in rows, which is
  what Theorem 7 compares; impurity times the rows of another feature's histogram is not;
* counts that noise makes negative are cut at zero after they are added up, and a feature in whose
  histogram no row is left does not split;
* what a leaf's path has not spent is added to its class counts (with saving);
* missing values have a bin of their own, and categories are split one against the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.arithmetic import Budget
from dpboost.privacy.budget import split_tree
from dpboost.privacy.impurities import BOUND_UNITS_PER_ROW, Impurity
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import DiscreteLaplace, Mechanism
from dpboost.privacy.source import Question
from dpboost.tree.candidates import Candidates
from dpboost.tree.class_leaves import CountedProbability, GrownTree, release_leaf_counts
from dpboost.tree.class_questions import ClassCounts, FeatureHistograms
from dpboost.tree.class_statistics import ClassStatistics
from dpboost.tree.frontier import WholeLevel
from dpboost.tree.grower import grow
from dpboost.tree.place_questions import ImpurityBounds
from dpboost.tree.released_splits import best_candidates, branch_counts, split_purity
from dpboost.tree.sketch import Sketch, Splits
from dpboost.tree_recipe import CRITERIA, TreeFacts, TreeHyperparameters, TreeRecipe

#: Features of the first group that a node visits, and by how much groups grow.
FIRST_GROUP, GROWTH = 1, 4


@dataclass(frozen=True, kw_only=True)
class WholeHistograms:
    """Histograms of all features at every node: Algorithm 5.

    Parameters
    ----------
    measure : Impurity
    max_depth : int
    leaf_share : Fraction
        Part of the budget for the leaves; the levels share the rest equally.
    least_rows : int
        Nodes of fewer rows by all of their histograms stay leaves.

    Privacy
    -------
    One array of histograms a level and one of leaf counts. A row is in one node of each level, in
    one cell of each feature and in one leaf: features, levels and leaves add up.
    """

    measure: Impurity
    max_depth: int
    leaf_share: Fraction
    least_rows: int

    def learn(self, rows: ClassStatistics, *, budget: Budget, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        levels = iter(shares.levels)
        candidates = rows.candidates

        def appraise(nodes: NDArray[np.int32], sketch: Sketch) -> Splits:
            level = next(levels, None)
            if level is None:
                return Splits.none()
            released = ledger.release(
                DiscreteLaplace(epsilon=level), rows.histograms(nodes), label="class counts"
            )
            sums = np.add.reduceat(released, candidates.cell_offsets[:-1], axis=1)
            chosen, purity = best_candidates(
                released,
                candidates,
                lambda left, right: split_purity(self.measure, left, right),
            )
            go = worth_splitting(sums, self.least_rows) & (purity > -np.inf)
            return splits_of(candidates, nodes[go], chosen[go])

        sketch = grow(appraise, rows.split, WholeLevel())
        counts, deviation = release_leaf_counts(
            rows, sketch.leaves, epsilon=shares.leaves, ledger=ledger
        )
        return GrownTree(sketch=sketch, counts=counts, deviation=deviation)


def worth_splitting(sums: NDArray[np.int64], least_rows: int) -> NDArray[np.bool_]:
    """Tell which nodes have enough rows, and rows of two classes, by one of their histograms.

    Parameters
    ----------
    sums : ndarray of shape (n_nodes, n_features, n_classes), int64
        Sums of the released histograms.
    least_rows : int
    """
    enough = (sums.sum(axis=2) >= least_rows).any(axis=1)
    classes = (sums > 0).any(axis=1).sum(axis=1)
    return enough & (classes >= 2)


def splits_of(
    candidates: Candidates, nodes: NDArray[np.int32], chosen: NDArray[np.int32]
) -> Splits:
    """Return released choices as splits."""
    feature = candidates.features_of(chosen)
    return Splits(
        node=nodes,
        feature=feature,
        split_bin=candidates.split_bins(chosen),
        n_branches=candidates.n_branches(feature),
    )


@dataclass(kw_only=True, eq=False)
class Node:
    """What is known of a node while it is looked at: released numbers and public budgets.

    Attributes
    ----------
    number : int
    budget : Fraction or inf
        For its bounds and histograms.
    branch : tuple of str
        Path of the part of the rows in whose scope its releases are booked: its parent's while
        it does the same as its siblings, then its own.
    path : tuple of str
        Its own path.
    bounds : ndarray of shape (n_features,), float64
        Released bounds of the impurity in rows.
    waiting : list of int
        Features that are neither visited nor dropped, by ascending bounds.
    sums : list of ndarray
        Class counts by each visited feature.
    best : tuple of float, float, int
        Impurity for each row of the best split so far, its impurity in rows, and its candidate.
    visited : int
    """

    number: int
    budget: Budget
    branch: tuple[str, ...]
    path: tuple[str, ...]
    bounds: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    waiting: list[int] = field(default_factory=list)
    sums: list[NDArray[np.int64]] = field(default_factory=list)
    best: tuple[float, float, int] = (np.inf, np.inf, -1)
    visited: int = 0


@dataclass(frozen=True, kw_only=True)
class SavedHistograms:
    """Histograms of the features that bounds do not rule out: Algorithm 6.

    Parameters
    ----------
    max_depth : int
    leaf_share : Fraction
        Part of the budget for the leaves; the levels share the rest equally.
    bounds_share : Fraction
        Part of a node's budget for the bounds.
    least_rows : int
        Nodes of fewer rows by all of their histograms stay leaves.
    bounds_question : type
        Asks for the bounds.

    Privacy
    -------
    A node releases bounds of all features and histograms of some of them; what it does not spend
    is handed on to its children, whose rows are disjoint, and at last to the class counts of the
    leaves. All budgets are functions of released numbers, and what is spent on any path from the
    root to a leaf adds up to the budget of the tree: each release is booked in the scope of its
    path.
    """

    max_depth: int
    leaf_share: Fraction
    bounds_share: Fraction
    least_rows: int
    bounds_question: type[ImpurityBounds] = ImpurityBounds

    def learn(self, rows: ClassStatistics, *, budget: Budget, ledger: Ledger) -> GrownTree:
        """Release one tree."""
        shares = split_tree(budget, self.max_depth, self.leaf_share)
        per_level = shares.levels[0] if shares.levels else Fraction(0)
        waiting = {0: Node(number=0, budget=per_level, branch=(), path=())}
        leaves: dict[int, Node] = {}

        def appraise(nodes: NDArray[np.int32], sketch: Sketch) -> Splits:
            level = [waiting.pop(int(number)) for number in nodes]
            depth = int(sketch.depth[nodes[0]])
            if depth < self.max_depth:
                self._look(rows, level, ledger)
            go = [depth < self.max_depth and self._goes(node) for node in level]
            chosen = np.array([node.best[2] for node in level], dtype=np.int32)
            splits = splits_of(rows.candidates, nodes[go], chosen[go])
            first = sketch.n_nodes
            for node, splits_now in zip(level, go, strict=True):
                left_over = self._left_over(node, rows.candidates.n_features)
                if not splits_now:
                    levels_below = max(self.max_depth - 1 - depth, 0)
                    rest = _part(per_level, levels_below)
                    node.budget = shares.leaves + rest + left_over
                    leaves[node.number] = node
                    continue
                after = per_level if depth + 1 < self.max_depth else Fraction(0)
                for child in (first, first + 1):
                    path = (*node.path, str(child))
                    waiting[child] = Node(
                        number=child, budget=after + left_over, branch=node.path, path=path
                    )
                first += 2
            return splits

        sketch = grow(appraise, rows.split, WholeLevel())
        counts, deviation = self._leaf_counts(
            rows, [leaves[int(number)] for number in sketch.leaves], ledger
        )
        return GrownTree(sketch=sketch, counts=counts, deviation=deviation)

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
            node.waiting = np.argsort(node.bounds, kind="stable").tolist()
        size = FIRST_GROUP
        while any(node.waiting for node in level):
            self._visit(rows, [node for node in level if node.waiting], size, ledger)
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
            lambda nodes, branch: FeatureHistograms(
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
            alike = [place for place, part in enumerate(asked) if len(part[2]) == number]
            self._weigh(
                [asked[place][0] for place in alike],
                np.array([asked[place][2] for place in alike]),
                np.stack([found[place] for place in alike]),
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
        left, right = branch_counts(counts, candidates.kinds[features])
        purity = np.where(there[..., 1:], split_purity(Impurity.GINI, left, right), -np.inf)
        place = purity.argmax(axis=2)[..., np.newaxis]
        impurity = -np.take_along_axis(purity, place, axis=2)[..., 0]
        in_all = np.take_along_axis((left + right).sum(axis=3), place, axis=2)[..., 0]
        # n p (1 - p) is half of Gini.
        in_rows = np.where(np.isfinite(impurity), impurity, 0.0) / 2 * in_all
        chosen = candidates.candidate_offsets[features] + place[..., 0]
        for node, sums, own, rows, split in zip(
            nodes, counts.sum(axis=2), impurity, in_rows, chosen, strict=True
        ):
            node.sums.extend(sums)
            best = int(own.argmin())
            if own[best] < node.best[0]:
                node.best = (float(own[best]), float(rows[best]), int(split[best]))
            node.waiting = [f for f in node.waiting if node.bounds[f] <= node.best[1]]

    def _goes(self, node: Node) -> bool:
        """Tell whether a node is split."""
        enough = worth_splitting(np.stack(node.sums)[np.newaxis], self.least_rows)
        return bool(enough[0]) and node.best[2] >= 0

    def _left_over(self, node: Node, n_features: int) -> Budget:
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
        question = ClassCounts(nodes=_numbers(leaves), n_classes=rows.n_classes)
        mechanism = DiscreteLaplace(epsilon=poorest)
        (bound, _) = question.bounds(rows.neighbours)
        return np.stack(found).astype(np.float64), mechanism.deviation(bound)


def _part(budget: Budget, share: Fraction | int) -> Budget:
    """Return a part of a budget; nothing of an infinite one is nothing."""
    return budget * share if share else Fraction(0)


def _numbers(nodes: Sequence[Node]) -> NDArray[np.int32]:
    return np.array([node.number for node in nodes], dtype=np.int32)


def _release(
    rows: ClassStatistics,
    asked: Sequence[tuple[Node, Budget, int]],
    question_of: Callable[[list[Node], tuple[str, ...]], Question],
    ledger: Ledger,
    label: str,
) -> list[NDArray[np.int64]]:
    """Release something of every node with a budget of its own, all in one exchange.

    Siblings that have always done the same, and do so now, are one release in the scope of their
    parent. A node that goes on by itself has a scope of its own from then on.

    Parameters
    ----------
    rows : ClassStatistics
    asked : sequence of (Node, Budget, int)
        Node, budget, and a number in which releases must agree that are made together.
    question_of : callable
        ``question_of(nodes, branch)``
    ledger : Ledger
    label : str

    Returns
    -------
    list of ndarray
        By node.
    """
    groups: dict[tuple, list[int]] = {}
    for place, (node, budget, kind) in enumerate(asked):
        groups.setdefault((node.branch, budget, kind), []).append(place)
    for places in groups.values():
        if len(places) == 1:
            asked[places[0]][0].branch = asked[places[0]][0].path
    questions: list[tuple[Mechanism, Question]] = []
    for places in groups.values():
        nodes = [asked[place][0] for place in places]
        mechanism = DiscreteLaplace(epsilon=asked[places[0]][1])
        questions.append((mechanism, question_of(nodes, nodes[0].branch)))
    outcomes = rows.release_parts(questions, ledger=ledger, label=label)
    found: list[NDArray[np.int64]] = [np.empty(0, dtype=np.int64)] * len(asked)
    for places, outcome in zip(groups.values(), outcomes, strict=True):
        for place, own in zip(places, outcome, strict=True):
            found[place] = own
    return found


def build_histograms(hyper: TreeHyperparameters, facts: TreeFacts) -> WholeHistograms:
    """Algorithm 5 for filled hyper-parameters."""
    assert hyper.max_depth is not None
    assert hyper.criterion is not None
    assert hyper.leaf_share is not None
    assert hyper.least_rows is not None
    return WholeHistograms(
        measure=CRITERIA[hyper.criterion],
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        least_rows=hyper.least_rows,
    )


def build_saving(hyper: TreeHyperparameters, facts: TreeFacts) -> SavedHistograms:
    """Algorithm 6 for filled hyper-parameters."""
    assert hyper.max_depth is not None
    assert hyper.leaf_share is not None
    assert hyper.bounds_share is not None
    assert hyper.least_rows is not None
    return SavedHistograms(
        max_depth=hyper.max_depth,
        leaf_share=Fraction(str(hyper.leaf_share)),
        bounds_share=Fraction(str(hyper.bounds_share)),
        least_rows=hyper.least_rows,
    )


DEFAULTS = TreeHyperparameters(
    max_depth=5, criterion="gini", max_bin=10, leaf_share=0.5, least_rows=10
)
SAVING_DEFAULTS = replace(DEFAULTS, bounds_share=0.25)


def parts(hyper: TreeHyperparameters, n_features: int) -> float:
    """Return into how many parts the budget is divided at most, in units of a split score."""
    filled = hyper.filled(SAVING_DEFAULTS)
    assert filled.max_depth is not None
    assert filled.leaf_share is not None
    assert filled.bounds_share is not None
    levels = max(filled.max_depth, 1) / (1 - filled.leaf_share)
    bounds = (BOUND_UNITS_PER_ROW + 1) / filled.bounds_share
    return max(
        levels * n_features * max(bounds, 1 / (1 - filled.bounds_share)) / 1026,
        1 / filled.leaf_share / 1026,
    )


HISTOGRAMS = TreeRecipe(
    name="histograms",
    criteria=("gini", "entropy", "max", "root_gini"),
    used=frozenset(DEFAULTS.given()),
    max_bin=10,
    defaults=lambda facts: DEFAULTS,
    candidates=Candidates.of,
    build=build_histograms,
    parts=parts,
    probability=CountedProbability(),
    sums_alone=True,
)

HISTOGRAMS_SAVING = replace(
    HISTOGRAMS,
    name="histograms_saving",
    criteria=("gini",),
    used=frozenset(SAVING_DEFAULTS.given()),
    defaults=lambda facts: SAVING_DEFAULTS,
    build=build_saving,
)
