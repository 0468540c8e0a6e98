"""Clean clones of this checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Return a function that clones the last commit into a new folder."""

    def make() -> Path:
        folder = tmp_path_factory.mktemp("clone") / "dpboost"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
        return folder

    return make
