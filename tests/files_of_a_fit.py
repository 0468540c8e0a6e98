"""How much code a federated fit is: ``python -m tests.files_of_a_fit``.

Files: those of ``dpboost/`` of which a function is called while
``FederatedBoostingClassifier.fit`` runs on two parties in one process, in any of its threads. What
runs when a module is imported does not count, nor what a process does once (the fit that is
counted is the second one). Compiled kernels are no Python files.

Lines: all of ``dpboost/federated``, blank ones and docstrings among them.
"""

from __future__ import annotations

import sys
import threading
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import dpboost
from dpboost.federated import FederatedBoostingClassifier

PACKAGE = Path(dpboost.__file__).parent


def called_files(function: Any) -> set[str]:
    """Return the files of the package of which a call runs functions."""
    found: set[str] = set()

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            found.add(code.co_filename)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        function()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    root = f"{PACKAGE}/"
    return {name.removeprefix(root) for name in found if name.startswith(root)}


def files_of_a_fit() -> set[str]:
    """Return the files that run in a fit of two parties."""
    rng = np.random.default_rng(0)
    tables = [(rng.uniform(size=(100, 2)), rng.integers(0, 2, 100)) for _ in range(2)]
    schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}

    def fit() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = FederatedBoostingClassifier(
                epsilon=5.0, n_estimators=5, schema=schema, verbosity=0
            )
            model.fit(tables)

    fit()
    return called_files(fit)


def lines_of_federated() -> list[int]:
    """Return the lines of each file of the federated room."""
    paths = PACKAGE.glob("federated/**/*.py")
    return [len(path.read_text("utf-8").splitlines()) for path in paths]


if __name__ == "__main__":
    found, lines = files_of_a_fit(), lines_of_federated()
    print(f"{len(found)} files run in a fit of two parties:", *sorted(found), sep="\n  ")
    print(f"{sum(lines):,} lines in {len(lines)} files of dpboost/federated")
