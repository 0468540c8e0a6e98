"""Names of ``lightgbm.engine``: DPBoost's versions if they exist, otherwise LightGBM's."""

from __future__ import annotations

from typing import Any

import lightgbm.engine

from dpboost._utils.lightgbm_names import name_of
from dpboost.estimators.cv_callbacks import CVBooster
from dpboost.estimators.train import train

__all__ = ["CVBooster", "train"]


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.engine, name)
