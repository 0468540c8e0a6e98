from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import peers
from benchmarks.environments import REQUIREMENTS, interpreter
from benchmarks.errors import PeerUnavailableError
from benchmarks.libraries.result import by_class
from benchmarks.peers import encoded, fit_in_peer, one_hot
from benchmarks.problems.problem import DataDictionary

KNOWN = DataDictionary(bounds={"x": (0, 10)}, categories={"c": ("a", "b")}, classes=(0, 1))
TABLE = pd.DataFrame(
    {
        "x": [-5.0, 3.0, np.nan],
        "c": pd.Categorical(["b", None, "a"], categories=["a", "b"]),
    }
)


def test_a_table_is_encoded_by_what_is_declared():
    codes = encoded(TABLE, KNOWN)
    assert codes.tolist() == [[0, 1], [3, 2], [5, 0]]
    assert one_hot(codes, TABLE, KNOWN).tolist() == [[0, 0, 1], [3, 0, 0], [5, 1, 0]]


def test_a_class_without_rows_keeps_its_column():
    complete = by_class(np.array([[0.25, 0.75]]), np.array([0, 2]), 3)
    assert complete.tolist() == [[0.25, 0.0, 0.75]]


def test_every_requirement_is_pinned():
    files = sorted(REQUIREMENTS.glob("*.txt"))
    assert [file.stem for file in files] == ["diffprivlib_forest", "diffprivlib_tree", "dp_ebm"]
    for file in files:
        assert (REQUIREMENTS.parent / "workers" / f"{file.stem}.py").is_file()
        assert all(line.count("==") == 1 for line in file.read_text().split())


def test_an_environment_is_made_once_in_the_cache_folder(tmp_path):
    made = []

    def install(folder, requirements):
        folder.mkdir()
        made.append((folder, requirements))

    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    first = interpreter("dp_ebm", environment=environment, install=install)
    assert interpreter("dp_ebm", environment=environment, install=install) == first
    assert len(made) == 1
    assert first.is_relative_to(tmp_path / "dpboost" / "environments")
    assert made[0][1] == REQUIREMENTS / "dp_ebm.txt"


def test_an_environment_that_cannot_be_made_says_why(tmp_path):
    def install(folder, requirements):
        raise subprocess.CalledProcessError(1, "pip", stderr="noise\nERROR: no such release\n")

    with pytest.raises(PeerUnavailableError, match="dp_ebm cannot be made: ERROR: no such release"):
        interpreter("dp_ebm", environment={"XDG_CACHE_HOME": str(tmp_path)}, install=install)


WORKER = """
import json, pathlib, sys
import numpy as np
for line in sys.stdin:
    folder = pathlib.Path(line.strip())
    data = np.load(folder / "input.npz")
    settings = json.loads((folder / "settings.json").read_text())
    prediction = data["test_X"][:, 0] * settings["factor"]
    np.savez(folder / "output.npz", prediction=prediction, fit_seconds=0.5, n_trees=3)
    print("done", flush=True)
"""


@pytest.fixture
def worker(tmp_path, monkeypatch):
    (tmp_path / "toy.py").write_text(WORKER)
    monkeypatch.setattr(peers, "_WORKERS", tmp_path)
    monkeypatch.setattr(peers, "_workers", {})
    monkeypatch.setattr(peers, "interpreter", lambda name: Path(sys.executable))
    yield
    for item in peers._workers.values():
        item.stop()


def test_a_worker_makes_fit_after_fit(worker):
    arrays = {"test_X": np.array([[1.0], [2.0]])}
    for factor in (2.0, 3.0):
        result = fit_in_peer("toy", arrays, {"factor": factor}, 1)
        assert result.prediction.tolist() == [factor, 2 * factor]
        assert (result.fit_seconds, result.n_trees, result.epsilon_spent) == (0.5, 3, None)
    assert len(peers._workers) == 1


def test_a_worker_that_fails_says_why_and_is_replaced(worker):
    arrays = {"test_X": np.array([[1.0]])}
    with pytest.raises(RuntimeError, match=r"(?s)toy failed.*KeyError: 'factor'"):
        fit_in_peer("toy", arrays, {}, 1)
    assert fit_in_peer("toy", arrays, {"factor": 2.0}, 1).prediction.tolist() == [2.0]
