"""Wall time and memory of a fit; standard library only, for it runs in every environment."""

from __future__ import annotations

import sys
import time
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such counter
    resource = None  # type: ignore[assignment]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


class Meter:
    """Measures what happens inside its ``with``.

    Attributes
    ----------
    seconds : float
        Wall time.
    peak_mb : float or None
        How far the resident size rose above what it was at the start, in megabytes of 1e6 bytes;
        ``None`` where the system does not count it. It says what a fit takes only in a process
        that has made no fit before: memory that an earlier one gave back is taken again unseen.
    """

    seconds: float
    peak_mb: float | None

    def __enter__(self) -> Meter:
        """Start counting."""
        _forget_the_peak()
        self._before = _resident_and_peak()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop counting."""
        self.seconds = time.perf_counter() - self._start
        after = _resident_and_peak()
        self.peak_mb = None
        if self._before is not None and after is not None:
            self.peak_mb = max(0.0, after[1] - self._before[0]) / 1e6


def _forget_the_peak() -> None:
    """Let the high-water mark start again: reading the data may have risen higher than the fit."""
    try:
        _RESET.write_text("5")
    except OSError:
        return  # not Linux, or not allowed: the mark since the start of the process is taken


def _resident_and_peak() -> tuple[int, int] | None:
    """Return the resident size and its high-water mark in bytes."""
    if _STATUS.is_file():
        lines = (line.split() for line in _STATUS.read_text().splitlines())
        sizes = {words[0]: int(words[1]) for words in lines if words[0] in ("VmRSS:", "VmHWM:")}
        if len(sizes) == 2:
            return sizes["VmRSS:"] * 1024, sizes["VmHWM:"] * 1024
    if resource is None:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    # Without the present size the mark itself is where the fit starts from.
    return mark, mark
