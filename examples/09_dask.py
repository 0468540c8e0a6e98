"""Train on several workers: the same model as from one table, in messages of constant size.

    python -m pip install 'dpboost[dask]'
    python examples/09_dask.py
    python examples/09_dask.py --workers 4 --rows 1000000

A local cluster holds the rows. Workers send sums, the client adds noise to the total, and the
guarantee is that of a fit in one place. As a check, both fits run once more with noise from one
seed: their models are equal, and not private.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier

SCHEMA = {"bounds": dict.fromkeys(range(6), (-4, 4)), "classes": [0, 1]}


def sample(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw six features and a class."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 6))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=n_rows) > 0).astype(int)


def main() -> int:
    """Start a cluster, fit on it and in one place, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    try:
        import dask.array as da
        from distributed import Client, LocalCluster

        from dpboost.dask import DaskDPBoostClassifier
    except ImportError as error:
        print(f"This example needs Dask ({error}): python -m pip install 'dpboost[dask]'")
        return 2
    X, y = sample(options.rows, seed=0)
    test_X, test_y = sample(20_000, seed=1)
    settings = {
        "epsilon": options.epsilon,
        "schema": SCHEMA,
        "n_estimators": 50,
        "random_state": 0,
        "verbosity": -1,
    }
    with (
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        chunk = -(-options.rows // (2 * options.workers))
        rows, labels = da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)
        print(f"{rows.npartitions} partitions on {options.workers} workers")
        model = DaskDPBoostClassifier(client=client, **settings).fit(rows, labels)
        print(model.privacy_report_)
        score = roc_auc_score(test_y, model.to_local().predict_proba(test_X)[:, 1])
        print(f"AUC {score:.3f}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a seed makes a model not private
            spread = DaskDPBoostClassifier(client=client, noise_seed=1, **settings)
            spread.fit(rows, labels)
            local = DPBoostClassifier(noise_seed=1, **settings).fit(X, y)
    assert np.array_equal(local.predict_proba(test_X), spread.to_local().predict_proba(test_X))
    print("with the same noise, the model of one table and that of the cluster are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
