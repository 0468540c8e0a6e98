"""Audits of the single-tree recipes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost.audit.pair_replay import PairAudit
from dpboost.audit.pooled_rows import Sites
from dpboost.audit.recipe_audit import (
    BoxAudit,
    RecipeAudit,
    boxed,
    repeated_noise,
    replay_both,
    replay_cases,
)
from dpboost.audit.released_surface import overhear, shown
from dpboost.audit.run_trace import Violation
from dpboost.audit.tree_witnesses import tree_witnesses
from dpboost.audit.witnesses import Witness
from dpboost.data.labels import read_class_labels
from dpboost.data.table import read_table
from dpboost.estimators.tree_estimators import DPTreeClassifier, DPTreeRegressor
from dpboost.privacy.accounting import PureAccountant
from dpboost.privacy.queries import RowHandle
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.single_tree import TREE_ALGORITHMS
from dpboost.rows.raw_rows import RawRows
from dpboost.schema import Schema
from dpboost.training.fit import fit
from dpboost.training.objective import Objective
from dpboost.training.privacy_params import PrivacyRequest
from dpboost.training.request import FitRequest, Inputs

TREE_RECIPES = tuple(TREE_ALGORITHMS)


def tree_fit(recipe: str, witness: Witness, epsilon: float) -> Callable[[Any, Any], Mapping]:
    """Return what the replay auditor runs: it shows all that leaves the process."""
    if "n_sites" in witness.settings:
        return sites_fit(recipe, witness, epsilon)

    settings = dict(witness.settings)
    weights = settings.pop("weight_column", None)
    kind = DPTreeRegressor if witness.task == "tree of numbers" else DPTreeClassifier

    def fit_one_tree(X: Any, y: Any) -> Mapping[str, Any]:
        heard: dict[str, Any] = {}
        with overhear(heard):
            model = kind(
                recipe=recipe,
                epsilon=epsilon,
                neighbors=witness.neighbors.value,
                n_jobs=1,
                **settings,
            ).fit(X, y, sample_weight=None if weights is None else X[:, weights])
        return {**shown(model, heard), "tree text": model.export_text()}

    return fit_one_tree


def sites_fit(recipe: str, witness: Witness, epsilon: float) -> Callable[[Any, Any], Mapping]:
    """Return what the replay auditor runs where rows lie at several sites, by their numbers."""
    settings = dict(witness.settings)
    n_sites, schema = settings.pop("n_sites"), settings.pop("schema")
    request = FitRequest(
        task="classification",
        recipe=TREE_ALGORITHMS[recipe],
        given=settings,
        privacy=PrivacyRequest.validated(
            "places_fit",
            epsilon=epsilon,
            delta=0.0,
            neighbors=witness.neighbors.value,
            schema=schema,
            assume_public=(),
            noise_seed=None,
        ),
        objective=Objective(task="classification"),
        public_seed=0,
        owner="places_fit",
        n_jobs=1,
    )

    def fit_at_sites(X: Any, y: Any) -> Mapping[str, Any]:
        names = tuple(f"Column_{position}" for position in range(X.shape[1]))
        resolved = Schema.coerce(schema).resolve(names)
        tables = [read_table(X[first::n_sites], schema=resolved) for first in range(n_sites)]
        rows = [
            RawRows(table=table, labels=read_class_labels(y[first::n_sites]))
            for first, table in enumerate(tables)
        ]
        inputs = Inputs(columns=tables[0].columns, schema=resolved, classes=resolved.classes)
        ledger = request.privacy.ledger(PureAccountant())
        heard: dict[str, Any] = {}
        with overhear(heard):
            fitted = fit(RowHandle(Sites(rows)), inputs, request, ledger)
        return {**heard, "report": fitted.report.details(), "pickle": pickle.dumps(fitted.tree)}

    return fit_at_sites


def replay_tree_witness(
    recipe: str, witness: Witness, *, epsilon: float = 1.0, seed: int | None = None
) -> tuple[PairAudit, PairAudit]:
    """Audit a recipe of single trees on one witness, in both directions."""
    return replay_both(tree_fit(recipe, witness, epsilon), witness, seed=seed)


def tree_bank(recipe: str, relations: Sequence[Neighbors] = tuple(Neighbors)) -> Iterator[Witness]:
    """Yield the witnesses of a recipe for some relations."""
    for neighbors in relations:
        yield from tree_witnesses(recipe, neighbors)


def replay_tree_recipe(
    recipe: str,
    *,
    epsilon: float = 1.0,
    seed: int | None = None,
    chosen: Sequence[Witness] | None = None,
) -> RecipeAudit:
    """Audit a recipe of single trees on a bank of witnesses, by default the whole one."""
    everyone = tree_bank(recipe) if chosen is None else chosen
    cases = ((witness, tree_fit(recipe, witness, epsilon)) for witness in everyone)
    result = replay_cases(recipe, cases, epsilon=epsilon, seed=seed)
    result.violations += [("two fits", found) for found in stale_tree_noise(recipe)]
    return result


def stale_tree_noise(recipe: str) -> list[Violation]:
    """Fit twice on one table and look for long releases whose outcome is the same."""
    X, y = np.ones((100, 1)), np.arange(100) % 2
    return repeated_noise(lambda: DPTreeClassifier(recipe=recipe, max_depth=1, n_jobs=1).fit(X, y))


def tree_black_box(recipe: str, *, epsilon: float = 1.0, n_runs: int) -> BoxAudit:
    """Audit a recipe from outside, by a tree that is a root alone.

    The table has a row of each of two classes, of which one comes or goes. It moves the released
    count of its class and, where there is one, the released size of the root: the lesser of the
    two is large only when both are.
    """
    X, y = np.zeros((2, 1)), np.array([0, 1])
    schema = {"edges": {0: (0.5,)}, "classes": [0, 1]}

    def make() -> Any:
        return DPTreeClassifier(
            recipe=recipe, epsilon=epsilon, max_depth=0, schema=schema, n_jobs=1
        )

    def tell(model: Any) -> NDArray[np.float64]:
        count, sizes = model.tree_.counts[0, 1], model.tree_.sizes
        if sizes is None or np.isnan(sizes[0]):
            return np.array([count])
        return np.array([count, min(count, sizes[0] - 1)])

    return boxed(recipe, "max_depth 0", make, (X, y), tell, delta=0.0, n_runs=n_runs)
