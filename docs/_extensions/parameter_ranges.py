"""Every parameter of this library: range, default, estimators, effects on privacy and accuracy."""

from __future__ import annotations

from typing import Any

from dpboost._utils.parameter_effects import EFFECTS
from dpboost.estimators.docs import RANGES, range_of


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
            raise ValueError(f"dpboost/estimators/docs.py has no range for {name!r}.")
        if name not in EFFECTS:
            raise ValueError(f"dpboost/_utils/parameter_effects.py has no effects of {name!r}.")
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
