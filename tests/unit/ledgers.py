"""Ledgers for the tests."""

import math

from dpboost.privacy.accounting import GDPAccountant, PureAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors


def open_ledger(
    epsilon=math.inf, delta=0, neighbors=Neighbors.ADD_REMOVE, *, accountant=None, seed=None
):
    """Pure where delta is 0; its noise is that of a fit where there is no seed."""
    return Ledger(
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        accountant=accountant or (GDPAccountant() if delta else PureAccountant()),
        entropy=Entropy.secure() if seed is None else Entropy.seeded(seed),
    )
