"""A single interpretable tree
===========================

One tree of depth 2 under pure epsilon, and the regions of its leaves.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPTreeClassifier, Schema

rng = np.random.default_rng(0)
X = rng.uniform(size=(5000, 2))
y = np.where((X[:, 0] > 0.5) & (X[:, 1] > 0.3), "yes", "no")
schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, classes=["no", "yes"])
tree = DPTreeClassifier(epsilon=1.0, max_depth=2, schema=schema).fit(X, y)
print(tree.export_text())

left, right = np.meshgrid(np.linspace(0, 1, 200), np.linspace(0, 1, 200))
chance = tree.predict_proba(np.column_stack([left.ravel(), right.ravel()]))[:, 1]
plt.pcolormesh(left, right, chance.reshape(left.shape), vmin=0, vmax=1)
plt.colorbar(label="probability of yes")
plt.show()
