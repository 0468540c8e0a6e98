"""Virtual environments of the libraries that are measured beside dpboost, one for each.

Their requirements contradict each other and ours. An environment is made once, in the cache
folder of the user, from the pinned file of that name in ``benchmarks/requirements``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.errors import PeerUnavailableError
from benchmarks.files import cache_folder

REQUIREMENTS = Path(__file__).parent / "requirements"
_COMPLETE = "complete"
_INSTALL_SECONDS = 1800

Install = Callable[[Path, Path], None]


def requirements_digest(name: str) -> str:
    """Return what tells one state of a requirement file from another."""
    content = (REQUIREMENTS / f"{name}.txt").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


def install(folder: Path, requirements: Path) -> None:
    """Make a virtual environment in ``folder`` with the pinned packages.

    Raises
    ------
    OSError, subprocess.SubprocessError
        If the environment cannot be made or a package cannot be installed.
    """
    venv.create(folder, clear=True, with_pip=True)
    arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]
    subprocess.run(
        [_python(folder), *arguments, requirements],
        check=True,
        capture_output=True,
        text=True,
        timeout=_INSTALL_SECONDS,
    )


def interpreter(
    name: str,
    *,
    environment: Mapping[str, str] | None = None,
    install: Install = install,
) -> Path:
    """Return the Python of the environment of that name, making it if need be.

    Raises
    ------
    PeerUnavailableError
        If the environment cannot be made.
    """
    environment = os.environ if environment is None else environment
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = (
        cache_folder(environment) / "environments" / f"{name}-{version}-{requirements_digest(name)}"
    )
    if not (folder / _COMPLETE).is_file():
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            install(folder, REQUIREMENTS / f"{name}.txt")
        except (OSError, subprocess.SubprocessError) as error:
            # The last line of the installer's output is the one that says what is wrong.
            output = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
            raise PeerUnavailableError(
                f"The environment of {name} cannot be made: {output[-1] if output else error}"
            ) from error
        (folder / _COMPLETE).touch()
    return _python(folder)


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
