"""Three hospitals train one model without sharing rows.

Here all of them run in this process. The same fit over a network is in 06_federated_flower, and in
06_federated_nvflare.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from dpboost.federated import FederatedBoostingClassifier

X, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
test, rest = order[:120], order[120:]
# Hospitals of different sizes.
parts = np.split(rest, [60, 200])
hospitals = [(X[part, :10], y[part]) for part in parts]

# What anybody may know: ranges from the literature, not from these patients.
bounds = dict(enumerate([(5, 30), (5, 40), (40, 200), (100, 2500), (0, 0.2)] + [(0, 0.5)] * 5))

model = FederatedBoostingClassifier(
    epsilon=4.0,
    delta=1e-6,
    schema={"bounds": bounds, "classes": [0, 1]},
    colluding=1,  # each hospital's rows are protected from any one of the others
    n_estimators=100,
    verbosity=0,
)
model.fit(hospitals)
print(
    f"AUC on held-out rows: {roc_auc_score(y[test], model.predict_proba(X[test, :10])[:, 1]):.3f}"
)
print(model.privacy_report_)
