"""Differentially private gradient boosting that plugs into LightGBM."""

from __future__ import annotations

from dpboost._validation import InvalidParameterError
from dpboost.data.learning import UndeclaredWarning
from dpboost.fitting import NotPrivateWarning
from dpboost.lightgbm.booster import Booster
from dpboost.local import LPDTAggregator, LPDTClassifier, LPDTPartition, LPDTRegressor
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.privacy.report import PrivacyReport
from dpboost.schema import Schema
from dpboost.single_tree import DPTreeClassifier
from dpboost.sklearn import DPBoostClassifier, DPBoostRegressor

LGBMRegressor = DPBoostRegressor
LGBMClassifier = DPBoostClassifier

__version__ = "0.1.0"

__all__ = [
    "Booster",
    "BudgetExceededError",
    "DPBoostClassifier",
    "DPBoostRegressor",
    "DPTreeClassifier",
    "InvalidParameterError",
    "LGBMClassifier",
    "LGBMRegressor",
    "LPDTAggregator",
    "LPDTClassifier",
    "LPDTPartition",
    "LPDTRegressor",
    "NotPrivateWarning",
    "PrivacyReport",
    "Schema",
    "UndeclaredWarning",
    "__version__",
]
