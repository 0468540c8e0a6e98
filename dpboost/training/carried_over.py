"""Settings that are good without noise, carried over to where there is some."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpboost._utils.warnings import warn_user
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.recipes.recipe import PublicFacts, Recipe

#: Rounds times learning rate, as a part of the rule's, below which accuracy is lost: on Adult at
#: epsilon 1 a quarter costs .004 of AUC, an eighth .007, a thirtieth .016.
LEAST_PART = 0.3
#: Rounds, as a multiple of the rule's, from which pure epsilon leaves too little for each.
MOST_ROUNDS = 4
#: Fewer rounds are a trial, and come from no model.
FEWEST_ROUNDS = 20
#: Levels beyond the rule's from which leaves hold too little: four cost .005 on Adult.
MORE_LEVELS = 3

_ROUNDS = ("n_estimators", "learning_rate")


def warn_of_settings(facts: PublicFacts, recipe: Recipe) -> None:
    """Warn of rounds, rates and depths that cost accuracy under privacy, with the rule's values.

    Parameters
    ----------
    facts : PublicFacts
        With what the user has set, and the released number of rows.
    recipe : Recipe
        Of boosting.

    Warns
    -----
    ParameterWarning
        Once, for all of them.
    """
    given, pure = facts.given, facts.delta == 0
    rule: Any = recipe.defaults(replace(facts, given={}))
    used: Any = replace(rule, **given)
    if used.n_estimators < FEWEST_ROUNDS:
        return
    reached = used.n_estimators * used.learning_rate
    reasons: dict[str, tuple[str, ...]] = {}
    if reached < LEAST_PART * (rule.n_estimators * rule.learning_rate):
        reasons["small steps do not reach far where each is shrunk by its noise"] = _ROUNDS
    elif pure and used.n_estimators > MOST_ROUNDS * rule.n_estimators:
        reasons["each of so many rounds has little of the budget"] = _ROUNDS[:1]
    if used.max_depth > rule.max_depth + MORE_LEVELS:
        reasons["leaves of deep trees hold few rows and much noise"] = ("max_depth",)
    if not reasons:
        return
    names = [name for part in reasons.values() for name in part if name in given]
    settings = " and ".join(f"{name}={given[name]}" for name in names)
    rules = " and ".join(f"{name}={getattr(rule, name):g}" for name in names)
    warn_user(
        f"Settings that cost accuracy under privacy: {settings}, because "
        f"{' and '.join(reasons)}. For this budget and number of rows recipe={recipe.name!r} takes "
        f"{rules}: leave out what comes from a model without noise.",
        ParameterWarning,
    )
