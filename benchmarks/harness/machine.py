"""What a page says of the machine, which is nothing that tells which one it was."""

from __future__ import annotations

import os
import platform


def machine_class() -> str:
    """Return what kind of machine this is, and nothing that tells which."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}"


def machine_load() -> str:
    """Return how busy the machine is, this run included: seconds of a busy machine say little."""
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} running threads on {os.cpu_count()} cores at the end"
