"""A private ROC curve
===================

A fifth of the rows is held out at random, in secret. ``evaluate`` scores the model on them, inside
the same budget: the curve and the metrics contain noise, and the intervals include it.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import Budget, DPBoostClassifier, Schema, evaluate

rng = np.random.default_rng(0)
X = rng.uniform(size=(10_000, 2))
y = np.where(X[:, 0] + rng.normal(0, 0.3, 10_000) > 0.5, "yes", "no")
schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, classes=["no", "yes"])
budget = Budget(epsilon=1.0, delta=1e-6, table="made up")
model = DPBoostClassifier(schema=schema).fit(X, y, budget=budget, fraction=1, holdout=0.2)
found = evaluate(model, budget=budget, fraction=1)
print(found)
found.plot()
plt.show()
