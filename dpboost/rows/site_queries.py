"""Queries of one party's rows: its best splits, and bounds of its impurity.

Proofs: docs/proofs/impurity-choice.md and docs/proofs/impurity-bounds.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, check_integer
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_node_rows import ClassRows
from dpboost.rows.class_queries import check_array, check_nodes
from dpboost.rows.class_scores import candidate_scores, clips
from dpboost.trees.split_candidates import Candidates


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitScores:
    """Scores of all splits of some nodes on the rows of one party; they do not add up."""

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    #: Number of the impurity.
    measure: int
    #: Of shape (n_nodes,). The public number of rows by which each node's impurity is clipped.
    row_limits: NDArray[np.int64]
    n_candidates: int

    unit: ClassVar[float] = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        """A score for each node and split."""
        return (len(self.nodes), self.n_candidates)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Score the splits."""
        if self.n_candidates != rows.candidates.n_candidates:
            raise InvalidParameterError("A question is about other splits than agreed.")
        rows.check_units(1)
        return self.of_histograms(rows.histograms, rows.candidates, rows.n_classes, rows.n_threads)

    def of_histograms(
        self,
        histograms: Callable[[NDArray[np.int32]], NDArray[np.int64]],
        candidates: Candidates,
        n_classes: int,
        n_threads: int,
    ) -> NDArray[np.int64]:
        """Score the splits by histograms of all classes."""
        measure = Impurity(self.measure)
        caps, scales = clips(measure, self.row_limits, n_classes)
        return candidate_scores(
            histograms,
            self.nodes,
            candidates,
            measure,
            caps,
            scales,
            n_classes=n_classes,
            n_threads=n_threads,
        )

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bound: an added row lowers each score of one node by at most its range."""
        check_nodes(self.nodes)
        check_array(self.row_limits, np.int64, (len(self.nodes),))
        check_integer("measure", "a question", self.measure, low=0, high=len(Impurity) - 1)
        check_integer("n_candidates", "a question", self.n_candidates, low=1)
        return (impurities.split_score(neighbors),)


@dataclass(frozen=True, kw_only=True, eq=False)
class ImpurityBounds:
    r"""Minimum impurities over the splits of each feature, summed over the parties.

    Theorem 7 of Gubler, *Secure and Interpretable: Federated Differentially Private Decision
    Trees* (2023): what sites can do by splits of their own is below what one split for all of
    them can do. The impurity is :math:`n p (1 - p)`, half of Gini.
    """

    #: Of shape (n_nodes,).
    nodes: NDArray[np.int32]
    n_features: int
    #: Numbers of the nodes on a path from a child of the root, below whose end the nodes are.
    branch: tuple[str, ...] = ()

    unit: ClassVar[float] = impurities.BOUND_UNIT

    @property
    def shape(self) -> tuple[int, ...]:
        """A bound for each node and feature."""
        return (len(self.nodes), self.n_features)

    def evaluate(self, rows: ClassRows) -> NDArray[np.int64]:
        """Find the best split of each feature on the rows of the site."""
        if self.n_features != rows.candidates.n_features:
            raise InvalidParameterError("A question is about other features than agreed.")
        rows.check_branches([(self.branch, self.nodes)])
        rows.check_units(1)
        return self.of_histograms(rows.histograms, rows.candidates, rows.n_classes, rows.n_threads)

    def of_histograms(
        self,
        histograms: Callable[[NDArray[np.int32]], NDArray[np.int64]],
        candidates: Candidates,
        n_classes: int,
        n_threads: int,
    ) -> NDArray[np.int64]:
        """Find the best splits by histograms of all classes."""
        scores = candidate_scores(
            histograms,
            self.nodes,
            candidates,
            Impurity.GINI,
            np.full(len(self.nodes), np.inf),
            np.full(len(self.nodes), impurities.BOUND_SCALE),
            n_classes=n_classes,
            n_threads=n_threads,
        )
        best = np.maximum.reduceat(scores, candidates.candidate_offsets[:-1], axis=1)
        return np.asarray(-best)

    def bounds(self, neighbors: Neighbors) -> tuple[Sensitivity, ...]:
        """Return the bound: a row moves all of one node."""
        check_nodes(self.nodes)
        return (impurities.split_bounds(self.n_features, neighbors),)
