"""What a model over parties learns, in words that can be agreed upon."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

from dpboost._utils.validation import RefusedError, refuse
from dpboost.training.objective import ObjectiveRequest

_OF_NUMBERS = ("alpha", "fair_c", "tweedie_variance_power", "poisson_max_delta_step")
#: Parameters of the estimators that say what is learned.
OBJECTIVE_PARAMETERS = (
    "objective",
    *_OF_NUMBERS,
    "class_weight",
    "scale_pos_weight",
    "max_weight",
)


def objective_request(
    given: Mapping[str, Any], task: str, owner: str, *, weighted: bool
) -> ObjectiveRequest:
    """Return what is to be learned, checked.

    Parameters
    ----------
    given : mapping of str to object
        Some of ``OBJECTIVE_PARAMETERS``.
    task : {"regression", "classification"}
    owner : str
        For messages.
    weighted : bool
        Whether rows have weights.

    Raises
    ------
    InvalidParameterError
    """
    if not isinstance(given, Mapping) or not set(given) <= set(OBJECTIVE_PARAMETERS):
        must = f"a dict with keys among {OBJECTIVE_PARAMETERS}"
        raise refuse("objective", owner, must, given)
    if callable(given.get("objective")):
        raise RefusedError(
            f"The 'objective' parameter of {owner} must be the name of one of LightGBM's "
            "objectives: a function would have to be run by parties, which run nobody's code."
        )
    for name in _OF_NUMBERS:
        if task != "regression" and given.get(name) is not None:
            raise refuse(name, owner, "None in a classification", given[name])
    if weighted and given.get("max_weight") is None:
        must = "the public bound of the weights: parties agree upon it first"
        raise refuse("max_weight", owner, must, None)
    set_by_user = {name: value for name, value in given.items() if value is not None}
    # Whether there are weights is all that is asked of them where rows are elsewhere.
    return ObjectiveRequest.validated(
        owner, task=task, sample_weight=() if weighted else None, **set_by_user
    )


def agreed_objective(
    given: Mapping[str, Any], task: str, owner: str, *, weighted: bool
) -> dict[str, Any]:
    """Return the one form of these parameters in which they are agreed upon, or raise."""
    objective_request(given, task, owner, weighted=weighted)
    return {name: _plain(given[name], owner) for name in sorted(given) if given[name] is not None}


def _plain(value: Any, owner: str) -> Any:
    """Return a checked parameter as text, number, tuple or dict."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        weights = {_label(label, owner): float(weight) for label, weight in value.items()}
        return dict(sorted(weights.items(), key=lambda item: (str(type(item[0])), item[0])))
    if isinstance(value, numbers.Real):
        return float(value)
    return tuple(map(float, value))


def _label(label: Any, owner: str) -> int | str:
    """Return a class as it can be sent."""
    if isinstance(label, str):
        return str(label)
    number = float(label) if isinstance(label, numbers.Real) else math.nan
    if number.is_integer() and abs(number) < 2**31:
        return int(number)
    must = "a dict whose keys are text or whole numbers below 2^31"
    raise refuse("class_weight", owner, must, label)
