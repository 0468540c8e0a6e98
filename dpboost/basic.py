"""Names of ``lightgbm.basic``: DPBoost's versions for rows and models, otherwise LightGBM's.

All other names are those of the installed LightGBM.
"""

from __future__ import annotations

from typing import Any

import lightgbm.basic
from lightgbm.basic import LGBMDeprecationWarning, LightGBMError, Sequence

from dpboost._utils.lightgbm_names import name_of
from dpboost._utils.warnings import log_warnings
from dpboost.estimators import booster_session as booster_session  # Booster finds it
from dpboost.lightgbm.booster import Booster
from dpboost.lightgbm.dataset import Dataset

__all__ = [
    "Booster",
    "Dataset",
    "LGBMDeprecationWarning",
    "LightGBMError",
    "Sequence",
    "register_logger",
]


def register_logger(
    logger: Any, info_method_name: str = "info", warning_method_name: str = "warning"
) -> None:
    """Register a logger for what LightGBM writes, and for every warning of this library.

    Parameters
    ----------
    logger : object
        A ``logging.Logger``, or any object with the two methods.
    info_method_name, warning_method_name : str
        Names of its methods.

    Raises
    ------
    TypeError
        If it has no such methods.

    Privacy
    -------
    Gets public and released values alone, and warnings also where ``verbosity`` or an earlier fit
    keeps them from being shown.

    Examples
    --------
    >>> import logging
    >>> import dpboost
    >>> dpboost.register_logger(logging.getLogger("training"))
    """
    lightgbm.basic.register_logger(logger, info_method_name, warning_method_name)
    log_warnings(getattr(logger, warning_method_name))


def __getattr__(name: str) -> Any:
    return name_of(lightgbm.basic, name)
