"""The server: sums reports in constant memory and returns a model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import LARGEST_UNITS, to_integer_units
from dpboost._utils.validation import InvalidParameterError, check_choice, refuse
from dpboost.growing.shrunken_leaves import ShrunkenLeaf, split_gains
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.model_text.writer import model_text
from dpboost.local.cell_means import Estimates, noisy_ratios, prior_mean, raw_scores, shrunk_means
from dpboost.local.collection import ReportPlan
from dpboost.local.label_levels import score_grid
from dpboost.local.partition import LPDTPartition
from dpboost.local.randomizer import MalformedReportError
from dpboost.privacy.exact_arithmetic import pure_cost
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.reporting.terms import ReleaseSummary
from dpboost.trees.ensemble import Ensemble
from dpboost.trees.tree import Tree

#: How leaf values are made of the reports.
ESTIMATES = ("shrunken", "paper")

_JOINED_AT_ONCE = 1 << 14
_BYTES = bytes | bytearray | memoryview


class LPDTAggregator:
    """Aggregate the reports of one collection.

    It keeps one sum for each cell and level, independently of the number of reports. It can be
    pickled, to resume after a restart or to be merged elsewhere.

    Parameters
    ----------
    partition : LPDTPartition
        The partition of the devices.
    epsilon : float
        Budget of a report, as on the devices.
    mechanism : {"signed_cell", "unary", "response", "paper"}
        As on the devices.
    estimate : {"shrunken", "paper"}, default="shrunken"
        Estimator of leaf values: means that are shrunk towards those of the parent nodes according
        to their noise, or equation 5 of the paper, noisy sum over noisy count of each cell.

    Attributes
    ----------
    n_reports : int
        Reports added so far.

    Raises
    ------
    InvalidParameterError
        For a bad epsilon, mechanism or estimate.

    Privacy
    -------
    Reports are private before they arrive; everything here is post-processing. The server publishes
    the number of reports with the model. It cannot detect false reports, or reports that a device
    sends twice.

    Examples
    --------
    >>> import numpy as np
    >>> public = np.linspace(0, 1, 100).reshape(-1, 1)
    >>> partition = LPDTPartition.from_public(
    ...     public, public[:, 0], max_depth=2, min_samples_leaf=5, n_levels=2
    ... )
    >>> server = LPDTAggregator(partition, epsilon=2.0)
    >>> server.add(partition.encode([0.3], 0.4, epsilon=2.0))
    >>> server.n_reports
    1
    """

    def __init__(
        self,
        partition: LPDTPartition,
        epsilon: Any,
        *,
        mechanism: str = "signed_cell",
        estimate: str = "shrunken",
    ) -> None:
        if not isinstance(partition, LPDTPartition):
            raise refuse("partition", "LPDTAggregator", "an LPDTPartition", partition)
        check_choice("estimate", "LPDTAggregator", estimate, ESTIMATES)
        self._partition = partition
        self._estimate = estimate
        self._plan = ReportPlan.of(partition, epsilon, mechanism)
        self._totals = self._plan.randomizer.new_totals()
        self._n_reports = 0

    @property
    def n_reports(self) -> int:
        """Reports added so far."""
        return self._n_reports

    @property
    def partition(self) -> LPDTPartition:
        """The public partition."""
        return self._partition

    def add(self, report: bytes) -> None:
        """Add one report.

        Raises
        ------
        MalformedReportError
            If it is not of this collection; nothing is then added.
        """
        if not isinstance(report, _BYTES):
            raise MalformedReportError(f"A report is bytes. Got {type(report).__name__}.")
        self.add_many(np.frombuffer(report, dtype=np.uint8)[np.newaxis])

    def add_many(self, reports: NDArray[np.uint8] | Iterable[bytes]) -> None:
        """Add many reports; an array is added completely or not at all.

        Parameters
        ----------
        reports : ndarray of shape (n_reports, report_bytes), uint8, or iterable of bytes
            An iterable is read in blocks: those before the block of a malformed report are
            added.

        Raises
        ------
        MalformedReportError
            If one is not of this collection.
        """
        if isinstance(reports, np.ndarray):
            payload = self._plan.payloads(reports)
            self._plan.randomizer.add(payload, self._totals)
            self._n_reports += len(payload)
            return
        block: list[bytes] = []
        for report in reports:
            if not isinstance(report, _BYTES) or len(report) != self._plan.report_bytes:
                self.add(report)  # refuses it
            block.append(report)
            if len(block) == _JOINED_AT_ONCE:
                self._add_block(block)
                block = []
        self._add_block(block)

    def _add_block(self, block: Sequence[bytes]) -> None:
        joined = np.frombuffer(b"".join(block), dtype=np.uint8)
        self.add_many(joined.reshape(-1, self._plan.report_bytes))

    def merge(self, other: LPDTAggregator) -> None:
        """Add the reports of another aggregator of the same collection.

        Raises
        ------
        InvalidParameterError
            If it is this one, whose reports would count twice, or belongs to another partition,
            epsilon or mechanism.
        """
        if other is self:
            raise InvalidParameterError(
                "The 'other' parameter of LPDTAggregator.merge must be another aggregator: merged "
                "with itself, every report would count twice."
            )
        if not isinstance(other, LPDTAggregator) or other._plan.header != self._plan.header:
            raise InvalidParameterError(
                "The 'other' parameter of LPDTAggregator.merge must be an aggregator of the same "
                "partition, epsilon and mechanism."
            )
        self._totals = self._totals + other._totals
        self._n_reports += other._n_reports

    def estimates(self) -> Estimates:
        """Return unbiased counts and sums of the cells, and their noise."""
        randomizer = self._plan.randomizer
        counts, sums = randomizer.estimate(self._totals, self._n_reports)
        whole_sum, whole_variance = randomizer.whole_sum(self._totals, self._n_reports)
        return Estimates(
            counts=counts,
            sums=sums,
            noise=randomizer.noise(),
            whole_sum=whole_sum,
            whole_variance=whole_variance,
            second_moment=randomizer.second_moment(self._totals, self._n_reports),
            n_reports=self._n_reports,
        )

    def to_ensemble(self, *, not_private: Sequence[str] = ()) -> Ensemble:
        """Return the tree with leaf values from the reports.

        Parameters
        ----------
        not_private : sequence of str
            Reasons why the guarantee is not valid, such as noise from a seed.

        Returns
        -------
        Ensemble
            One tree, or one for each of more than two classes.

        Raises
        ------
        InvalidParameterError
            If there is no report.
        """
        if self._n_reports == 0:
            raise InvalidParameterError(
                "LPDTAggregator has no report yet: add reports before it makes a model."
            )
        partition, estimates = self.partition, self.estimates()
        labels = partition.labels
        if self._estimate == "paper":
            means = noisy_ratios(estimates)
        else:
            means = shrunk_means(partition.tree, estimates, prior_mean(labels))
        objective, unit = score_grid(labels)
        counts = to_integer_units(estimates.counts, 1, LARGEST_UNITS)
        scores = to_integer_units(raw_scores(means, labels) / unit, -LARGEST_UNITS, LARGEST_UNITS)
        gain = _gains(partition.tree, estimates, self._n_reports) / scores.shape[1]
        trees = tuple(
            replace(
                partition.tree,
                leaf_value=np.ascontiguousarray(values),
                leaf_count=counts,
                split_gain=gain,
            )
            for values in scores.T
        )
        return Ensemble(
            trees=trees,
            binner=partition.binner,
            start=(0.0,) * len(trees),
            unit=unit,
            objective=objective,
            report=self.privacy_report(not_private=not_private).to_dict(),
            n_rows=float(self._n_reports),
        )

    def to_model(self) -> Booster:
        """Return the model as a LightGBM Booster that keeps the privacy report."""
        ensemble = self.to_ensemble()
        return Booster(model_str=model_text(ensemble, parameters={"num_iterations": 1}))

    def privacy_report(self, *, not_private: Sequence[str] = ()) -> PrivacyReport:
        """Return the guarantee of the collection for every record."""
        randomizer = self._plan.randomizer
        epsilon = randomizer.epsilon
        finite = isinstance(epsilon, Fraction)
        reasons = (*(() if finite else ("epsilon is infinite: no noise was drawn",)), *not_private)
        return PrivacyReport(
            kind="pure" if finite else "none",
            private=not reasons,
            reasons=reasons,
            neighbors="replace",
            assumed_public=(),
            accountant="pure",
            privacy_measure="epsilon",
            epsilon=epsilon,
            delta=Fraction(0),
            epsilon_spent=float(epsilon),
            delta_spent=Fraction(0),
            capacity=pure_cost(epsilon),
            spent=pure_cost(epsilon),
            releases=(
                ReleaseSummary(
                    label="reports",
                    releases=self._n_reports,
                    scope="one for each record",
                    mechanism=randomizer.described,
                    kind="l1",
                    smallest=1,
                    largest=1,
                    unit=1.0,
                    reason="a report is drawn from its own record alone",
                    share=Fraction(1) if finite else None,
                ),
            ),
            facts={
                "recipe": "lpdt",
                "local privacy": _local_guarantee(epsilon, reasons),
                "cells": self.partition.n_cells,
                "label levels": self.partition.labels.n_levels,
                "estimate": self._estimate,
            },
        )


def _local_guarantee(epsilon: Any, reasons: Sequence[str]) -> str:
    if reasons:
        return "none"
    return (
        f"every report is {float(epsilon):g}-locally differentially private (epsilon-LDP): its "
        f"probability changes by at most the factor {math.exp(float(epsilon)):.6g} with its record"
    )


def _gains(tree: Tree, estimates: Estimates, n_reports: int) -> NDArray[np.float64]:
    """Return what the reports show of each split, in squares of scaled labels or of shares."""
    mean = np.clip(estimates.whole_sum / n_reports, -1.0, 1.0)
    n_outputs = estimates.sums.shape[1]
    variance = n_reports * float(estimates.noise.of_mean(mean)) / n_outputs
    counts = np.repeat(np.maximum(estimates.counts, 0.0)[np.newaxis], n_outputs, axis=0)
    # A label scaled to [-1, 1], or a share, moves by at most about 1 from one side to the other.
    leaf = ShrunkenLeaf(reg_lambda=1.0, prior=1.0)
    sums = np.ascontiguousarray(estimates.sums.T)
    return split_gains(tree, sums, counts, math.sqrt(variance), leaf)[0]
