"""Every parameter of this library with its range, default and estimators."""

from __future__ import annotations

from functools import partial
from typing import Any

#: Parameters whose range is not in the table of domains that recipes share.
RANGES = {
    "epsilon": "> 0; inf: no privacy",
    "delta": "[0, 1); 0: pure epsilon",
    "schema": "Schema, dict, or path of a file",
    "neighbors": "add_remove, replace",
    "assume_public": "some of column_types, classes, categories",
    "rows_per_user": "whole number from 1; None: rows are protected",
    "recipe": "name or Recipe",
    "preset": "paper",
    "objective": "name or function",
    "gradient_bound": "> 0",
    "hessian_bound": "> 0",
    "score_bounds": "(low, high)",
    "max_weight": "> 0",
    "class_weight": "dict, balanced",
    "is_unbalance": "True, False",
    "scale_pos_weight": "> 0",
    "alpha": "(0, 1), or a list of them",
    "fair_c": "> 0",
    "tweedie_variance_power": "(1, 2)",
    "poisson_max_delta_step": "> 0",
    "criterion": "entropy, gini, max, root_gini",
    "n_estimators": "whole number, 1 to 100000",
    "feature_contri": "a factor for each feature, -1e6 to 1e6",
    "monotone_constraints": "1, 0 or -1 for a column",
    "interaction_constraints": "lists of columns",
    "n_jobs": "whole number",
    "random_state": "whole number from 0, generator",
    "noise_seed": "whole number from 0; the model is not private",
    "importance_type": "gain, split",
    "verbosity": "whole number",
}


def range_of(check: Any) -> str:
    """Return the range that a check of a parameter keeps to."""
    if not isinstance(check, partial):
        return "True, False"
    terms = check.keywords
    if "choices" in terms:
        return ", ".join(map(str, terms["choices"]))
    low, high = (f"{terms[end]:g}" for end in ("low", "high"))
    if check.func.__name__ == "check_integer":
        return f"whole number, {terms['low']} to {terms['high']}"
    return f"{'(' if terms.get('low_open') else '['}{low}, {high}]"


def rows() -> list[tuple[str, str, str, str]]:
    """Return name, range, default and estimators of every parameter of ours and every shared one.

    LightGBM's parameters that do nothing here are in the table of its names.

    Raises
    ------
    ValueError
        For a parameter without a range: give it one in `RANGES`.
    """
    import lightgbm

    import dpboost
    from dpboost.recipes.recipe import DOMAINS

    kinds = {
        "boosting": (dpboost.DPBoostClassifier, dpboost.DPBoostRegressor),
        "trees": (dpboost.DPTreeClassifier, dpboost.DPTreeRegressor),
    }
    found: dict[str, tuple[Any, list[str]]] = {}
    for kind, estimators in kinds.items():
        for estimator in estimators:
            for name, value in _defaults(estimator).items():
                uses = found.setdefault(name, (value, []))[1]
                if kind not in uses:
                    uses.append(kind)
    for name in DOMAINS:
        found.setdefault(name, (None, ["boosting, by keyword"]))
    lines = []
    of_lightgbm = set(_defaults(lightgbm.LGBMClassifier)) - set(RANGES) - set(DOMAINS)
    found = {name: each for name, each in found.items() if name not in of_lightgbm}
    for name, (default, uses) in found.items():
        given = RANGES.get(name) or (range_of(DOMAINS[name]) if name in DOMAINS else None)
        if given is None:
            raise ValueError(f"docs/_extensions/parameter_ranges.py has no range for {name!r}.")
        shown = _shown(name, default)
        lines.append((name, given, shown, ", ".join(uses)))
    return lines


def _shown(name: str, default: Any) -> str:
    """Return the default: that of LightGBM's name is the recipe's rule where it is left alone."""
    from dpboost.recipes.recipe import CONSTRAINTS, CONTROLS, DOMAINS

    if name in CONSTRAINTS | CONTROLS:
        return "none"
    if name in DOMAINS:
        return "by the recipe"
    return ", ".join(default) if isinstance(default, tuple) else str(default)


def _defaults(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator that its own signature names, with their defaults."""
    import inspect

    signature = inspect.signature(estimator.__init__).parameters
    no = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    own = [name for name, each in signature.items() if each.kind not in no and name != "self"]
    return {name: signature[name].default for name in own}
