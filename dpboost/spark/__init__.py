"""Training on more rows than one machine holds, on a Spark cluster.

The estimators are those of ``pyspark.ml`` by interface, and those of `dpboost` by guarantee: tasks
hold binned partitions, the driver holds the gate. With the same ``noise_seed`` a model is the same,
to the last digit of its text, for any division of the rows, and as in one process.
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
