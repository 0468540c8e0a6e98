"""Whether the noise of the trees will be wide enough for Gaussian accounting, before any draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.privacy.accounting import UnsupportedReleaseError
from dpboost.recipes.hyperparameters import Given
from dpboost.recipes.recipe import PublicFacts, Recipe
from dpboost.training.objective import Objective
from dpboost.training.privacy_params import PrivacyRequest

# Rules look at a number of rows that nobody has released yet: every order of magnitude is tried.
NUMBERS_OF_ROWS = tuple(float(10**digits) for digits in range(10))
# What trees may take of the limit of lattice errors; releases before them take next to nothing.
TREES_PART = Fraction(99, 100)


def check_noise(
    recipe: Recipe,
    given: Given,
    privacy: PrivacyRequest,
    objective: Objective,
    classes: Sequence[Any] | None,
    *,
    owner: str,
) -> None:
    """Raise where some release of the trees would need less noise than can be accounted for.

    Parameters
    ----------
    given : mapping
        What the user has set.
    privacy : PrivacyRequest
        With settled claims.
    classes : sequence or None
        Declared or assumed classes; two are taken where they are to be learned.
    owner : str
        Name of the caller in error messages.

    Raises
    ------
    InvalidParameterError
        Nothing has been drawn or charged then.
    """
    if recipe.planned is None:
        return
    accountant = privacy.accountant(recipe)
    epsilon, delta = privacy.whole
    capacity = accountant.capacity(epsilon, delta)
    if capacity == math.inf:
        return
    loss = objective.planned_loss(privacy.schema, len(classes or ()) or 2)
    shares = [] if recipe.start_share is None else [recipe.start_share(loss, privacy.delta)]
    budget = capacity * (1 - sum(map(Fraction, map(str, shares))))
    limit = TREES_PART * accountant.lattice_error_limit(epsilon)
    for n_rows in NUMBERS_OF_ROWS:
        noise, bound, times = recipe.planned(
            PublicFacts(
                epsilon=privacy.row_epsilon,
                delta=privacy.delta,
                n_rows=n_rows,
                n_features=1,
                loss=loss,
                given=given,
                budget=budget,
                accountant=accountant,
                neighbors=privacy.neighbors,
            )
        )
        try:
            accountant.cost(noise, bound)
            error = accountant.lattice_error(noise, bound, 1)
        except UnsupportedReleaseError:
            raise _refusal(privacy, given, owner) from None
        except InvalidParameterError:
            # More noise than can be drawn: `FitRequest.check_epsilon` refuses that.
            continue
        if times * error > limit:
            raise _refusal(privacy, given, owner)


def _refusal(privacy: PrivacyRequest, given: Given, owner: str) -> InvalidParameterError:
    """Name what asks for so little noise, and what helps."""
    clip, trees = (
        f"{name}={given[name]:g}" if name in given else name
        for name in ("gradient_clip", "n_estimators")
    )
    must = (
        f"smaller beside {clip}, {trees} and delta={privacy.delta:g}, where the trees would need "
        "less noise than Gaussian accounting can be proved right for; or take a larger "
        "gradient_clip or n_estimators, a smaller delta, or delta=0 for pure accounting"
    )
    if privacy.claim is None:
        return refuse("epsilon", owner, must, privacy.epsilon)
    return refuse("fraction", owner, must, float(privacy.claim.fraction))
