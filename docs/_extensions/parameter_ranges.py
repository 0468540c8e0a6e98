"""Every parameter of this library: range, default, estimators, effects on privacy and accuracy."""

from __future__ import annotations

from functools import partial
from typing import Any

#: Parameters whose range is not in the table of domains that recipes share.
RANGES = {
    "epsilon": "> 0; inf: no privacy",
    "delta": "[0, 1); 0: pure epsilon",
    "schema": "Schema, dict, or path of a file",
    "neighbors": "add_remove, replace",
    "assume_public": "some of column_types, classes, categories, init_model",
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
    "max_depth": "whole number, 0 to 12; with dp_topdown 0 to 512",
    "feature_contri": "a factor for each feature, -1e6 to 1e6",
    "monotone_constraints": "1, 0 or -1 for a column",
    "interaction_constraints": "lists of columns",
    "n_jobs": "whole number",
    "random_state": "whole number from 0, generator",
    "noise_seed": "whole number from 0; the model is not private",
    "importance_type": "gain, split",
    "verbosity": "whole number",
}

_NONE = "none: the guarantee does not depend on it"
_POST = "none: it changes released numbers only"
_SPLIT = "none: it divides the same budget"
#: Effects on privacy and on accuracy.
EFFECTS = {
    "epsilon": ("smaller: stronger guarantee", "smaller: more noise"),
    "delta": ("smaller: stronger guarantee", "0: pure epsilon, with more noise for boosting"),
    "schema": ("what it declares is public", "what it omits is learned with a tenth of the budget"),
    "neighbors": (
        "add_remove protects presence and content of a row, replace its content",
        "replace: more noise",
    ),
    "assume_public": ("what it names is not protected", "what it omits is learned with budget"),
    "rows_per_user": (
        "set: all rows of a user are protected; larger: more rows of a user take part",
        "larger: more noise, and more rows",
    ),
    "recipe": ("none: each recipe keeps to the budget", "best is the most accurate"),
    "preset": (_NONE, "settings of the paper instead of the recipe's rule"),
    "objective": (
        "a function for several classes must treat each row independently",
        "sets the loss that is learned",
    ),
    "gradient_bound": (_NONE, "larger: less bias by clipping, more noise"),
    "hessian_bound": (_NONE, "larger: less bias by clipping, more noise"),
    "score_bounds": (_NONE, "too narrow: predictions are clipped"),
    "max_weight": (_NONE, "larger: less bias by clipping, more noise"),
    "class_weight": (
        "balanced releases class sizes within the budget",
        "changes the class balance; weights below the largest one lose signal to noise",
    ),
    "is_unbalance": ("as class_weight=balanced", "as class_weight=balanced"),
    "alpha": (_NONE, "sets the quantile, or the scale of huber"),
    "fair_c": (_NONE, "sets the scale of the loss"),
    "tweedie_variance_power": (_NONE, "sets the loss"),
    "poisson_max_delta_step": (_NONE, "larger: smaller steps"),
    "n_estimators": (_SPLIT, "more rounds: more noise in each round"),
    "learning_rate": (_POST, "smaller: underfits under noise; larger: more noise in the sum"),
    "max_depth": (_SPLIT, "deeper: fewer rows in a leaf, and more noise"),
    "reg_lambda": (_POST, "larger: smaller steps, less noise"),
    "max_bin": (_SPLIT, "more bins: finer splits, more candidates"),
    "trees_per_ensemble": (
        _SPLIT,
        "more: each tree has fewer rows, and a larger fraction of the budget",
    ),
    "selection": (_NONE, "permute_and_flip has an expected error that is never larger"),
    "features_per_tree": (_SPLIT, "more: interactions, and fewer rows in a leaf"),
    "gradient_clip": (_NONE, "smaller: less noise, more bias"),
    "step_prior": (_POST, "smaller: noisy steps shrink more"),
    "hessian_share": (_SPLIT, "larger: better hessian sums, noisier gradient sums"),
    "leaf_share": (_SPLIT, "larger: better leaves, noisier splits"),
    "n_splits": (_SPLIT, "more: larger trees, noisier splits"),
    "depth_budget": (_SPLIT, "decay: better splits near the root"),
    "target_error": (_POST, "larger: smaller trees"),
    "min_gain": (_POST, "larger: smaller trees"),
    "threshold_draws": (_SPLIT, "joint: less noise"),
    "prune": (_POST, "smaller trees where counts are noisy"),
    "min_rows": (_POST, "larger: smaller trees, less noise in leaves"),
    "bounds_share": (_SPLIT, "larger: better bounds, noisier histograms"),
    "criterion": (_NONE, "sets the impurity, whose sensitivity sets the noise of splits"),
    "max_interaction": (_NONE, "smaller: simpler models, more rows in a leaf"),
    "monotone_constraints": (_POST, "helps where the constraint is true"),
    "interaction_constraints": (_NONE, "excludes interactions"),
    "max_delta_step": (_POST, "smaller: smaller steps"),
    "path_smooth": (_POST, "larger: leaves closer to their parents"),
    "min_sum_hessian_in_leaf": (_POST, "larger: fewer small leaves"),
    "feature_fraction": (_NONE, "smaller: each tree has fewer features"),
    "feature_contri": (_POST, "weights the released gains of features"),
    "bagging_fraction": (
        "none: the guarantee does not use the sampling",
        "smaller: fewer rows at the same noise",
    ),
    "n_jobs": (_NONE, "none"),
    "random_state": ("none: it seeds public randomness only", "none on average"),
    "noise_seed": ("set: the model is not private", "none on average"),
    "importance_type": (_POST, "none"),
    "verbosity": ("none: no condition of the guarantee is hidden", "none"),
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


def rows() -> list[tuple[str, str, str, str, str, str]]:
    """Return name, range, default, estimators and effects of every parameter of ours or shared.

    LightGBM's parameters that do nothing here are in the table of its names.

    Raises
    ------
    ValueError
        For a parameter without a range or effects: give it some in `RANGES` and `EFFECTS`.
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
        if name not in EFFECTS:
            raise ValueError(f"docs/_extensions/parameter_ranges.py has no effects of {name!r}.")
        lines.append((name, given, _shown(name, default), ", ".join(uses), *EFFECTS[name]))
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
