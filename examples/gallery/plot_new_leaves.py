"""Refit the leaves of a model
===========================

In April the effect has changed. ``refit_leaves`` keeps bins and partitions of the March model and
spends the whole budget on leaves.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import Budget, DPBoostRegressor, Schema, refit_leaves

rng = np.random.default_rng(0)
X = rng.uniform(size=(6000, 1))
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-2, 2))
march = np.sin(5 * X[:, 0]) + rng.normal(0, 0.2, 6000)
april = np.cos(5 * X[:, 0]) + rng.normal(0, 0.2, 6000)
model = DPBoostRegressor(epsilon=1.0, schema=schema, verbosity=-1).fit(X, march)
budget = Budget(epsilon=1.0, delta=1e-6, table="april")
newer = refit_leaves(model, X, april, budget=budget, fraction=1)

grid = np.linspace(0, 1, 300)[:, None]
for name, each, truth in (("March", model, np.sin), ("April, new leaves", newer, np.cos)):
    (line,) = plt.plot(grid, each.predict(grid), label=name)
    plt.plot(grid, truth(5 * grid), "--", color=line.get_color(), linewidth=1)
plt.legend()
plt.show()
