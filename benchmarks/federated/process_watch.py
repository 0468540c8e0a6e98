"""What processes of this machine take, by the program that each runs."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType

PROC = Path("/proc")
_INTERVAL = 0.2


class ProcessWatch:
    """Looks at processes and all that they start, five times a second, inside its ``with`` (Linux).

    Parameters
    ----------
    first : collection of int
        Numbers of the processes.

    Attributes
    ----------
    peaks : dict of str to float
        The largest resident size of a process, by the name of its program, in MB.
    together : float
        The largest sum of the resident sizes of all processes, in MB. What several share is
        counted for each.
    """

    def __init__(self, first: Collection[int]) -> None:
        self._first = first
        self._ended = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self.peaks: dict[str, float] = defaultdict(float)
        self.together = 0.0

    def __enter__(self) -> ProcessWatch:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Look no more."""
        self._ended.set()
        self._thread.join()

    def cpu_seconds(self) -> float:
        """Return what all processes have computed so far, with those that have ended."""
        ticks = sum(sum(map(int, fields[11:15])) for _, fields in processes_of(self._first))
        return ticks / os.sysconf("SC_CLK_TCK")

    def _look(self) -> None:
        while not self._ended.wait(_INTERVAL):
            now = 0.0
            for folder, _ in processes_of(self._first):
                with suppress(OSError):
                    lines = map(str.split, (folder / "status").read_text().splitlines())
                    sizes = {
                        words[0]: float(words[1]) / 1000
                        for words in lines
                        if words[0] in ("VmHWM:", "VmRSS:")
                    }
                    # An ended process has none.
                    if len(sizes) == 2:
                        name = _program(folder)
                        self.peaks[name] = max(self.peaks[name], sizes["VmHWM:"])
                        now += sizes["VmRSS:"]
            self.together = max(self.together, now)


def processes_of(first: Collection[int]) -> Iterator[tuple[Path, list[str]]]:
    """Yield some processes and all that they have started (Linux).

    Yields
    ------
    folder : Path
        In ``/proc``.
    fields : list of str
        Of its ``stat``; the name, which may have blanks, and what is before it are left out.
    """
    found = {}
    children = defaultdict(list)
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            found[int(folder.name)] = folder, fields
            children[int(fields[1])].append(int(folder.name))
    waiting = [number for number in first if number in found]
    while waiting:
        number = waiting.pop()
        waiting += children[number]
        yield found[number]


def _program(folder: Path) -> str:
    """Return the name of the script or module, with its first word, that a process runs."""
    words = os.fsdecode((folder / "cmdline").read_bytes()).split("\0")
    if words[1:2] == ["-m"]:
        return " ".join(Path(word).name for word in words[2:4])
    names = [Path(word).name for word in words[:2]]
    return names[-1] if names[0].startswith("python") else names[0]
