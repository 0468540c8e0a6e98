"""Detection of scikit-learn searches: the number of fits, and the epsilon of each.

All numbers are given by the user: candidates, folds, columns. There is none if a splitter or a
search derives a number from the number of rows.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
from sklearn.feature_selection import RFE, RFECV, SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV, ParameterGrid, RandomizedSearchCV

_ROOMS = ("sklearn.model_selection", "sklearn.feature_selection")
# All searches over candidates derive from it.
_SEARCH: Any = GridSearchCV.__mro__[1]
_FOLDS = 5  # where None is given

#: How many fits there are of each epsilon; None where it is not the user's to say.
Fits = Counter[float] | None


@dataclass(frozen=True, kw_only=True)
class Search:
    """A scikit-learn function that fits clones of an estimator to subsets of the same rows."""

    name: str
    #: Names and types of the columns.
    table: Hashable
    #: Maximum number of fits for each epsilon.
    fits: Fits
    #: Whether it scores them.
    scores: bool

    @property
    def times(self) -> str:
        """Number of fits as text."""
        return "several times" if self.fits is None else f"{self.fits.total()} times"

    @property
    def sum(self) -> str:
        """Sum of the epsilons as text."""
        if self.fits is None or max(self.fits) == math.inf:
            return "each fit spends its epsilon"
        least, most = min(self.fits), max(self.fits)
        each = f"epsilon={least:g}" + (f" to {most:g}" if most > least else "")
        total = math.fsum(epsilon * number for epsilon, number in self.fits.items())
        return f"{self.fits.total()} fits of {each} add up to as much as {total:g}"


def running_search(estimator: Any) -> tuple[Search | None, bool]:
    """Return the search that makes a clone, and whether it counts the fit of this clone.

    It is the outermost one; None if there is none, or its fits are not known yet.
    """
    found: tuple[str, FrameType, Callable[..., Fits]] | None = None
    counts = False
    frame = inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_ROOMS):
            function, own = frame.f_code.co_name, frame.f_locals.get("self")
            if function in _OF_FUNCTIONS:
                name = function if own is None else type(own).__name__
                found = name, frame, _OF_FUNCTIONS[function]
            elif function == "cross_val_score" and found is not None:
                found = function, *found[1:]
            elif function in ("fit", "_fit") and isinstance(own, _SEARCH):
                counts = True
                if found is not None and found[1].f_code.co_name != "evaluate_candidates":
                    found = None  # of the best one
            elif function in ("fit", "_fit"):
                rules = [rule for kind, rule in _OF_CLASSES.items() if isinstance(own, kind)]
                found = (type(own).__name__, frame, rules[0]) if rules else found
        frame = frame.f_back
    if found is None:
        return None, counts
    name, frame, rule = found
    known = frame.f_locals
    given = getattr(estimator, "epsilon", None)
    epsilon = float(given) if isinstance(given, (int, float)) else math.inf
    with suppress(KeyError):
        scores = rule is not _of_elimination
        return Search(
            name=name, table=_columns(known["X"]), fits=rule(known, epsilon), scores=scores
        ), True
    return None, True


def kept_columns() -> tuple[list[int], list[str]] | None:
    """Return the columns that a scikit-learn feature selection currently fits, and all names.

    Indices among all columns, and their names if any; None outside of a selection.
    """
    kept: Any = None
    names: list[str] = []
    frame = inspect.currentframe()
    while frame is not None:
        # Only there: locals of a user's frame that were looked at once stay alive with it.
        of_tools = str(frame.f_globals.get("__name__", "")).startswith(_ROOMS)
        own = frame.f_locals.get("self") if of_tools else None
        if isinstance(own, tuple(_OF_CLASSES)):
            known = frame.f_locals
            if kept is None and frame.f_code.co_name == "_fit":
                kept = known.get("features")
            elif kept is None and "candidate_mask" in known:
                kept = np.flatnonzero(known["candidate_mask"])
            elif kept is None and isinstance(own, RFECV) and hasattr(own, "support_"):
                kept = np.flatnonzero(own.support_)  # all eliminations are over
            names = [str(name) for name in getattr(own, "feature_names_in_", names)]
        frame = frame.f_back
    return None if kept is None else ([int(position) for position in kept], names)


def _columns(rows: Any) -> Hashable:
    """Return names and types of columns, which are public."""
    if hasattr(rows, "columns") and hasattr(rows, "dtypes"):
        return tuple(map(str, rows.columns)), tuple(map(str, rows.dtypes))
    shape = getattr(rows, "shape", ())
    return str(getattr(rows, "dtype", type(rows).__name__)), shape[1:]


def _folds(cv: Any) -> int | None:
    """Return the number of folds if the user gave it; some splitters depend on the rows."""
    if cv is None:
        return _FOLDS
    repeats = getattr(cv, "n_repeats", 1)
    number = getattr(cv, "cvargs", {}).get("n_splits", getattr(cv, "n_splits", cv))
    return number * repeats if isinstance(number, int) else None


def _times(fits: Fits, number: int | None) -> Fits:
    if fits is None or number is None:
        return None
    return Counter({epsilon: known * number for epsilon, known in fits.items()})


def _of_one(estimator: Any, epsilon: float) -> Fits:
    """Return the fits of one fit of an estimator, which may be a search itself."""
    if isinstance(estimator, (GridSearchCV, RandomizedSearchCV)):
        inner = _of_one(estimator.estimator, epsilon)
        if inner != Counter({epsilon: 1}):
            return None
        candidates: Any = [{}] * getattr(estimator, "n_iter", 0)
        if isinstance(estimator, GridSearchCV):
            candidates = list(ParameterGrid(estimator.param_grid))
        elif any(map(_is_epsilon, estimator.param_distributions)):
            return None
        found = _epsilons(candidates, epsilon)
        return _with_refit(estimator, _times(Counter(found), _folds(estimator.cv)), found)
    parts = [estimator, *getattr(estimator, "get_params", dict)().values()]
    several = any(isinstance(part, (_SEARCH, *_OF_CLASSES)) for part in parts)
    return None if several else Counter({epsilon: 1})


def _is_epsilon(name: str) -> bool:
    return name.rpartition("__")[2] == "epsilon"


def _epsilons(candidates: Iterable[Mapping[str, Any]], epsilon: float) -> list[float]:
    """Return the epsilon of each candidate."""
    found = []
    for candidate in candidates:
        own = [value for name, value in candidate.items() if _is_epsilon(name)]
        found.append(float(own[0]) if own and isinstance(own[0], (int, float)) else epsilon)
    return found


def _with_refit(search: Any, fits: Fits, epsilons: list[float]) -> Fits:
    """Add the fit of the best candidate, which may be the one of the largest cost."""
    if fits is None or search.refit is False:
        return fits
    return fits + Counter({max(epsilons): 1})


def _of_candidates(known: Mapping[str, Any], epsilon: float) -> Fits:
    search, candidates = known["self"], known["candidate_params"]
    if _of_one(search.estimator, epsilon) is None:
        return None
    epsilons = _epsilons(candidates, epsilon)
    judged = Counter(epsilons)
    if hasattr(search, "factor"):  # halves them: the dearest may be the best ones
        if _is_epsilon(search.resource) or getattr(search, "n_candidates", 0) == "exhaust":
            return None
        left = sorted(epsilons, reverse=True)
        for _ in range(math.floor(math.log(len(left), search.factor))):
            left = left[: math.ceil(len(left) / search.factor)]
            judged += Counter(left)
    return _with_refit(search, _times(judged, _folds(search.cv)), epsilons)


def _of_folds(known: Mapping[str, Any], epsilon: float) -> Fits:
    return _times(_of_one(known["estimator"], epsilon), _folds(known["cv"]))


def _of_permutations(known: Mapping[str, Any], epsilon: float) -> Fits:
    return _times(_of_folds(known, epsilon), known["n_permutations"] + 1)


def _of_sizes(known: Mapping[str, Any], epsilon: float) -> Fits:
    return _times(_of_folds(known, epsilon), len(known["train_sizes"]))


def _of_values(known: Mapping[str, Any], epsilon: float) -> Fits:
    candidates = [{known["param_name"]: value} for value in known["param_range"]]
    if _of_one(known["estimator"], epsilon) is None:
        return None
    return _times(Counter(_epsilons(candidates, epsilon)), _folds(known["cv"]))


def _steps(selector: Any, n_features: int, least: float | None) -> int:
    """Return how many sets of columns an elimination goes through."""
    if least is None:
        least = n_features // 2
    elif not isinstance(least, int):
        least = int(n_features * least)
    step = selector.step if selector.step >= 1 else max(1, selector.step * n_features)
    return math.ceil(max(n_features - least, 0) / int(step)) + 1


def _of_elimination(known: Mapping[str, Any], epsilon: float) -> Fits:
    own = known["self"]
    steps = _steps(own, known["X"].shape[1], own.n_features_to_select)
    return _times(_of_one(own.estimator, epsilon), steps)


def _of_judged_elimination(known: Mapping[str, Any], epsilon: float) -> Fits:
    own, folds = known["self"], _folds(known["cv"])
    steps = _steps(own, known["X"].shape[1], own.min_features_to_select)
    number = None if folds is None else (folds + 1) * steps + 1
    return _times(_of_one(own.estimator, epsilon), number)


def _of_sequence(known: Mapping[str, Any], epsilon: float) -> Fits:
    tried = sum(known["n_features"] - done for done in range(known["n_iterations"]))
    one = _of_one(known["self"].estimator, epsilon)
    return _times(_times(one, _folds(known["cv"])), tried)


_OF_FUNCTIONS: dict[str, Callable[..., Fits]] = {
    "evaluate_candidates": _of_candidates,
    "cross_validate": _of_folds,
    "cross_val_predict": _of_folds,
    "permutation_test_score": _of_permutations,
    "learning_curve": _of_sizes,
    "validation_curve": _of_values,
}
# A class before those that it derives from.
_OF_CLASSES: dict[type, Callable[..., Fits]] = {
    RFECV: _of_judged_elimination,
    RFE: _of_elimination,
    SequentialFeatureSelector: _of_sequence,
}
