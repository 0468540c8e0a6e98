"""How a fit divides its budget
============================

Most of the budget is spent on the leaves of the trees. The fit estimates what a schema leaves open
privately, with part of the budget: here the bounds of both features.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema, plot_privacy_budget

rng = np.random.default_rng(0)
X = rng.uniform(size=(5000, 2))
y = X[:, 0] + rng.normal(0, 0.1, 5000)

declared = Schema(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(-1, 2))
half = Schema(label_bounds=(-1, 2))
figure, panels = plt.subplots(2, 1, figsize=(7, 6), layout="constrained")
for panel, schema, what in zip(panels, (declared, half), ("declared", "learned"), strict=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that bounds are learned at a charge
        model = DPBoostRegressor(epsilon=1.0, schema=schema).fit(X, y)
    plot_privacy_budget(model, ax=panel)
    panel.set_title(f"bounds {what}")
plt.show()
