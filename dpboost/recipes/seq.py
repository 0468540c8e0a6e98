"""SEQ, a baseline of the DPBoost paper: every tree on all rows, each at a T-th of the budget.

Sequential composition as section 4 of Li, Wu, Wen and He (AAAI 2020) takes it from Liu et al.
(2018), with the constants, the gradient filter and the deviations of
:mod:`dpboost.recipes.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dpboost.growing.boosting_loop import BoostingLoop, Sequential, bagged
from dpboost.recipes.dpboost import baseline, gradient_boosting
from dpboost.recipes.recipe import Setting


def build(setting: Setting) -> BoostingLoop:
    """Build SEQ."""
    schedule = Sequential(part=bagged(setting.hyper.bagging_fraction))
    return gradient_boosting(setting, schedule=schedule, clip_decay=0.0)


SEQ = baseline("seq", build, lambda hyper: hyper.n_estimators)
