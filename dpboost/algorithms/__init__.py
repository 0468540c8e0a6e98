"""One algorithm per file, each as strategies of the engine; ``ALGORITHMS`` finds them by name."""

from __future__ import annotations

from dpboost.algorithms.best import BEST
from dpboost.algorithms.dpboost import DPBOOST
from dpboost.algorithms.para import PARA
from dpboost.algorithms.seq import SEQ
from dpboost.recipe import Registry

ALGORITHMS = Registry(BEST, DPBOOST, PARA, SEQ)

__all__ = ["ALGORITHMS", "BEST", "DPBOOST", "PARA", "SEQ"]
