"""Detect drift between two months
===============================

Noisy histograms over the bins of a model, for two months. The distance is corrected for noise and
sampling error.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpboost import Budget, DPBoostRegressor, Schema, feature_histograms

rng = np.random.default_rng(0)
names = ["age", "dose", "length"]
march = pd.DataFrame(rng.uniform(size=(8000, 3)), columns=names)
april = pd.DataFrame(rng.uniform(size=(8000, 3)), columns=names)
april["dose"] **= 1.5  # doses are smaller now
schema = Schema(bounds=dict.fromkeys(names, (0, 1)), label_bounds=(0, 3))
model = DPBoostRegressor(schema=schema, verbosity=-1).fit(march, march.sum(axis=1))

spent = {"epsilon": 0.5, "delta": 1e-6}
first = feature_histograms(model, march, budget=Budget(**spent), fraction=1)
second = feature_histograms(model, april, budget=Budget(**spent), fraction=1)
drift = second.drift(first)
plt.bar(list(drift), [each.distance for each in drift.values()])
for position, each in enumerate(drift.values()):
    plt.annotate(f"p {each.p_value:.2g}", (position, each.distance), ha="center", va="bottom")
plt.ylabel("distance of the shares of bins")
plt.show()
