"""PARA, a baseline of the DPBoost paper: each tree takes half of the rows not yet used.

L. Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining with
Differential Privacy", INFOCOM 2018, with the constants, the gradient filter and the
deviations of :mod:`dpboost.recipes.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dpboost.growing.boosting_loop import BoostingLoop, HalfOfTheUnused, bagged
from dpboost.recipes.dpboost import baseline, gradient_boosting
from dpboost.recipes.recipe import Setting


def build(setting: Setting) -> BoostingLoop:
    """Build PARA."""
    schedule = HalfOfTheUnused(part=bagged(setting.hyper.bagging_fraction))
    return gradient_boosting(setting, schedule=schedule, clip_decay=0.0)


PARA = baseline("para", build, lambda hyper: 1)
