"""Public rows of another distribution: red wines for white ones."""

from __future__ import annotations

import numpy as np

from benchmarks.reproductions.lpdt.problems import LOCAL_PROBLEMS
from benchmarks.reproductions.lpdt.trees import Split

EPSILONS = (4.0, 6.0, 8.0)


def division(repeat: int) -> Split:
    """Return all red wines as public rows, and white ones divided 4 : 1 into private and test."""
    red, white = LOCAL_PROBLEMS["RED"].load(), LOCAL_PROBLEMS["WHI"].load()
    order = np.random.default_rng(repeat).permutation(len(white[1]))
    private, test = np.split(order, [len(order) * 4 // 5])
    return Split(*red, white[0][private], white[1][private], white[0][test], white[1][test])
