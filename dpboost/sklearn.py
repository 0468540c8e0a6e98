"""Names of ``lightgbm.sklearn``: DPBoost's versions if they exist, otherwise LightGBM's."""

from __future__ import annotations

from typing import Any

import lightgbm.sklearn

from dpboost._utils.lightgbm_names import name_of
from dpboost.estimators.boosting_estimators import (
    DPBoostClassifier,
    DPBoostRegressor,
    LGBMClassifier,
    LGBMModel,
    LGBMRanker,
    LGBMRegressor,
)

__all__ = [
    "DPBoostClassifier",
    "DPBoostRegressor",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
]


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.sklearn, name)
