"""Programs of the gallery draw a picture each: some in every run, all of them at night."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

GALLERY = sorted((Path(__file__).resolve().parents[2] / "examples" / "gallery").glob("plot_*.py"))
ALWAYS = (
    "plot_epsilon_explained",
    "plot_first_model",
    "plot_groups",
    "plot_importances",
    "plot_intervals",
    "plot_new_leaves",
    "plot_private_scores",
    "plot_where_a_budget_goes",
)
#: Runs a program and counts its pictures.
RUN = """
import runpy, sys, matplotlib
matplotlib.use("agg")
from matplotlib import pyplot
pyplot.show = lambda: None
runpy.run_path(sys.argv[1], run_name="__main__")
print("pictures:", sum(bool(pyplot.figure(n).axes) for n in pyplot.get_fignums()))
"""


def draws(path, folder):
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "pictures: 1" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "path", [path for path in GALLERY if path.stem in ALWAYS], ids=lambda path: path.stem
)
def test_a_picture(path, tmp_path):
    draws(path, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "path", [path for path in GALLERY if path.stem not in ALWAYS], ids=lambda path: path.stem
)
def test_another_picture(path, tmp_path):
    draws(path, tmp_path)


def test_the_gallery_is_whole():
    names = {path.stem for path in GALLERY}
    assert len(names) >= 16
    assert len(ALWAYS) == 8
    assert names >= set(ALWAYS)
    for path in GALLERY:
        title, rule = path.read_text(encoding="utf-8").removeprefix('"""').splitlines()[:2]
        assert rule == "=" * len(title), path.name
