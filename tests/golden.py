"""Model texts and reports of every recipe and loss, by ``noise_seed``, as stored files.

A change of the code that means to change no model leaves them as they are. A change that means
to is written down in the changelog, and ``python -m tests.golden`` stores them again.
``python -m tests.golden --hash`` says what another machine or build makes of them.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dpboost
from dpboost.federated import (
    FederatedBoostingClassifier,
    FederatedBoostingRegressor,
    FederatedTreeClassifier,
)

FOLDER = Path(__file__).parent / "golden_texts"
FEW = {"n_estimators": 3, "max_depth": 3, "noise_seed": 7, "random_state": 3, "verbosity": -1}
OBJECTIVES = (
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "quantile",
    "poisson",
    "gamma",
    "tweedie",
    "cross_entropy",
)
BOUNDS = {0: (-4.0, 4.0), 1: (0.0, 40.0), 2: (-1.0, 1.0)}


def table(n_rows: int = 600) -> np.ndarray:
    """Rows from arithmetic alone: two columns of numbers, one with missing values, a category."""
    i = np.arange(n_rows)
    X = np.empty((n_rows, 4))
    X[:, 0] = (i * 7919 % 1009) / 1009 * 6 - 3
    X[:, 1] = (i * 104729 % 37) + (i % 3) / 4
    X[:, 2] = np.where(i % 11 == 0, np.nan, (i * 31337 % 211) / 211 - 0.5)
    X[:, 3] = i * 17 % 5
    return X


def values(X: np.ndarray) -> np.ndarray:
    """Return a number for each row, about 0 to 8."""
    step = np.where(X[:, 1] > 18, 2.0, 0.0)
    return 3 + X[:, 0] / 2 + step + X[:, 3] / 4 + np.nan_to_num(X[:, 2])


def schema(**labels: Any) -> dict[str, Any]:
    """Everything declared."""
    return {"bounds": BOUNDS, "categories": {3: [0, 1, 2, 3, 4]}, **labels}


def regression(recipe: str = "best", **options: Any) -> Any:
    """Return a fitted regressor."""
    X = table()
    return dpboost.DPBoostRegressor(
        epsilon=4.0, recipe=recipe, schema=schema(label_bounds=(0, 10)), **(FEW | options)
    ).fit(X, values(X))


def objective(name: str, **options: Any) -> Any:
    """Return a regressor with an objective of its own."""
    X = table()
    y, bounds = values(X), (0, 10)
    if name in ("gamma", "poisson", "tweedie"):
        y, bounds = np.maximum(y, 0.25), (0.25, 10)
    if name == "cross_entropy":
        y, bounds = y / 10, (0, 1)
    return dpboost.DPBoostRegressor(
        epsilon=4.0, objective=name, schema=schema(label_bounds=bounds), **(FEW | options)
    ).fit(X, np.clip(y, *bounds))


def classification(recipe: str = "best", n_classes: int = 2, **options: Any) -> Any:
    """Return a fitted classifier."""
    X = table()
    y = np.minimum(values(X) // (8 / n_classes), n_classes - 1).astype(int)
    settings = {"epsilon": 4.0, "recipe": recipe} | FEW | options
    return dpboost.DPBoostClassifier(schema=schema(classes=list(range(n_classes))), **settings).fit(
        X, y
    )


def undeclared(**options: Any) -> Any:
    """Return a fit that learns everything but column types and classes."""
    X = table()[:, :3]
    return dpboost.DPBoostRegressor(epsilon=4.0, **(FEW | options)).fit(X, values(table()))


def single_tree(recipe: str) -> Any:
    """Return a single tree."""
    X = table()
    y = (values(X) > 4).astype(int)
    return dpboost.DPTreeClassifier(
        epsilon=4.0, recipe=recipe, schema=schema(classes=[0, 1]), noise_seed=7
    ).fit(X, y)


def parties() -> list[tuple[np.ndarray, np.ndarray]]:
    """Three data holders."""
    X = table()
    y = values(X)
    return [(X[k::3], y[k::3]) for k in range(3)]


def federated(recipe: str) -> Any:
    """Return boosting over three parties."""
    few = FEW | {"verbosity": 0}
    return FederatedBoostingRegressor(
        epsilon=4.0, recipe=recipe, schema=schema(label_bounds=(0, 10)), **few
    ).fit(parties())


def federated_classes() -> Any:
    """Return boosting of three classes over three parties."""
    few = FEW | {"verbosity": 0}
    rows = [(X, np.minimum(y // 3, 2).astype(int)) for X, y in parties()]
    return FederatedBoostingClassifier(epsilon=4.0, schema=schema(classes=[0, 1, 2]), **few).fit(
        rows
    )


def federated_tree(recipe: str) -> Any:
    """Return a single tree over three parties."""
    rows = [(X, (y > 4).astype(int)) for X, y in parties()]
    return FederatedTreeClassifier(
        epsilon=4.0, recipe=recipe, schema=schema(classes=[0, 1]), noise_seed=7
    ).fit(rows)


def on_dask(recipe: str) -> Any:
    """Return a fit over Dask partitions; its text is that of the local fit."""
    import dask.array
    from dask.distributed import Client, LocalCluster

    X = table()
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers, processes=False) as cluster, Client(cluster) as client:
        return (
            dpboost.DaskDPBoostRegressor(
                epsilon=4.0,
                recipe=recipe,
                schema=schema(label_bounds=(0, 10)),
                client=client,
                **FEW,
            )
            .fit(
                dask.array.from_array(X, chunks=(200, 4)),
                dask.array.from_array(values(X), chunks=200),
            )
            .to_local()
        )


def weighted() -> Any:
    """Return a fit with weights and a declared largest one."""
    X = table()
    weights = 0.5 + np.arange(len(X)) % 3 / 2
    return dpboost.DPBoostRegressor(
        epsilon=4.0, max_weight=1.5, schema=schema(label_bounds=(0, 10)), **FEW
    ).fit(X, values(X), sample_weight=weights)


def of_users() -> Any:
    """Return a fit whose guarantee is for users."""
    X = table()
    return dpboost.DPBoostRegressor(
        epsilon=4.0, rows_per_user=2, schema=schema(label_bounds=(0, 10)), **FEW
    ).fit(X, values(X), user_ids=np.arange(len(X)) // 3)


def continued() -> Any:
    """Return a model that goes on from another."""
    X = table()
    return dpboost.DPBoostRegressor(epsilon=4.0, schema=schema(label_bounds=(0, 10)), **FEW).fit(
        X, values(X), init_model=regression()
    )


CASES: dict[str, Callable[[], Any]] = {
    **{f"regression-{r}": lambda r=r: regression(r) for r in ("best", "dpboost", "para", "seq")},
    "regression-best-pure": lambda: regression(delta=0.0),
    "regression-best-replace": lambda: regression(neighbors="replace"),
    "regression-dpboost-replace": lambda: regression("dpboost", neighbors="replace"),
    **{f"objective-{name}": lambda name=name: objective(name) for name in OBJECTIVES},
    "objective-quantiles": lambda: objective("quantile", alpha=[0.1, 0.5, 0.9]),
    **{f"binary-{r}": lambda r=r: classification(r) for r in ("best", "dpboost", "para", "seq")},
    "classes-best": lambda: classification(n_classes=4),
    "classes-best-ova": lambda: classification(n_classes=3, objective="multiclassova"),
    "classes-best-pure": lambda: classification(n_classes=4, delta=0.0),
    "undeclared-best": undeclared,
    "undeclared-dpboost": lambda: undeclared(recipe="dpboost"),
    "weights-best": weighted,
    "users-best": of_users,
    "continued-best": continued,
    **{
        f"tree-{r}": lambda r=r: single_tree(r)
        for r in ("best", "dp_topdown", "sulq_id3", "diffp_id3", "diffp_c45")
    },
    **{f"parties-{r}": lambda r=r: federated(r) for r in ("best", "dpboost", "para", "seq")},
    "parties-classes": federated_classes,
    **{
        f"parties-tree-{r}": lambda r=r: federated_tree(r)
        for r in ("noisy_counts", "local_rnm", "histograms", "histograms_saving", "sulq_id3")
    },
    **{f"dask-{r}": lambda r=r: on_dask(r) for r in ("best", "dpboost", "para", "seq")},
}


def made(case: str) -> tuple[str, str]:
    """Return the model text and the report of a case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CASES[case]()
    text = model.booster_.model_to_string()
    # The report is also a line of the text, with the words that the library has today.
    lines = [line for line in text.splitlines() if not line.startswith("dpboost:")]
    report = json.dumps(model.privacy_report_.to_dict(), indent=1, sort_keys=True, default=str)
    return "\n".join(lines) + "\n", report + "\n"


def digest() -> str:
    """Return how many model texts are made here, and their hash; without those that need Dask."""
    cases = [case for case in CASES if not case.startswith("dask")]
    texts = {case: made(case)[0] for case in cases}
    others = [case for case in cases if texts[case] != (FOLDER / f"{case}.txt").read_text("utf-8")]
    if others:
        raise SystemExit(f"other model texts than the stored ones: {', '.join(others)}")
    sha256 = hashlib.sha256("".join(texts.values()).encode()).hexdigest()
    return f"{len(cases)} model texts, as stored: sha256 {sha256}"


def store() -> None:
    """Store all of them again."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    for case in CASES:
        text, report = made(case)
        (FOLDER / f"{case}.txt").write_text(text, encoding="utf-8")
        (FOLDER / f"{case}.json").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    print(digest()) if sys.argv[1:] == ["--hash"] else store()
