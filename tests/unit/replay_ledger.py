"""A ledger for tests that replays forced outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.stability_histogram import NameCounts


class ReplayLedger(Ledger):
    """Counts its draws; returns forced outcomes, when there are any, instead of drawing."""

    def __init__(self, **parameters):
        super().__init__(**parameters)
        self.n_draws = 0
        self.forced = []
        self.values = []

    def _draw(self, entry, value):
        self.n_draws += 1
        self.values.append(value)
        if self.forced:
            forced = np.asarray(self.forced.pop(0))
            if isinstance(value, NameCounts):
                return value.passing(forced, entry.mechanism.threshold)
            return forced
        return super()._draw(entry, value)


@pytest.fixture
def open_ledger():
    """Return a function that opens a ledger with sensible defaults."""

    def build(**changes):
        parameters = {
            "epsilon": 1,
            "delta": 0,
            "neighbors": Neighbors.ADD_REMOVE,
            "accountant": PureAccountant(),
            "entropy": Entropy.seeded(20200207),
        }
        return ReplayLedger(**(parameters | changes))

    return build
