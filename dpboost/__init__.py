"""Differentially private gradient boosting that plugs into LightGBM."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lightgbm import Sequence

from dpboost import basic
from dpboost import compat as compat
from dpboost import engine as engine
from dpboost import plotting as plotting
from dpboost import sklearn as sklearn
from dpboost._utils.validation import InvalidParameterError
from dpboost._utils.version import __version__
from dpboost._utils.warnings import PrivacyWarning
from dpboost.basic import register_logger
from dpboost.budgeting import (
    Budget,
    BudgetForecast,
    BudgetWarning,
    EpsilonExplanation,
    EpsilonSumWarning,
    NextFit,
    plot_accuracy_vs_epsilon,
    plot_privacy_budget,
)
from dpboost.callback import (
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from dpboost.compacting.compact import compact
from dpboost.estimators.boosting_estimators import (
    DPBoostClassifier,
    DPBoostRegressor,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)
from dpboost.estimators.evaluation_sets import PublicRowsWarning, SkippedRowsWarning
from dpboost.estimators.opendp_measurement import as_opendp_measurement
from dpboost.estimators.private_score import ScoreWarning
from dpboost.estimators.train import train
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.evaluating import (
    Evaluation,
    FeatureHistograms,
    evaluate,
    feature_histograms,
)
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.constraint_check import ConstraintCheck, check_constraints
from dpboost.lightgbm.dataset import Dataset
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.local import LPDTAggregator, LPDTClassifier, LPDTPartition, LPDTRegressor
from dpboost.model_selection.cross_validation import CVBooster, CVResults, cv
from dpboost.model_selection.forecasting import Forecast, forecast
from dpboost.model_selection.planned_guarantee import explain_epsilon
from dpboost.model_selection.refitting import refit_leaves
from dpboost.model_selection.replaying import replay
from dpboost.model_selection.secret_folds import SecretKFold
from dpboost.plotting import (
    create_tree_digraph,
    plot_importance,
    plot_interactions,
    plot_metric,
    plot_shape_compare,
    plot_shapes,
    plot_split_value_histogram,
    plot_tree,
)
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.schema import DataDictionary, Schema, schema_template
from dpboost.training.objective import UnboundedWeightsWarning, UserObjectiveWarning
from dpboost.training.privacy_params import (
    LargeDeltaWarning,
    LargeEpsilonWarning,
    NotPrivateWarning,
    PublicSizeWarning,
)
from dpboost.training.public_schema import AssumedPublicWarning, UndeclaredWarning
from dpboost.transcripts.transcript import Transcript

# Names of `dpboost.dask`, which is imported when one of them is asked for: Dask is optional.
_OF_CLUSTERS = (
    "DaskDPBoostClassifier",
    "DaskDPBoostRegressor",
    "DaskDPTreeClassifier",
    "DaskDPTreeRegressor",
    "DaskLGBMClassifier",
    "DaskLGBMRanker",
    "DaskLGBMRegressor",
)


def __getattr__(name: str) -> Any:
    reason = ""
    if name == "EvalResult":  # of LightGBM 4.7
        return getattr(basic, name)
    if name in _OF_CLUSTERS:
        try:
            return getattr(import_module("dpboost.dask"), name)
        except ImportError as error:
            reason = f": {error}"
    raise AttributeError(f"module 'dpboost' has no attribute {name!r}{reason}")


__all__ = [
    "AssumedPublicWarning",
    "FeatureHistograms",
    "Booster",
    "Budget",
    "BudgetExceededError",
    "BudgetForecast",
    "BudgetWarning",
    "CVBooster",
    "CVResults",
    "ConstraintCheck",
    "DPBoostClassifier",
    "DPBoostRegressor",
    "DPTreeClassifier",
    "DPTreeRegressor",
    "DataDictionary",
    "Dataset",
    "EarlyStopException",
    "EpsilonExplanation",
    "EpsilonSumWarning",
    "Evaluation",
    "Forecast",
    "InvalidParameterError",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "LPDTAggregator",
    "LPDTClassifier",
    "LPDTPartition",
    "LPDTRegressor",
    "LargeDeltaWarning",
    "LargeEpsilonWarning",
    "NextFit",
    "NotPrivateWarning",
    "ParameterWarning",
    "PrivacyReport",
    "PrivacyWarning",
    "PublicRowsWarning",
    "PublicSizeWarning",
    "Schema",
    "ScoreWarning",
    "SecretKFold",
    "Sequence",
    "SkippedRowsWarning",
    "Transcript",
    "UnboundedWeightsWarning",
    "UndeclaredWarning",
    "UserObjectiveWarning",
    "__version__",
    "as_opendp_measurement",
    "feature_histograms",
    "check_constraints",
    "compact",
    "create_tree_digraph",
    "cv",
    "early_stopping",
    "evaluate",
    "explain_epsilon",
    "forecast",
    "log_evaluation",
    "plot_accuracy_vs_epsilon",
    "plot_importance",
    "plot_interactions",
    "plot_metric",
    "plot_privacy_budget",
    "plot_shape_compare",
    "plot_shapes",
    "plot_split_value_histogram",
    "plot_tree",
    "record_evaluation",
    "refit_leaves",
    "replay",
    "register_logger",
    "reset_parameter",
    "schema_template",
    "train",
]
