"""The cost of wide bounds
=======================

Label bounds come from a codebook, so they are often much too wide. Recipe ``best`` first estimates
privately where labels lie inside them.
"""

import matplotlib.pyplot as plt
import numpy as np

from dpboost import DPBoostRegressor, Schema

rng = np.random.default_rng(0)
X = rng.uniform(size=(5000, 2))
y = np.sin(5 * X[:, 0]) + rng.normal(0, 0.2, 5000)
test = rng.uniform(size=(3000, 2))
widths = (2, 10, 100, 1000)
errors = []
for width in widths:
    schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, label_bounds=(-width, width))
    model = DPBoostRegressor(epsilon=1.0, schema=schema, verbosity=-1).fit(X, y)
    errors.append(np.sqrt(np.mean((model.predict(test) - np.sin(5 * test[:, 0])) ** 2)))
plt.plot(widths, errors, marker="o", label="model")
plt.axhline(np.std(np.sin(5 * test[:, 0])), color="gray", linestyle="--", label="a constant")
plt.xscale("log")
plt.ylim(bottom=0)
plt.xlabel("label bounds of plus and minus")
plt.ylabel("error of the predictions")
plt.legend()
plt.show()
