"""Ledgers for the tests of this room."""

import pytest

from dpboost.privacy.ledger import Ledger
from tests.unit.replay_ledger import open_ledger  # noqa: F401


@pytest.fixture
def ledgers(monkeypatch):
    """Every ledger that is opened."""
    opened = []
    begin = Ledger.__init__

    def remembered(self, **terms):
        begin(self, **terms)
        opened.append(self)

    monkeypatch.setattr(Ledger, "__init__", remembered)
    return opened
