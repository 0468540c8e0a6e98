"""Fits that the audits of this folder look at."""

from __future__ import annotations

import logging
from fractions import Fraction

import numpy as np
import pytest

from dpboost.audit.run_trace import Recorder
from dpboost.budgeting.claim import Claim
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import Sensitive
from dpboost.privacy.randomness import Entropy
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity

DELTA = Fraction(1, 10**5)

#: Libraries that tests before ours leave threads or finalizers of, which log whenever they run.
FOREIGN = ("asyncio", "distributed", "py4j", "tornado")


@pytest.fixture(autouse=True)
def _no_log_of_other_tests(monkeypatch):
    """Hear no cluster of another test of this process: an audit compares all log records."""
    for name in FOREIGN:
        monkeypatch.setattr(logging.getLogger(name), "propagate", False)


@pytest.fixture
def toy_fit(monkeypatch):
    """Return a function that makes a fit of sums, released under any accountant.

    Its ledger is opened where the library's fits open theirs.
    """
    from dpboost.training.privacy_params import PrivacyRequest

    def make(accountant, mechanisms, *, units=1, epsilon=2, delta=DELTA):
        def ledger(request):
            return Ledger(
                epsilon=epsilon,
                delta=delta,
                neighbors=Neighbors.ADD_REMOVE,
                accountant=accountant,
                entropy=Entropy.secure(),
            )

        monkeypatch.setattr(PrivacyRequest, "ledger", ledger)

        def fit(X, y):
            opened = PrivacyRequest.ledger(None)
            bounds = tuple(
                Sensitivity(kind, units, "a row counts once", 1) for kind in ("l1", "l2")
            )
            scores = (Sensitivity("range", units, "a row scores once"),)
            total = np.array([len(y) * units], dtype=np.int64)
            for mechanism in mechanisms(opened):
                if mechanism.needs == "range":
                    # The row scores for the first candidate only.
                    table = np.array([[len(y) * units, 0]], dtype=np.int64)
                    opened.release(mechanism, Sensitive(table, scores), label="choice")
                else:
                    opened.release(mechanism, Sensitive(total, bounds), label="sum")

        return fit

    return make


@pytest.fixture
def record():
    """Return a function that records one fit on a table."""

    def run(fit, X, y, **options):
        recorder = Recorder(np.arange(len(y)), **options)
        with recorder.watching() as transcript:
            fit(X, y)
        return transcript

    return run


@pytest.fixture
def held_rows_train(monkeypatch):
    """Set rows aside that take part in the fit as well."""
    aside = Claim.set_aside

    def leaking(claim, X, y, users, coins):
        aside(claim, X, y, users, coins)
        return np.arange(len(y))

    monkeypatch.setattr(Claim, "set_aside", leaking)
