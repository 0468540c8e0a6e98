"""LightGBM's callbacks, under their names.

They are LightGBM's functions and use evaluation sets, which are assumed to be public. Callbacks
from ``lightgbm`` itself are accepted as well.

Privacy
-------
A callback receives released rounds and metrics of public rows. If ``early_stopping`` ends training,
the remaining rounds are not charged, and the guarantee is that of the requested epsilon.
``reset_parameter`` may change the learning rate, which scales released values. Other parameters
are fixed before the first round, and changes are refused.
"""

from __future__ import annotations

from typing import Any

import lightgbm.callback
from lightgbm.callback import (
    CallbackEnv,
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)

from dpboost._utils.lightgbm_names import name_of

__all__ = [
    "CallbackEnv",
    "EarlyStopException",
    "early_stopping",
    "log_evaluation",
    "record_evaluation",
    "reset_parameter",
]


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.callback, name)
