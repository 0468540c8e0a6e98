"""Monotonic constraints reduce noise
==================================

The label increases with the feature. A constrained model cannot follow the noise down; the
constraint uses no budget.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema

rng = np.random.default_rng(0)
X = rng.uniform(size=(1500, 1))
y = X[:, 0] ** 2 + rng.normal(0, 0.2, 1500)
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-1, 2))
grid = np.linspace(0, 1, 400)[:, None]
for name, constraints in (("free", None), ("never falling", [1])):
    model = DPBoostRegressor(epsilon=0.5, schema=schema, monotone_constraints=constraints)
    plt.plot(grid, model.fit(X, y).predict(grid), label=name)
plt.plot(grid, grid**2, "k--", linewidth=1, label="truth")
plt.legend()
plt.show()
