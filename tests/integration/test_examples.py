"""Every example runs to its end."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.py"))
EXPECTED = {
    "02_audit": ("violations: none", "black box: epsilon >= "),
    "03_audit_a_peer": ("DP-EBM: the claim is REFUTED", "dpboost: the claim is not refuted"),
}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    if path.stem == "03_audit_a_peer" and find_spec("interpret") is None:
        pytest.skip("the extra 'audit-peers' is not installed")
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for word in EXPECTED.get(path.stem, ("epsilon", "AUC")):
        assert word in done.stdout


def test_there_is_an_example():
    assert EXAMPLES


def test_an_example_says_what_it_needs(tmp_path):
    path = next(path for path in EXAMPLES if path.stem == "03_audit_a_peer")
    (tmp_path / "interpret.py").write_text("raise ImportError('not here')")
    script = (
        "import sys, runpy; sys.path.insert(0, '.'); "
        f"runpy.run_path({str(path)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 2
    assert "dpboost[audit-peers]" in done.stdout
