"""Explanation of a guarantee as bounds on membership-inference attacks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpboost._utils.displays import data_frame, html_table
from dpboost._utils.validation import check_real
from dpboost.reporting.attacker import LARGEST, SLACK, true_positive_bound, up

#: The false-positive rate in the sentence of ``str``.
FALSE_POSITIVES = 0.01

_RATES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)
_PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True, kw_only=True)
class EpsilonExplanation:
    r"""A guarantee as bounds on an attacker; created by `explain_epsilon`.

    The attacker knows all other rows and all released values, and decides whether a row is in the
    table. Every bound is valid for every attacker.

    Parameters
    ----------
    epsilon : float or None
        None if only the Gaussian guarantee is known.
    delta : float
    mu : float or None
        Of Gaussian differential privacy; None for (epsilon, delta) alone. With both, the smaller
        bound is reported, and the Gaussian bound allows a failure of probability delta.
    what : str
        Description of the fit, such as ``recipe='best'``; empty for a guarantee alone.

    Examples
    --------
    >>> from dpboost import explain_epsilon
    >>> explanation = explain_epsilon(1.0, 1e-6)
    >>> round(explanation.advantage, 3)
    0.462
    """

    epsilon: float | None
    delta: float
    mu: float | None
    what: str = ""

    @property
    def advantage(self) -> float:
        r"""Upper bound of the true-positive rate minus the false-positive rate.

        Notes
        -----
        :math:`(e^\varepsilon - 1 + 2 \delta) / (e^\varepsilon + 1)`, from the region of Kairouz,
        Oh and Viswanath (ICML 2015, Theorem 2.1); :math:`2 \Phi(\mu / 2) - 1` for a Gaussian
        guarantee (Dong, Roth, Su, JRSS B 2022, Section 2.2).
        """
        pure = math.tanh(self._epsilon / 2)
        least = pure + self.delta * (1 - pure)
        if self.mu is None:
            return least
        return min(least, float(2 * ndtr(self.mu / 2) - 1 + self.delta))

    def true_positives(self, false_positives: float) -> float:
        r"""Return the maximum true-positive rate at a false-positive rate.

        Parameters
        ----------
        false_positives : float
            In [0, 1].

        Returns
        -------
        float

        Raises
        ------
        InvalidParameterError
            If the rate is not in [0, 1].

        Notes
        -----
        :math:`\min(1, \delta + e^\varepsilon \alpha, 1 - e^{-\varepsilon} (1 - \delta - \alpha))`
        at the rate :math:`\alpha` (Kairouz, Oh, Viswanath, ICML 2015, Theorem 2.1), and
        :math:`\Phi(\Phi^{-1}(\alpha) + \mu)` for a Gaussian guarantee (Dong, Roth, Su, JRSS B
        2022, Section 2.2).
        """
        owner = "EpsilonExplanation.true_positives"
        alpha = check_real("false_positives", owner, false_positives, low=0, high=1)
        without = math.inf if self.mu is None else self.mu
        if self._epsilon > LARGEST and math.isinf(without):
            return 1.0
        return true_positive_bound(alpha, self._epsilon, self.delta, self.mu)

    def posterior(self, prior: float, false_positives: float = FALSE_POSITIVES) -> float:
        r"""Return the maximum posterior probability of a positive decision.

        Parameters
        ----------
        prior : float
            Prior probability of the attacker, in [0, 1].
        false_positives : float, default=0.01
            Minimum false-positive rate of the attacker's test, in [0, 1]. At 0 the bound covers
            every single outcome and is below 1 for pure epsilon only.

        Returns
        -------
        float
            By Bayes' rule from :meth:`true_positives`. The bound is also valid for all larger
            false-positive rates.

        Raises
        ------
        InvalidParameterError
            If a rate or the prior is not in [0, 1].
        """
        owner = "EpsilonExplanation.posterior"
        before = check_real("prior", owner, prior, low=0, high=1)
        alpha = check_real("false_positives", owner, false_positives, low=0, high=1)
        if before in (0.0, 1.0):
            return before
        true = self.true_positives(alpha)
        if alpha > 0:
            return before * true / (before * true + (1 - before) * alpha)
        if self.mu == 0:
            return before
        if true > 0 or self.mu is not None:
            return 1.0
        return before / (before + (1 - before) * math.exp(-self._epsilon))

    def __str__(self) -> str:
        rate = FALSE_POSITIVES
        return (
            f"{self._name}: the membership-inference advantage (true-positive rate minus "
            f"false-positive rate) is at most {up(self.advantage):.4g}, for an attacker who knows "
            "all other rows and all released values. At a false-positive rate of "
            f"{100 * rate:g} %, the true-positive rate is at most {_shown(self._found(rate))}. "
            f"Even odds become a probability of at most {_shown(up(self.posterior(0.5)))}."
        )

    __repr__ = __str__

    def table(self) -> str:
        """Return the bounds at some false-positive rates and priors, as text."""
        lines = [self._name, "", "false positives   true positives at most"]
        lines += [f"{100 * rate:13g} %   {_shown(self._found(rate))}" for rate in _RATES]
        lines += [
            "",
            f"sure before   sure after, at {100 * FALSE_POSITIVES:g} % false positives, at most",
        ]
        lines += [f"{100 * prior:9g} %   {_shown(up(self.posterior(prior)))}" for prior in _PRIORS]
        return "\n".join([*lines, "", f"advantage at most {up(self.advantage):.4g}"])

    def _rows(self) -> list[tuple[str, float, float]]:
        """Return the name, argument and value of each bound."""
        rows = [("true positives, at false positives", rate, self._found(rate)) for rate in _RATES]
        at = f"sure after, at {100 * FALSE_POSITIVES:g} % false positives, sure before"
        return [*rows, *((at, prior, up(self.posterior(prior))) for prior in _PRIORS)]

    def to_frame(self) -> Any:
        """Return the bounds as a data frame.

        Returns
        -------
        DataFrame
            One row for each false-positive rate and each prior, with ``bound``, ``at`` and
            ``at_most``; rates are in [0, 1].

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return data_frame("EpsilonExplanation", ("bound", "at", "at_most"), self._rows())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = [(name, f"{100 * at:g} %", _shown(most)) for name, at, most in self._rows()]
        return html_table(
            ("bound", "at", "at most"),
            rows,
            caption=self._name,
            notes=(f"Advantage at most {up(self.advantage):.4g}.",),
            numbers=frozenset({1, 2}),
        )

    def plot(self, ax: Any = None) -> Any:
        """Plot the maximum true-positive rate against the false-positive rate.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of the plot; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError(
                    "plot() needs matplotlib: pip install 'dpboost[plot]', or use table()."
                ) from error
            ax = pyplot.subplots()[1]
        # Dense at small rates, where the bound matters most.
        rates = np.concatenate(([0.0], np.geomspace(1e-6, 1.0, 400)))
        ax.plot(rates, [self.true_positives(rate) for rate in rates.tolist()], label=self._name)
        ax.plot([0, 1], [0, 1], linestyle=":", color="gray", label="guessing")
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="false positives", ylabel="true positives at most")
        ax.legend(loc="lower right")
        return ax

    def _found(self, rate: float) -> float:
        """Return the maximum true-positive rate, rounded as in reports."""
        return up(min(self.true_positives(rate) * SLACK, 1.0))

    @property
    def _epsilon(self) -> float:
        return math.inf if self.epsilon is None else self.epsilon

    @property
    def _name(self) -> str:
        terms = [] if self.epsilon is None else [f"epsilon = {self.epsilon:g}"]
        terms += [f"delta = {self.delta:g}"] if self.delta else []
        terms += [] if self.mu is None else [f"mu = {self.mu:.4g}"]
        return ", ".join(terms) + (f" ({self.what})" if self.what else "")


def _shown(share: float) -> str:
    """Format a rate in percent."""
    return f"{100 * share:.4g} %"
