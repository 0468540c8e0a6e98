"""Rounding of labels to public levels, and the values of the levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.data.labels import encode_classes, read_class_labels, read_regression_labels
from dpboost.losses.logistic import LogisticLoss
from dpboost.losses.squared import SquaredLoss
from dpboost.schema import Schema

#: A position between levels has so many binary digits.
POSITION_BITS = 32

#: Most levels of a label; more only make reports longer.
MAX_LEVELS = 64

_NO_LEVEL = -1


@dataclass(frozen=True, kw_only=True)
class NumericLabels:
    """Labels of a regression between public bounds, as equally spaced levels.

    A report rounds a label without bias to one of the two nearest levels. With two levels, the
    lower and the upper bound, the level is a sign: the label scaled to [-1, 1] becomes +1 with
    probability ``(1 + label) / 2``.
    """

    #: Public bounds, ``lower < upper``; labels outside are clipped to them.
    lower: float
    upper: float
    #: 2 to 64.
    n_levels: int = 2

    def __post_init__(self) -> None:
        bounds = Schema(label_bounds=(self.lower, self.upper)).label_bounds
        assert bounds is not None
        SquaredLoss.from_label_bounds(*bounds)  # refuses bounds that are too close
        object.__setattr__(self, "lower", bounds[0])
        object.__setattr__(self, "upper", bounds[1])
        n_levels = check_integer("n_levels", "LPDT", self.n_levels, low=2, high=MAX_LEVELS)
        object.__setattr__(self, "n_levels", n_levels)

    @property
    def n_outputs(self) -> int:
        """Numbers that a leaf predicts."""
        return 1

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Worth of each level, in [-1, 1]; shape (n_levels, 1)."""
        return np.linspace(-1.0, 1.0, self.n_levels)[:, np.newaxis]

    def read(self, y: Any) -> NDArray[np.float64]:
        """Return checked labels as doubles."""
        return read_regression_labels(y)

    def positions(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return where the clipped labels lie, in units of 2^-32 of a level.

        Positions are in ``0..(n_levels - 1) * 2**32``.
        """
        # Halves, so that the difference of two bounds cannot overflow.
        clipped = np.clip(labels, self.lower, self.upper) / 2 - self.lower / 2
        last = (self.n_levels - 1) << POSITION_BITS
        return to_integer_units(clipped / (self.upper / 2 - self.lower / 2) * last, 0, last)

    def targets(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return clipped labels scaled to [-1, 1], of shape (n_rows, 1); for public rows."""
        position = self.positions(labels) / ((self.n_levels - 1) << POSITION_BITS)
        return (2 * position - 1)[:, np.newaxis]

    def to_dict(self) -> dict[str, Any]:
        """Return the labels as plain numbers, fit for JSON."""
        return {"label_bounds": [self.lower, self.upper], "n_levels": self.n_levels}


@dataclass(frozen=True, kw_only=True)
class ClassLabels:
    """Labels of a classification: a level for each public class."""

    #: The public classes, at least two. A label that is none of them is reported as a class
    #: drawn uniformly, since no report may be missing.
    classes: tuple[Any, ...]

    def __post_init__(self) -> None:
        classes = Schema(classes=tuple(self.classes)).classes
        assert classes is not None
        if len(classes) > MAX_LEVELS:
            raise refuse("classes", "LPDT", f"at most {MAX_LEVELS} classes", len(classes))
        object.__setattr__(self, "classes", tuple(sorted(classes)))

    @property
    def n_levels(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def n_outputs(self) -> int:
        """Numbers that a leaf estimates: a share for each class."""
        return len(self.classes)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Identity matrix: a class counts for itself."""
        return np.eye(self.n_levels)

    def read(self, y: Any) -> NDArray[Any]:
        """Return checked labels in a type that sorts."""
        return read_class_labels(y)

    def positions(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of the class of each row; -1 for a label that is none of them."""
        indices, present = encode_classes(labels, self.classes)
        return np.where(present, indices << POSITION_BITS, _NO_LEVEL)

    def targets(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Return one-hot rows of shape (n_rows, n_classes); for public rows."""
        indices, present = encode_classes(labels, self.classes)
        if not present.all():
            raise InvalidParameterError(
                "The 'y_public' parameter of LPDT holds a label that is not among the declared "
                f"classes {list(self.classes)!r}: declare it, or leave its rows out."
            )
        return self.values[indices]

    def to_dict(self) -> dict[str, Any]:
        """Return the classes as plain values, fit for JSON."""
        return {"classes": list(self.classes)}


Labels: TypeAlias = NumericLabels | ClassLabels


def labels_from_dict(mapping: Mapping[str, Any]) -> Labels:
    """Return the labels that ``to_dict`` wrote."""
    if "classes" in mapping:
        return ClassLabels(classes=tuple(mapping["classes"]))
    lower, upper = mapping["label_bounds"]
    return NumericLabels(lower=lower, upper=upper, n_levels=mapping["n_levels"])


def score_grid(labels: Labels) -> tuple[str, float]:
    """Return LightGBM's objective and the unit of leaf values."""
    if isinstance(labels, NumericLabels):
        loss = SquaredLoss.from_label_bounds(labels.lower, labels.upper)
        return loss.objective, loss.unit
    if labels.n_levels == 2:
        return LogisticLoss.objective, LogisticLoss.unit
    return f"multiclass num_class:{labels.n_levels}", LogisticLoss.unit
