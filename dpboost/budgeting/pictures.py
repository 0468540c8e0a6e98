"""Plots of budgets and of forecasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpboost._utils.displays import new_axes
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget import Budget
from dpboost.reporting.budget_bars import draw_bars, report_bars
from dpboost.reporting.privacy_report import PrivacyReport

_COLORS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280")


def plot_privacy_budget(spender: Any, ax: Any = None) -> Any:
    """Plot the use of a budget: by the releases of a fit, or by the fits of a `Budget`.

    Parameters
    ----------
    spender : estimator, PrivacyReport or Budget
        For a fitted estimator, its report is plotted.
    ax : matplotlib.axes.Axes, optional
        Axes of the plot; new axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar for each kind of release, or for each line of the records, as a fraction in the
        accountant's unit; gray bars show the remainder. For a budget with periods, the remainder
        of each period.

    Raises
    ------
    InvalidParameterError
        For other arguments, and for a fit without privacy, which uses no budget.
    ImportError
        If matplotlib is not installed.

    Privacy
    -------
    Reads the public report or records only.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> model = dpboost.DPBoostRegressor(epsilon=1.0, schema=schema).fit(X, X[:, 0])

    >>> axes = dpboost.plot_privacy_budget(model)  # needs matplotlib
    """
    owner = "plot_privacy_budget"
    if isinstance(spender, Budget):
        return spender.plot(ax)
    report = getattr(spender, "privacy_report_", spender)
    if not isinstance(report, PrivacyReport):
        must = "a fitted estimator, a PrivacyReport or a Budget"
        raise refuse("spender", owner, must, type(spender).__name__)
    return draw_bars(owner, *report_bars(report, owner), ax)


def plot_accuracy_vs_epsilon(
    forecasts: Any,
    ax: Any = None,
    *,
    epsilon: float | None = None,
    reference: float | None = None,
) -> Any:
    """Plot the expected accuracy of fits at each epsilon, with bands.

    Parameters
    ----------
    forecasts : Forecast or dict of str to Forecast
        Results of `forecast` with public rows; several plans by name.
    ax : matplotlib.axes.Axes, optional
        Axes of the plot; new axes by default.
    epsilon : float, optional
        Planned epsilon, shown as a vertical line.
    reference : float, optional
        Metric of a model without privacy, shown as a horizontal line.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidParameterError
        For forecasts without public rows, and for different metrics.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> found = dpboost.forecast(
    ...     schema=schema, n_rows=500, epsilon=[1.0, 4.0], like=(X, X[:, 0])
    ... )

    >>> axes = dpboost.plot_accuracy_vs_epsilon(found, epsilon=2.0)  # needs matplotlib
    """
    plans = dict(forecasts) if isinstance(forecasts, Mapping) else {"": forecasts}
    metrics = {getattr(found, "metric", None) for found in plans.values()}
    if len(metrics) != 1 or None in metrics:
        raise InvalidParameterError(
            "The 'forecasts' parameter of plot_accuracy_vs_epsilon must be what forecast(like=...) "
            "returns, or a dict of several with one metric."
        )
    (metric,) = metrics
    ax = new_axes("plot_accuracy_vs_epsilon", ax, figsize=(7, 4), layout="constrained")
    for position, (name, found) in enumerate(plans.items()):
        color = _COLORS[position % len(_COLORS)]
        ax.plot(found.epsilon, found.value, marker=".", color=color, label=name or "expected")
        ax.fill_between(found.epsilon, found.low, found.high, color=color, alpha=0.25)
    if reference is not None:
        ax.axhline(reference, color="black", linewidth=1, label="without privacy")
    if epsilon is not None:
        ax.axvline(epsilon, color="black", linewidth=1, linestyle=":", label=f"epsilon {epsilon:g}")
    ax.set(xscale="log", xlabel="epsilon", ylabel=f"{metric}, nine fits of ten in the band")
    asked = sorted({each for found in plans.values() for each in found.epsilon})
    ax.set_xticks(asked, [f"{each:g}" for each in asked])
    ax.minorticks_off()
    ax.legend()
    return ax
