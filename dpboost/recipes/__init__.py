"""The algorithms, one per file, as strategies of the engine; ``ALGORITHMS`` maps their names."""

from __future__ import annotations

from dpboost.recipes.best import BEST
from dpboost.recipes.dpboost import DPBOOST
from dpboost.recipes.para import PARA
from dpboost.recipes.recipe import Registry
from dpboost.recipes.seq import SEQ

ALGORITHMS = Registry(BEST, DPBOOST, PARA, SEQ)

__all__ = ["ALGORITHMS", "BEST", "DPBOOST", "PARA", "SEQ"]
