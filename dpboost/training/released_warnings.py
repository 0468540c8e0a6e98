"""When a fit warns of what it has released: before its trees, and after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpboost.growing.growth import Grown
from dpboost.privacy.ledger import Ledger
from dpboost.recipes.recipe import Setting
from dpboost.training.carried_over import warn_of_settings
from dpboost.training.label_warnings import warn_of_grown, warn_of_start
from dpboost.training.privacy_params import warn_of_budget
from dpboost.training.request import FitRequest
from dpboost.training.start_value import SeenRows


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
    setting : Setting
    request : FitRequest
    ledger : Ledger
    """
    recipe, privacy, facts = request.recipe, request.privacy, setting.facts
    if seen is not None:
        warn_of_start(seen, classes, privacy, ledger)
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
    """Warn by what leaves of a single tree have counted.

    Parameters
    ----------
    grown : Grown
    seen, classes, request, ledger
        As in `warn_before_trees`.
    """
    if grown.class_sizes is not None:
        warn_of_grown(grown, classes, request.privacy, ledger, counted=seen is not None)
