"""The page for R runs as it stands, where there is R."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import lightgbm
import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "r.md"
PROGRAMS = re.findall(r"^```r\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    age, stays = rng.integers(18, 91, 2000), rng.integers(0, 12, 2000)
    sick = (age / 10 + stays + rng.normal(0, 2, 2000) > 11).astype(int)
    lines = [f"{a},{s},{y}" for a, s, y in zip(age, stays, sick, strict=True)]
    (tmp_path / "patients.csv").write_text("age,stays,sick\n" + "\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("age,stays\n30,1\n80,9\n")
    (tmp_path / "dictionary.csv").write_text(
        "name,type,lower,upper,values,role\nage,integer,18,90,,\nstays,integer,0,12,,\n"
        "sick,category,,,0|1,target\n"
    )
    # The command as pip installs it, of this checkout.
    command = tmp_path / "bin" / "dpboost"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dpboost "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(program, folder):
    """Run lines of R in a folder, and return what they print."""
    paths = {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "RETICULATE_PYTHON": sys.executable,
    }
    done = subprocess.run(
        ["Rscript", "--vanilla", "-e", program],
        cwd=folder,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def predicted(path):
    return lightgbm.Booster(model_file=str(path)).predict(np.array([[30, 1], [80, 9]]))


needs_r = pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")


@needs_r
def test_the_command_line_from_r(folder):
    assert "prediction" in run(PROGRAMS[0], folder)
    assert predicted(folder / "model.txt")[0] < 0.5 < predicted(folder / "model.txt")[1]


@needs_r
def test_an_estimator_from_r(folder):
    if run('cat(requireNamespace("reticulate", quietly = TRUE))', folder) != "TRUE":
        pytest.skip("the package 'reticulate' of R is not installed")
    said = run(PROGRAMS[1] + "cat(probability[1] < 0.5, probability[2] > 0.5)\n", folder)
    assert "Privacy: epsilon = 1, delta = 1e-06" in said
    assert said.endswith("TRUE TRUE")
    assert predicted(folder / "from-r.txt")[0] < 0.5 < predicted(folder / "from-r.txt")[1]
