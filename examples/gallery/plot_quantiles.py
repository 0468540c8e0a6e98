"""Quantile regression
===================

``objective="quantile"`` predicts a quantile instead of the mean. The three fits share one budget.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import Budget, DPBoostRegressor, Schema

rng = np.random.default_rng(0)
X = rng.uniform(size=(9000, 1))
y = X[:, 0] + rng.normal(0, 0.1 + 0.4 * X[:, 0], 9000)
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-2, 4))
grid = np.linspace(0, 1, 200)[:, None]
with Budget(epsilon=3.0, delta=1e-6, table="made up"):
    for level in (0.1, 0.5, 0.9):
        model = DPBoostRegressor(objective="quantile", alpha=level, schema=schema)
        model.fit(X, y, fraction=1 / 3)
        plt.plot(grid, model.predict(grid), label=f"level {level}")
plt.scatter(X[:500, 0], y[:500], s=3, color="lightgrey", zorder=0)
plt.legend()
plt.show()
