"""Evaluate a model by group
=========================

``groups`` evaluates by group, for one charge. The list of groups is public; the group of each row
is private.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from dpboost import Budget, DPBoostClassifier, Schema, evaluate

rng = np.random.default_rng(0)
table = pd.DataFrame(
    {"score": rng.uniform(size=12_000), "town": rng.choice(["north", "south", "west"], 12_000)}
)
noise = np.where(table["town"] == "west", 0.8, 0.2)  # harder to tell there
y = np.where(table["score"] + noise * rng.normal(size=12_000) > 0.5, "yes", "no")
schema = Schema(
    bounds={"score": (0, 1)},
    categories={"town": ["north", "south", "west"]},
    classes=["no", "yes"],
)
budget = Budget(epsilon=2.0, delta=1e-6, table="made up")
model = DPBoostClassifier(schema=schema).fit(table, y, budget=budget, fraction=1, holdout=0.3)
found = evaluate(model, budget=budget, fraction=1, metrics=["accuracy"], groups="town")
found.plot("groups")
plt.show()
