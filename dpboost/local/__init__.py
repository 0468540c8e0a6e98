"""Local differential privacy: each user randomizes a report, and public rows shape the tree."""

from __future__ import annotations

from dpboost.local.aggregator import LPDTAggregator
from dpboost.local.estimators import LPDTClassifier, LPDTRegressor
from dpboost.local.memoised_reports import MemoizedReports
from dpboost.local.partition import LPDTPartition
from dpboost.local.randomizer import MalformedReportError

__all__ = [
    "LPDTAggregator",
    "LPDTClassifier",
    "LPDTPartition",
    "LPDTRegressor",
    "MalformedReportError",
    "MemoizedReports",
]
