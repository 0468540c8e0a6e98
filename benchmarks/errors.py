"""What can go wrong outside the code that is measured."""

from __future__ import annotations


class BenchmarkError(Exception):
    """A benchmark cannot be run as asked; the message says what to do about it."""


class DataFileError(BenchmarkError):
    """A data file is missing, is not the published one, or does not read as declared."""


class PeerUnavailableError(BenchmarkError):
    """A library that is measured beside dpboost cannot be installed here; others go on."""
