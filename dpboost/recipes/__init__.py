"""One algorithm per file, each as strategies of the engine; ``ALGORITHMS`` finds them by name."""

from __future__ import annotations

from dpboost.recipes.best import BEST
from dpboost.recipes.dpboost import DPBOOST
from dpboost.recipes.para import PARA
from dpboost.recipes.recipe import Registry
from dpboost.recipes.seq import SEQ

ALGORITHMS = Registry(BEST, DPBOOST, PARA, SEQ)

__all__ = ["ALGORITHMS", "BEST", "DPBOOST", "PARA", "SEQ"]
