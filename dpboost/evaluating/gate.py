"""Release of sums over the rows of an evaluation under a budget."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpboost.budgeting.budget import accountant_in
from dpboost.budgeting.claim import Claim
from dpboost.privacy.accounting import SMALLEST_SIGMA, Accountant, for_group
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Query, RowHandle
from dpboost.privacy.recording import public_value
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.privacy.sensitivity.constants import counts
from dpboost.schema import Schema
from dpboost.training.privacy_params import PrivacyRequest

Array = NDArray[np.float64]

# One row, in units of noise of one standard deviation: Gaussian accounting wants a fine lattice.
UNITS_PER_SIGMA = 4 * SMALLEST_SIGMA


class Gate:
    """Release sums over the rows of an evaluation, each with its noise variance."""

    def __init__(self, source: RowHandle, ledger: Ledger) -> None:
        self.source = source
        self.ledger = ledger

    def units(self, budget: PrivacyCost) -> int:
        """Return what one row is worth: a power of two that makes the lattice fine."""
        noise = self.ledger.accountant.noise(budget)
        reference = counts(self.ledger.neighbors, SMALLEST_SIGMA)
        bound = next(each for each in reference if each.kind == noise.needs)
        sigma = noise.noise_stddev(bound) / SMALLEST_SIGMA
        if sigma == 0:  # an infinite budget
            return 2**30
        return int(2 ** min(max(math.ceil(math.log2(UNITS_PER_SIGMA / sigma)), 10), 30))

    def release(self, query: Query, budget: PrivacyCost, label: str) -> tuple[Array, float]:
        """Return noisy sums, and the variance of their noise."""
        noise = self.ledger.accountant.noise(budget)
        value = self.source.ask(query, self.ledger.neighbors)
        released = self.ledger.release(noise, value, label=label) * query.unit
        # Whose shares are in the noise of parties is known now.
        return released, (value.noise_stddev(noise) * query.unit) ** 2


def request_of(taken: Claim) -> PrivacyRequest:
    """Return what the evaluation asks of the guarantee: all that the budget says."""
    budget = taken.budget
    request = PrivacyRequest(
        epsilon=float(budget.epsilon),
        delta=float(budget.delta),
        neighbors=Neighbors(budget.neighbors),
        schema=Schema(),
        assume_public=(),
        noise_seed=None,
        rows_per_user=budget.rows_per_user,
        claim=taken,
    )
    # Which Gaussian account it is depends on the lines before, which a replay does not have.
    measure = public_value("account", lambda: budget.accountant.privacy_measure)
    return request.settled(lambda _epsilon, _delta: accountant_in(measure))


def accountant_of(request: PrivacyRequest) -> Accountant:
    """Return the accountant of such a request, for what is protected."""
    assert request.granted is not None
    return for_group(request.granted, request.rows_per_user or 1)
