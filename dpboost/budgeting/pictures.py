"""Pictures of a guarantee: where a budget goes, and what each epsilon may reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.bars import COLOURS, Bar, axes_of, draw_bars
from dpboost.budgeting.budget import Budget
from dpboost.reporting.privacy_report import PrivacyReport


def plot_privacy_budget(spender: Any, ax: Any = None) -> Any:
    """Draw where a budget goes: the releases of a fit, or the fits of a `Budget`.

    Parameters
    ----------
    spender : estimator, PrivacyReport or Budget
        A fitted estimator is drawn by its report.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        One bar for each kind of release, or for each line of the records, as a part of the whole
        in the accountant's unit; grey is what is left. Where a budget counts periods, what each of
        them has left.

    Raises
    ------
    InvalidParameterError
        For anything else, and for a fit without privacy, which spends no budget.
    ImportError
        Where matplotlib is not installed.

    Privacy
    -------
    Reads what the report or the records say, which is public.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> X = np.random.default_rng(0).uniform(size=(1000, 1))
    >>> schema = {"bounds": {0: (0, 1)}, "label_bounds": (0, 1)}
    >>> model = dpboost.DPBoostRegressor(epsilon=1.0, schema=schema).fit(X, X[:, 0])

    >>> axes = dpboost.plot_privacy_budget(model)  # needs matplotlib
    """
    if isinstance(spender, Budget):
        return spender.plot(ax)
    return draw_bars(*_bars(spender), ax)


def plot_accuracy_vs_epsilon(
    forecasts: Any,
    ax: Any = None,
    *,
    epsilon: float | None = None,
    reference: float | None = None,
) -> Any:
    """Draw what fits may be expected to reach at each epsilon, with their bands.

    Parameters
    ----------
    forecasts : Forecast or dict of str to Forecast
        What `forecast` returned for public rows; several plans by name.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes by default.
    epsilon : float, optional
        The one that is planned: a line down.
    reference : float, optional
        What a model without privacy reaches, on the same metric: a line across.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidParameterError
        For forecasts without public rows, and for different metrics.
    ImportError
        Where matplotlib is not installed.

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
    ax = axes_of(ax, height=4)
    for position, (name, found) in enumerate(plans.items()):
        colour = COLOURS[position % len(COLOURS)]
        ax.plot(found.epsilon, found.value, marker=".", color=colour, label=name or "expected")
        ax.fill_between(found.epsilon, found.low, found.high, color=colour, alpha=0.25)
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


def _bars(spender: Any) -> tuple[str, list[Bar]]:
    """Return a title, and name, part and whether it is what is left, for each bar."""
    report = getattr(spender, "privacy_report_", spender)
    if not isinstance(report, PrivacyReport):
        must = "a fitted estimator, a PrivacyReport or a Budget"
        raise refuse("spender", "plot_privacy_budget", must, type(spender).__name__)
    shares = [(each.label, each.share) for each in report.releases]
    if not shares or any(share is None for _, share in shares):
        raise InvalidParameterError(
            "plot_privacy_budget draws no fit without privacy: it spends no budget."
        )
    bars: list[Bar] = [(name, float(share), False) for name, share in shares if share is not None]
    left = 1 - sum(part for _, part, _ in bars)
    if left > 1e-9:
        bars.append(("not spent", left, True))
    return report.guarantee.rstrip("."), bars
