"""Weights of rows and classes, as the user asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import check_real, refuse
from dpboost._utils.warnings import PrivacyWarning, warn_user
from dpboost.rows.row_attributes import Weighting

WEIGHT_PARAMETERS = ("max_weight", "class_weight", "scale_pos_weight")

# Bounds of gradients, hessians and weights are at most this, and at least its inverse: what the
# steps of a model are multiplied by.
LARGEST_SCALE = 1e12


class UnboundedWeightsWarning(PrivacyWarning):
    """Weights of rows come without the public bound to which they are clipped."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Weights:
    """What is asked of the weights of rows and classes; public.

    Parameters
    ----------
    of_rows : bool
        Whether rows come with weights.
    max_weight : float
        Weights are clipped to [0, max_weight].
    class_weight : dict, "balanced" or None
        Public factors of weights by label.
    scale_pos_weight : float
        Public weight of the second of two classes.
    """

    of_rows: bool = False
    max_weight: float = 1.0
    class_weight: Mapping[Any, float] | str | None = None
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
                    "Weights of rows come without max_weight, so that those above "
                    f"{most:g} count as {most:g}: give a public bound of the weights, "
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
