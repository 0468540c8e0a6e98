"""What users import from ``lightgbm.basic``: ours where it touches rows or models, else LightGBM's.

Other names of ``lightgbm.basic`` are found here as well and are those of the installed LightGBM.
"""

from __future__ import annotations

from typing import Any

import lightgbm.basic
from lightgbm.basic import LGBMDeprecationWarning, LightGBMError, Sequence, register_logger

from dpboost._utils.lightgbm_names import name_of
from dpboost.dataset import Dataset
from dpboost.lightgbm.booster import Booster

__all__ = [
    "Booster",
    "Dataset",
    "LGBMDeprecationWarning",
    "LightGBMError",
    "Sequence",
    "register_logger",
]


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.basic, name)
