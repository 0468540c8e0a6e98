"""Shape functions with error bands
================================

The released numbers of a fit of recipe ``best`` determine the effect of each feature. The band
shows the effect of the known noise: a bump inside it may be noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema, plot_shapes

rng = np.random.default_rng(0)
X = rng.uniform(size=(8000, 3))
y = np.sin(6 * X[:, 0]) + X[:, 1] + rng.normal(0, 0.2, 8000)
schema = Schema(bounds=dict.fromkeys(range(3), (0, 1)), label_bounds=(-2, 3))
model = DPBoostRegressor(epsilon=1.0, schema=schema).fit(
    X, y, feature_name=["wave", "line", "nothing"]
)
plot_shapes(model)
plt.show()
