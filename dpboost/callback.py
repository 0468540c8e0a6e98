"""LightGBM's callbacks, under their names.

They are LightGBM's own and work on evaluation sets, which are taken as public. Those of
``lightgbm`` itself may be given as well.

Privacy
-------
A callback sees the released rounds and metrics of public rows. ``early_stopping`` ends training
by them; what the rounds left out would have cost is never charged, and the guarantee stays that
of the epsilon asked for. ``reset_parameter`` sets the learning rate, which shrinks released
values; all else is fixed before the first round and refused.
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
