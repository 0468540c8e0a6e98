"""Replays of random fits: random tables, parameters and containers, for a given time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.pair_replay import Fit, replay_pair
from dpboost.audit.released_surface import overhear, shown
from dpboost.audit.run_trace import Violation
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.estimators.tree_estimators import DPTreeClassifier
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS
from dpboost.recipes.single_tree import TREE_ALGORITHMS

MOST_ROWS, MOST_FEATURES = 60, 6

#: Cells that are more likely to slip through than others.
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 5e-324, 0.5, 1.0)

EPSILONS = (0.3, 1.0, 3.0, 9.0, 20.0)
OBJECTIVES = ("quantile", "l1", "huber", "fair", "poisson", "gamma", "tweedie")


@dataclass(eq=False)
class RandomAudit:
    """Result of random replays of a seed, which determines the fits but not their noise."""

    seed: int
    #: Pairs of fits that were weighed, fits that were refused, and pairs that ended in an error.
    n_replays: int = 0
    n_refused: int = 0
    n_stopped: int = 0
    #: With the fit in words.
    violations: list[tuple[str, Violation]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class RandomFit:
    """A fit and neighboring tables, with a description."""

    words: str
    fit: Fit
    pair: Pair


def random_audit(
    *, seconds: float | None = None, n_replays: int | None = None, seed: int
) -> RandomAudit:
    """Replay random fits of a seed, with fresh noise, until the time or their number is up."""
    started = time.perf_counter()
    result = RandomAudit(seed=seed)
    for one in random_fits(seed):
        result.seconds = time.perf_counter() - started
        if seconds is not None and result.seconds >= seconds:
            break
        if n_replays is not None and result.n_replays >= n_replays:
            break
        for pair in (one.pair, one.pair.swapped):
            try:
                audit = replay_pair(one.fit, pair)
            except InvalidParameterError:
                result.n_refused += 1
                break
            result.n_replays += 1
            result.n_stopped += bool(audit.error)
            result.violations += [(one.words, violation) for violation in audit.violations]
    return result


def random_fits(seed: int) -> Iterator[RandomFit]:
    """Yield random fits without end."""
    random = np.random.default_rng(seed)
    while True:
        kind = random.choice(["regression", "classification", "tree"])
        n_classes = 0 if kind == "regression" else int(random.integers(2, 5))
        if kind == "tree":
            n_classes = min(n_classes, 3)
        yield _one(random, kind, n_classes)


def _one(random: np.random.Generator, kind: str, n_classes: int) -> RandomFit:
    nominal = int(random.integers(0, 2))
    X, y = _rows(random, int(random.integers(1, MOST_ROWS)), n_classes, nominal)
    (row, other), labels = _rows(random, 2, n_classes, nominal, X.shape[1])
    neighbors = Neighbors(random.choice([relation.value for relation in Neighbors]))
    settings = _settings(random, kind, n_classes, X.shape[1], nominal)
    settings["neighbors"] = neighbors.value
    argument = _argument(random, kind, settings)
    name, container = _container(random, X.shape[1], nominal)
    pair = pair_of(
        X,
        y,
        row,
        labels[0],
        neighbors,
        instead=(other, labels[1]),
        first=bool(random.integers(2)),
        coin=None if random.integers(2) else float(random.random()),
    )
    fit = _fit(kind, settings, container, argument)
    told = {key: value for key, value in settings.items() if key != "schema"}
    words = f"{kind}, {name}, {argument or 'no weights'}, {len(y)} rows, {told}"
    return RandomFit(words=words, fit=fit, pair=pair)


def _rows(
    random: np.random.Generator,
    n_rows: int,
    n_classes: int,
    nominal: int,
    n_features: int | None = None,
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return rows of plain, tied and odd numbers, the last column maybe codes of categories."""
    width = int(random.integers(1, MOST_FEATURES)) if n_features is None else n_features
    X = random.uniform(-1, 2, (n_rows, width))
    tied = random.random(width) < 0.4
    X[:, tied] = np.rint(X[:, tied])
    positions = random.random(X.shape) < 0.05
    X[positions] = random.choice(ODD, int(positions.sum()))
    if nominal:
        X[:, -1] = random.integers(0, 4, n_rows)
    if n_classes:
        return X, random.integers(0, n_classes, n_rows)
    y = random.normal(size=n_rows) * random.choice([0.1, 1.0, 100.0])
    return X, np.where(random.random(n_rows) < 0.1, random.choice([-1e6, 0.0, 1e9]), y)


def _settings(
    random: np.random.Generator, kind: str, n_classes: int, n_features: int, nominal: int
) -> dict[str, Any]:
    """Return parameters of an estimator; some leave all to be learned."""
    declared = random.random() < 0.6
    known: dict[str, Any] = {}
    if declared:
        known["bounds"] = {
            position: (0.0, 1.0)
            for position in range(n_features - nominal)
            if random.random() < 0.8
        }
        known |= {"classes": list(range(n_classes))} if n_classes else {"label_bounds": (-1, 1)}
    if nominal:
        known["categories"] = {n_features - 1: (0, 1, 2)}
    if n_classes:
        # The set of labels is public: by declaration, for a row that is added may have a new one.
        known["classes"] = list(range(n_classes))
    settings: dict[str, Any] = {
        "schema": known,
        "epsilon": float(random.choice(EPSILONS)),
        "delta": float(random.choice([0.0, 1e-6, 1e-3])),
        "max_depth": int(random.integers(0, 4)),
        "max_bin": int(random.choice([2, 3, 16, 64])),
        "n_jobs": 1,
    }
    if kind == "tree":
        return {**settings, "recipe": str(random.choice(list(TREE_ALGORITHMS)))}
    settings["recipe"] = str(random.choice([*ALGORITHMS.names, "best", "best"]))
    settings["max_depth"] = max(settings["max_depth"], 1)  # 0 is the rule of the recipe
    # Public randomness has to be the same in both fits.
    settings |= {"n_estimators": int(random.integers(1, 6)), "random_state": 0, "verbosity": 0}
    if settings["recipe"] in ("dpboost", "best") and random.random() < 0.3:
        settings["trees_per_ensemble"] = int(random.integers(1, 4))
    if settings["recipe"] == "best" and kind == "regression" and random.random() < 0.4:
        settings["objective"] = str(random.choice(OBJECTIVES))
    return settings


def _argument(random: np.random.Generator, kind: str, settings: dict[str, Any]) -> str | None:
    """Return an argument of ``fit`` that holds something of each row, or None."""
    if kind == "tree" or settings["recipe"] != "best" or random.random() < 0.6:
        return None
    argument = str(random.choice(["sample_weight", "init_score"]))
    if argument == "sample_weight":
        settings["max_weight"] = 2.0
    return argument


def _container(
    random: np.random.Generator, n_features: int, nominal: int
) -> tuple[str, Callable[[NDArray[np.float64]], Any]]:
    """Return a way to bring a table along."""
    names = [f"feature {position}" for position in range(n_features)]
    ways: dict[str, Callable[[NDArray[np.float64]], Any]] = {
        "array": lambda X: X,
        "columns": np.asfortranarray,
        "single precision": lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
        "lists": lambda X: X.tolist(),
        "csr": scipy.sparse.csr_matrix,
        "csc": scipy.sparse.csc_matrix,
    }
    if find_spec("pandas") is not None:
        import pandas as pd

        def frame(X: NDArray[np.float64]) -> Any:
            table = pd.DataFrame(X, columns=names)
            if nominal:
                kind = pd.CategoricalDtype([0, 1, 2, 3])
                table[names[-1]] = table[names[-1]].astype(int).astype(kind)
            return table

        ways["DataFrame"] = frame
    if find_spec("pyarrow") is not None:
        import pyarrow as pa

        ways["Arrow"] = lambda X: pa.table(dict(zip(names, X.T, strict=True)))
    name = str(random.choice(list(ways)))
    return name, ways[name]


def _fit(
    kind: str,
    settings: dict[str, Any],
    container: Callable[[NDArray[np.float64]], Any],
    argument: str | None,
) -> Fit:
    boosting = DPBoostRegressor if kind == "regression" else DPBoostClassifier
    make = DPTreeClassifier if kind == "tree" else boosting

    def fit(X: Any, y: Any) -> Mapping[str, Any]:
        more = {}
        if argument is not None:
            # Something of the row itself that is neither negative nor missing.
            own = np.nan_to_num(np.abs(X[:, 0]), nan=1.0, posinf=9.0)
            more[argument] = np.minimum(own, 9.0)
            if argument == "init_score" and kind == "classification":
                n_classes = len(settings["schema"]["classes"])
                if n_classes > 2:
                    more[argument] = np.tile(more[argument][:, np.newaxis], n_classes)
        heard: dict[str, Any] = {}
        with overhear(heard), np.errstate(all="ignore"):
            estimator = make(**settings).fit(container(X), y, **more)
        return shown(estimator, heard)

    return fit
