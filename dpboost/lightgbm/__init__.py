"""LightGBM's formats and interfaces: model text, its validation, and the Booster."""

from __future__ import annotations

from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.model_text.model_check import ModelTextError, check_model_text
from dpboost.lightgbm.model_text.writer import check_writable, model_text

__all__ = ["Booster", "ModelTextError", "check_model_text", "check_writable", "model_text"]
