"""LightGBM's controls of trees that cost nothing, as parameters of a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpboost._utils.validation import RefusedError, check_integer
from dpboost.lightgbm.treatments import is_neutral, treatment_of
from dpboost.recipes.hyperparameters import CONTROLS
from dpboost.recipes.recipe import Recipe


def tree_controls(fit: Mapping[str, Any], recipe: Recipe, owner: str) -> dict[str, Any]:
    """Return the parameters that are given under LightGBM's names alone.

    Parameters
    ----------
    fit : mapping
        Parameters that ``fit`` reads, by LightGBM's canonical names.
    recipe : Recipe
        Checks the values, and refuses those that it cannot follow.
    owner : str
        Name of the caller in messages.

    Returns
    -------
    dict
        Values that ask for nothing are left out.

    Raises
    ------
    InvalidParameterError
        For ``extra_trees`` and a recipe that chooses thresholds by the rows.
    """
    asked = {
        name: fit[name]
        for name in sorted(CONTROLS)
        if fit.get(name) is not None and not is_neutral(fit[name], treatment_of(name).neutral)
    }
    # As in LightGBM: without a frequency there is no bagging.
    if check_integer("bagging_freq", owner, fit.get("bagging_freq") or 0) <= 0:
        asked.pop("bagging_fraction", None)
    if fit.get("extra_trees") and recipe.needs_exact_sums:
        raise RefusedError(
            f"The 'extra_trees' parameter of {owner} cannot be {fit['extra_trees']!r} with recipe="
            f"{recipe.name!r}, which chooses thresholds by the rows: leave it out, or take recipe="
            "'best', which draws them at random in any case."
        )
    return asked
