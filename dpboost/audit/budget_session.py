"""Replay of a whole budget session on neighboring tables.

Fits that set rows aside and are stopped by them, evaluations with groups, drift, new leaves, more
fits, intervals and several cross-validations, for rows and for users; and rows that one person has
in two periods, which windows read apart and together, or in two of ten quarters, of which each fit
reads the last two.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dpboost.audit.budget_replay import BudgetAudit, replay_budget
from dpboost.audit.neighboring_pairs import Pair, pair_of
from dpboost.audit.pair_replay import Fit
from dpboost.audit.run_trace import Steering, Violation
from dpboost.budgeting.budget import Budget
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.evaluating import evaluate, feature_histograms
from dpboost.lightgbm.dataset import Dataset
from dpboost.model_selection.cross_validation import cv
from dpboost.model_selection.refitting import refit_leaves
from dpboost.privacy.sensitivity.bound import Neighbors

#: What each call of a session takes of its budget.
PART = Fraction(1, 8)
HALF = Fraction(1, 2)

#: Where a coin puts every row on either side of a holdout of one half.
SIDES = {"held out": 0.25, "trained on": 0.75}

#: Quarters of the longest session.
QUARTERS = 10

#: Rows of a user that may take part, and rows that the user of the pair has.
ROWS_PER_USER, ROWS_OF_USER = 2, 3

#: Sums of leaves by which the first fit climbs towards the largest label, so that what a row with
#: it loses falls from look to look; and looks that see no change.
_CLIMB: Steering = {
    **{("leaf sums", number): [-(1 << 40)] * 2 + [1 << 40] * 2 for number in range(8)},
    **{("change of the loss", number): [0] for number in range(7)},
}

#: Those of the quick audit.
QUICK = ("classes, add_remove, row held out", "users, trained on")

_BOUNDS = {"bounds": {0: (-1.0, 1.0)}}
_GROUPS = (0, [-0.5, 1.0])
_OPTIONS: dict[str, Any] = {
    "n_estimators": 8,
    "max_depth": 1,
    "max_bin": 8,
    "random_state": 0,
    "n_jobs": 1,
    "verbosity": -1,
}


@dataclass(frozen=True, kw_only=True)
class BudgetSession:
    """One budget session on a pair of neighbors, which differ in ``group`` rows."""

    name: str
    run: Fit
    pair: Pair
    group: int = 1


@dataclass(eq=False)
class SessionAudit:
    """What the sessions have shown."""

    #: Sessions, those on the second tables included.
    n_runs: int = 0
    #: Largest part of its charge that each kind of release cost.
    reached: dict[str, float] = field(default_factory=dict)
    #: Largest part of what was recorded that the differing row cost.
    largest: float = 0.0
    violations: list[tuple[str, Violation]] = field(default_factory=list)

    def add(self, name: str, audit: BudgetAudit, group: int) -> None:
        """Take note of one session."""
        self.n_runs += 2
        self.violations += [(name, found) for found in audit.violations]
        for entry in audit.entries:
            # Costs are squares of what changes, except for pure epsilon.
            part = entry.reached / (group if entry.cost == abs(entry.loss) else group**2)
            self.reached[entry.label] = max(self.reached.get(entry.label, 0.0), part)
        for account, cost in audit.measured.items():
            self.largest = max(self.largest, cost / float(audit.booked.get(account, 1) or 1))


def audit_sessions(*, quick: bool = False) -> SessionAudit:
    """Replay the sessions; those of the quick audit in one direction."""
    found = SessionAudit()
    for session in sessions():
        if quick and session.name not in QUICK:
            continue
        pairs = (session.pair, session.pair.swapped)
        for number, pair in enumerate(pairs[:1] if quick else pairs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                audit = replay_budget(
                    session.run, pair, seed=number, group=session.group, compare_visible=False
                )
            found.add(session.name, audit, session.group)
    return found


def sessions() -> Iterator[BudgetSession]:
    """Yield the sessions of rows under each relation, and those of users."""
    for relation in Neighbors:
        for side, coin in SIDES.items():
            for kind, run, labels in (
                ("classes", of_classes(relation), (0, 1)),
                ("numbers", of_numbers(relation), (-1.0, 1.0)),
            ):
                pair = _pair(relation, coin, *labels)
                yield BudgetSession(
                    name=f"{kind}, {relation.value}, row {side}", run=run, pair=pair
                )
    for side, coin in SIDES.items():
        yield BudgetSession(
            name=f"users, {side}", run=of_users, pair=_users(coin), group=ROWS_PER_USER
        )
    for periods in ((0,), (1,), (0, 1)):
        name = " and ".join(f"q{each}" for each in periods)
        yield BudgetSession(name=f"periods, {name}", run=of_periods, pair=person(periods), group=2)
    for periods in ((4, 5), (0, QUARTERS - 1)):
        name = " and ".join(f"q{each}" for each in periods)
        yield BudgetSession(
            name=f"ten quarters, {name}", run=of_quarters, pair=person(periods, QUARTERS), group=2
        )


def _pair(relation: Neighbors, coin: float, low: Any, high: Any) -> Pair:
    """Return a row at the end of the features, with the other label, beside some that are alike."""
    return pair_of(
        np.full((8, 1), -0.5),
        np.full(8, low),
        [1.0],
        high,
        relation,
        instead=([-1.0], low),
        coin=coin,
        steering=_CLIMB if isinstance(low, float) else None,
    )


def _users(coin: float) -> Pair:
    """Return users of one row each, of whom another one comes; the last column says who."""
    X = np.column_stack([np.full(8, -0.5), np.arange(8)])
    own = np.tile([1.0, 8.0], (ROWS_OF_USER, 1))
    size = len(X) + ROWS_OF_USER
    return Pair(
        X=X,
        y=np.zeros(8, dtype=int),
        X_other=np.vstack([X, own]),
        y_other=np.append(np.zeros(8, dtype=int), np.ones(ROWS_OF_USER, dtype=int)),
        ids=np.arange(len(X)),
        other_ids=np.arange(size),
        steering={},
        coin=coin,
    )


def _shown(**results: Any) -> Mapping[str, str]:
    return {name: str(found) for name, found in results.items()}


def of_classes(relation: Neighbors) -> Fit:
    """Return a session with a classifier."""

    def run(X: Any, y: Any) -> Mapping[str, str]:
        budget = Budget(epsilon=8, delta=1e-5, neighbors=relation.value)
        own: dict[str, Any] = {"budget": budget, "fraction": PART}
        make = _maker(DPBoostClassifier, {**_BOUNDS, "classes": [0, 1]}, relation)
        model = make(early_stopping_round=8).fit(X, y, holdout=HALF, **own)
        return _shown(
            held=evaluate(model, groups=_GROUPS, **own),
            new=evaluate(model, X, y, groups=_GROUPS, **own),
            bins=feature_histograms(model, X, **own).counts,
            leaves=refit_leaves(model, X, y, **own).booster_.model_to_string(),
            second=make().fit(X, y, **own).booster_.model_to_string(),
            folds=[_validated(X, y, "binary", relation, own) for _ in range(2)],
        )

    return run


def of_numbers(relation: Neighbors) -> Fit:
    """Return a session with a regressor, whose label bounds are wide, and with intervals."""

    def run(X: Any, y: Any) -> Mapping[str, str]:
        budget = Budget(epsilon=8, delta=1e-5, neighbors=relation.value)
        own: dict[str, Any] = {"budget": budget, "fraction": PART}
        make = _maker(DPBoostRegressor, {**_BOUNDS, "label_bounds": (-1.0, 1.0)}, relation)
        model = make(early_stopping_round=8).fit(X, y, holdout=HALF, **own)
        return _shown(
            held=evaluate(model, groups=_GROUPS, **own),
            new=evaluate(model, X, y, **own),
            bins=feature_histograms(model, X, **own).counts,
            leaves=refit_leaves(model, X, y, **own).booster_.model_to_string(),
            intervals=make().fit(X, y, conformal=0.9, **own).calibration_,
            folds=_validated(X, y, "regression", relation, own),
        )

    return run


def of_users(X: Any, y: Any) -> Mapping[str, str]:
    """Run a session that protects users, whose numbers are in the last column."""
    budget = Budget(epsilon=16, delta=1e-5, rows_per_user=ROWS_PER_USER)
    users = {"user_ids": X[:, 1].astype(np.int64)}
    own: dict[str, Any] = {"budget": budget, "fraction": PART}
    X = X[:, :1]
    make = _maker(DPBoostClassifier, {**_BOUNDS, "classes": [0, 1]}, Neighbors.ADD_REMOVE)
    make = partial(make, rows_per_user=ROWS_PER_USER)
    model = make(early_stopping_round=8).fit(X, y, holdout=HALF, **users, **own)
    return _shown(
        held=evaluate(model, groups=_GROUPS, **own),
        new=evaluate(model, X, y, groups=_GROUPS, **users, **own),
        bins=feature_histograms(model, X, **users, **own).counts,
        leaves=refit_leaves(model, X, y, **users, **own).booster_.model_to_string(),
        second=make().fit(X, y, **users, **own).booster_.model_to_string(),
        folds=_validated(X, y, "binary", Neighbors.ADD_REMOVE, own, **users),
    )


def person(periods: Sequence[int], n_periods: int = 2) -> Pair:
    """Return rows in periods, and a person with a row in some; the last column says which."""
    size = 8 * n_periods
    X = np.column_stack([np.full(size, -0.5), np.repeat(np.arange(float(n_periods)), 8)])
    own = np.column_stack([np.ones(len(periods)), periods])
    return Pair(
        X=X,
        y=np.zeros(size, dtype=int),
        X_other=np.vstack([X, own]),
        y_other=np.append(np.zeros(size, dtype=int), np.ones(len(periods), dtype=int)),
        ids=np.arange(size),
        other_ids=np.arange(size + len(periods)),
        steering={},
    )


def of_quarters(X: Any, y: Any) -> Mapping[str, str]:
    """Fit each quarter on the last two; the last column says which one a row is of.

    Anyone who has rows in two quarters that follow each other pays all of the budget: four sixths
    where both are read, and one where either is read with another.
    """
    budget = Budget(epsilon=4, delta=1e-5, periods=2)
    make = _maker(DPBoostClassifier, {**_BOUNDS, "classes": [0, 1]}, Neighbors.ADD_REMOVE)
    of_rows = np.array([f"q{int(each)}" for each in X[:, 1]])
    found: dict[str, Any] = {}
    for number in range(QUARTERS):
        names = [f"q{each}" for each in (number - 1, number) if each >= 0]
        read = np.isin(of_rows, names)
        window = budget.window(*names, of_rows=of_rows[read])
        model = make(n_estimators=2).fit(
            X[read, :1], y[read], budget=window, fraction=Fraction(1, 6)
        )
        found[f"fit, q{number}"] = model.booster_.model_to_string()
    return _shown(**found)


def of_periods(X: Any, y: Any) -> Mapping[str, str]:
    """Run a session of two periods, apart and together; the last column says which."""
    budget = Budget(epsilon=4, delta=1e-5, periods=2)
    make = _maker(DPBoostClassifier, {**_BOUNDS, "classes": [0, 1]}, Neighbors.ADD_REMOVE)
    of_rows = np.array([f"q{int(each)}" for each in X[:, 1]])
    found: dict[str, Any] = {}
    for names in (["q0"], ["q0", "q1"], ["q1"]):
        read = np.isin(of_rows, names)
        rows, labels = X[read, :1], y[read]
        window = budget.window(*names, of_rows=of_rows[read])
        own: dict[str, Any] = {"budget": window, "fraction": PART / 5}
        model = make(n_estimators=2).fit(rows, labels, holdout=HALF, **own)
        told = f"{len(names)} periods from {names[0]}"
        found |= {
            f"fit, {told}": model.booster_.model_to_string(),
            f"held, {told}": evaluate(model, budget=budget, fraction=PART / 5),
            f"new, {told}": evaluate(model, rows, labels, **own),
            f"bins, {told}": feature_histograms(model, rows, **own).counts,
            f"leaves, {told}": refit_leaves(model, rows, labels, **own).booster_.num_trees(),
        }
    return _shown(**found)


def _maker(kind: Any, schema: Mapping[str, Any], relation: Neighbors) -> Callable[..., Any]:
    return partial(kind, schema=schema, neighbors=relation.value, **_OPTIONS)


def _validated(
    X: Any, y: Any, objective: str, relation: Neighbors, own: Any, **users: Any
) -> dict[str, Any]:
    """Cross-validate, with the metrics of an evaluation."""
    known = {"label_bounds": (-1.0, 1.0)} if objective == "regression" else {}
    params = {
        "objective": objective,
        "metric": "l2" if objective == "regression" else "auc",
        "schema": {**_BOUNDS, **known},
        "neighbors": relation.value,
        "max_depth": 1,
        "seed": 0,
        "num_threads": 1,
        "verbosity": -1,
        **({"rows_per_user": ROWS_PER_USER} if users else {}),
    }
    return dict(cv(params, Dataset(X, y, **users), num_boost_round=2, nfold=2, **own))
