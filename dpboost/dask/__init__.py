"""Training on more rows than one machine holds, on a Dask cluster.

The estimators are those of ``lightgbm.dask`` by interface, and those of `dpboost` by guarantee:
workers hold binned partitions, the client holds the gate. With the same ``noise_seed`` a model is
the same, to the last digit of its text, for any division of the rows, and as in one process.
"""

from __future__ import annotations

try:
    import dask as _dask  # noqa: F401
    import distributed as _distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "dpboost.dask needs dask and distributed: install dpboost with the extra 'dask', "
        "pip install 'dpboost[dask]'."
    ) from error

from typing import Any

import lightgbm.dask

from dpboost._utils.lightgbm_names import name_of
from dpboost.cluster.partitioned_rows import FitFailedError
from dpboost.dask.estimators import (
    DaskDPBoostClassifier,
    DaskDPBoostRegressor,
    DaskDPTreeClassifier,
    DaskDPTreeRegressor,
)
from dpboost.estimators.boosting_estimators import LGBMRanker

__all__ = [
    "DaskDPBoostClassifier",
    "DaskDPBoostRegressor",
    "DaskDPTreeClassifier",
    "DaskDPTreeRegressor",
    "DaskLGBMClassifier",
    "DaskLGBMRanker",
    "DaskLGBMRegressor",
    "FitFailedError",
]

DaskLGBMClassifier = DaskDPBoostClassifier
DaskLGBMRegressor = DaskDPBoostRegressor


class DaskLGBMRanker(LGBMRanker):
    """A name of LightGBM that refuses, as ``dpboost.LGBMRanker``."""


def __getattr__(name: str) -> Any:
    """Return what else users import from ``lightgbm.dask``: LightGBM's own."""
    return name_of(lightgbm.dask, name)
