"""Runs a program of Flower whose other programs are forks of one process that has imported Flower.

python -m hospitals.warm flower-supernode --insecure --superlink 127.0.0.1:9093

Flower starts its programs by name: `flower-superexec` once, and `flwr-clientapp` for each message,
which takes a second or two to import Flower. Here these names are scripts first on the PATH. They
write their words to a pipe, whose reader forks and calls what Flower installs by that name.
"""

import gc
import os
import shutil
import signal
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from tempfile import mkdtemp

STARTED = ("flower-superexec", "flwr-serverapp", "flwr-clientapp")
SCRIPT = '#!/bin/sh\nIFS="\t"\nset -- {name} "$@"\nprintf "%s\\n" "$*" > "{pipe}"\n'


def main(program: str, *words: str) -> None:
    """Run a program of Flower, and beside it the process whose forks are what it starts."""
    entries = distribution("flwr").entry_points.select(group="console_scripts")
    programs = {name: entries[name].load() for name in (program, *STARTED)}
    import_module("httpcore")  # Otherwise Flower imports it at its first request, in each fork.
    gc.freeze()
    folder = Path(mkdtemp())
    pipe = folder / "pipe"
    os.mkfifo(pipe, 0o600)
    for name in STARTED:
        (folder / name).write_text(SCRIPT.format(name=name, pipe=pipe), "utf-8")
        (folder / name).chmod(0o700)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    if os.fork() == 0:
        sys.argv = _wait(pipe)
        with suppress(SystemExit):
            programs[sys.argv[0]]()
        # Flower has closed what it opened: what Python does at an end would copy every page.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
    else:
        # The reader ends with this process, which keeps an end of the pipe open.
        os.open(pipe, os.O_WRONLY)
        sys.argv = [program, *words]
        try:
            programs[program]()
        finally:
            shutil.rmtree(folder)


def _wait(pipe: Path) -> list[str]:
    """Return the words of a program in a fork of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with pipe.open(encoding="utf-8") as lines:
        for line in lines:
            if os.fork() == 0:
                return line.rstrip("\n").split("\t")
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    sys.exit()


if __name__ == "__main__":
    main(*sys.argv[1:])
