"""How good a model is on private rows, paid from a budget; and how good one may become."""

from __future__ import annotations

from dpboost.evaluating.drift import FeatureHistograms, feature_histograms
from dpboost.evaluating.evaluate import evaluate
from dpboost.evaluating.evaluation import Evaluation
from dpboost.evaluating.figures import Estimate

__all__ = [
    "FeatureHistograms",
    "Evaluation",
    "Estimate",
    "feature_histograms",
    "evaluate",
]
