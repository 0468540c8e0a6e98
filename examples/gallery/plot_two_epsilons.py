"""The same feature at two epsilons
================================

Less privacy gives narrower bands.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema, plot_shape_compare

rng = np.random.default_rng(0)
X = rng.uniform(size=(3000, 1))
y = np.sin(6 * X[:, 0]) + rng.normal(0, 0.2, 3000)
schema = Schema(bounds={0: (0, 1)}, label_bounds=(-2, 2))
strong, weak = (DPBoostRegressor(epsilon=epsilon, schema=schema).fit(X, y) for epsilon in (0.3, 4))
plot_shape_compare(strong, weak, 0, labels=("epsilon 0.3", "epsilon 4"))
plt.show()
