"""Calls that the non-interference audit replays.

Every recipe, objective, form of input, and function that draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse

from dpboost.audit.fit_variety import CLASSES, OBJECTIVES
from dpboost.audit.witnesses import DELTA
from dpboost.budgeting.budget import Budget
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.train import train
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.evaluating import evaluate, feature_histograms
from dpboost.lightgbm.dataset import Dataset
from dpboost.model_selection.cross_validation import cv
from dpboost.model_selection.refitting import refit_leaves
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.single_tree import NUMBER_TREE_ALGORITHMS, TREE_ALGORITHMS

#: Rows of the recorded tables.
N_ROWS = 120

#: Kinds of calls, in the order in which the audit prints them.
KINDS = ("recipes", "objectives", "input forms", "calls")


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """One call to be recorded."""

    #: One of ``KINDS``.
    kind: str
    name: str
    #: Prepares what the call needs, such as a model and a budget, and returns the call.
    make: Callable[[], Callable[[], Any]]
    #: Arguments that a transcript does not hold.
    given: Mapping[str, Any] = field(default_factory=dict)
    quick: bool = False


_RANDOM = np.random.default_rng(11)
X = _RANDOM.uniform(-1, 1, size=(N_ROWS, 3))
NUMBERS = np.clip(X[:, 0] + 0.1 * _RANDOM.normal(size=N_ROWS), -1, 1)
LABELS = (NUMBERS > 0).astype(int)
USERS = np.arange(N_ROWS) // 2
BOUNDS = {"bounds": dict.fromkeys(range(3), (-1.0, 1.0))}
FOR_NUMBERS = {**BOUNDS, "label_bounds": (-1.0, 1.0)}
FOR_CLASSES = {**BOUNDS, "classes": [0, 1]}
_SMALL: dict[str, Any] = {"n_estimators": 3, "max_depth": 2, "max_bin": 8}
_COMMON: dict[str, Any] = {"epsilon": 8.0, "delta": DELTA, "verbosity": 0, "n_jobs": 1}


def regressor(**given: Any) -> DPBoostRegressor:
    """Return a small regressor, with other parameters as they are given."""
    return DPBoostRegressor(**{**_SMALL, **_COMMON, "schema": FOR_NUMBERS, **given})


def classifier(**given: Any) -> DPBoostClassifier:
    """Return a small classifier, with other parameters as they are given."""
    return DPBoostClassifier(**{**_SMALL, **_COMMON, "schema": FOR_CLASSES, **given})


def recorded_calls(*, quick: bool = False) -> Iterator[RecordedCall]:
    """Yield the calls of the audit, or a few of them."""
    for found in (*_recipes(), *_objectives(), *_forms(), *_calls()):
        if found.quick or not quick:
            yield found


def _fit(
    kind: str,
    name: str,
    make: Callable[..., Any],
    labels: Any,
    *,
    rows: Any = None,
    quick: bool = False,
    given: Mapping[str, Any] | None = None,
    fit: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> RecordedCall:
    """Return the fit of an estimator."""

    def prepare() -> Callable[[], Any]:
        table = X if rows is None else rows
        return lambda: make(**parameters).fit(table, labels, **dict(fit or {}))

    return RecordedCall(kind=kind, name=name, make=prepare, given=given or {}, quick=quick)


# -- recipes -----------------------------------------------------------------------------------


def _recipes() -> Iterator[RecordedCall]:
    for recipe in ALGORITHMS.names:
        for make, labels in ((classifier, LABELS), (regressor, NUMBERS)):
            name = f"{recipe}, {make.__name__}"
            quick = recipe in ("best", "dpboost") and make is regressor
            yield _fit("recipes", name, make, labels, recipe=recipe, quick=quick)
            for more in ({"delta": 0.0}, {"neighbors": "replace"}, {"schema": None}):
                own = {"epsilon": 40.0, **more} if "schema" in more else more
                told = f"{name}, {next(iter(more))} {next(iter(more.values()))}"
                yield _fit("recipes", told, make, labels, recipe=recipe, **own)
    yield from _trees()


def _trees() -> Iterator[RecordedCall]:
    own: dict[str, Any] = {"epsilon": 8.0, "max_depth": 2, "n_jobs": 1}
    for recipe in TREE_ALGORITHMS:
        for relation in ("add_remove", "replace"):
            yield _fit(
                "recipes",
                f"tree:{recipe}, {relation}",
                DPTreeClassifier,
                LABELS,
                recipe=recipe,
                schema=FOR_CLASSES,
                neighbors=relation,
                quick=recipe == "best" and relation == "add_remove",
                **own,
            )
    for recipe in NUMBER_TREE_ALGORITHMS:
        name = f"tree of numbers:{recipe}"
        yield _fit(
            "recipes", name, DPTreeRegressor, NUMBERS, recipe=recipe, schema=FOR_NUMBERS, **own
        )


# -- objectives --------------------------------------------------------------------------------


def _objectives() -> Iterator[RecordedCall]:
    for name, (parameters, (low, high), _) in OBJECTIVES.items():
        own = dict(parameters)
        given = {"objective": own["objective"]} if callable(own["objective"]) else {}
        schema = {**BOUNDS, "label_bounds": (low, high)}
        labels: Any = np.clip(NUMBERS, low, high)
        yield _fit("objectives", name, regressor, labels, schema=schema, given=given, **own)
    for name, (parameters, n_classes) in CLASSES.items():
        own = dict(parameters)
        given = {"objective": own["objective"]} if callable(own.get("objective")) else {}
        schema = {**BOUNDS, "classes": list(range(n_classes))}
        labels = np.digitize(NUMBERS, np.linspace(-0.5, 0.5, n_classes - 1))
        yield _fit(
            "objectives",
            name,
            classifier,
            labels,
            schema=schema,
            given=given,
            quick=name == "multiclass",
            **own,
        )


# -- forms of input ----------------------------------------------------------------------------


def frame() -> Any:
    """Return a table with columns of many types."""
    import pandas as pd

    random = np.random.default_rng(12)
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        kind=pd.Categorical(np.where(X[:, 1] > 0, "up", "down")),
        size=pd.Categorical(random.choice(["s", "m"], N_ROWS), ["s", "m"], ordered=True),
        whole=np.arange(N_ROWS) % 5,
        small=(np.arange(N_ROWS) % 3).astype(np.int8),
        maybe=pd.array(np.arange(N_ROWS) % 4, dtype="Int64"),
        yes=X[:, 2] > 0,
    )


def _forms() -> Iterator[RecordedCall]:
    tables: dict[str, Any] = {
        "float32": X.astype(np.float32),
        "lists": X.tolist(),
        "lists of whole numbers": (10 * X).astype(int).tolist(),
        "integers": (10 * X).astype(int),
        "unsigned integers": (10 + 10 * X).astype(np.uint8),
        "booleans": X > 0,
        "objects": X.astype(object),
        "sparse rows": sparse.csr_matrix(X),
        "sparse columns": sparse.csc_matrix(X),
        "frame": frame(),
        "batches": [X[:50], X[50:]],
    }
    columns = {name: X[:, position] for position, name in enumerate("abc")}
    if find_spec("polars") is not None:
        import polars

        tables["polars"] = polars.DataFrame(columns)
    if find_spec("pyarrow") is not None:
        import pyarrow

        tables["Arrow"] = pyarrow.table(columns)
    nothing: dict[str, Any] = {"schema": None, "epsilon": 40.0}
    for name, rows in tables.items():
        yield _fit("input forms", name, classifier, LABELS, rows=rows, **nothing)
        quick = name == "frame"
        yield _fit(
            "input forms", f"{name}, numbers", regressor, NUMBERS, rows=rows, quick=quick, **nothing
        )
    text = np.where(LABELS == 1, "yes", "no")
    for assumed in ((), ("classes",), ("column_types", "classes", "categories")):
        name = f"assume_public={assumed}"
        more = {**nothing, "assume_public": assumed, "delta": 1e-3}
        yield _fit("input forms", name, classifier, text, rows=frame(), **more)
    yield from _row_arguments()


def _row_arguments() -> Iterator[RecordedCall]:
    """Yield fits with what rows bring along, and with other arguments of ``fit``."""
    public = (X[:20] / 2, NUMBERS[:20])
    arguments: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "weights": ({"sample_weight": np.full(N_ROWS, 0.5)}, {"max_weight": 1.0}),
        "initial scores": ({"init_score": 0.1 * X[:, 0]}, {}),
        "users": ({"user_ids": USERS}, {"rows_per_user": 2, "epsilon": 20.0}),
        "evaluation rows": ({"eval_set": [public], "eval_metric": "l1"}, {}),
        "public early stopping": ({"eval_set": [public]}, {"early_stopping_round": 1}),
        "intervals": ({"conformal": 0.9}, {}),
        "categorical_feature": ({"categorical_feature": [2]}, {"schema": None, "epsilon": 40.0}),
        "directions": ({}, {"monotone_constraints": [1, 0, -1]}),
        "an ensemble of several trees": ({}, {"n_estimators": 4, "trees_per_ensemble": 2}),
        "wide label bounds": ({}, {"schema": {**BOUNDS, "label_bounds": (-90.0, 90.0)}}),
        "a large epsilon": ({}, {"epsilon": 200.0}),
    }
    for name, (given, parameters) in arguments.items():
        yield _fit(
            "input forms",
            name,
            regressor,
            NUMBERS,
            fit=given,
            quick=name in ("intervals", "users"),
            **parameters,
        )
    yield _fit("input forms", "sets of classes", classifier, LABELS, fit={"conformal": 0.9})

    def continued() -> Callable[[], Any]:
        first = regressor().fit(X, NUMBERS)
        return lambda: regressor().fit(X, NUMBERS, init_model=first)

    yield RecordedCall(kind="input forms", name="a model that is continued", make=continued)


# -- other calls -------------------------------------------------------------------------------


def _calls() -> Iterator[RecordedCall]:
    params = {**_COMMON, "max_depth": 2, "seed": 0, "num_threads": 1}
    for name, objective, schema, labels, metric in (
        ("classes", "binary", FOR_CLASSES, LABELS, "auc"),
        ("numbers", "regression", FOR_NUMBERS, NUMBERS, "l2"),
    ):
        own = {**params, "objective": objective, "schema": schema, "metric": metric}
        own.pop("n_jobs")

        def trained(own: Any = own, labels: Any = labels) -> Callable[[], Any]:
            public = Dataset(X[:20] / 2, labels[:20])
            return lambda: train(own, Dataset(X, labels), 3, valid_sets=[public])

        def validated(own: Any = own, labels: Any = labels) -> Callable[[], Any]:
            return lambda: cv(own, Dataset(X, labels), 2, nfold=3, return_cvbooster=True)

        yield RecordedCall(kind="calls", name=f"train, {name}", make=trained)
        yield RecordedCall(
            kind="calls", name=f"cv, {name}", make=validated, quick=name == "numbers"
        )
    yield from _under_a_budget()


_PART = Fraction(1, 5)

#: Calls of a budget, by whether the quick audit has them.
_OF_A_BUDGET = {
    "holdout": False,
    "private early stopping": True,
    "evaluate, rows held out": True,
    "evaluate, new rows and groups": False,
    "feature_histograms": False,
    "refit_leaves": False,
    "a second fit": False,
}


def _under_a_budget() -> Iterator[RecordedCall]:
    """Yield the calls of a budget, which protects rows or users: each has a model of its own."""
    for name, make, labels, users in (
        ("classes", classifier, LABELS, {}),
        ("numbers", regressor, NUMBERS, {}),
        ("users", partial(regressor, rows_per_user=2), NUMBERS, {"user_ids": USERS}),
    ):
        for told, quick in _OF_A_BUDGET.items():
            yield RecordedCall(
                kind="calls",
                name=f"{told}, {name}",
                make=partial(_of_a_budget, told, make, labels, users),
                quick=quick and (name == "classes" or (name == "numbers" and "stopping" in told)),
            )


def _of_a_budget(
    told: str, make: Callable[..., Any], labels: Any, users: dict[str, Any]
) -> Callable[[], Any]:
    """Open a budget and return a call under it, after the fit that comes before."""
    epsilon, limit = (60, 2) if users else (20, None)
    budget = Budget(epsilon=epsilon, delta=1e-5, rows_per_user=limit)
    own: dict[str, Any] = {"budget": budget, "fraction": _PART}
    stops = {"early_stopping_round": 1, "n_estimators": 16} if "stopping" in told else {}
    model = make(epsilon=1.0, delta=1e-6, **stops)

    def first() -> Any:
        return model.fit(X, labels, holdout=0.5, **users, **own)

    if told in ("holdout", "private early stopping"):
        return first
    first()
    groups = (np.where(X[:, 1] > 0, "up", "down"), ["up", "down"])
    calls: dict[str, Callable[[], Any]] = {
        "evaluate, rows held out": lambda: evaluate(model, **own),
        "evaluate, new rows and groups": lambda: evaluate(
            model, X, labels, groups=groups, **users, **own
        ),
        "feature_histograms": lambda: feature_histograms(model, X, **users, **own),
        "refit_leaves": lambda: refit_leaves(model, X, labels, **users, **own),
        # Of the rows of another table.
        "a second fit": lambda: make(epsilon=1.0, delta=1e-6).fit(
            X, labels, budget=budget.disjoint("north"), fraction=_PART, **users
        ),
    }
    return calls[told]
