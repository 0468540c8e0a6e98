"""The one seed of the public randomness of a fit."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from dpboost._utils.validation import check_integer, refuse

SEED_BITS = 128


def public_seed(random_state: Any, noise_seed: int | None, owner: str) -> int:
    """Return a seed from what scikit-learn users pass as ``random_state``.

    The transcript of a fit holds this seed, and never the state of the user's generator.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        A generator gives 128 fresh bits. None takes the noise seed, or fresh bits of the system.
    noise_seed : int or None
        Makes the whole fit reproducible, public randomness included.
    owner : str
        Name of the caller in error messages.

    Raises
    ------
    InvalidParameterError
        For anything else.
    """
    if random_state is None:
        return secrets.randbits(SEED_BITS) if noise_seed is None else noise_seed
    if isinstance(random_state, np.random.Generator):
        return int.from_bytes(random_state.bytes(SEED_BITS // 8), "little")
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(SEED_BITS // 8), "little")
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return check_integer("random_state", owner, random_state, low=0)
    raise refuse(
        "random_state", owner, "an integer of at least 0, a RandomState or None", random_state
    )
