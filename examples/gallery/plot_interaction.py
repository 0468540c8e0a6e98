"""The interaction of two features
===============================

The pair effect is what remains after the effect of each single feature. Hatched cells may be noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema, plot_interactions

rng = np.random.default_rng(0)
X = rng.uniform(size=(10_000, 2))
y = np.where((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), 1.0, 0.0) + rng.normal(0, 0.2, 10_000)
schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(-1, 2))
model = DPBoostRegressor(epsilon=2.0, schema=schema).fit(X, y, feature_name=["left", "right"])
plot_interactions(model)
plt.show()
