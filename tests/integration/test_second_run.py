"""What may fail by chance runs twice; what is broken does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "tests"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell of Unix")


def run(folder, first, second="1 passed in 1.00s", codes=(1, 0)):
    """Run the script on a Python whose first and second run say this and end so."""
    (folder / "first").write_text(first + "\n")
    (folder / "second").write_text(second + "\n")
    python = folder / "python"
    python.write_text(
        "#!/bin/sh\n"
        f'case "$*" in\n*--last-failed*) cat "{folder}/second"; exit {codes[1]} ;;\n'
        f'*) cat "{folder}/first"; exit {codes[0]} ;;\nesac\n'
    )
    python.chmod(0o755)
    return subprocess.run(
        [SCRIPT, "unit", "-q"],
        env=os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )


def test_what_passes_runs_once(tmp_path):
    done = run(tmp_path, "3 passed in 1.00s", "never", codes=(0, 1))
    assert (done.returncode, done.stdout) == (0, "3 passed in 1.00s\n")


@pytest.mark.parametrize("code", [0, 1])
def test_what_fails_runs_again_and_that_run_decides(tmp_path, code):
    for line in ("1 failed, 3 passed in 1.00s", "=== 1 failed, 2 passed in 70.00s (0:01:10) ==="):
        done = run(tmp_path, line, "the second run", codes=(1, code))
        assert (done.returncode != 0) == code
        assert "the second run" in done.stdout


@pytest.mark.parametrize(
    ("said", "code"),
    [
        # What the lowest versions said once: the second run passed, and so did the stage.
        ("ERROR tests/a.py::b\n12341 passed, 35 skipped, 4937 warnings, 1 error in 1981.52s", 1),
        ("1 failed, 12341 passed, 2 errors in 1981.52s (0:33:01)", 1),
        ("=================== 1 failed, 3 passed, 1 error in 1.00s ===================", 1),
        ("no tests ran in 0.01s", 5),
        ("INTERNALERROR> AssertionError", 3),
        ("1 failed, 3 passed in 1.00s", 2),
        ("Segmentation fault", 139),
    ],
)
def test_an_error_is_not_taken_back(tmp_path, said, code):
    done = run(tmp_path, said, "the second run", codes=(code, 0))
    assert done.returncode == 1
    assert "the second run" not in done.stdout
    assert "an error" in done.stderr
