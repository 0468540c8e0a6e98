"""Where bugs are planted: the one table of paths, for modules that move.

A place is ``module:attribute``; an attribute may have a dot, for a method of a class.
"""

from __future__ import annotations

import importlib
from typing import Any

PLACES = {
    "selection kernel": "dpboost.privacy.mechanisms:selection",
    "selection kernel of runs": "dpboost.privacy.mechanisms:runselection",
    "noise kernel": "dpboost.privacy.mechanisms:noise",
    "draw of Gaussian noise": "dpboost.privacy.mechanisms:DiscreteGaussian.draw",
    "draw of Laplace noise": "dpboost.privacy.mechanisms:DiscreteLaplace.draw",
    "deal of rows": "dpboost.boosting.training_rows:TrainingRows.deal",
    "take of rows": "dpboost.boosting.training_rows:TrainingRows.take",
    "order to assign rows": "dpboost.boosting.training_rows:AssignRows",
    "learning of a tree": "dpboost.boosting.split_learner:SplitLearner.learn",
}


def found(name: str) -> tuple[Any, str, Any]:
    """Return the object that has a place, the name of its attribute, and what is there now."""
    module, _, attribute = PLACES[name].partition(":")
    holder: Any = importlib.import_module(module)
    *path, last = attribute.split(".")
    for part in path:
        holder = getattr(holder, part)
    return holder, last, getattr(holder, last)


def planted(name: str, value: Any) -> tuple[Any, str, Any]:
    """Return the patch that puts something in a place."""
    holder, attribute, _ = found(name)
    return holder, attribute, value
