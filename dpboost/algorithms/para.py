"""PARA, a baseline of the DPBoost paper: each tree takes half of the rows not yet used.

L. Zhao et al., "InPrivate Digging: Enabling Tree-based Distributed Data Mining with
Differential Privacy", INFOCOM 2018, with the constants, the gradient filter and the
deviations of :mod:`dpboost.algorithms.dpboost`; leaves are not clipped geometrically.
"""

from __future__ import annotations

from dataclasses import replace

from dpboost.algorithms.dpboost import DPBOOST, gradient_boosting
from dpboost.boosting.loop import BoostingLoop
from dpboost.boosting.schedule import HalfOfTheUnused
from dpboost.recipe import Setting


def build(setting: Setting) -> BoostingLoop:
    """PARA for filled hyper-parameters."""
    return gradient_boosting(setting, schedule=HalfOfTheUnused(), clip_decay=0.0)


PARA = replace(DPBOOST, name="para", used=DPBOOST.used - {"trees_per_ensemble"}, build=build)
