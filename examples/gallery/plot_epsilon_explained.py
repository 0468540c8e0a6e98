"""The bound that epsilon puts on an attacker
==========================================

An attacker knows all other rows, sees the model, and guesses whether an individual took part. The
curve bounds the true-positive rate of every such attack.
"""

import matplotlib.pyplot as plt

import dpboost

figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
for panel, epsilon in zip(panels, (0.5, 1.0, 4.0), strict=True):
    explanation = dpboost.explain_epsilon(epsilon, 1e-6)
    explanation.plot(ax=panel)
    panel.set_title(f"epsilon {epsilon:g}: advantage at most {explanation.advantage:.2f}")
plt.show()
print(dpboost.explain_epsilon(1.0, 1e-6))
