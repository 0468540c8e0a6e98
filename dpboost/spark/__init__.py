"""Training on a Spark cluster, for tables that exceed the memory of one machine.

The estimators have the interface of ``pyspark.ml`` and the guarantee of `dpboost`: tasks hold
binned partitions, and the driver draws all noise. With the same ``noise_seed`` the model text is
identical for every partitioning of the rows, and identical to that of one process.
"""

from __future__ import annotations

try:
    import cloudpickle as _cloudpickle  # noqa: F401
    import pandas as _pandas  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "dpboost.spark needs pyspark, pandas and pyarrow: install dpboost with the extra 'spark', "
        "pip install 'dpboost[spark]'."
    ) from error

from dpboost.cluster.partitioned_rows import FitFailedError
from dpboost.spark.estimators import (
    SparkDPBoostClassifier,
    SparkDPBoostRegressor,
    SparkDPClassificationModel,
    SparkDPRegressionModel,
    SparkDPTreeClassifier,
    SparkDPTreeRegressor,
)

__all__ = [
    "FitFailedError",
    "SparkDPBoostClassifier",
    "SparkDPBoostRegressor",
    "SparkDPClassificationModel",
    "SparkDPRegressionModel",
    "SparkDPTreeClassifier",
    "SparkDPTreeRegressor",
]
