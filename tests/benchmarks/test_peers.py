from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import peers
from benchmarks.environments import REQUIREMENTS, find_python, interpreter
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
    assert [file.stem for file in files] == [
        "diffprivlib_forest",
        "diffprivlib_tree",
        "dp_ebm",
        "dpmm_synthesis",
        "lpdt_released",
        "sarus_xgboost",
    ]
    for file in files:
        assert (REQUIREMENTS.parent / "workers" / f"{file.stem}.py").is_file()
        packages = [line for line in file.read_text().splitlines() if line[0] not in "#-"]
        assert packages
        assert all(line.count("==") == 1 for line in packages)


def test_an_environment_is_made_once_in_the_cache_folder(tmp_path):
    made = []

    def install(python, folder, requirements):
        folder.mkdir()
        made.append((python, folder, requirements))

    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    first = interpreter("dp_ebm", environment=environment, install=install)
    assert interpreter("dp_ebm", environment=environment, install=install) == first
    assert len(made) == 1
    assert first.is_relative_to(tmp_path / "dpboost" / "environments")
    assert made[0][::2] == (Path(sys.executable), REQUIREMENTS / "dp_ebm.txt")


def test_an_environment_that_cannot_be_made_says_why(tmp_path):
    def install(python, folder, requirements):
        raise subprocess.CalledProcessError(1, "pip", stderr="noise\nERROR: no such release\n")

    with pytest.raises(PeerUnavailableError, match="dp_ebm cannot be made: ERROR: no such release"):
        interpreter("dp_ebm", environment={"XDG_CACHE_HOME": str(tmp_path)}, install=install)


def test_an_environment_may_need_another_python(tmp_path):
    asked = []
    environment = {"XDG_CACHE_HOME": str(tmp_path)}

    def find(version):
        asked.append(version)
        return Path("/opt/python3.10")

    def install(python, folder, requirements):
        folder.mkdir()
        asked.append(python)

    folder = interpreter(
        "sarus_xgboost", environment=environment, install=install, find_python=find
    ).parent.parent
    assert asked == ["3.10", Path("/opt/python3.10")]
    assert folder.name.startswith("sarus_xgboost-3.10-")
    (folder / "complete").unlink()
    with pytest.raises(PeerUnavailableError, match=r"need Python 3\.10, which is neither"):
        interpreter("sarus_xgboost", environment=environment, find_python=lambda version: None)


def test_a_python_is_found_on_the_path_or_among_those_of_pyenv(tmp_path, monkeypatch):
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert find_python(own) == Path(sys.executable)
    folder = tmp_path / "versions" / "3.99.1" / "bin"
    folder.mkdir(parents=True)
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    (folder / "python3.99").write_text("#!/bin/sh\n")
    for path in (shim, folder / "python3.99"):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    if os.name == "posix":
        # The one on the path is there and refuses to run.
        assert find_python("3.99") == folder / "python3.99"
    assert find_python("3.98") is None


WORKER = """
import numpy as np
from benchmarks.meter import Meter
from benchmarks.serving import serve

fits = []
def fit(arrays, settings):
    fits.append(np.random.random())
    with Meter() as meter:
        block = np.ones(settings.get("size", 0))
    prediction = arrays["test_X"][:, 0] * settings["factor"]
    return {
        "prediction": np.append(prediction, [len(fits), fits[-1]]) if block.size else prediction,
        "fit_seconds": 0.5,
        "peak_mb": meter.peak_mb if block.size else None,
        "n_trees": 3,
    }

serve(fit)
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
        assert result.peak_mb is None
    assert len(peers._workers) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a fit shares its process")
def test_each_fit_of_a_worker_has_a_process_and_randomness_of_its_own(worker):
    arrays = {"test_X": np.array([[1.0]])}
    sizes = (4_000_000, 1_000_000, 4_000_000)
    results = [fit_in_peer("toy", arrays, {"factor": 1.0, "size": size}, 1) for size in sizes]
    assert [result.prediction[1] for result in results] == [1, 1, 1]
    assert len({result.prediction[2] for result in results}) == 3
    for size, result in zip(sizes, results, strict=True):
        if result.peak_mb is not None:
            assert 8e-6 * size <= result.peak_mb <= 8e-6 * size + 16


def test_a_worker_that_fails_says_why_and_is_replaced(worker):
    arrays = {"test_X": np.array([[1.0]])}
    with pytest.raises(RuntimeError, match=r"(?s)toy failed.*KeyError: 'factor'"):
        fit_in_peer("toy", arrays, {}, 1)
    assert fit_in_peer("toy", arrays, {"factor": 2.0}, 1).prediction.tolist() == [2.0]
