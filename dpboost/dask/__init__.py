"""Training on a Dask cluster, for tables that exceed the memory of one machine.

The estimators have the interface of ``lightgbm.dask`` and the guarantee of `dpboost`: workers hold
binned partitions, and the client draws all noise. With the same ``noise_seed`` the model text is
identical for every partitioning of the rows, and identical to that of one process.
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
    """Not supported; raises an error, as ``dpboost.LGBMRanker``."""


def __getattr__(name: str) -> Any:
    """Return what else users import from ``lightgbm.dask``: LightGBM's own."""
    return name_of(lightgbm.dask, name)
