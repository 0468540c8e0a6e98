"""Audits of the boosting recipes: all witnesses, and the black box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.delta_audit import lone_category
from dpboost.audit.pair_replay import PairAudit
from dpboost.audit.recipe_audit import (
    BoxAudit,
    Case,
    RecipeAudit,
    boxed,
    repeated_noise,
    replay_both,
    replay_cases,
)
from dpboost.audit.released_surface import estimator_fit
from dpboost.audit.run_trace import Violation
from dpboost.audit.witnesses import DELTA, Witness, witnesses
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.lightgbm.parameters import Resolved
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS

ESTIMATORS = {"regression": DPBoostRegressor, "binary": DPBoostClassifier}


def deltas(recipe: str) -> tuple[float, ...]:
    """Return the deltas at which a recipe is accounted for differently."""
    accountant = ALGORITHMS.find(recipe, "audit").accountant
    if accountant(1.0, DELTA).name == accountant(1.0, 0.0).name:
        return (DELTA,)
    return (DELTA, 0.0)


def estimator_of(recipe: str, witness: Witness, epsilon: float) -> Callable[[], Any]:
    """Return a function that makes the estimator which a witness asks for."""
    settings = dict(witness.settings)
    if "selection" not in ALGORITHMS.find(recipe, "audit").parameters.names():
        settings.pop("selection", None)

    def make() -> Any:
        return ESTIMATORS[witness.task](
            recipe=recipe,
            epsilon=epsilon,
            neighbors=witness.neighbors.value,
            random_state=0,
            n_jobs=1,
            verbosity=0,
            **settings,
        )

    return make


def replay_witness(
    recipe: str, witness: Witness, *, epsilon: float = 1.0, seed: int | None = None
) -> tuple[PairAudit, PairAudit]:
    """Audit a recipe on one witness, in both directions.

    Parameters
    ----------
    recipe : str
        Name in ``ALGORITHMS``.
    seed : int, optional
        Draw from a seed.
    """
    return replay_both(estimator_fit(estimator_of(recipe, witness, epsilon)), witness, seed=seed)


def bank(
    tasks: Sequence[str] = tuple(ESTIMATORS), relations: Sequence[Neighbors] = tuple(Neighbors)
) -> Iterator[Witness]:
    """Yield the witnesses of all tasks and relations."""
    for task in tasks:
        for neighbors in relations:
            yield from witnesses(task, neighbors)


def replay_recipe(
    recipe: str,
    *,
    epsilon: float = 1.0,
    seed: int | None = None,
    delta: float | None = None,
    chosen: Sequence[Witness] | None = None,
) -> RecipeAudit:
    """Audit a recipe on a bank of witnesses.

    Parameters
    ----------
    seed : int, optional
        Draw from a seed.
    delta : float, optional
        Instead of the delta of each witness; zero leaves out those that learn categories or
        classes, which needs some.
    chosen : sequence of Witness, optional
        The whole bank by default.
    """
    everyone = list(bank()) if chosen is None else list(chosen)
    cases: list[Case] = []
    for witness in everyone:
        if delta == 0 and "assume_public" in witness.settings:
            continue
        if delta is not None:
            witness = replace(witness, settings={**witness.settings, "delta": delta})
        cases.append((witness, estimator_fit(estimator_of(recipe, witness, epsilon))))
    result = replay_cases(recipe, cases, epsilon=epsilon, seed=seed)
    result.violations += [("two fits", found) for found in stale_noise(recipe)]
    learned = {w.neighbors for w in everyone if (w.name, w.task) == LONE}
    for neighbors in learned if delta != 0 else ():
        found = lone_category(category_learner(recipe, neighbors, epsilon, delta or DELTA))
        result.violations += [("lone category, its chance", violation) for violation in found]
    return result


#: The witness whose relations are also audited for the chance that its category comes out.
LONE = ("lone category", "regression")


def category_learner(
    recipe: str, neighbors: Neighbors, epsilon: float = 1.0, delta: float = DELTA
) -> Callable[[], Any]:
    """Return a function that makes an estimator which learns its categories."""

    def make() -> Any:
        return ESTIMATORS["regression"](
            recipe=recipe,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors.value,
            schema={"label_bounds": (-1.0, 1.0)},
            assume_public=(),
            n_estimators=1,
            max_depth=1,
            n_jobs=1,
            verbosity=0,
        )

    return make


def stale_noise(recipe: str) -> list[Violation]:
    """Fit twice on one table and look for releases whose outcome is the same."""
    X, y = np.ones((100, 1)), np.ones(100)
    settings: dict[str, Any] = {"recipe": recipe, "n_estimators": 1, "n_jobs": 1, "verbosity": 0}
    return repeated_noise(lambda: DPBoostRegressor(**settings).fit(X, y))


class RootAlone(DPBoostRegressor):
    """Trees that are one leaf, which the parameters of LightGBM cannot ask for."""

    def _resolved(self, owner: str) -> Resolved:
        found = super()._resolved(owner)
        return replace(found, arguments={**found.arguments, "max_depth": 0})


#: The whole budget is in one leaf, and in the start value where a recipe releases one.
ONE_TREE: dict[str, Any] = {"n_estimators": 1, "max_depth": 0}
ENSEMBLE: dict[str, Any] = {"n_estimators": 5, "max_depth": 1}

#: So many rows keep a released start value in the middle of the labels.
N_BALANCED = 2000


def black_box(
    recipe: str, setting: dict[str, Any], *, epsilon: float = 1.0, delta: float = DELTA, n_runs: int
) -> BoxAudit:
    """Audit a recipe from outside.

    The table has a row of either label, of which one comes or goes: a leaf of one row moves as
    far as any. Where a start value is released there are many such pairs instead. It then stays
    in the middle, every gradient is clipped, and the row moves the noisy sums of its leaf by
    all that the clip allows. Edges are declared, so that nothing is spent on bins.

    What tells the tables apart is the start value and the leaves of the first tree with their
    weights: all that the text of a model of one tree holds.

    Parameters
    ----------
    setting : dict
        ``ONE_TREE``, ``ENSEMBLE`` or other parameters of the estimator.
    n_runs : int
        Fits on each of the two tables.
    """
    released_start = ALGORITHMS.find(recipe, "audit").start_share is not None
    n_rows = N_BALANCED if released_start else 2
    X, y = np.zeros((n_rows, 1)), np.tile([-1.0, 1.0], n_rows // 2)
    schema = {"edges": {0: (0.5,)}, "label_bounds": (-1.0, 1.0)}

    kind = RootAlone if setting.get("max_depth") == 0 else DPBoostRegressor

    def make() -> Any:
        return kind(
            recipe=recipe,
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            n_jobs=1,
            verbosity=0,
            **setting,
        )

    def tell(model: Any) -> NDArray[np.float64]:
        first = model.ensemble_.trees[0]
        weights = [] if first.leaf_count is None else first.leaf_count
        return np.concatenate([model.ensemble_.start, first.leaf_value, weights])

    words = ", ".join(f"{name} {value}" for name, value in setting.items())
    return boxed(recipe, words, make, (X, y), tell, delta=delta, n_runs=n_runs)
