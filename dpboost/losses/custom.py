"""Custom losses as public tables of gradient and hessian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.validation import InvalidParameterError
from dpboost.losses.squared import SquaredLoss, binary_exponent
from dpboost.losses.tabulated import Surface, TabulatedLoss, units_of
from dpboost.losses.user_function import NOT_ALONE, Objective, call

LABEL_NODES = 257
SCORE_NODES_BITS = 10  # steps between the two score bounds
LABEL_BITS = 12  # label units between two nodes


@dataclass(frozen=True, kw_only=True, eq=False)
class CustomLoss(TabulatedLoss):
    """Gradient and hessian from a user-defined function.

    The function is called before training on a public grid of labels and scores, 257 labels
    between the label bounds (or the two classes) by about 1,000 to 2,000 scores between the score
    bounds, and never on a row. Between the nodes both are linear; labels and scores outside count
    as the bounds themselves.

    Deviation: LightGBM calls the function with all rows at each round. Here what one row does to
    the sums is bounded whatever the function does, also where it mixes rows.

    Parameters
    ----------
    label_bounds : (float, float) or None
        Public bounds of labels; None for the two classes 0 and 1.

    Privacy
    -------
    As :class:`TabulatedLoss`: values are clipped to the declared bounds row by row. The function is
    called with public numbers only, so it cannot tell anything; the label bounds and score bounds
    are assumed public.
    """

    label_bounds: tuple[float, float] | None

    @classmethod
    def of(
        cls,
        function: Objective,
        *,
        gradient_bound: float,
        hessian_bound: float,
        label_bounds: tuple[float, float] | None,
        score_bounds: tuple[float, float],
    ) -> CustomLoss:
        """Tabulate a function.

        Parameters
        ----------
        function : callable
            ``function(y_true, y_pred) -> grad, hess`` on arrays of shape (n,); LightGBM's forms
            with weights and groups get weights of one, for those of rows are multiplied later, and
            no groups.
        gradient_bound, hessian_bound : float
            Gradients are clipped to [-gradient_bound, gradient_bound], hessians to
            [0, hessian_bound].
        label_bounds : (float, float) or None
            None for the classes 0 and 1.
        score_bounds : (float, float)
            Raw scores begin in their middle.

        Raises
        ------
        InvalidParameterError
            If the function does not return two arrays of the right shape, has missing values, or
            returns other values for the same rows in another order.
        """
        low, high = label_bounds or (0.0, 1.0)
        labels = np.linspace(low, high, LABEL_NODES if label_bounds else 2)
        # The grid of the squared loss: about 2^21 units of a power of two between the bounds.
        scale = SquaredLoss.from_label_bounds(
            *score_bounds, name="score_bounds", owner="a custom objective"
        )
        shift = min(binary_exponent(2 * scale.half_units) - SCORE_NODES_BITS, 13)
        n_scores = -(-2 * scale.half_units >> shift) + 1
        origin = scale.start_units - ((n_scores - 1) << shift >> 1)
        scores = np.asarray(
            (origin + (np.arange(n_scores) << shift)) * scale.unit, dtype=np.float64
        )
        gradients, hessians = _evaluate(function, labels, scores)
        return cls(
            name="custom",
            objective="",
            surface=Surface(
                gradients=np.clip(gradients / gradient_bound, -1.0, 1.0),
                hessians=np.clip(hessians / hessian_bound, 0.0, 1.0),
                origin=origin,
                shift=shift,
                label_shift=LABEL_BITS,
            ),
            unit=scale.unit,
            units_per_one=max(units_of(gradient_bound / hessian_bound, scale.unit), 1),
            start_units=scale.start_units,
            rules={"gradient_clip": 1.0, "step_prior": 0.1, "reg_lambda": 30.0},
            label_bounds=label_bounds,
        )

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to their bounds and round them to the label grid; classes are 0 and 1."""
        low, high = self.label_bounds or (0.0, 1.0)
        n_units = (LABEL_NODES - 1 if self.label_bounds else 1) << LABEL_BITS
        labels = np.clip(np.asarray(y, dtype=np.float64), low, high)
        return to_integer_units((labels - low) / (high - low) * n_units, 0, n_units)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Zeros: where a custom loss starts does not depend on the labels."""
        return np.zeros(len(labels))

    def starting_at(self, mean: float) -> CustomLoss:
        """Return this loss: it starts in the middle of the score bounds."""
        return replace(self)


def largest_gradient(
    function: Objective,
    label_bounds: tuple[float, float] | None,
    score_bounds: tuple[float, float],
) -> float:
    """Return the largest gradient of a function on a public grid of labels and scores.

    Parameters
    ----------
    label_bounds : (float, float) or None
        Public; None for the classes 0 and 1.

    Privacy
    -------
    Called with public numbers only. It need not be a bound on all rows: they are clipped to it.
    """
    labels = np.linspace(*(label_bounds or (0.0, 1.0)), LABEL_NODES if label_bounds else 2)
    gradients, _ = _evaluate(function, labels, np.linspace(*score_bounds, LABEL_NODES))
    return float(np.abs(gradients).max())


def _evaluate(
    function: Objective, labels: NDArray[np.float64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Call the function on all pairs, and on some of them in another order."""
    label, score = (part.ravel() for part in np.meshgrid(labels, scores, indexing="ij"))
    whole = call(function, label, score)
    positions = np.random.default_rng(0).permutation(len(label))[:1000]
    again = call(function, label[positions], score[positions])
    for values, probe in zip(whole, again, strict=True):
        if not np.allclose(values[positions], probe, rtol=1e-9, atol=1e-12):
            raise InvalidParameterError(NOT_ALONE)
    shape = (len(labels), len(scores))
    return whole[0].reshape(shape), whole[1].reshape(shape)
