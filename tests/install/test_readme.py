"""Every command of the README runs in a fresh clone, in its order, in two minutes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import venv
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"
TWO_MINUTES = 120
TESTS = 150  # the README's test command, after the build


def commands() -> list[str]:
    """Lines and inline code of the README that start with python, one after the other."""
    text = re.sub(r"```.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^    (python .*)$|`(python [^`]*)`", text, re.MULTILINE)
    return [part for line in found for part in "".join(line).split(" && ")]


def test_commands_are_found():
    found = commands()
    assert found[0] == "python -m pip install -e '.[pandas]'"
    assert found[1] == "python examples/01_quickstart.py"
    assert "python -m dpboost.audit --quick" in found


def test_every_command_of_the_readme_runs_in_a_clone(clone, tmp_path):
    folder = clone()
    venv.create(tmp_path / "environment", with_pip=True)
    scripts = tmp_path / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "PYTHON", "OMP_"))
    }
    settings = kept | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    late = []
    for command in commands():
        start = time.perf_counter()
        done = subprocess.run(
            command, shell=True, cwd=folder, env=settings, capture_output=True, text=True
        )
        seconds = time.perf_counter() - start
        print(f"{seconds:6.1f} s  {command}")
        assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        if seconds > (TESTS if "pytest" in command else TWO_MINUTES):
            late.append(f"{command}: {seconds:.0f} s")
    assert late == []
