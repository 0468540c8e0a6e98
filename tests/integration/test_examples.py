"""Every example runs to its end."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
EXPECTED = {
    "02_audit": ("violations: none", "black box: epsilon >= "),
    "03_audit_a_peer": ("DP-EBM: the claim is REFUTED", "dpboost: the claim is not refuted"),
    "07_methods_side_by_side": ("AUC", "epsilon 0.5", "one tree, dp_topdown"),
    "08_in_lightgbms_place": ("lightgbm: AUC", "dpboost: AUC", "epsilon 2 for all of it"),
    "09_dask": ("4 partitions on 2 workers", "AUC", "are equal"),
    "10_whom_to_trust": ("AUC", "parties, four may collude", "no trust: local reports"),
    "11_audit_your_own": (
        "noisy rates: not refuted",
        "careless rates: REFUTED",
        "recipe of your own: 0 violations",
    ),
    "12_own_recipe": ("AUC", "violations: none"),
    "13_spark": ("2 partitions", "AUC", "are equal"),
}
#: What each writes; the local model is there for stock LightGBM.
FILES = {
    "04_local_reports": "local_model.txt",
    "07_methods_side_by_side": "methods.png",
    "08_in_lightgbms_place": "rounds.png",
    "10_whom_to_trust": "trust.png",
}
NEEDS = {"03_audit_a_peer": "interpret", "09_dask": "distributed", "13_spark": "pyspark"}


def run(path, folder, *options):
    command = [sys.executable, str(path), *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    needed = NEEDS.get(path.stem)
    if needed is not None and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    if needed == "pyspark" and shutil.which("java") is None:
        pytest.skip("there is no Java runtime")
    done = run(path, tmp_path)
    assert done.returncode == 0, done.stderr
    for word in EXPECTED.get(path.stem, ("epsilon", "AUC")):
        assert word in done.stdout
    if path.stem in FILES:
        assert (tmp_path / FILES[path.stem]).stat().st_size > 0
    if path.stem == "02_audit":  # the bound of the attacks is positive
        bound = re.search(r"black box: epsilon >= ([0-9.]+)", done.stdout)
        assert bound is not None
        assert 0 < float(bound[1]) <= 1


@pytest.mark.parametrize("options", [("2000", "1"), ("300", "8")])
def test_a_stray_report_is_refused_whatever_the_mechanism(options, tmp_path):
    # With many devices the reports of a small epsilon set bits, and any bits are a report.
    path = next(path for path in EXAMPLES if path.stem == "04_local_reports")
    done = run(path, tmp_path, "--devices", options[0], "--epsilon", options[1])
    assert done.returncode == 0, done.stderr
    assert "refused: A report " in done.stdout


def run_beside(path, folder, *options):
    """Run an example that finds modules of a folder."""
    script = (
        f"import sys, runpy; sys.path.insert(0, '.'); sys.argv = [{str(path)!r}, *{options!r}]; "
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_there_is_an_example():
    assert EXAMPLES


def test_an_estimator_of_any_module_is_audited(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "11_audit_your_own")
    source = "class Rows:\n    def __init__(self, scale):\n        self.scale = scale\n"
    source += "    def fit(self, X, y):\n        self.n = len(y)\n        return self\n"
    source += "    def predict(self, X):\n        return [self.scale * self.n] * len(X)\n"
    (tmp_path / "toy.py").write_text(source)
    options = ["--estimator", "toy:Rows", "--settings", '{"scale": 2}', "--runs", "200"]
    done = run_beside(path, tmp_path, *options)
    assert "toy:Rows: REFUTED" in done.stdout, done.stderr


def test_an_example_says_what_it_needs(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "03_audit_a_peer")
    (tmp_path / "interpret.py").write_text("raise ImportError('not here')")
    done = run_beside(path, tmp_path)
    assert done.returncode == 2
    assert "dpboost[audit-peers]" in done.stdout
