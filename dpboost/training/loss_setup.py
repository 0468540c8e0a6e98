"""What the rows are to teach: a loss, its classes, weights and where scores begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.losses import ClassLoss, CustomLoss, Loss
from dpboost.privacy.exact_arithmetic import PrivacyCost
from dpboost.privacy.ledger import Ledger
from dpboost.privacy.queries import RowStore
from dpboost.recipes.recipe import Recipe
from dpboost.rows.encoded_rows import EncodeLabels
from dpboost.rows.row_attributes import RowExtras, Weighting
from dpboost.schema import ResolvedSchema
from dpboost.training.inputs import check_number_of_classes
from dpboost.training.objective import ObjectiveRequest
from dpboost.training.start_value import SeenRows, release_class_sizes, release_start


@dataclass(frozen=True, kw_only=True, eq=False)
class LossSetup:
    """What rows are to teach; public.

    Parameters
    ----------
    loss : Loss
    classes : tuple
        Public classes in their order, empty for a regression.
    objective : ObjectiveRequest
    """

    loss: Loss
    classes: tuple[Any, ...]
    objective: ObjectiveRequest

    @classmethod
    def of(
        cls,
        task: str,
        recipe: Recipe,
        schema: ResolvedSchema,
        objective: ObjectiveRequest,
        extras: RowExtras,
        label_spread: float | None = None,
    ) -> LossSetup:
        """Choose the loss for released or declared classes or label bounds."""
        classes: tuple[Any, ...] = ()
        if task != "regression":
            assert schema.classes is not None
            if not schema.classes:
                raise InvalidParameterError(
                    "No class label passed the threshold of its release: declare the classes with "
                    "Schema(classes=...)."
                )
            check_number_of_classes(len(schema.classes), recipe)
            # In the order of ``classes_``, which scikit-learn wants sorted.
            classes = tuple(sorted(schema.classes))
            objective.check_classes(classes, extras)
        loss = objective.loss(schema, len(classes), label_spread)
        return cls(loss=loss, classes=classes, objective=objective)

    @property
    def order(self) -> EncodeLabels:
        """What rows are told to learn it."""
        return EncodeLabels(loss=self.loss, classes=self.classes)

    @property
    def begins_elsewhere(self) -> bool:
        """Whether rows have initial scores of their own."""
        return self.objective.init_score is not None

    def release(
        self, source: RowStore, budget: PrivacyCost, ledger: Ledger
    ) -> tuple[Loss, Weighting | None, SeenRows]:
        """Release a start value and a row count, or class sizes; return how rows are weighted."""
        objective, loss = self.objective, self.loss
        fixed = isinstance(loss, CustomLoss)
        if self.begins_elsewhere:
            # LightGBM does not boost from an average either where scores are given.
            loss = loss.starting_from((0,) * loss.n_outputs)
            fixed = True
        weighted = objective.sample_weight is not None
        if objective.class_weight != "balanced":
            factors = self._factors()
            weighting = None
            if weighted or factors is not None:
                weighting = Weighting(max_weight=objective.max_weight, factors=factors)
            loss, seen = release_start(
                loss,
                source,
                budget=budget,
                ledger=ledger,
                weighting=weighting,
                fixed=fixed,
                classes=bool(self.classes),
            )
            weight = 1.0 if weighting is None else weighting.max_weight
            return loss, weighting, replace(seen, weight=weight)
        n_classes = len(self.classes)
        # With balanced weights all classes have the same share: no start value is to be released.
        seen = release_class_sizes(n_classes, source, budget=budget, ledger=ledger)
        sizes = np.maximum(seen.sizes, 1.0)
        weighting = Weighting(
            max_weight=objective.max_weight if weighted else 1.0,
            factors=tuple((sizes.min() / sizes).tolist()),
        )
        if not fixed:
            if isinstance(loss, ClassLoss):
                loss = loss.starting_at(np.full(n_classes, 1 / n_classes))
            else:
                loss = loss.starting_at(0.5)
        balanced = float(sizes.min() * n_classes)
        return loss, weighting, replace(seen, n_rows=balanced, weight=seen.n_rows / balanced)

    def _factors(self) -> tuple[float, ...] | None:
        """Return the weight of each class where the user gives some."""
        given = self.objective.class_weight
        if self.objective.scale_pos_weight != 1.0:
            return 1.0, self.objective.scale_pos_weight
        if not isinstance(given, Mapping):
            return None
        return tuple(float(given.get(label, 1.0)) for label in self.classes)
