"""What a model learns: the objective, weights of rows and classes, and where scores begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.schema_checks import LARGEST_BOUND, label_range
from dpboost._utils.validation import InvalidParameterError, RefusedError, check_real, refuse
from dpboost._utils.warnings import PrivacyWarning, warn_of_guarantee, warn_user
from dpboost.data.labels import check_same_length
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
from dpboost.recipes.recipe import Recipe
from dpboost.reporting.privacy_report import PrivacyReport
from dpboost.rows.row_attributes import RowExtras
from dpboost.schema import ResolvedSchema, Schema
from dpboost.training.objective_names import SHARES, objective_name

# Of losses whose constants are parts of the range of labels.
LABEL_MARGINS = {"": 1.0, "regression": 1.0, "quantile": 0.25, "regression_l1": 0.25}


# Bounds of gradients, hessians and weights are at most this, and at least its inverse: what the
# steps of a model are multiplied by.
LARGEST_SCALE = 1e12

# Quantiles that are learned at once.
MOST_QUANTILES = 99


class UnboundedWeightsWarning(PrivacyWarning):
    """Weights of rows come without the public bound to which they are clipped."""


class UserObjectiveWarning(PrivacyWarning):
    """A function of the user is called with rows: that it keeps them apart is his promise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectiveRequest:
    """What the user asks a model to learn, validated.

    Parameters
    ----------
    task : {"regression", "classification"}
    name : str
        LightGBM's canonical name of the objective, "custom" for a function, empty for the
        default of the task.
    function : callable or None
        ``function(y_true, y_pred) -> grad, hess``.
    alpha, fair_c, tweedie_variance_power, poisson_max_delta_step : float
        As in LightGBM.
    alphas : tuple of float
        Levels in ascending order where several quantiles are learned at once.
    gradient_bound, hessian_bound : float
        Of a custom objective.
    score_bounds : (float, float) or None
        Of a custom objective: between which raw scores it is tabulated.
    max_weight : float
        Weights are clipped to [0, max_weight].
    class_weight : dict, "balanced" or None
        Public factors of weights by label.
    scale_pos_weight : float
        Public weight of the second of two classes.
    sample_weight : array-like of shape (n_rows,) or None
        Private weights.
    init_score : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
        Private: where the scores of rows begin.
    continues : bool
        Whether ``init_score`` are the predictions of a released model that this one continues.
    earlier : PrivacyReport or None
        Its report.
    earlier_objective : str
        Its objective.
    earlier_classes : tuple or None
        Its classes, where they are known.
    """

    task: str
    name: str = ""
    function: Callable[..., Any] | None = None
    alpha: float = 0.9
    alphas: tuple[float, ...] = ()
    fair_c: float = 1.0
    tweedie_variance_power: float = 1.5
    poisson_max_delta_step: float = 0.7
    gradient_bound: float = 1.0
    hessian_bound: float = 1.0
    score_bounds: tuple[float, float] | None = None
    max_weight: float = 1.0
    class_weight: Mapping[Any, float] | str | None = None
    scale_pos_weight: float = 1.0
    sample_weight: Any = None
    init_score: Any = None
    continues: bool = False
    earlier: PrivacyReport | None = None
    earlier_objective: str = ""
    earlier_classes: tuple[Any, ...] | None = None

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
        max_weight: Any = None,
        class_weight: Any = None,
        scale_pos_weight: Any = 1.0,
        schema: Schema | None = None,
        **rows: Any,
    ) -> ObjectiveRequest:
        """Check every part but the private arrays, or raise ``InvalidParameterError``.

        Warns
        -----
        UnboundedWeightsWarning
            Where weights come without ``max_weight``, whatever the weights are.
        """
        name = objective_name(objective, task, owner)
        if name == "custom" and gradient_bound is None:
            gradient_bound = _public_bound(objective, task, schema, score_bounds, owner)
        positive = check_real(
            "scale_pos_weight", owner, scale_pos_weight, low=1 / LARGEST_SCALE, high=LARGEST_SCALE
        )
        if positive != 1.0 and task == "regression":
            raise refuse("scale_pos_weight", owner, "1 in a regression", scale_pos_weight)
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
        if rows.get("sample_weight") is not None and max_weight is None:
            bound = max(_max_weight(None, class_weight, owner), positive)
            warn_of_guarantee(
                f"Weights of rows come without max_weight, so that those above {bound:g} count as "
                f"{bound:g}: give a public bound of the weights, max_weight=...",
                UnboundedWeightsWarning,
            )
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
            max_weight=_max_weight(max_weight, class_weight, owner)
            if max_weight is not None
            else max(_max_weight(None, class_weight, owner), positive),
            scale_pos_weight=positive,
            class_weight=_class_weight(class_weight, task, owner),
            **values,
            **rows,
        )

    def check_recipe(self, recipe: Recipe, owner: str) -> None:
        """Raise when a recipe cannot do what is asked for."""
        if recipe.objectives:
            return
        default: tuple[str, ...] = (
            ("", "regression") if self.task == "regression" else ("", "binary")
        )
        if recipe.multiclass:
            default += ("multiclass",)
        asked = {
            "objective": self.name not in default,
            "class_weight": self.class_weight is not None,
            "scale_pos_weight": self.scale_pos_weight != 1.0,
            "sample_weight": self.sample_weight is not None and not recipe.weights,
            "init_model": self.continues,
            "init_score": self.init_score is not None,
        }
        for name, given in asked.items():
            if given:
                raise InvalidParameterError(
                    f"The {name!r} parameter of {owner} has no meaning for recipe="
                    f"{recipe.name!r}, whose constants are those of the squared and the logistic "
                    "loss without weights. Use recipe='best', or leave it out."
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

    def check_labels(
        self, schema: Schema, extras: RowExtras, classes: Sequence[Any] | None
    ) -> None:
        """Refuse what cannot work before anything is charged: bounds, or the user's function."""
        if self.task == "regression":
            loss = self.planned_loss(schema)
            self._check_earlier(loss)
            extras.scores_for(loss.n_outputs)
        elif self.name == "custom":
            self._class_loss(len(classes or ()))

    def _check_earlier(self, loss: Loss) -> None:
        """Raise when the model to be continued has another objective."""
        if self.continues and self.earlier_objective != loss.objective:
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model with objective "
                f"{loss.objective or 'custom'!r}, as this one. Got {self.earlier_objective!r}."
            )

    def check_classes(self, classes: Sequence[Any], extras: RowExtras) -> None:
        """Raise when a public set of classes does not suit the objective or its weights."""
        loss = self._class_loss(len(classes))
        self._check_earlier(loss)
        extras.scores_for(loss.n_outputs)
        if isinstance(loss, CustomClassLoss):
            warn_of_guarantee(
                "The objective is a function that is called with rows: the guarantee holds if what "
                "it returns for a row depends on that row alone, which was tried on public rows "
                "and is not proved. Where you are not sure, take objective='multiclass'.",
                UserObjectiveWarning,
            )
        if self.earlier_classes is not None and list(self.earlier_classes) != sorted(classes):
            raise InvalidParameterError(
                "The 'init_model' parameter of fit must be a model of the same classes: its own "
                f"are {list(self.earlier_classes)}."
            )
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
            unknown = [label for label in given if label not in known]
            if unknown:
                raise refuse(
                    "class_weight",
                    "the classifier",
                    f"a dict whose keys are among the classes {sorted(known)}",
                    given,
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
        score_bounds = self.score_bounds or (-6.0, 6.0)
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

    def read_rows(self, n_rows: int) -> RowExtras:
        """Check the private arrays, or raise; nothing is said about their values."""
        return RowExtras(
            sample_weight=read_weights(self.sample_weight, n_rows),
            init_scores=_init_scores(self.init_score, n_rows, self.continues),
        )

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
        if self.sample_weight is not None:
            facts["weights"] = f"an attribute of each row, clipped to [0, {self.max_weight:g}]"
        if self.scale_pos_weight != 1.0:
            facts["scale_pos_weight"] = self.scale_pos_weight
        if self.class_weight is not None:
            balanced = self.class_weight == "balanced"
            facts["class weights"] = "from released counts" if balanced else "given"
        if self.init_score is not None and not self.continues:
            facts["initial scores"] = "an attribute of each row, or a public function of it"
        return facts


def check_unit(
    earlier: PrivacyReport | None, neighbours: str, rows_per_user: int | None, owner: str
) -> None:
    """Raise when the budgets of a model and of its continuation would not add up.

    Parameters
    ----------
    earlier : PrivacyReport or None
        Of the model that is continued.
    neighbours : str
    rows_per_user : int or None
        Of the fit that continues it.
    owner : str
        For messages.

    Raises
    ------
    InvalidParameterError
    """
    if earlier is None:
        return
    units = {
        "neighbours": (earlier.neighbours, neighbours),
        "rows_per_user": (earlier.rows_per_user, rows_per_user),
    }
    for name, (before, now) in units.items():
        if before != now:
            raise refuse(
                name,
                owner,
                f"{before!r} as in the report of init_model, so that the budgets add up",
                now,
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
    bounds = None if schema is None else schema.label_bounds
    if task != "regression" or bounds is None:
        raise RefusedError(
            f"The 'gradient_bound' parameter of {owner} must be a public bound of the "
            "objective's gradient, to which it is clipped: else no row's part is bounded. For "
            "numbers, schema=Schema(label_bounds=...) is enough: the bound is then the largest "
            "gradient between them."
        )
    bound = largest_gradient(function, bounds, _score_bounds(score_bounds, owner) or bounds)
    warn_user(
        f"Gradients of the objective are clipped to {bound:g}, its largest between the label "
        "bounds: give a smaller gradient_bound where most rows have smaller ones.",
        ParameterWarning,
    )
    return bound


def _score_bounds(bounds: Any, owner: str) -> tuple[float, float] | None:
    return None if bounds is None else label_range("score_bounds", owner, bounds)


def _max_weight(max_weight: Any, class_weight: Any, owner: str) -> float:
    if max_weight is not None:
        return check_real(
            "max_weight", owner, max_weight, low=1 / LARGEST_SCALE, high=LARGEST_SCALE
        )
    if isinstance(class_weight, Mapping):
        return max([1.0, *map(_factor, class_weight.values())])
    return 1.0


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


def read_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights of rows, None where there are none, or raise for what are no weights."""
    if sample_weight is None:
        return None
    weights = _numbers("sample_weight", sample_weight)
    if weights.ndim != 1:
        raise InvalidParameterError(
            "The 'sample_weight' parameter of fit must have one dimension. Sample weights must be "
            "1D array or scalar."
        )
    check_same_length(n_rows, weights)
    if (weights < 0).any():
        raise InvalidParameterError(
            "The 'sample_weight' parameter of fit must not be negative: a weight is how often its "
            "row counts. Leave rows out that are not to count, or give them weight 0."
        )
    return weights


def _init_scores(init_score: Any, n_rows: int, continues: bool) -> NDArray[np.float64] | None:
    """Scores by output; LightGBM's flat form has one output after the other."""
    if init_score is None:
        return None
    scores = _numbers("init_model" if continues else "init_score", init_score)
    if scores.ndim == 2 and len(scores) == n_rows:
        scores = scores.T
    elif scores.ndim == 1 and n_rows and len(scores) % n_rows == 0 and len(scores):
        scores = scores.reshape(-1, n_rows)
    else:
        raise InvalidParameterError(
            "The 'init_score' parameter of fit must have one number for each row, or one for each "
            "row and class."
        )
    return np.ascontiguousarray(scores)


def _numbers(name: str, values: Any) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not np.isfinite(numbers).all():
        raise InvalidParameterError(
            f"The {name!r} parameter of fit must be an array of finite numbers. Input contains "
            "NaN, infinity or something else."
        )
    return numbers
