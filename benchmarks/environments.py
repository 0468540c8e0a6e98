"""Virtual environments of the libraries that are measured beside dpboost, one for each.

Their requirements contradict each other and ours. An environment is made once, in the cache
folder of the user, from the pinned file of that name in ``benchmarks/requirements``. A first line
``# Python 3.10`` says that the packages are built for that version alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.errors import PeerUnavailableError
from benchmarks.files import cache_folder

REQUIREMENTS = Path(__file__).parent / "requirements"
_COMPLETE = "complete"
_INSTALL_SECONDS = 1800

_VERSION_LINE = re.compile(r"# Python (\d+\.\d+)\n")

Install = Callable[[Path, Path, Path], None]
FindPython = Callable[[str], "Path | None"]


def requirements_digest(name: str) -> str:
    """Return what tells one state of a requirement file from another."""
    content = (REQUIREMENTS / f"{name}.txt").read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


def python_version(name: str) -> str:
    """Return the Python version that a requirement file asks for; by default the running one."""
    asked = _VERSION_LINE.match((REQUIREMENTS / f"{name}.txt").read_text(encoding="utf-8"))
    return asked[1] if asked else f"{sys.version_info.major}.{sys.version_info.minor}"


def find_python(version: str) -> Path | None:
    """Return a Python of that version: the running one, one on the path, or one of pyenv's.

    Parameters
    ----------
    version : str
        Such as ``"3.10"``.
    """
    if version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return Path(sys.executable)
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = shutil.which(f"python{version}")
    candidates = [Path(found)] if found else []
    candidates += sorted(versions.glob(f"{version}.*/bin/python{version}"))
    # A pyenv shim is on the path for every version, also for those that it then refuses to run.
    return next((path for path in candidates if _runs(path)), None)


def _runs(python: Path) -> bool:
    try:
        return subprocess.run([python, "-c", ""], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def install(python: Path, folder: Path, requirements: Path) -> None:
    """Make a virtual environment of ``python`` in ``folder`` with the pinned packages.

    Raises
    ------
    OSError, subprocess.SubprocessError
        If the environment cannot be made or a package cannot be installed.
    """
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
    for command in ([python, "-m", "venv", "--clear", folder], [_python(folder), *pip]):
        subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=_INSTALL_SECONDS
        )


def interpreter(
    name: str,
    *,
    environment: Mapping[str, str] | None = None,
    install: Install = install,
    find_python: FindPython = find_python,
) -> Path:
    """Return the Python of the environment of that name, making it if need be.

    Raises
    ------
    PeerUnavailableError
        If the environment cannot be made.
    """
    environment = os.environ if environment is None else environment
    version = python_version(name)
    folder = (
        cache_folder(environment) / "environments" / f"{name}-{version}-{requirements_digest(name)}"
    )
    if not (folder / _COMPLETE).is_file():
        python = find_python(version)
        if python is None:
            raise PeerUnavailableError(
                f"The environment of {name} cannot be made: its packages need Python {version}, "
                "which is neither on the path nor among the versions of pyenv."
            )
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            install(python, folder, REQUIREMENTS / f"{name}.txt")
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
