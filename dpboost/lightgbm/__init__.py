"""The one room that knows LightGBM's format: model text, its validation, and the Booster."""

from __future__ import annotations

from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.text import check_writable, model_text
from dpboost.lightgbm.validate import ModelTextError, check_model_text

__all__ = ["Booster", "ModelTextError", "check_model_text", "check_writable", "model_text"]
