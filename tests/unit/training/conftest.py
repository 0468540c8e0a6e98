"""Ledgers for the tests of this room."""

from tests.unit.replay_ledger import open_ledger  # noqa: F401
