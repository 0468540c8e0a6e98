"""The objective of a model, by name or as a function, and weights of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.schema_checks import LARGEST_BOUND, label_range
from dpboost._utils.validation import InvalidParameterError, RefusedError, check_real, refuse
from dpboost._utils.warnings import PrivacyWarning, warn_user
from dpboost.lightgbm.parameters import ParameterWarning
from dpboost.losses import (
    CustomClassLoss,
    CustomLoss,
    FractionalLabelLoss,
    LogisticLoss,
    LogLinkLoss,
    Loss,
    OneVsRestLoss,
    QuantilesLoss,
    RobustLoss,
    SoftmaxLoss,
    SquaredLoss,
)
from dpboost.losses.custom import largest_gradient
from dpboost.losses.custom_classes import largest_norm
from dpboost.rows.row_attributes import RelativeWeight, Weighting
from dpboost.schema import ResolvedSchema, Schema

# Of losses whose constants are parts of the range of labels.
LABEL_MARGINS = {
    "": 1.0,
    "regression": 1.0,
    "quantile": 0.25,
    "regression_l1": 0.25,
    "mape": 0.25,
}


# Between which raw scores of classes a function is tabulated.
CLASS_SCORES = (-6.0, 6.0)

# Quantiles that are learned at once.
MOST_QUANTILES = 99

ALIASES = {
    "regression": "regression regression_l2 l2 mean_squared_error mse l2_root "
    "root_mean_squared_error rmse",
    "regression_l1": "regression_l1 l1 mean_absolute_error mae",
    "mape": "mape mean_absolute_percentage_error",
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
    "regression": tuple(ALIASES)[:11],
    "classification": ("binary", "multiclass", "multiclassova", "cross_entropy"),
}

# Why LightGBM's other objectives have no private meaning here.
REFUSED = {
    "cross_entropy_lambda": "its gradient has no bound; use 'cross_entropy' with sample_weight",
    "xentlambda": "its gradient has no bound; use 'cross_entropy' with sample_weight",
    **dict.fromkeys(
        ("lambdarank", "rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
        "a row's gradient depends on other rows, so that no bound of one row's part exists; rank "
        "pointwise: fit 'regression' to the relevance of single rows, and sort by its predictions",
    ),
    **dict.fromkeys(
        ("none", "null", "custom", "na"), "pass the function itself as 'objective' instead"
    ),
}
SHARES = ("cross_entropy", "binary")


class UserObjectiveWarning(PrivacyWarning):
    """A custom function is called with rows; the user must ensure that it does not mix rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Objective:
    """The validated objective of a model."""

    #: One of "regression", "classification".
    task: str
    #: LightGBM's canonical name of the objective, "custom" for a function, empty for the default of
    #: the task.
    name: str = ""
    #: ``function(y_true, y_pred) -> grad, hess``.
    function: Callable[..., Any] | None = None
    #: As in LightGBM.
    alpha: float = 0.9
    #: Levels in ascending order where several quantiles are learned at once.
    alphas: tuple[float, ...] = ()
    fair_c: float = 1.0
    tweedie_variance_power: float = 1.5
    poisson_max_delta_step: float = 0.7
    #: Of a custom objective.
    gradient_bound: float = 1.0
    hessian_bound: float = 1.0
    #: Of a custom objective: between which raw scores it is tabulated.
    score_bounds: tuple[float, float] | None = None

    @classmethod
    def validated(
        cls,
        owner: str,
        *,
        task: str,
        objective: Any = None,
        alpha: Any = None,
        fair_c: Any = None,
        tweedie_variance_power: Any = None,
        poisson_max_delta_step: Any = None,
        gradient_bound: Any = None,
        hessian_bound: Any = None,
        score_bounds: Any = None,
        schema: Schema | None = None,
    ) -> Objective:
        """Check every part, or raise ``InvalidParameterError``."""
        name = objective_name(objective, task, owner)
        if name == "custom" and gradient_bound is None:
            gradient_bound = _public_bound(objective, task, schema, score_bounds, owner)
        alphas = _alphas(alpha, name, owner)
        given = {
            "alpha": (None if alphas else alpha, 0.9, 1.0 if name == "quantile" else LARGEST_BOUND),
            "fair_c": (fair_c, 1.0, LARGEST_BOUND),
            "poisson_max_delta_step": (poisson_max_delta_step, 0.7, 10.0),
        }
        values: dict[str, Any] = {
            part: check_real(
                part,
                owner,
                usual if value is None else value,
                low=0.0,
                low_open=True,
                high=high,
                high_open=True,
            )
            for part, (value, usual, high) in given.items()
        }
        scales = {"gradient_bound": gradient_bound, "hessian_bound": hessian_bound}
        for part, value in scales.items():
            known = 1.0 if value is None else value
            values[part] = check_real(part, owner, known, low=1 / LARGEST_SCALE, high=LARGEST_SCALE)
        power = 1.5 if tweedie_variance_power is None else tweedie_variance_power
        return cls(
            task=task,
            name=name,
            alphas=alphas,
            function=objective if name == "custom" else None,
            tweedie_variance_power=check_real(
                "tweedie_variance_power",
                owner,
                power,
                low=1.0,
                high=2.0,
                low_open=True,
                high_open=True,
            ),
            score_bounds=_score_bounds(score_bounds, owner),
            **values,
        )

    def completed(self, schema: Schema) -> Schema:
        """Return the schema with the label bounds that belong to the objective."""
        if self.task == "regression" and self.name in SHARES:
            return replace(schema, label_bounds=(0.0, 1.0))
        return schema

    @property
    def label_margin(self) -> float | None:
        """How far the range of labels is to reach beyond their 1 and 99 % points.

        In the distance of these. None for losses that do not look for it: clips and steps of
        squared loss, and the width of a rounded kink, are parts of the range.
        """
        if self.task != "regression":
            return None
        return LABEL_MARGINS.get(self.name)

    def warn_of_function(self, n_classes: int) -> None:
        """Warn if the user's function is called with rows of so many classes."""
        if self.name == "custom" and n_classes > 2:
            warn_user(
                "The objective is a function that is called with rows: the guarantee is valid only "
                "if its result for a row depends on that row alone. This was tested on public rows "
                "and is not proved. If you are not sure, use objective='multiclass'.",
                UserObjectiveWarning,
            )

    def planned_loss(self, schema: Schema, n_classes: int = 0) -> Loss:
        """Return the loss before label bounds are learned, for what does not depend on them."""
        if self.task == "regression":
            return self._regression(*(schema.label_bounds or (-1.0, 1.0)))
        return self._class_loss(n_classes)

    def loss(
        self, schema: ResolvedSchema, n_classes: int = 0, label_spread: float | None = None
    ) -> Loss:
        """Return the loss for public label bounds, or for a public number of classes."""
        if self.task != "regression":
            return self._class_loss(n_classes)
        assert schema.label_bounds is not None
        loss = self._regression(*schema.label_bounds)
        if isinstance(loss, SquaredLoss) and label_spread is not None:
            return replace(loss, spread=label_spread / loss.half_width)
        return loss

    def _class_loss(self, n_classes: int) -> Loss:
        if self.name == "custom":
            return self._custom_of_classes(n_classes)
        if self.name == "cross_entropy":
            if n_classes > 2:
                raise RefusedError(
                    "The objective 'cross_entropy' is for two classes. Use 'multiclass' or "
                    "'multiclassova', or declare two classes with Schema(classes=...)."
                )
            return LogisticLoss(objective="cross_entropy")
        # Of two classes both names of several mean what they say: an output for each class.
        several = self.name in ("multiclass", "multiclassova") and n_classes == 2
        if n_classes <= 2 and not several:
            return LogisticLoss()
        if self.name == "multiclassova":
            return OneVsRestLoss(n_outputs=n_classes)
        # LightGBM's classifier goes over from "binary" to softmax where there are more classes.
        return SoftmaxLoss(n_outputs=n_classes)

    def _regression(self, lower: float, upper: float) -> Loss:
        if self.name in SHARES:
            return FractionalLabelLoss.of(
                "binary sigmoid:1" if self.name == "binary" else "cross_entropy"
            )
        if self.name == "poisson":
            return LogLinkLoss.poisson(lower, upper, self.poisson_max_delta_step)
        if self.name == "gamma":
            return LogLinkLoss.gamma(lower, upper)
        if self.name == "tweedie":
            return LogLinkLoss.tweedie(lower, upper, self.tweedie_variance_power)
        if self.name == "custom":
            return self._custom((lower, upper), self.score_bounds or (lower, upper))
        labels = SquaredLoss.from_label_bounds(lower, upper)
        if self.name == "regression_l1":
            return RobustLoss.absolute(labels)
        if self.name == "mape":
            return replace(RobustLoss.absolute(labels), name="mape", objective="mape")
        if self.name == "huber":
            return RobustLoss.huber(labels, self.alpha)
        if self.name == "fair":
            return RobustLoss.fair(labels, self.fair_c)
        if self.alphas:
            return QuantilesLoss.of(labels, self.alphas)
        if self.name == "quantile":
            return RobustLoss.quantile(labels, self.alpha)
        return labels

    def _custom(
        self, label_bounds: tuple[float, float] | None, score_bounds: tuple[float, float]
    ) -> CustomLoss:
        assert self.function is not None
        return CustomLoss.of(
            self.function,
            gradient_bound=self.gradient_bound,
            hessian_bound=self.hessian_bound,
            label_bounds=label_bounds,
            score_bounds=score_bounds,
        )

    def _custom_of_classes(self, n_classes: int) -> CustomLoss | CustomClassLoss:
        score_bounds = self.score_bounds or CLASS_SCORES
        if n_classes <= 2:
            return self._custom(None, score_bounds)
        assert self.function is not None
        return CustomClassLoss.of(
            self.function,
            n_classes,
            gradient_bound=self.gradient_bound,
            hessian_bound=self.hessian_bound,
            score_bounds=score_bounds,
        )

    def weighting(self, given: Weighting | None, loss: Loss) -> Weighting | None:
        """Return how rows are weighted where the objective weighs them by their labels as well.

        Parameters
        ----------
        given : Weighting or None
            By weights of rows.
        loss : Loss
            Of the objective.

        Notes
        -----
        As in LightGBM, an error of "mape" counts over its label, and over 1 where that is less.
        """
        if self.name != "mape":
            return given
        assert isinstance(loss, RobustLoss)
        lower, upper = loss.labels.lower, loss.labels.upper
        nearest = 0.0 if lower <= 0 <= upper else min(abs(lower), abs(upper))
        relative = RelativeWeight(unit=loss.unit, floor=max(nearest, 1.0))
        return replace(given or Weighting(max_weight=1.0), relative=relative)

    def facts(self, n_classes: int = 0) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        facts: dict[str, bool | int | float | str] = {}
        if self.name:
            facts["objective"] = self.name
        if self.alphas:
            facts["alpha"] = ", ".join(f"{alpha:g}" for alpha in self.alphas)
        elif self.name in ("quantile", "huber"):
            facts["alpha"] = self.alpha
        if self.name == "custom":
            facts |= {"gradient_bound": self.gradient_bound, "hessian_bound": self.hessian_bound}
            if n_classes > 2:
                facts["custom objective"] = (
                    "called with rows; that it is a function of each row alone is the user's "
                    "promise, which was tried on public rows"
                )
        return facts


def objective_name(objective: Any, task: str, owner: str) -> str:
    """Return the canonical name of an objective: "custom" for a function, "" for None."""
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


def _alphas(alpha: Any, name: str, owner: str) -> tuple[float, ...]:
    """Return the levels of several quantiles in ascending order, nothing where there is one."""
    if not isinstance(alpha, (list, tuple, np.ndarray)) or np.ndim(alpha) == 0:
        return ()
    must = "one number, or a list of 2 to 99 different levels in (0, 1) in ascending order"
    if name != "quantile":
        raise refuse("alpha", owner, "one number unless objective='quantile'", alpha)
    if np.ndim(alpha) != 1 or not 2 <= len(alpha) <= MOST_QUANTILES:
        raise refuse("alpha", owner, must, alpha)
    levels = tuple(
        check_real("alpha", owner, level, low=0.0, high=1.0, low_open=True, high_open=True)
        for level in alpha
    )
    if any(first >= second for first, second in pairwise(levels)):
        raise refuse("alpha", owner, must, alpha)
    return levels


def _public_bound(
    function: Any, task: str, schema: Schema | None, score_bounds: Any, owner: str
) -> float:
    """Return the largest gradient of a function between declared bounds, or raise without them."""
    bounds = None if schema is None or task != "regression" else schema.label_bounds
    classes = None if schema is None or task == "regression" else schema.classes
    if bounds is None and classes is None:
        declared = "label_bounds" if task == "regression" else "classes"
        raise RefusedError(
            f"The 'gradient_bound' parameter of {owner} must be a public bound of the "
            "objective's gradient, to which it is clipped, because a row's contribution must be "
            f"bounded. schema=Schema({declared}=...) is enough: the bound is then the largest "
            "gradient of the function for such labels."
        )
    scores = _score_bounds(score_bounds, owner)
    if classes is not None and len(classes) > 2:
        bound = largest_norm(function, len(classes), scores or CLASS_SCORES)
    else:
        bound = largest_gradient(function, bounds, scores or bounds or CLASS_SCORES)
    warn_user(
        f"Gradients of the objective are clipped to {bound:g}, the largest for declared labels: "
        "pass a smaller gradient_bound if most rows have smaller ones.",
        ParameterWarning,
    )
    return bound


def _score_bounds(bounds: Any, owner: str) -> tuple[float, float] | None:
    return None if bounds is None else label_range("score_bounds", owner, bounds)


WEIGHT_PARAMETERS = ("max_weight", "class_weight", "scale_pos_weight")

# Bounds of gradients, hessians and weights are at most this, and at least its inverse: what the
# steps of a model are multiplied by.
LARGEST_SCALE = 1e12


class UnboundedWeightsWarning(PrivacyWarning):
    """Weights of rows have no public bound to clip them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """Settings for the weights of rows and classes; public."""

    #: Whether rows come with weights.
    of_rows: bool = False
    #: Weights are clipped to [0, max_weight].
    max_weight: float = 1.0
    #: Public factors of weights by label.
    class_weight: Mapping[Any, float] | str | None = None
    #: Public weight of the second of two classes.
    scale_pos_weight: float = 1.0

    @classmethod
    def validated(
        cls,
        owner: str,
        *,
        task: str,
        of_rows: bool,
        max_weight: Any = None,
        class_weight: Any = None,
        scale_pos_weight: Any = 1.0,
    ) -> Weights:
        """Check what is asked for, or raise ``InvalidParameterError``.

        Warns
        -----
        UnboundedWeightsWarning
            Where weights come without ``max_weight``, whatever the weights are.
        """
        positive = check_real(
            "scale_pos_weight", owner, scale_pos_weight, low=1 / LARGEST_SCALE, high=LARGEST_SCALE
        )
        if positive != 1.0 and task == "regression":
            raise refuse("scale_pos_weight", owner, "1 in a regression", scale_pos_weight)
        if max_weight is not None:
            most = check_real(
                "max_weight", owner, max_weight, low=1 / LARGEST_SCALE, high=LARGEST_SCALE
            )
        else:
            factors = class_weight.values() if isinstance(class_weight, Mapping) else ()
            most = max([1.0, positive, *map(_factor, factors)])
            if of_rows:
                warn_user(
                    "Weights of rows are given without max_weight, so weights above "
                    f"{most:g} count as {most:g}: pass a public bound of the weights, "
                    "max_weight=...",
                    UnboundedWeightsWarning,
                )
        return cls(
            of_rows=of_rows,
            max_weight=most,
            class_weight=_class_weight(class_weight, task, owner),
            scale_pos_weight=positive,
        )

    @property
    def balanced(self) -> bool:
        """Whether classes are to weigh the same, by their released sizes."""
        return isinstance(self.class_weight, str)

    def check_classes(self, classes: Sequence[Any]) -> None:
        """Raise when a public set of classes does not suit what is given for them."""
        if self.scale_pos_weight != 1.0 and len(classes) != 2:
            raise refuse(
                "scale_pos_weight",
                "the classifier",
                "1 unless there are two classes: give class_weight",
                self.scale_pos_weight,
            )
        given = self.class_weight
        if isinstance(given, Mapping):
            known = set(np.asarray(classes).tolist())
            if not known.issuperset(given):
                raise refuse(
                    "class_weight",
                    "the classifier",
                    f"a dict whose keys are among the classes {sorted(known)}",
                    given,
                )

    def weighting(self, classes: Sequence[Any]) -> Weighting | None:
        """Return how weights are made of those of rows and of given ones of classes."""
        factors: tuple[float, ...] | None = None
        if self.scale_pos_weight != 1.0:
            factors = (1.0, self.scale_pos_weight)
        elif isinstance(self.class_weight, Mapping):
            factors = tuple(float(self.class_weight.get(label, 1.0)) for label in classes)
        if not self.of_rows and factors is None:
            return None
        return Weighting(max_weight=self.max_weight, factors=factors)

    def balancing(self, sizes: NDArray[np.float64]) -> Weighting:
        """Return how weights are made where the classes of these released sizes weigh the same."""
        return Weighting(
            max_weight=self.max_weight if self.of_rows else 1.0,
            factors=tuple((sizes.min() / sizes).tolist()),
        )

    @property
    def facts(self) -> dict[str, bool | int | float | str]:
        """Public facts for the report."""
        facts: dict[str, bool | int | float | str] = {}
        if self.of_rows:
            facts["weights"] = f"an attribute of each row, clipped to [0, {self.max_weight:g}]"
        if self.scale_pos_weight != 1.0:
            facts["scale_pos_weight"] = self.scale_pos_weight
        if self.class_weight is not None:
            facts["class weights"] = "from released counts" if self.balanced else "given"
        return facts


def _factor(value: Any) -> float:
    return check_real("class_weight", "a classifier", value, low=0.0, high=LARGEST_SCALE)


def _class_weight(class_weight: Any, task: str, owner: str) -> Mapping[Any, float] | str | None:
    if class_weight is None:
        return None
    if task == "regression":
        raise refuse("class_weight", owner, "None in a regression", class_weight)
    if isinstance(class_weight, str) and class_weight == "balanced":
        return class_weight
    if isinstance(class_weight, Mapping):
        factors = {label: _factor(value) for label, value in class_weight.items()}
        if not factors or max(factors.values()) > 0:
            return factors
    raise refuse(
        "class_weight",
        owner,
        "None, 'balanced', or a dict of label to weight with a positive one",
        class_weight,
    )
