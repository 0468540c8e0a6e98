"""Importances with standard errors
================================

Four features have decreasing importance, and two have none. The errors show which ranks are
certain.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema, plot_importance

rng = np.random.default_rng(0)
X = rng.uniform(size=(6000, 6))
y = X[:, :4] @ [1.0, 0.5, 0.25, 0.12] + rng.normal(0, 0.1, 6000)
schema = Schema(bounds=dict.fromkeys(range(6), (0, 1)), label_bounds=(-1, 3))
names = ["first", "second", "third", "fourth", "nothing", "nothing either"]
model = DPBoostRegressor(epsilon=1.0, schema=schema).fit(X, y, feature_name=names)
plot_importance(model, with_error=True)
plt.show()
