"""PARA, a baseline of the DPBoost paper: each tree takes half of the rows not yet used.

L. Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining with
Differential Privacy", INFOCOM 2018, with the constants, the gradient filter and the
deviations of :mod:`dpboost.algorithms.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dataclasses import replace

from dpboost.algorithms.dpboost import DEFAULTS, gradient_boosting
from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.schedule import HalfOfTheUnused
from dpboost.losses import Loss
from dpboost.recipe import Algorithm, Hyperparameters


def build(hyper: Hyperparameters, loss: Loss, n_threads: int) -> BoostingLoop:
    """PARA for filled hyper-parameters."""
    return gradient_boosting(hyper, loss, n_threads, schedule=HalfOfTheUnused(), clip_decay=0.0)


PARA = Algorithm(name="para", defaults=replace(DEFAULTS, trees_per_ensemble=None), build=build)
