"""Fits interpret's private additive model; runs in an environment of its own.

It makes one fit for each folder that a line of its input names, and says so. A folder holds
``input.npz`` (train_X, train_y, test_X, bounds of shape (n_features, 2), is_category of shape
(n_features,)) and ``settings.json``.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

# Categories are numbers of a declared list here, and all else is declared: the library warns
# only of what it has looked up in the rows.
warnings.filterwarnings("error", message=".*rivacy violation.*")


def main(folder: Path) -> None:
    """Fit on the training rows and write the predictions of the others."""
    with np.load(folder / "input.npz") as content:
        data = dict(content)
    settings = json.loads((folder / "settings.json").read_text())
    binary = settings.pop("binary")
    label_bounds = settings.pop("label_bounds")
    if label_bounds is not None:
        settings["privacy_target_min"], settings["privacy_target_max"] = label_bounds
    estimator = DPExplainableBoostingClassifier if binary else DPExplainableBoostingRegressor
    model = estimator(
        feature_types=["nominal" if flag else "continuous" for flag in data["is_category"]],
        privacy_bounds=data["bounds"],
        **settings,
    )
    start = time.perf_counter()
    model.fit(data["train_X"], data["train_y"])
    seconds = time.perf_counter() - start
    test_X = data["test_X"]
    np.savez(
        folder / "output.npz",
        prediction=model.predict_proba(test_X)[:, 1] if binary else model.predict(test_X),
        fit_seconds=seconds,
        n_trees=0,
    )


if __name__ == "__main__":
    for line in sys.stdin:
        main(Path(line.rstrip("\n")))
        print("done", flush=True)
