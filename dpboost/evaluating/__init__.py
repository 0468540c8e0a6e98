"""Private evaluation of models under a budget."""

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
