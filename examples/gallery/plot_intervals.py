"""Prediction intervals
====================

``fit(conformal=.9)`` holds out rows at random, in secret, and releases a quantile of their errors.
The intervals then cover nine of ten new rows, for any accuracy of the model.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema

rng = np.random.default_rng(0)
X = rng.uniform(size=(6000, 1))
y = np.sin(5 * X[:, 0]) + rng.normal(0, 0.2, 6000)
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-2, 2))
model = DPBoostRegressor(epsilon=1.0, schema=schema).fit(X, y, conformal=0.9)

grid = np.linspace(0, 1, 200)[:, None]
low, high = model.predict_interval(grid).T
plt.fill_between(grid[:, 0], low, high, alpha=0.3, label="90 % of new rows")
plt.plot(grid, model.predict(grid))
new = rng.uniform(size=(400, 1))
labels = np.sin(5 * new[:, 0]) + rng.normal(0, 0.2, 400)
inside = model.predict_interval(new)
covered = np.mean((labels >= inside[:, 0]) & (labels <= inside[:, 1]))
plt.scatter(new, labels, s=4, color="black", label=f"new rows: {100 * covered:.0f} % covered")
plt.legend()
plt.show()
