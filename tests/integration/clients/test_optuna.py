"""Optuna proposes parameters of private fits."""

import numpy as np
import pytest

from dpboost import Budget, DPBoostRegressor

optuna = pytest.importorskip("optuna", reason="optuna is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")
X = np.random.default_rng(0).uniform(size=(300, 2))
PUBLIC = np.random.default_rng(1).uniform(size=(100, 2))
SCHEMA = {"bounds": {0: (0, 1), 1: (0, 1)}, "label_bounds": (0, 1)}


def test_a_study_on_public_rows_spends_one_budget():
    """`study.optimize`: each trial is a fit, charged to one `Budget`, evaluated on public rows"""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    budget = Budget(epsilon=3, delta=1e-6)

    def error(trial):
        model = DPBoostRegressor(
            schema=SCHEMA,
            n_estimators=5,
            verbosity=-1,
            reg_lambda=trial.suggest_float("reg_lambda", 1, 50),
        ).fit(X, X[:, 0], budget=budget, fraction=0.25)
        return float(np.mean((model.predict(PUBLIC) - PUBLIC[:, 0]) ** 2))

    study = optuna.create_study()
    study.optimize(error, n_trials=3)
    assert len(study.trials) == 3
    assert 1 <= study.best_params["reg_lambda"] <= 50
    assert len(budget.lines) == 3
