"""The spread of predictions between fits
======================================

``prediction_std`` estimates the standard deviation of each prediction over fits with other
noise, from one fit alone. The plot compares it with four refits.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema

rng = np.random.default_rng(0)
X = rng.beta(2, 5, size=(3000, 1))  # few rows on the right
y = np.sin(5 * X[:, 0]) + rng.normal(0, 0.2, 3000)
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-2, 2))
models = [DPBoostRegressor(epsilon=0.5, schema=schema).fit(X, y) for _ in range(5)]

grid = np.linspace(0, 1, 150)[:, None]
middle, spread = models[0].predict(grid), models[0].prediction_std(grid)
plt.fill_between(grid[:, 0], middle - 2 * spread, middle + 2 * spread, alpha=0.3, label="2 spreads")
for model in models[1:]:
    plt.plot(grid, model.predict(grid), color="gray", linewidth=0.7)
plt.plot(grid, middle, label="first fit")
plt.legend()
plt.show()
