"""Losses with a log link: Poisson, gamma and Tweedie."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpboost._utils.integer_units import to_integer_units
from dpboost._utils.schema_checks import LEAST_WIDTH
from dpboost._utils.validation import refuse
from dpboost.losses.link_table import TABLE_RANGE, TABLE_SHIFT
from dpboost.losses.newton_loss import SCORE_BITS
from dpboost.losses.tabulated import Surface, TabulatedLoss, units_of

UNIT = 2.0**-SCORE_BITS
LABEL_BITS = 16
# A released mean is never taken for less than this part of the upper label bound.
LEAST_MEAN = math.exp(-9)
# Gradients of the gamma and the Tweedie loss are clipped to this many times their scale.
LARGEST_GRADIENT = 4.0
# Rows of the gamma loss weigh by this power of their mean.
GAMMA_WEIGHT = 0.25
# Rules of recipe ``best``.
POISSON_RULES = {"gradient_clip": 0.25, "step_prior": 0.2, "reg_lambda": 3.0}
GAMMA_RULES = {
    "gradient_clip": 0.25,
    "step_prior": 0.04,
    "reg_lambda": 10.0,
    "max_depth": 2,
    "features_per_tree": 2,
}
TWEEDIE_RULES = GAMMA_RULES | {"step_prior": 0.05, "max_depth": 3}
#: What replaces some of them under Gaussian accounting: where gradients go far beyond typical ones,
#: steps have to be small. Of gamma labels fewer and longer steps that are held back more are better
#: where rows are few, and no worse elsewhere.
GAUSSIAN_RULES: dict[str, dict[str, Any]] = {
    "poisson": {},
    "gamma": {
        "learning_rate": 0.2,
        "n_estimators": 400,
        "reg_lambda": 30.0,
        "hessian_share": 0.02,
    },
    "tweedie": {"learning_rate": 0.1, "hessian_share": 0.02},
}
# A lower bound of gamma labels that is not positive becomes this part of the upper one.
LEAST_PART = 2.0**-10


@dataclass(frozen=True, kw_only=True, eq=False)
class LogLinkLoss(TabulatedLoss):
    r"""A loss of the mean :math:`\mu = e^s` of labels in :math:`[L, U]` with :math:`U > 0`.

    Labels are clipped to their public bounds. For gradients the score is clipped as well, so that
    :math:`\mu` lies in :math:`[m, U]` with :math:`m = \max(L, U e^{-12})`; predictions are of the
    raw score itself. With :math:`t = \mu / U` and :math:`z = y / U`, gradients have public bounds:

    ======= ==================================== ============================================
    loss    gradient in :math:`s`                bound, in units of the scale
    ======= ==================================== ============================================
    poisson :math:`U (t - z)`                    1 (scale :math:`U`): both are in [0, 1]
    gamma   :math:`t^{1/4} (1 - z / t)`          :math:`\max(1, (U / m)^{3/4})`, as
                                                 :math:`z \le 1`
    tweedie :math:`U^{2-p} (t^{2-p} - z          :math:`\max(1, (U / m)^{p-1})` (scale
            t^{1-p})`                            :math:`U^{2-p}`), as :math:`z \le 1` and
                                                 :math:`1 < p < 2`
    ======= ==================================== ============================================

    The last two grow with the width of the range, so they are clipped to 4 units where they are
    larger, and recipe ``best`` keeps a quarter of that unless ``gradient_clip`` says
    otherwise: a row whose label is several times what is predicted weighs less than it
    should. The larger the mean is, the later that is.

    Deviation: the gamma loss weighs rows by the fourth root of their mean, so that few are
    clipped; its solution is the mean all the same. Hessians of gamma and tweedie are the expected
    ones, as in Fisher's scoring, instead of LightGBM's, which grow with the label: one row
    then moves them less. The hessian of poisson is LightGBM's, with its factor
    ``exp(poisson_max_delta_step)``.

    Above, the gradient of a row is at most 1 unit. The tables are in decimal arithmetic, the same
    on every machine; they are linear in the label and at steps of 2^-7 in the score, where
    interpolation is off by less than 2^-16 of their value.

    Parameters
    ----------
    upper : float
        The bound U.
    lower : float
        The bound L.

    Privacy
    -------
    As :class:`TabulatedLoss`. The label bounds are assumed public.
    """

    lower: float
    upper: float

    @classmethod
    def poisson(cls, lower: float, upper: float, max_delta_step: float = 0.7) -> LogLinkLoss:
        """Return the Poisson loss."""
        # The factor of the hessian is left to the step, which is divided by it.
        step = math.exp(-max_delta_step)
        return cls._of("poisson", lower, upper, _poisson, 1.0, POISSON_RULES, step)

    @classmethod
    def gamma(cls, lower: float, upper: float) -> LogLinkLoss:
        """Return the gamma loss; labels are positive."""
        _check_upper(upper)
        if lower <= 0:
            lower = upper * LEAST_PART
        ratio = _ratio(lower, upper)
        bound = min(max(1.0, ratio ** (1 - GAMMA_WEIGHT)), LARGEST_GRADIENT)
        return cls._of("gamma", lower, upper, _gamma, bound, GAMMA_RULES)

    @classmethod
    def tweedie(cls, lower: float, upper: float, power: float = 1.5) -> LogLinkLoss:
        """Return the Tweedie loss of a variance power between 1 and 2."""
        _check_upper(upper)
        ratio = _ratio(lower, upper)
        bound = min(max(1.0, ratio ** (power - 1)), LARGEST_GRADIENT)
        return cls._of("tweedie", lower, upper, lambda t: _tweedie(t, power), bound, TWEEDIE_RULES)

    @property
    def gaussian_rules(self) -> dict[str, Any]:
        """Values of recipe ``best`` under Gaussian accounting, instead of ``rules``."""
        return GAUSSIAN_RULES[self.name]

    @classmethod
    def _of(
        cls,
        objective: str,
        lower: float,
        upper: float,
        nodes: Callable[[int], tuple[NDArray[np.float64], NDArray[np.float64]]],
        gradient_bound: float,
        rules: dict[str, Any],
        step: float = 1.0,
    ) -> LogLinkLoss:
        _check_upper(upper)
        lower = min(max(lower, 0.0), upper)
        n_steps = TABLE_RANGE >> TABLE_SHIFT
        if lower > 0:
            ratio = min(upper / lower, math.exp(13))  # more than the table holds
            n_steps = min(n_steps, math.ceil(math.log(ratio) * 2 ** (20 - TABLE_SHIFT)))
        n_steps = max(n_steps, 1)
        gradients, hessians = nodes(n_steps)
        top = units_of(math.log(upper), UNIT)
        return cls(
            name=objective,
            objective=objective,
            surface=Surface(
                gradients=gradients / gradient_bound,
                hessians=hessians,
                origin=top - (n_steps << TABLE_SHIFT),
                shift=TABLE_SHIFT,
                label_shift=LABEL_BITS,
                high=1 / gradient_bound,
            ),
            unit=UNIT,
            units_per_one=round(step * gradient_bound / UNIT),
            start_units=top - (n_steps << TABLE_SHIFT >> 1),
            rules=rules,
            lower=lower,
            upper=upper,
        )

    def encode_labels(self, y: ArrayLike) -> NDArray[np.int64]:
        """Clip labels to the bounds and round them to 2^-16 of the upper one.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Finite numbers.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            0 to 65536.

        Privacy
        -------
        A row-wise map with public bounds. Labels that the loss is not meant for, such as negative
        ones, are clipped like any other outside the bounds: an error would reveal them.
        """
        labels = np.clip(np.asarray(y, dtype=np.float64), self.lower, self.upper)
        lowest = round(self.lower / self.upper * 2**LABEL_BITS)
        return to_integer_units(labels / self.upper * 2**LABEL_BITS, lowest, 2**LABEL_BITS)

    def scaled_labels(self, labels: NDArray[np.int64]) -> NDArray[np.float64]:
        """Labels in units of the upper bound."""
        return labels / 2**LABEL_BITS

    def starting_at(self, mean: float) -> LogLinkLoss:
        """Return this loss with the logarithm of a released mean as its start."""
        part = min(max(mean, LEAST_MEAN, self.lower / self.upper), 1.0)
        return replace(self, start_units=units_of(math.log(self.upper) + math.log(part), UNIT))


def _check_upper(upper: float) -> None:
    if upper < LEAST_WIDTH:
        raise refuse(
            "label_bounds",
            "Schema",
            f"(lower, upper) with upper of at least {LEAST_WIDTH:g} for a loss of positive labels",
            upper,
        )


def _ratio(lower: float, upper: float) -> float:
    """Return how far predictions go below the upper bound, within the table."""
    return min(upper / lower, math.exp(12)) if lower > 0 else math.exp(12)


@lru_cache(maxsize=8)
def _powers(n_steps: int, exponent: float) -> NDArray[np.float64]:
    """``t ** exponent`` at the nodes, the last of which is t = 1; rounded from decimals."""
    context = Context(prec=30)
    step = Decimal(exponent) * Decimal(2) ** (TABLE_SHIFT - SCORE_BITS)
    powers = [float(context.exp(i * step)) for i in range(-n_steps, 1)]
    found = np.array(powers)
    found.setflags(write=False)  # the same array for every fit
    return found


def _lines(
    constant: NDArray[np.float64], slope: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """``constant + z * slope`` at the labels z = 0 and z = 1."""
    return np.stack([constant, constant + slope])


def _poisson(n_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    mean = _powers(n_steps, 1.0)
    return _lines(mean, -1.0), _lines(mean, 0.0)


def _gamma(n_steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    up, down = _powers(n_steps, GAMMA_WEIGHT), _powers(n_steps, GAMMA_WEIGHT - 1)
    return _lines(up, -down), _lines(up, 0.0)


def _tweedie(n_steps: int, power: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    up, down = _powers(n_steps, 2 - power), _powers(n_steps, 1 - power)
    return _lines(up, -down), _lines(up, 0.0)
