"""A first private model
=====================

Two features determine readmission. The model is trained at epsilon 1; the plot shows its
probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostClassifier, Schema

rng = np.random.default_rng(0)
X = np.column_stack([rng.uniform(18, 90, 10_000), rng.normal(27, 4, 10_000)])
y = np.where(X[:, 0] / 2 + X[:, 1] + rng.normal(0, 8, 10_000) > 55, "yes", "no")

schema = Schema(bounds={0: (18, 90), 1: (10, 45)}, classes=["no", "yes"])
model = DPBoostClassifier(epsilon=1.0, delta=1e-6, schema=schema).fit(X, y)
print(model.privacy_report_.guarantee)

age, index = np.meshgrid(np.linspace(18, 90, 100), np.linspace(10, 45, 100))
chance = model.predict_proba(np.column_stack([age.ravel(), index.ravel()]))[:, 1]
plt.pcolormesh(age, index, chance.reshape(age.shape), cmap="viridis", vmin=0, vmax=1)
plt.colorbar(label="probability to come back")
plt.xlabel("age")
plt.ylabel("body mass index")
plt.show()
