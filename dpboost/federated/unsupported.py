"""What an estimator of one table takes and one of parties does not, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpboost._utils.validation import InvalidParameterError

_ROWS_ELSEWHERE = (
    "each party keeps its rows, and nobody could look at them between two rounds; judge the fitted "
    "model with dpboost.federated.evaluate"
)
_FUNCTIONS = (
    "objectives that are functions would have to be run by parties, which run nobody's code; take "
    "one of LightGBM's by its name"
)
_COINS = (
    "parties deal no rows by common coins; keep rows back at each party, fit without them, and "
    "judge by them with dpboost.federated.evaluate, or take dpboost.federated.cv"
)

#: Why, and what to do instead, by the name of the parameter.
UNSUPPORTED: dict[str, str] = {
    "assume_public": "parties take nothing of one another's rows as public; declare it in schema",
    "selection": "splits are read off noisy sums",
    "n_jobs": "each party has threads of its own, Party(n_threads=...)",
    "importance_type": "read them of the model, booster_.feature_importance(importance_type=...)",
    "gradient_bound": _FUNCTIONS,
    "hessian_bound": _FUNCTIONS,
    "score_bounds": _FUNCTIONS,
    "is_unbalance": "say class_weight='balanced'",
    "init_score": "scores of parties start at a released value, or where init_model ends",
    "eval_set": _ROWS_ELSEWHERE,
    "eval_names": _ROWS_ELSEWHERE,
    "eval_sample_weight": _ROWS_ELSEWHERE,
    "eval_class_weight": _ROWS_ELSEWHERE,
    "eval_init_score": _ROWS_ELSEWHERE,
    "eval_metric": _ROWS_ELSEWHERE,
    "eval_X": _ROWS_ELSEWHERE,
    "eval_y": _ROWS_ELSEWHERE,
    "callbacks": _ROWS_ELSEWHERE,
    "feature_name": "names are those of the parties' columns",
    "categorical_feature": "declare the lists, Schema(categories=...)",
    "holdout": _COINS,
    "conformal": _COINS,
}


def refuse_unsupported(given: Mapping[str, Any], owner: str) -> None:
    """Raise for parameters that have no meaning over parties; None asks for nothing.

    Raises
    ------
    InvalidParameterError
        With the reason, and the cure where there is one.
    """
    for name, value in given.items():
        reason = UNSUPPORTED.get(name)
        if reason is None:
            reason = "parties agree upon the parameters of the constructor alone"
        elif value is None or (isinstance(value, str) and value == "auto"):
            continue
        raise InvalidParameterError(
            f"The {name!r} parameter of {owner} must be left out: {reason}."
        )
