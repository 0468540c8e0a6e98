"""Forecast accuracy from public rows
==================================

Public rows that are similar to the private ones show the accuracy that a fit may reach at each
epsilon. The plot compares two plans: trees of up to three features, and a sum of functions of
single features.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostClassifier, Schema, forecast, plot_accuracy_vs_epsilon

rng = np.random.default_rng(0)
X = rng.uniform(size=(500, 3))
y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5) ^ (rng.uniform(size=500) < 0.1)).astype(int)
schema = Schema(bounds=dict.fromkeys(range(3), (0, 1)), classes=[0, 1])

plans = {}
for name, most in (("up to three features", None), ("single features", 1)):
    plans[name] = forecast(
        schema=schema,
        n_rows=3_000,
        epsilon=[0.3, 1.0, 4.0],
        like=(X, y),
        estimator=DPBoostClassifier(max_interaction=most, n_estimators=50, verbosity=-1),
        random_state=0,
    )
plot_accuracy_vs_epsilon(plans, epsilon=1.0)
plt.show()
