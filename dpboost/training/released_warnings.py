"""Warnings of what a fit has released: before its trees, and after them.

Declared classes *are* what is public about labels, so the labels of the rows are not compared with
them: whoever declares classes keeps to himself which of them occur. What is told here rests on
released numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpboost._utils.warnings import warn_user
from dpboost.growing.growth import Grown
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import PublicFacts, Recipe, Setting
from dpboost.training.few_rows import expected_of, listed, small_classes, within_noise
from dpboost.training.privacy_params import warn_of_budget, warn_of_delta
from dpboost.training.request import FitRequest
from dpboost.training.start_value import SURE, SeenRows

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


def warn_of_labels(seen: SeenRows, classes: Sequence[Any], *, declared: bool) -> None:
    """Warn where rows take no part, and where a declared class seems to have no rows.

    Parameters
    ----------
    seen : SeenRows
        Released.
    classes : sequence
        Declared or learned, in the order of the sizes.
    declared : bool
        Whether the user has declared them.
    """
    if seen.some_take_no_part:
        cure = "declare all of them, spelled and typed as in y" if declared else "declare them"
        warn_user(
            f"Rows with other labels than {listed(classes)} take no part, and the released "
            f"numbers say that there are some: more than {SURE:g} standard deviations of their "
            f"noise. If these are not all classes, {cure}: schema=Schema(classes=...).",
            ParameterWarning,
        )
    if declared:
        empty = [position for position in seen.empty_classes if position < len(classes)]
        _warn_of(
            within_noise(
                [classes[position] for position in empty],
                [seen.noise_stddevs[position] for position in empty],
            )
        )


def _warn_of(lines: Sequence[str]) -> None:
    for line in lines:
        warn_user(line, ParameterWarning)


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


def warn_before_trees(
    seen: SeenRows | None,
    classes: Sequence[Any],
    setting: Setting,
    request: FitRequest,
    ledger: Ledger,
) -> None:
    """Warn by what was released before the first tree, and by what was set and declared.

    Parameters
    ----------
    seen : SeenRows or None
        None where nothing was released yet.
    classes : sequence
        Public, in their order; empty in a regression.
    """
    recipe, privacy, facts = request.recipe, request.privacy, setting.facts
    if seen is not None:
        warn_of_delta(ledger, seen.n_rows)
        # Where the set of labels is assumed public, every label is a class of some row.
        declared = privacy.schema.classes is not None
        if classes and (declared or "classes" not in privacy.assume_public):
            warn_of_labels(seen, classes, declared=declared)
        _warn_of(expected_of(seen, classes, weighted=setting.weighted))
    if facts.n_rows is not None and not recipe.single:
        warn_of_settings(facts, recipe)
    if recipe.useful_budget is not None:
        needed = recipe.useful_budget(setting.hyper, setting.loss, privacy.neighbours)
        warn_of_budget(privacy, recipe.name, spent_on=facts.budget, needed=needed)


def warn_after_trees(
    grown: Grown,
    seen: SeenRows | None,
    classes: Sequence[Any],
    request: FitRequest,
    ledger: Ledger,
) -> None:
    """Warn by what leaves of a single tree have counted, whose sums are those of all rows.

    Rows of other labels are in no count of a tree: nothing tells of them alone.

    Parameters
    ----------
    seen, classes, request, ledger
        As in `warn_before_trees`.
    """
    sizes = grown.class_sizes
    if sizes is None:
        return
    if seen is None:
        warn_of_delta(ledger, max(float(sizes.sum()), 1.0))
    if request.privacy.schema.classes is not None:
        small = small_classes(sizes, grown.noise_stddev)
        noise = [grown.noise_stddev] * len(small)
        _warn_of(within_noise([classes[position] for position in small], noise))
