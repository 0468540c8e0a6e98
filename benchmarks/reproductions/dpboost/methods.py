"""The methods of the figures, and how each is fitted: scores of held-out rows tree by tree."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import lightgbm
import numpy as np

import dpboost
from benchmarks.libraries import dpboost_recipes
from benchmarks.problems.problem import take
from benchmarks.reproductions.dpboost import published
from benchmarks.reproductions.dpboost.sets import Data
from dpboost.data.table import read_table
from dpboost.growing.boosting_loop import BoostingLoop, EnsembleOfEnsembles
from dpboost.recipes.dpboost import DPBOOST, gradient_boosting
from dpboost.recipes.recipe import Setting

DELTA = 1e-5
TREES_PER_ENSEMBLE = 50
#: The paper's settings; the learning rate is that of its code.
PAPER = MappingProxyType({"max_depth": 6, "reg_lambda": 0.1, "learning_rate": 0.1})


@dataclass(frozen=True, kw_only=True)
class Method:
    """One line of a figure.

    Attributes
    ----------
    name : str
    kind : {"constant", "lightgbm", "recipe", "best", "published"}
    loss : {"squared", "logistic"}
        Of two classes; squared loss takes -1 and 1 for labels. ``best`` has its own.
    settings : mapping
        Of the estimator; written into the digest of a row.
    private : bool
        Whether epsilon has a meaning.
    honest : bool
        Whether the epsilon is kept.
    draws : int
        Fits with fresh noise on the rows of a fold: more where noise decides.
    sets : tuple of str, optional
        Sets on which it runs; by default all.
    """

    name: str
    kind: Literal["constant", "lightgbm", "recipe", "best", "published"]
    loss: Literal["squared", "logistic"] = "squared"
    settings: Mapping[str, Any] = field(default_factory=dict)
    private: bool = True
    honest: bool = True
    draws: int = 1
    sets: tuple[str, ...] | None = None

    def runs_on(self, data_name: str, *, is_classes: bool) -> bool:
        """Say whether the method runs on a set."""
        if self.loss == "logistic" and not is_classes:
            return False
        return self.sets is None or data_name in self.sets

    def versions(self) -> dict[str, str]:
        """Return what its figures depend on besides settings and data."""
        if self.kind == "constant":
            return {"numpy": np.__version__}
        if self.kind == "lightgbm":
            return {"lightgbm": lightgbm.__version__}
        if self.kind == "published":
            code = Path(published.__file__).read_bytes()
            return {"numpy": np.__version__, "reading": hashlib.sha256(code).hexdigest()[:12]}
        return dpboost_recipes.versions()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a fit gives.

    Attributes
    ----------
    scores : dict of int to ndarray
        By number of trees: of two classes positive for the second, else in units of the labels.
    seconds : float
        Wall time of the fit; of a published reading, of fit and predictions.
    n_trees : int
        Trees of the model.
    """

    scores: dict[int, np.ndarray]
    seconds: float
    n_trees: int


def _without_clipping(setting: Setting) -> BoostingLoop:
    hyper = setting.hyper
    assert hyper.trees_per_ensemble is not None
    assert hyper.learning_rate is not None
    schedule = EnsembleOfEnsembles(
        trees_per_ensemble=hyper.trees_per_ensemble, learning_rate=hyper.learning_rate
    )
    return gradient_boosting(setting, schedule=schedule, clip_decay=0.0)


#: DPBoost with leaves clipped as the gradient filter bounds them, not geometrically: as private.
UNCLIPPED = replace(DPBOOST, name="dpboost without leaf clipping", build=_without_clipping)
RECIPES: Mapping[str, Any] = MappingProxyType({"without leaf clipping": UNCLIPPED})
READINGS = MappingProxyType(
    {
        "text": published.TEXT,
        "code": published.CODE,
        "frozen": published.FROZEN,
        "logistic": published.LOGISTIC,
    }
)

_FEW_SETS = ("adult", "cod-rna", "abalone")
CONSTANT = Method(name="constant", kind="constant", private=False)
NP = Method(name="NP", kind="lightgbm", private=False)
SEQ = Method(name="SEQ", kind="recipe", settings={"recipe": "seq"})
PARA = Method(name="PARA", kind="recipe", settings={"recipe": "para"}, draws=5)
OURS = Method(name="DPBoost", kind="recipe", settings={"recipe": "dpboost"}, draws=5)
BEST = Method(name="best", kind="best", settings={"delta": DELTA})
BEST_PURE = Method(name="best, pure epsilon", kind="best", settings={"delta": 0})
TEXT = Method(
    name="DPBoost, the text's accounting (not private)",
    kind="published",
    settings={"reading": "text"},
    honest=False,
    draws=2,
    sets=_FEW_SETS,
)
CODE = Method(
    name="DPBoost, the released code's (not private)",
    kind="published",
    settings={"reading": "code"},
    honest=False,
    draws=2,
    sets=_FEW_SETS,
)
FROZEN = Method(
    name="the same with its frozen noise (not private)",
    kind="published",
    settings={"reading": "frozen"},
    honest=False,
    sets=_FEW_SETS,
)
CODE_LOGISTIC = Method(
    name="DPBoost, the released code's, logistic (not private)",
    kind="published",
    loss="logistic",
    settings={"reading": "logistic"},
    honest=False,
    sets=_FEW_SETS,
)
UNCLIPPED_METHOD = Method(
    name="DPBoost without leaf clipping",
    kind="recipe",
    settings={"recipe": "without leaf clipping"},
    draws=5,
)


def logistic(method: Method) -> Method:
    """Return the method with logistic loss, under a name of its own and with fewer draws."""
    draws = max(1, method.draws // 2)
    return replace(method, name=f"{method.name}, logistic", loss="logistic", draws=draws)


METHODS: MappingProxyType[str, Method] = MappingProxyType(
    {
        method.name: method
        for method in (
            CONSTANT,
            NP,
            SEQ,
            PARA,
            OURS,
            BEST,
            BEST_PURE,
            TEXT,
            CODE,
            FROZEN,
            CODE_LOGISTIC,
            UNCLIPPED_METHOD,
            *(logistic(method) for method in (NP, SEQ, PARA, OURS)),
        )
    }
)


def fit(
    method: Method,
    data: Data,
    train: np.ndarray,
    test: np.ndarray,
    *,
    epsilon: float | None,
    n_trees: int,
    stages: Iterable[int],
    seed: int,
    trees_per_ensemble: int = TREES_PER_ENSEMBLE,
) -> Outcome:
    """Fit a method on the rows ``train`` and score the rows ``test``.

    Parameters
    ----------
    method : Method
    data : Data
    train, test : ndarray of int
        Row numbers.
    epsilon : float or None
    n_trees : int
        Trees; ``best`` decides itself.
    stages : iterable of int
        Numbers of trees after which scores are wanted, ascending; of ``best`` only the end.
    seed : int
        Public seed of the fold. The noise of an honest method never has one.
    trees_per_ensemble : int
        Of DPBoost.
    """
    stages = list(stages)
    if method.kind == "constant":
        mean = float(np.mean(data.numbers[train]))
        return Outcome(scores={n_trees: np.full(len(test), mean)}, seconds=0.0, n_trees=0)
    if method.kind == "published":
        return _published(
            method, data, train, test, epsilon, n_trees, stages, seed, trees_per_ensemble
        )
    model, seconds = fit_model(
        method,
        data,
        train,
        epsilon=epsilon,
        n_trees=n_trees,
        seed=seed,
        trees_per_ensemble=trees_per_ensemble,
    )
    grown = model.booster_.num_trees()
    if method.kind == "best":
        stages = [grown]
    scores = _lightgbm_scores if method.kind == "lightgbm" else staged_scores
    found = scores(model, take(data.X, test), stages)
    return Outcome(scores=found, seconds=seconds, n_trees=grown)


def fit_model(
    method: Method,
    data: Data,
    train: np.ndarray,
    *,
    epsilon: float | None,
    n_trees: int,
    seed: int,
    trees_per_ensemble: int = TREES_PER_ENSEMBLE,
) -> tuple[Any, float]:
    """Fit an estimator of LightGBM or dpboost; return it and the wall time of ``fit``.

    The parameters are those of `fit`.
    """
    classes = data.is_classes and (method.loss == "logistic" or method.kind == "best")
    X = take(data.X, train)
    y = data.y[train] if classes else data.numbers[train]
    if method.kind == "lightgbm":
        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        # Indicators have two values for LightGBM too, which wants more than two bins.
        bins = {"max_bin": data.set.max_bin} if data.set.max_bin > 2 else {}
        model: Any = kind(
            n_estimators=n_trees, num_leaves=64, n_jobs=1, verbosity=-1, **PAPER, **bins
        )
    else:
        model = _private(method, data, classes, epsilon, n_trees, trees_per_ensemble, seed)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # A fit without noise is asked for by table 3 alone, whose page says so.
        warnings.simplefilter("ignore", dpboost.NotPrivateWarning)
        model.fit(X, y)
    seconds = time.perf_counter() - start
    if method.private:
        check_budget(epsilon, model.privacy_report_.epsilon_spent)
    return model, seconds


def _private(
    method: Method,
    data: Data,
    classes: bool,
    epsilon: float | None,
    n_trees: int,
    trees_per_ensemble: int,
    seed: int,
) -> Any:
    """Return a private estimator before its fit."""
    kind = dpboost.DPBoostClassifier if classes else dpboost.DPBoostRegressor
    settings = {
        "epsilon": epsilon,
        "schema": data.schema(classes=classes),
        "random_state": seed,
        "n_jobs": 1,
        "verbosity": 0,
    }
    if method.kind == "best":
        return kind(recipe="best", **settings, **method.settings)
    name = method.settings["recipe"]
    settings |= {"delta": 0, "n_estimators": n_trees, "max_bin": data.set.max_bin, **PAPER}
    if name not in ("seq", "para"):
        settings["preset"] = "paper"
        settings["trees_per_ensemble"] = min(trees_per_ensemble, n_trees)
    return kind(recipe=RECIPES.get(name, name), **settings)


def check_budget(epsilon: float | None, spent: float) -> None:
    """Raise ``ValueError`` for a fit that has spent more than it was to."""
    # A figure under a budget that it does not keep would be worse than none.
    if epsilon is None or not spent <= epsilon:
        raise ValueError(f"The fit states that it has spent epsilon {spent} of {epsilon}.")


def _lightgbm_scores(model: Any, X: Any, stages: list[int]) -> dict[int, np.ndarray]:
    scores, total, before = {}, np.zeros(X.shape[0]), 0
    for stage in stages:
        total = total + model.predict(
            X, raw_score=True, start_iteration=before, num_iteration=stage - before
        )
        scores[stage], before = total, stage
    return scores


def staged_scores(model: Any, X: Any, stages: list[int]) -> dict[int, np.ndarray]:
    """Return the scores of rows after some numbers of trees of a private model."""
    ensemble = model.ensemble_
    table = read_table(X, schema=model.schema_, zero_as_missing=ensemble.binner.zero_as_missing)
    total, before, scores = np.full(X.shape[0], ensemble.start[0]), 0, {}
    for stage in stages:
        part = replace(ensemble, trees=ensemble.trees[before:stage], start=(0.0,))
        total = total + part.predict_raw(table)
        scores[stage], before = total, stage
    return scores


def _published(
    method: Method,
    data: Data,
    train: np.ndarray,
    test: np.ndarray,
    epsilon: float | None,
    n_trees: int,
    stages: list[int],
    seed: int,
    trees_per_ensemble: int,
) -> Outcome:
    assert epsilon is not None
    X, bounds = data.matrix()
    boosting = published.PublishedBoosting(
        reading=READINGS[method.settings["reading"]],
        bounds=bounds,
        n_bins=data.set.max_bin,
        epsilon=epsilon,
        n_trees=n_trees,
        trees_per_ensemble=min(trees_per_ensemble, n_trees),
        start_from_mean=not data.is_classes,
        seed=seed,
    )
    start = time.perf_counter()
    found = boosting.staged(X[train], data.scaled[train], X[test])
    wanted = {
        number: data.unscaled(scores)
        for number, scores in enumerate(found, start=1)
        if number in stages
    }
    seconds = time.perf_counter() - start
    return Outcome(scores=wanted, seconds=seconds, n_trees=n_trees)
