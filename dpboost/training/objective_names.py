"""The names of objectives: LightGBM's, by task, and why some of them are refused."""

from __future__ import annotations

from typing import Any

from dpboost._utils.validation import InvalidParameterError, RefusedError

ALIASES = {
    "regression": "regression regression_l2 l2 mean_squared_error mse l2_root "
    "root_mean_squared_error rmse",
    "regression_l1": "regression_l1 l1 mean_absolute_error mae",
    "huber": "huber",
    "fair": "fair",
    "quantile": "quantile",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie",
    "cross_entropy": "cross_entropy xentropy",
    "binary": "binary",
    "multiclass": "multiclass softmax",
    "multiclassova": "multiclassova multiclass_ova ova ovr",
}
CANONICAL = {alias: name for name, listed in ALIASES.items() for alias in listed.split()}

OF_TASK = {
    "regression": tuple(ALIASES)[:10],
    "classification": ("binary", "multiclass", "multiclassova", "cross_entropy"),
}

# Why LightGBM's other objectives have no private meaning here.
REFUSED = {
    "mape": "its gradient grows without bound as labels go to zero; use 'regression_l1' with "
    "sample_weight",
    "mean_absolute_percentage_error": "its gradient grows without bound as labels go to zero; use "
    "'regression_l1' with sample_weight",
    "cross_entropy_lambda": "its gradient has no bound; use 'cross_entropy' with sample_weight",
    "xentlambda": "its gradient has no bound; use 'cross_entropy' with sample_weight",
    **dict.fromkeys(
        ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
        "a row's gradient depends on other rows, so that no bound of one row's part exists",
    ),
    **dict.fromkeys(
        ("none", "null", "custom", "na"), "pass the function itself as 'objective' instead"
    ),
}
SHARES = ("cross_entropy", "binary")


def objective_name(objective: Any, task: str, owner: str) -> str:
    """Return the canonical name of an objective.

    Parameters
    ----------
    objective : str, callable or None
        As the user gives it.
    task : {"regression", "classification"}
    owner : str
        For messages.

    Returns
    -------
    str
        ``"custom"`` for a function, empty for None.

    Raises
    ------
    InvalidParameterError
        For an objective that is unknown, of another task, or without a private meaning.
    """
    if objective is None:
        return ""
    if callable(objective):
        return "custom"
    allowed = OF_TASK[task]
    if isinstance(objective, str):
        if objective in REFUSED:
            raise RefusedError(
                f"The 'objective' parameter of {owner} cannot be {objective!r}: "
                f"{REFUSED[objective]}."
            )
        name = CANONICAL.get(objective, "")
        if name in allowed:
            return name
    of_other_task = isinstance(objective, str) and objective in CANONICAL
    unknown = "" if of_other_task else f"Unknown objective type name: {objective}. "
    raise InvalidParameterError(
        f"{unknown}The 'objective' parameter of {owner} must be None, a function, or one of "
        f"{', '.join(allowed)} or their aliases in LightGBM. Got {objective!r} instead."
    )
