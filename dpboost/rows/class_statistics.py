"""Class statistics of a single tree; all results are Sensitive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.privacy.ledger import Ledger
from dpboost.privacy.mechanisms import Mechanism, Noise
from dpboost.privacy.queries import Query, RowHandle, Sensitive, SumQuery
from dpboost.privacy.sensitivity import impurities
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.impurities import Impurity
from dpboost.rows.class_queries import (
    CellSizes,
    ClassCounts,
    ClassHistograms,
    NodeSizes,
    Together,
    branch_of,
)
from dpboost.rows.class_scores import MOST_COUNTS, NOT_OFFERED, candidate_scores, clips, node_scores
from dpboost.rows.tree_statistics import TreeStatistics
from dpboost.trees.split_candidates import Candidates


class ClassStatistics(TreeStatistics):
    """Class counts of the nodes of one growing tree, from a row store of ``ClassRows``.

    Parameters
    ----------
    source, candidates, neighbors, n_threads
        As in `TreeStatistics`.
    row_units : int, default=1
        What a row of the largest weight counts: 1 where rows have no weights.

    Privacy
    -------
    Hands out Sensitive values with their bounds. Rows are routed by released splits only.
    """

    def __init__(
        self,
        source: RowHandle,
        *,
        n_classes: int,
        candidates: Candidates,
        neighbors: Neighbors,
        n_threads: int,
        row_units: int = 1,
    ) -> None:
        super().__init__(source, candidates=candidates, neighbors=neighbors, n_threads=n_threads)
        self.n_classes = n_classes
        #: Released counts are divided by it.
        self.row_units = row_units

    def noise_stddev(self, noise: Noise, query: Query) -> float:
        """Return the standard deviation of the noise on an entry of an answer, in units.

        Asks no row: the bounds of a query are public, and so is a surplus of the sites' noise.
        """
        bounds = {bound.kind: bound for bound in query.bounds(self.neighbors)}
        noise_variance_ratio = getattr(self._row_store, "noise_variance_ratio", 1.0)
        return noise.noise_stddev(bounds[noise.needs]) * math.sqrt(noise_variance_ratio)

    def each(
        self, mechanism: Mechanism, query: Query, *, ledger: Ledger, label: str
    ) -> NDArray[Any]:
        """Release an outcome of every site from its own rows, as one array of sites first.

        Sites hold disjoint rows, so that all of it costs what one outcome costs.
        """
        positions = getattr(self._row_store, "each", None)
        value = self.ask_site(query) if positions is None else positions(query, self.neighbors)
        outcome = ledger.release(mechanism, value, label=label)
        return outcome.reshape(-1, query.shape[0])

    def release_parts(
        self, asked: Sequence[tuple[Mechanism, Query]], *, ledger: Ledger, label: str
    ) -> list[NDArray[Any]]:
        """Release answers about parts of the rows, each in the scope of its branch.

        A branch is a path of nodes: rows below different children are different rows.
        """
        together = getattr(self._row_store, "release", None)
        if together is not None:
            released: list[NDArray[Any]] = together(asked, label=label)
            return released
        outcomes = []
        answers = self._answers([query for _, query in asked])
        for (mechanism, query), answer in zip(asked, answers, strict=True):
            with ledger.branch(branch_of(query)):
                value = Sensitive(answer, query.bounds(self.neighbors), query.unit)
                outcomes.append(ledger.release(mechanism, value, label=label))
        return outcomes

    def _answers(self, queries: Sequence[Any]) -> list[NDArray[np.int64]]:
        """Answer queries about parts of the rows: a level has hundreds, and is read once."""
        alike: dict[tuple[int, ...], list[int]] = {}
        for position, query in enumerate(queries):
            asked = getattr(query, "features", query.nodes)
            alike.setdefault(asked.shape[1:], []).append(position)
        found: dict[int, NDArray[np.int64]] = {}
        step = max(1, MOST_COUNTS // (self.candidates.n_cells * self.n_classes))
        for positions in alike.values():
            for first in range(0, len(positions), step):
                own = positions[first : first + step]
                together = Together(queries=[queries[position] for position in own])
                ends = np.cumsum([len(query.nodes) for query in together.queries])
                parts = np.split(self._site_sums(together, together.joint), ends[:-1])
                found.update(zip(own, parts, strict=True))
        return [found[position] for position in range(len(queries))]

    def ask_site(self, query: Query) -> Sensitive:
        """Return the answer to a query that sites answer, each from its own rows.

        Where one table lies in parts, the parts are no sites: the answer is that of the whole
        table, which does not depend on how it was divided.
        """
        return Sensitive(self._site_sums(query, query), query.bounds(self.neighbors), query.unit)

    def _site_sums(self, query: SumQuery, whole: Any) -> NDArray[np.int64]:
        """Return what sites answer; ``whole`` is the query where one table lies in parts."""
        if not getattr(self._row_store, "one_table", False) or not hasattr(whole, "of_histograms"):
            return self._exact(query)
        answer: NDArray[np.int64] = whole.of_histograms(
            lambda nodes: self._exact(self._histograms(nodes)),
            self.candidates,
            self.n_classes,
            self._n_threads,
        )
        return answer

    def sizes(self, nodes: NDArray[np.int32]) -> Sensitive:
        """Numbers of rows of some nodes, which are disjoint."""
        return self.ask(NodeSizes(nodes=nodes, row_units=self.row_units))

    def class_counts(self, nodes: NDArray[np.int32]) -> Sensitive:
        """Rows of each class of some nodes, which are disjoint; shape (n_nodes, n_classes)."""
        return self.ask(self._totals(nodes))

    def histograms(
        self, nodes: NDArray[np.int32], offered: NDArray[np.bool_] | None = None
    ) -> Sensitive:
        """Return rows of each class in every cell; shape (n_nodes, n_cells, n_classes).

        Cells of features that are not offered hold zero, whatever the rows are. Every node must
        offer as many features; all of them by default.
        """
        return self.ask(self._histograms(nodes, offered))

    def cell_sizes(self, nodes: NDArray[np.int32], offered: NDArray[np.bool_]) -> Sensitive:
        """Rows in every cell of the offered features; shape (n_nodes, n_cells)."""
        return self.ask(self._histograms(nodes, offered, CellSizes))

    def scores(
        self,
        nodes: NDArray[np.int32],
        measure: Impurity,
        row_limits: NDArray[np.int64],
        offered: NDArray[np.bool_] | None = None,
    ) -> Sensitive:
        """Return scores of shape (n_nodes, n_candidates).

        ``row_limits`` are the public numbers of rows by which each node's impurity is clipped.
        Candidates of features that are not offered get one public score below all others.
        """
        caps, scales = self._clips(measure, row_limits)
        scores = candidate_scores(
            lambda part: self._exact(self._histograms(part)),
            nodes,
            self.candidates,
            measure,
            caps,
            scales,
            n_classes=self.n_classes,
            n_threads=self._n_threads,
        )
        if offered is not None:
            scores[~self.candidates.spread(offered)] = NOT_OFFERED
        return Sensitive(scores, (impurities.split_score(self.neighbors),))

    def gains(
        self,
        scores: Sensitive,
        chosen: NDArray[np.int32],
        nodes: NDArray[np.int32],
        measure: Impurity,
        row_limits: NDArray[np.int64],
    ) -> Sensitive:
        """Return the gain of each node's choice: its impurity less that of the branches.

        ``scores`` are what `scores` returned for these nodes, measure and limits; the choices are
        released, among offered candidates.
        """
        totals = self._exact(self._totals(nodes))
        own = node_scores(totals, measure, *self._clips(measure, row_limits))

        def difference(values: NDArray[np.int64]) -> NDArray[np.int64]:
            best = values[np.arange(len(chosen)), chosen]
            return np.where(best == NOT_OFFERED, 0, best - own)

        return scores.map(difference, bounds=(impurities.split_gain(self.neighbors),))

    def _clips(
        self, measure: Impurity, row_limits: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return clips and units of impurities for counts in units of rows.

        An impurity of counts in units is so many times that of rows, with its clip: all of them
        are homogeneous of degree one.
        """
        caps, scales = clips(measure, row_limits, self.n_classes)
        return caps, scales / self.row_units

    def _histograms(
        self,
        nodes: NDArray[np.int32],
        offered: NDArray[np.bool_] | None = None,
        kind: type[ClassHistograms] = ClassHistograms,
    ) -> ClassHistograms:
        return kind(
            nodes=nodes,
            cell_offsets=self._cells,
            n_classes=self.n_classes,
            offered=offered,
            row_units=self.row_units,
        )

    def _totals(self, nodes: NDArray[np.int32]) -> ClassCounts:
        return ClassCounts(nodes=nodes, n_classes=self.n_classes, row_units=self.row_units)
