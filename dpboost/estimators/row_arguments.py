"""What ``fit`` takes beside rows and labels: weights, initial scores, a model to continue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpboost._utils.validation import refuse
from dpboost.lightgbm.init_model import EarlierModel
from dpboost.schema import Schema
from dpboost.training.objective import ObjectiveRequest

OBJECTIVE_PARAMETERS = (
    "objective",
    "alpha",
    "fair_c",
    "tweedie_variance_power",
    "poisson_max_delta_step",
    "gradient_bound",
    "hessian_bound",
    "score_bounds",
    "max_weight",
    "class_weight",
    "scale_pos_weight",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowArguments:
    """What ``fit`` takes beside rows and labels.

    Parameters
    ----------
    sample_weight, init_score : array-like or None
        Private numbers of the rows.
    init_model : estimator, Booster, str, path or None
        A released model to continue.
    """

    sample_weight: Any = None
    init_score: Any = None
    init_model: Any = None

    def weighted(self, sample_weight: Any) -> RowArguments:
        """Return the same with these weights."""
        return replace(self, sample_weight=sample_weight)

    def earlier(self) -> EarlierModel | None:
        """Read the model that is continued, if there is one."""
        if self.init_model is None:
            return None
        if self.init_score is not None:
            raise refuse("init_score", "fit", "None together with init_model", "an array")
        return EarlierModel.of(self.init_model)

    def objective(
        self,
        parameters: Mapping[str, Any],
        task: str,
        earlier: EarlierModel | None,
        owner: str,
    ) -> ObjectiveRequest:
        """Check what is to be learned, with these rows."""
        given = {name: parameters[name] for name in OBJECTIVE_PARAMETERS if name in parameters}
        if parameters.get("is_unbalance"):
            if given["class_weight"] is not None:
                raise refuse("is_unbalance", owner, "False where class_weight is given", True)
            given["class_weight"] = "balanced"
        if given.get("scale_pos_weight", 1) != 1 and given.get("class_weight") is not None:
            raise refuse(
                "scale_pos_weight",
                owner,
                "1 where class_weight or is_unbalance is given: multiply the weight of the second "
                "class instead",
                given["scale_pos_weight"],
            )
        return ObjectiveRequest.validated(
            owner,
            task=task,
            **given,
            schema=Schema.coerce(parameters.get("schema")),
            sample_weight=self.sample_weight,
            init_score=self.init_score,
            continues=earlier is not None,
            earlier=earlier.report if earlier else None,
            earlier_objective=earlier.objective if earlier else "",
            earlier_classes=earlier.classes if earlier else None,
        )
