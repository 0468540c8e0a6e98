"""A custom recipe: the engine's parts with a new selector of splits, audited.

    python examples/12_own_recipe.py
    python examples/12_own_recipe.py --epsilon 0.5 --features 2

A recipe is a frozen bundle of parts. Here the parts of recipe "best" get a custom selector,
which offers each node a few features drawn from a public seed, so that the choice among them costs
as much as the choice among all. The estimator accepts the recipe like any other, the ledger
enforces its budget, and the auditor of the library replays it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from dpboost import DPTreeClassifier, Schema
from dpboost.audit.tree_audit import replay_tree_recipe, tree_bank
from dpboost.growing.class_selectors import SplitSelector
from dpboost.growing.single_tree_growth import SingleTree
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes.recipe import Recipe, Setting
from dpboost.recipes.single_tree.best_tree import BEST_TREE, build

N_FEATURES = 6
SCHEMA = Schema(bounds=dict.fromkeys(range(N_FEATURES), (0, 1)), classes=[0, 1])


@dataclass(frozen=True, kw_only=True)
class FewFeatures:
    """Choose among a few features, drawn again for every node.

    Parameters
    ----------
    inner : SplitSelector
        Chooses among what is offered, at the price that it says.
    n_offered : int
    public : numpy.random.Generator
        Public randomness: it must not depend on a row.

    Privacy
    -------
    That of ``inner``: which features are offered is decided without a look at the rows, and a
    score keeps its range whatever else is offered.
    """

    inner: SplitSelector
    n_offered: int
    public: np.random.Generator

    def choose(
        self, rows: Any, nodes: Any, limits: Any, offered: Any, *, budget: Any, ledger: Any
    ) -> Any:
        """Release a candidate for each node."""
        order = self.public.permuted(np.tile(np.arange(offered.shape[1]), (len(nodes), 1)), axis=1)
        drawn = order < self.n_offered
        return self.inner.choose(rows, nodes, limits, offered & drawn, budget=budget, ledger=ledger)


def few_features(n_offered: int, seed: int = 0) -> Recipe:
    """Return the recipe: that of ``best`` but for the selector.

    Every auditor knows the seed, which is public: with other public draws the two fits of a
    replay would be fits of two mechanisms.
    """

    def build_own(setting: Setting) -> SingleTree:
        tree = build(setting)
        selector = FewFeatures(
            inner=tree.learner.selector,
            n_offered=min(n_offered, setting.binner.n_features),
            public=np.random.default_rng(seed),
        )
        return replace(tree, learner=replace(tree.learner, selector=selector))

    return replace(BEST_TREE, name=f"{n_offered} features a node", build=build_own)


def table(n_rows: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows whose class depends on three of the features."""
    X = random.random((n_rows, N_FEATURES))
    odds = 6 * (X[:, 0] > 0.5) + 4 * (X[:, 1] > 0.3) + 3 * X[:, 2] - 7
    return X, (random.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(int)


def main() -> None:
    """Fit, score and audit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--features", type=int, default=3)
    arguments = parser.parse_args()

    random = np.random.default_rng(0)
    X, y = table(20_000, random)
    held_out, held_out_y = table(5_000, random)
    own = few_features(arguments.features)
    for recipe in (BEST_TREE, own):
        model = DPTreeClassifier(epsilon=arguments.epsilon, recipe=recipe, schema=SCHEMA).fit(X, y)
        auc = roc_auc_score(held_out_y, model.predict_proba(held_out)[:, 1])
        spent = model.privacy_report_.epsilon_spent
        print(f"recipe {recipe.name!r}: AUC {auc:.3f} on held-out rows, epsilon spent {spent:g}")

    # The witnesses of recipe "best" are pairs of neighboring tables: the auditor computes, entry
    # by entry, how much more likely one of them makes what was released.
    bank = [
        witness
        for witness in tree_bank("best", [Neighbors.ADD_REMOVE])
        if witness.name.startswith(("lone row", "two nodes", "weighted row"))
    ]
    audit = replay_tree_recipe(own, epsilon=arguments.epsilon, chosen=bank)
    print(f"\nreplayed {audit.n_runs} fits; largest loss {audit.largest_loss:.3f}")
    print("violations:", ", ".join(str(found) for _, found in audit.violations) or "none")


if __name__ == "__main__":
    main()
