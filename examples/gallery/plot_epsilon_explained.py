"""
What an epsilon leaves to an attacker
=====================================

Whoever knows all other rows and sees the model wants to know whether a person took part. The curve
bounds how often they are right, whatever they do.
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
