"""FLAML proposes parameters of private fits."""

import numpy as np
import pytest

from dpboost import DPBoostRegressor

flaml = pytest.importorskip("flaml", reason="flaml is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(size=(300, 2))
PUBLIC = np.random.default_rng(1).uniform(size=(100, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}


def test_its_tuner_runs_private_fits():
    """`flaml.tune.run`: each trial is a fit, evaluated on public rows"""

    def error(config):
        model = DPBoostRegressor(
            schema=SCHEMA, n_estimators=5, verbosity=-1, reg_lambda=config["reg_lambda"]
        ).fit(X, X[:, 0])
        return {"error": float(np.mean((model.predict(PUBLIC) - PUBLIC[:, 0]) ** 2))}

    found = flaml.tune.run(
        error,
        config={"reg_lambda": flaml.tune.uniform(1, 50)},
        metric="error",
        mode="min",
        num_samples=2,
        verbose=0,
    )
    assert 1 <= found.best_config["reg_lambda"] <= 50
