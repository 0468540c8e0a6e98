"""Fits interpret's private additive model again and again; runs in its environment."""

import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

from benchmarks.retraining import retrain
from benchmarks.serving import serve

warnings.filterwarnings("error", message=".*rivacy violation.*")


def answer(arrays, settings):
    """Fit with everything declared that may be, and all else at its default."""
    budget = {"epsilon": settings["epsilon"], "delta": settings["delta"], "n_jobs": 1}
    probe = arrays["X"][-1:]

    def regressor(X, y):
        low, high = settings["label_bounds"]
        return DPExplainableBoostingRegressor(
            feature_types=["continuous"],
            privacy_bounds=arrays["bounds"],
            privacy_target_min=low,
            privacy_target_max=high,
            max_rounds=settings["max_rounds"],
            **budget,
        ).fit(X, y)

    def classifier(X, y):
        return DPExplainableBoostingClassifier(feature_types=["nominal"], **budget).fit(X, y)

    def knows_the_category(model):
        return f"{probe[0, 0]:g}" in model.bins_[0][0]

    def prediction(model):
        return model.predict(probe)

    cases = {"offset labels": (regressor, prediction), "category": (classifier, knows_the_category)}
    fit, tell = cases[settings["case"]]
    return retrain(
        fit,
        tell,
        arrays,
        settings["runs"],
        fingerprint=lambda model: np.concatenate([np.ravel(part) for part in model.term_scores_]),
    )


if __name__ == "__main__":
    serve(answer)
