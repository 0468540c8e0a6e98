"""Train from Parquet files on a Spark cluster: the same model as from one table.

    python -m pip install 'dpboost[spark]'
    python examples/13_spark.py
    python examples/13_spark.py --files 4 --rows 1000000

Tasks of one Spark stage hold the files and send sums, the driver adds noise to the total, and the
guarantee is that of a fit in one place. As a check, both fits run once more with noise from one
seed: their models are equal, and not private. Spark needs a Java runtime, of version 17 or later.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier

NAMES = ["age", "dose", "visits", "score"]
SCHEMA = {"bounds": dict.fromkeys(NAMES, (-4, 4)), "classes": [0, 1]}


def sample(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw four features and a class."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, len(NAMES)))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=n_rows) > 0).astype(int)


def main() -> int:
    """Write files, fit on Spark and in one place, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    try:
        import pandas as pd
        from pyspark.sql import SparkSession

        from dpboost.spark import SparkDPBoostClassifier
    except ImportError as error:
        print(f"This example needs Spark ({error}): python -m pip install 'dpboost[spark]'")
        return 2
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        print("This example needs a Java runtime, of version 17 or later: set JAVA_HOME to it.")
        return 2
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    X, y = sample(options.rows, seed=0)
    test_X, test_y = sample(20_000, seed=1)
    settings = {
        "epsilon": options.epsilon,
        "schema": SCHEMA,
        "n_estimators": 50,
        "random_state": 0,
        "verbosity": -1,
    }
    whole = pd.DataFrame(X, columns=NAMES).assign(label=y)
    size = -(-options.rows // options.files)
    session = (
        SparkSession.builder.master(f"local[{options.files}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        # A file is a partition: Spark would put small ones together.
        .config("spark.sql.files.openCostInBytes", str(2**27))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.files):
            part = whole[number * size : (number + 1) * size]
            part.to_parquet(Path(folder) / f"part-{number:03}.parquet")
        rows = session.read.parquet(folder)
        print(f"{rows.rdd.getNumPartitions()} partitions")
        estimator = SparkDPBoostClassifier(featuresCols=NAMES, **settings)
        model = estimator.fit(rows)
        print(model.privacy_report_)
        test = pd.DataFrame(test_X, columns=NAMES)
        score = roc_auc_score(test_y, model.to_local().predict_proba(test)[:, 1])
        print(f"AUC {score:.3f}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a seed makes a model not private
            spread = estimator.fit(rows, {estimator.noise_seed: 1})
            # Spark reads larger files first: this table has the rows in its order.
            here = rows.toPandas()
            local = DPBoostClassifier(noise_seed=1, **settings).fit(here[NAMES], here["label"])
    assert local.booster_.model_to_string() == spread.to_local().booster_.model_to_string()
    print("with the same noise, the model of one table and that of Spark are equal")
    session.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
