"""Private models of every task and the rows that other readers of the model text predict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from dpboost import DPBoostClassifier, DPBoostRegressor

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "other-tools.md"
N_ROWS = 300
N_CATEGORIES = 40
# How each task makes its estimator, what it declares of its labels, and its labels from numbers.
TASKS = {
    "regression": (DPBoostRegressor, {"label_bounds": (-4, 4)}, lambda value: value),
    "binary": (DPBoostClassifier, {"classes": (0, 1)}, lambda value: (value > 0).astype(int)),
    "multiclass": (
        DPBoostClassifier,
        {"classes": (0, 1, 2)},
        lambda value: np.digitize(value, [-0.5, 0.5]),
    ),
}
COMPACT = ("regression", "compact")
MODELS = [
    (task, recipe)
    for task in TASKS
    for recipe in ("best", "dpboost")
    if (task, recipe) != ("multiclass", "dpboost")  # which takes two classes at most
]
TABLES = ("numbers", "missing", "categories", "missing categories")


@dataclass(frozen=True)
class Case:
    """A fitted model, as text and as LightGBM reads it, with rows to predict."""

    task: str
    text: str
    booster: lightgbm.Booster
    ensemble: object
    X: np.ndarray


def table(kind):
    random = np.random.default_rng(7)
    X = random.normal(size=(N_ROWS, 4))
    if "categories" in kind:
        X[:, 3] = random.integers(0, N_CATEGORIES + 5, N_ROWS)  # some are not declared
    if "missing" in kind:
        X[random.random(X.shape) < 0.15] = np.nan
    return X


@pytest.fixture(scope="session")
def fitted():
    """Fit each model once."""
    made = {}

    def build(task, recipe, kind):
        key = task, recipe, kind
        if key not in made:
            estimator, declared, labels = TASKS[task]
            X = table(kind)
            schema = {"bounds": dict.fromkeys(range(3), (-3, 3)), **declared}
            if "categories" in kind:
                schema["categories"] = {3: list(range(N_CATEGORIES))}
            else:
                schema["bounds"][3] = (-3, 3)
            small = recipe == "compact"
            model = estimator(
                epsilon=5,
                recipe="best" if small else recipe,
                schema=schema,
                noise_seed=1,
                n_estimators=100 if small else 8,
                verbosity=0,
            ).fit(X, labels(np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) / 2))
            booster = model.compact(n_trees=8, num_leaves=7) if small else model.booster_
            text = booster.model_to_string()
            made[key] = Case(task, text, lightgbm.Booster(model_str=text), model.ensemble_, X)
        return made[key]

    return build


@pytest.fixture(params=TABLES)
def kind(request):
    return request.param


@pytest.fixture(params=MODELS, ids="-".join)
def model(request):
    return request.param


@pytest.fixture
def case(model, kind, fitted):
    return fitted(*model, kind)


@pytest.fixture(params=[*MODELS, COMPACT], ids="-".join)
def any_case(request, kind, fitted):
    """A full or compact model."""
    return fitted(*request.param, kind)


@pytest.fixture
def is_on_the_page():
    """Return whether a search of the page of tools for what a tool says finds a line."""
    known = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return lambda error: any(str(error.value).startswith(message) for message in known)
