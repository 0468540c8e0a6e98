"""PARA, a baseline of the DPBoost paper: each tree takes half of the rows not yet used.

L. Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining with
Differential Privacy", INFOCOM 2018, with the constants, the gradient filter and the
deviations of :mod:`dpboost.recipes.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dataclasses import replace

from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.schedule import HalfOfTheUnused
from dpboost.losses import Loss
from dpboost.privacy.neighbours import Neighbours
from dpboost.recipes.dpboost import (
    DEFAULTS,
    DPBOOST,
    gradient_boosting,
    least_budget,
    noisy_budget,
)
from dpboost.recipes.recipe import Hyperparameters, PublicFacts, Setting


def defaults(facts: PublicFacts) -> Hyperparameters:
    """Return the values of the paper's experiments; how trees share rows is not up to the user."""
    return replace(DEFAULTS, trees_per_ensemble=None)


def build(setting: Setting) -> BoostingLoop:
    """PARA for filled hyper-parameters."""
    return gradient_boosting(setting, schedule=HalfOfTheUnused(), clip_decay=0.0)


def least_epsilon(hyper: Hyperparameters, delta: float, task: str, neighbours: Neighbours) -> float:
    """Return the least epsilon for which every release can be drawn exactly."""
    filled = hyper.filled(DEFAULTS)
    assert filled.n_estimators is not None
    return least_budget(filled, 1, task, neighbours)


def useful_budget(hyper: Hyperparameters, loss: Loss, neighbours: Neighbours) -> float:
    """Return the budget below which leaves are noise."""
    return noisy_budget(hyper, 1, loss, neighbours)


PARA = replace(
    DPBOOST,
    name="para",
    used=DPBOOST.used - {"trees_per_ensemble"},
    defaults=defaults,
    build=build,
    least_epsilon=least_epsilon,
    useful_budget=useful_budget,
)
