"""Individuals with several rows
=============================

The more rows of an individual may take part, the more noise is needed. The rows of an individual
are similar here, so that one row of each is the best choice.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPBoostClassifier, Schema

rng = np.random.default_rng(0)
person = np.repeat(np.arange(2500), 4)
own = rng.uniform(size=(2500, 2))
X = np.clip(own[person] + rng.normal(0, 0.02, (10_000, 2)), 0, 1)
y = (own[person, 0] + rng.normal(0, 0.3, 2500)[person] > 0.5).astype(int)
test = rng.uniform(size=(4000, 2))
truth = (test[:, 0] + rng.normal(0, 0.3, 4000) > 0.5).astype(int)
schema = Schema(bounds={0: (0, 1), 1: (0, 1)}, classes=[0, 1])

limits, scores = (1, 2, 4), []
for most in limits:
    model = DPBoostClassifier(epsilon=0.5, schema=schema, rows_per_user=most)
    model.fit(X, y, user_ids=person)
    scores.append(roc_auc_score(truth, model.predict_proba(test)[:, 1]))
plt.plot(limits, scores, marker="o")
plt.xticks(limits)
plt.xlabel("rows_per_user")
plt.ylabel("AUC on public rows, epsilon 0.5 for a person")
plt.show()
