"""Disks that are full, for the tests."""

import errno
import os
from contextlib import contextmanager

import pytest


@contextmanager
def room_for(n_bytes):
    """Let no file of this process grow beyond so many bytes: the rest of a write fails."""
    resource = pytest.importorskip("resource", reason="no limits of file sizes here")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def failing(owner, name):
    """Let a call fail as on a full disk."""

    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, fail)
        yield
