"""What the fits of a process spend outside of budgets: no one else adds it up.

Whether two tables share rows cannot be seen without a look at their cells. They may if they are
one object, or have columns of the same names and types, all of which is public.
"""

from __future__ import annotations

import inspect
import math
import weakref
from collections.abc import Hashable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from dpboost._utils.warnings import PrivacyWarning, warn_once, warn_user

#: Functions of scikit-learn that fit clones of an estimator to parts of the same rows.
_SEARCHES = (
    *("cross_validate", "evaluate_candidates", "cross_val_predict", "permutation_test_score"),
    *("learning_curve", "validation_curve"),
)
_ROOM = "sklearn.model_selection"


class EpsilonSumWarning(PrivacyWarning):
    """Several fits to rows that may be the same are in no budget: their epsilons add up."""


@dataclass(kw_only=True, eq=False)
class _Table:
    """A table by its columns, or as an object, and what fits have spent on it."""

    keys: set[Hashable] = field(default_factory=set)
    objects: list[Any] = field(default_factory=list)
    n_fits: int = 0
    epsilon: float = 0.0
    delta: float = 0.0


_TABLES: list[_Table] = []
_ROWS: ContextVar[Any] = ContextVar("rows", default=None)


def rows_of_fit(rows: Any) -> None:
    """Keep a weak reference to the table of the fit that begins."""
    found = None
    with suppress(TypeError):
        found = weakref.ref(rows)
    _ROWS.set(found)


def forget() -> None:
    """Begin again, as in a new process."""
    _TABLES.clear()


def add_fit(key: Hashable, epsilon: float, delta: float) -> None:
    """Add a fit outside of budgets, and warn from the second one of a table on.

    Parameters
    ----------
    key : hashable
        Names and types of the columns.
    epsilon, delta : float
        What the fit may spend; nothing is added up where epsilon is infinite.
    """
    if epsilon == math.inf:
        return
    reference = _ROWS.get()
    _ROWS.set(None)
    rows = None if reference is None else reference()
    same = [
        table
        for table in _TABLES
        if key in table.keys or any(rows is not None and each() is rows for each in table.objects)
    ]
    table = same[0] if same else _Table()
    if not same:
        _TABLES.append(table)
    table.keys.add(key)
    table.objects = [each for each in table.objects if each() is not None]
    if reference is not None:
        table.objects.append(reference)
    table.n_fits += 1
    table.epsilon += epsilon
    table.delta += delta
    if table.n_fits > 1:
        total = f"epsilon={table.epsilon:g}" + (f", delta={table.delta:g}" if table.delta else "")
        warn_user(
            f"These are {table.n_fits} fits of this process to tables with these columns, in no "
            f"budget: if these share rows, epsilon adds up to {total} so far, and so on with each "
            "further fit. Keep one account for the table: `with dpboost.Budget(epsilon=...):`, "
            "fit(..., fraction=...).",
            EpsilonSumWarning,
        )


def warn_of_search(estimator: Any) -> bool:
    """Warn where a clone is one of many that scikit-learn fits to the same rows.

    Parameters
    ----------
    estimator : estimator
        Of which a clone is made.

    Returns
    -------
    bool
        Whether it is.
    """
    found = _search(inspect.currentframe())
    if found is None:
        return False
    name, n_fits = found
    epsilon = getattr(estimator, "epsilon", None)
    each = "each fit spends its epsilon"
    if isinstance(epsilon, (int, float)) and n_fits is not None and epsilon < math.inf:
        each = f"{n_fits} fits of epsilon={epsilon:g} add up to as much as {n_fits * epsilon:g}"
    times = "several times" if n_fits is None else f"{n_fits} times"
    warn_once(
        f"{name} fits {type(estimator).__name__} {times} to rows that are partly the same, in no "
        f"budget: {each}, and its scores are exact, not differentially private. One budget "
        "covers both: folds = dpboost.SecretKFold(5), cv=folds and scoring=folds.scorer('auc', "
        "fraction=...) inside `with dpboost.Budget(epsilon=...):`; or dpboost.cv.",
        EpsilonSumWarning,
    )
    return True


def _search(frame: FrameType | None) -> tuple[str, int | None] | None:
    """Return the function of scikit-learn that is running, and how many models it fits."""
    name: str | None = None
    n_fits: int | None = None
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(_ROOM):
            own = frame.f_code.co_name
            if name is None and own in _SEARCHES:
                name, n_fits = own, _fits_of(own, frame.f_locals)
            elif name is not None and not own.startswith(("_", "<")):
                kind = type(frame.f_locals.get("self", None)).__name__
                name = kind if own in ("fit", "evaluate_candidates") else own
        frame = frame.f_back
    return None if name is None else (name, n_fits)


def _fits_of(name: str, known: dict[str, Any]) -> int | None:
    """Return the number of fits where it is the user's; a splitter may count the rows."""
    n_folds = getattr(known.get("cv"), "n_splits", None)
    if name not in ("cross_validate", "evaluate_candidates", "cross_val_predict"):
        return None
    if not isinstance(n_folds, int):
        return None
    return n_folds * int(known.get("n_candidates", 1))
