"""SEQ, a baseline of the DPBoost paper: every tree on all rows, each at a T-th of the budget.

Sequential composition as section 4 of Li, Wu, Wen and He (AAAI 2020) takes it from Liu et al.
(2018), with the constants, the gradient filter and the deviations of
:mod:`dpboost.algorithms.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dataclasses import replace

from dpboost.algorithms.dpboost import DEFAULTS, gradient_boosting
from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.schedule import Sequential
from dpboost.losses import Loss
from dpboost.recipe import Algorithm, Hyperparameters


def build(hyper: Hyperparameters, loss: Loss, n_threads: int) -> BoostingLoop:
    """SEQ for filled hyper-parameters."""
    return gradient_boosting(hyper, loss, n_threads, schedule=Sequential(), clip_decay=0.0)


SEQ = Algorithm(name="seq", defaults=replace(DEFAULTS, trees_per_ensemble=1), build=build)
