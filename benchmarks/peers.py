"""Fits in another library's own Python: arrays go there and back as files."""

from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.environments import interpreter
from benchmarks.libraries.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from benchmarks.problems.problem import DataDictionary

_WORKERS = Path(__file__).parent / "workers"
# Workers read `benchmarks.serving` and `benchmarks.meter` from here.
_CHECKOUT = Path(__file__).parent.parent
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def encoded(X: pd.DataFrame, dictionary: DataDictionary) -> np.ndarray:
    """Return a table as float64 numbers, by public knowledge alone.

    Parameters
    ----------
    X : DataFrame
        Features.
    dictionary : DataDictionary
        Numeric columns are clipped to its bounds, a missing number becomes the middle of them.
        A category becomes its position in the declared list, a missing one the position after.

    Returns
    -------
    ndarray of shape (n_rows, n_features)
    """
    columns = []
    for name in X.columns:
        if name in dictionary.categories:
            codes = X[name].cat.codes.to_numpy(dtype=np.float64)
            columns.append(np.where(codes < 0, len(dictionary.categories[name]), codes))
        else:
            low, high = dictionary.bounds[name]
            values = X[name].to_numpy(dtype=np.float64)
            middle = (low + high) / 2
            columns.append(np.clip(np.where(np.isnan(values), middle, values), low, high))
    return np.column_stack(columns)


def one_hot(codes: np.ndarray, X: pd.DataFrame, dictionary: DataDictionary) -> np.ndarray:
    """Return ``codes`` of `encoded` with a column of zeros and ones for each declared category."""
    columns = []
    for position, name in enumerate(X.columns):
        if name in dictionary.categories:
            values = np.arange(len(dictionary.categories[name]))
            columns += list((codes[:, position] == values[:, None]).astype(np.float64))
        else:
            columns.append(codes[:, position])
    return np.column_stack(columns)


class _Worker:
    """A script that runs in an environment and gives one answer for each folder it is reported.

    Importing the libraries takes longer than many a fit, so it lives until this process ends.
    """

    def __init__(self, environment: str, script: str, n_jobs: int) -> None:
        self.script = script
        self.errors = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115
        variables = dict.fromkeys(_THREAD_VARIABLES, str(n_jobs)) | {"PYTHONPATH": str(_CHECKOUT)}
        self.process = subprocess.Popen(
            [interpreter(environment), _WORKERS / f"{script}.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=os.environ | variables,
        )

    def answer(self, folder: Path) -> None:
        """Have the question answered that lies in ``folder``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(f"{folder}\n")
            self.process.stdin.flush()
            done = self.process.stdout.readline()
        except BrokenPipeError:
            done = ""
        if not done:
            self.process.wait()
            self.errors.seek(0)
            raise RuntimeError(f"The worker of {self.script} failed: {self.errors.read()[-2000:]}")

    @property
    def is_alive(self) -> bool:
        """Whether it can take another question."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process: its input ends."""
        if self.is_alive:
            self.process.communicate()


_workers: dict[tuple[str, int], _Worker] = {}


def _worker(environment: str, script: str, n_jobs: int) -> _Worker:
    worker = _workers.get((script, n_jobs))
    if worker is None or not worker.is_alive:
        worker = _workers[script, n_jobs] = _Worker(environment, script, n_jobs)
        atexit.register(worker.stop)
    return worker


def ask_peer(
    environment: str,
    script: str,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    n_jobs: int,
) -> dict[str, np.ndarray]:
    """Have a script answer in an environment.

    Parameters
    ----------
    environment : str
        Name of the requirement file.
    script : str
        Name of the script in ``benchmarks/workers``.
    arrays : mapping of str to ndarray
        Given to it as ``input.npz``.
    settings : mapping of str to object
        Given to it as ``settings.json``.
    n_jobs : int
        Threads.

    Returns
    -------
    dict of str to ndarray
        Its ``output.npz``.

    Raises
    ------
    RuntimeError
        If the script fails; the message ends with its last lines.
    """
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        np.savez(folder / "input.npz", **arrays)
        (folder / "settings.json").write_text(json.dumps(settings))
        _worker(environment, script, n_jobs).answer(folder)
        with np.load(folder / "output.npz") as output:
            return dict(output)


def fit_in_peer(
    name: str,
    arrays: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    n_jobs: int,
    *,
    environment: str | None = None,
) -> Result:
    """Have the worker of that name make a fit in its environment.

    Parameters
    ----------
    name : str
        Of the script in ``benchmarks/workers``, and of the requirement file.
    arrays, settings, n_jobs
        As for `ask_peer`; the settings are given with ``n_jobs``.
    environment : str, optional
        Name of the requirement file where it has another one.

    Returns
    -------
    Result
        Prediction, fit seconds, peak memory and trees. No library says what it has spent, so that
        is left open.

    Raises
    ------
    RuntimeError
        If the worker fails; the message ends with its last lines.
    """
    output = ask_peer(environment or name, name, arrays, {**settings, "n_jobs": n_jobs}, n_jobs)
    peak_mb = float(output["peak_mb"])
    return Result(
        prediction=output["prediction"],
        fit_seconds=float(output["fit_seconds"]),
        n_trees=int(output["n_trees"]),
        peak_mb=None if math.isnan(peak_mb) else peak_mb,
    )
