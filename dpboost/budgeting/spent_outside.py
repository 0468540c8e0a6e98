"""What the fits of a process spend outside of budgets: nobody else adds it up.

Whether two tables share rows cannot be seen without a look at their cells. They may if they are
one object, or have columns of the same names and types, all of which is public.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Hashable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from dpboost._utils.warnings import PrivacyWarning, warn_once, warn_user
from dpboost.budgeting.searches import running_search


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
_COUNTED: ContextVar[bool] = ContextVar("counted", default=False)


def rows_of_fit(rows: Any, *, counted: bool = False) -> None:
    """Keep a weak reference to the table of the fit that begins.

    Parameters
    ----------
    rows : table
    counted : bool
        Whether a search has said what its fits add up to, with this one.
    """
    _COUNTED.set(counted)
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
    if table.n_fits > 1 and not _COUNTED.get():
        total = f"epsilon={table.epsilon:g}" + (f", delta={table.delta:g}" if table.delta else "")
        warn_user(
            f"These are {table.n_fits} fits of this process to tables with these columns, in no "
            f"budget: if these share rows, epsilon adds up to {total} so far, and so on with each "
            "further fit. Keep one account for the table: `with dpboost.Budget(epsilon=...):`, "
            "fit(..., fraction=...).",
            EpsilonSumWarning,
        )


def warn_of_search(estimator: Any) -> tuple[bool, bool]:
    """Warn where a clone is one of many that scikit-learn fits to the same rows.

    Parameters
    ----------
    estimator : estimator
        Of which a clone is made.

    Returns
    -------
    counted : bool
        Whether a search says what its fits add up to, that of the clone included.
    scored : bool
        Whether it says as well that nothing pays for the scores of the clone.
    """
    search, counted = running_search(estimator)
    if search is None:
        return counted, False
    head = f"{search.name} fits {type(estimator).__name__} {search.times} to rows that are "
    if search.scores:
        rest = (
            f"partly the same, in no budget: {search.sum}, and its scores are exact, not "
            "differentially private. One budget covers both: folds = dpboost.SecretKFold(5), "
            "cv=folds and scoring=folds.scorer('auc', fraction=...) inside "
            "`with dpboost.Budget(epsilon=...):`; or dpboost.cv."
        )
    else:
        rest = (
            f"the same, in no budget: {search.sum}. Keep one account for them: inside "
            "`with dpboost.Budget(epsilon=...):` give its fit(..., fraction=...), which is the "
            "part of each fit."
        )
    warn_once(head + rest, EpsilonSumWarning, search.table)
    return True, search.scores
