"""Fits diffprivlib's decision tree; runs in an environment of its own.

It makes one fit for each folder that a line of its input names, and says so. A folder holds
``input.npz`` (train_X, train_y, test_X, bounds of shape (2, n_features)) and ``settings.json``.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import DecisionTreeClassifier
from diffprivlib.utils import PrivacyLeakWarning

warnings.filterwarnings("error", category=PrivacyLeakWarning)


def main(folder: Path) -> None:
    """Fit on the training rows and write the class probabilities of the others."""
    with np.load(folder / "input.npz") as content:
        data = dict(content)
    settings = json.loads((folder / "settings.json").read_text())
    n_classes = settings.pop("n_classes")
    model = DecisionTreeClassifier(
        bounds=tuple(data["bounds"]), classes=list(range(n_classes)), **settings
    )
    start = time.perf_counter()
    model.fit(data["train_X"], data["train_y"])
    seconds = time.perf_counter() - start
    np.savez(
        folder / "output.npz",
        prediction=model.predict_proba(data["test_X"]),
        fit_seconds=seconds,
        n_trees=1,
    )


if __name__ == "__main__":
    for line in sys.stdin:
        main(Path(line.rstrip("\n")))
        print("done", flush=True)
