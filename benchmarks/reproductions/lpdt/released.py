"""The released package of the LPDT paper, in an environment of its own: not private.

It draws new label noise for every cell, and takes the range of the labels from the private rows.
Only its rule by variance runs: its builder takes no answer of the splitter by longest edges.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.environments import interpreter
from benchmarks.errors import PeerUnavailableError
from benchmarks.peers import fit_in_peer
from benchmarks.reproductions.lpdt.baselines import Scale

if TYPE_CHECKING:
    from benchmarks.reproductions.lpdt.trees import Sizes, Split

NAME = "lpdt_released"
LABEL = "released package (not private)"

#: The rule that runs, and its splitter.
RULE, _SPLITTER = "LPDT-V", "msemaxedge"


@cache
def at_hand() -> bool:
    """Return whether its environment is there or can be made."""
    try:
        interpreter(NAME)
    except PeerUnavailableError:
        return False
    return True


def predictions(split: Split, epsilon: float, sizes: Sizes) -> np.ndarray:
    """Return what it predicts on the test rows, with its own defaults but for the sizes."""
    scale = Scale.of(split.X_public, split.y_public)
    arrays = {
        "public_X": scale.features(split.X_public),
        "public_y": split.y_public,
        "train_X": scale.features(split.X),
        "train_y": split.y,
        "test_X": scale.features(split.X_test),
    }
    settings = {
        "splitter": _SPLITTER,
        "epsilon": epsilon,
        "max_depth": sizes.max_depth,
        "min_samples_leaf": sizes.min_samples_leaf,
    }
    return np.asarray(fit_in_peer(NAME, arrays, settings, 1).prediction)
