"""Pictures of a guarantee: where a budget goes, and what each epsilon may reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.budgeting.budget import Budget
from dpboost.reporting.privacy_report import PrivacyReport

_COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280")
_LEFT = "#cbd5e0"


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
    title, bars = _bars(spender)
    ax = _axes(ax, height=1.2 + 0.35 * len(bars))
    for position, (_, part, is_left) in enumerate(bars):
        ax.barh(position, part, color=_LEFT if is_left else _COLOURS[0])
        ax.annotate(
            f"{100 * part:.3g} %",
            (part, position),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
        )
    ax.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.12), xlabel="part of the budget", title=title)
    return ax


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
    ax = _axes(ax, height=4)
    for position, (name, found) in enumerate(plans.items()):
        colour = _COLOURS[position % len(_COLOURS)]
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


def _bars(spender: Any) -> tuple[str, list[tuple[str, float, bool]]]:
    """Return a title, and name, part and whether it is what is left, for each bar."""
    if isinstance(spender, Budget):
        if spender.periods is None:
            bars = [
                (f"{line.what}{_rows(line.part)}", float(line.fraction), False)
                for line in spender.lines
            ]
            bars += [
                (f"left of the {name} account", float(left), True)
                for name, left in spender.left.items()
            ]
        else:
            bars = [
                (f"left of {period}, {name} account", float(left), True)
                for name, found in spender.left_of_periods.items()
                for period, left in found.items()
            ]
        terms = f"epsilon = {float(spender.epsilon):g}, delta = {float(spender.delta):g}"
        return f"Budget of {spender.table or 'a table'}: {terms}", bars
    report = getattr(spender, "privacy_report_", spender)
    if not isinstance(report, PrivacyReport):
        must = "a fitted estimator, a PrivacyReport or a Budget"
        raise refuse("spender", "plot_privacy_budget", must, type(spender).__name__)
    shares = [(each.label, each.share) for each in report.releases]
    if not shares or any(share is None for _, share in shares):
        raise InvalidParameterError(
            "plot_privacy_budget draws no fit without privacy: it spends no budget."
        )
    bars = [(name, float(share), False) for name, share in shares if share is not None]
    left = 1 - sum(part for _, part, _ in bars)
    if left > 1e-9:
        bars.append(("not spent", left, True))
    return report.guarantee.rstrip("."), bars


def _rows(part: tuple[tuple[str, str], ...]) -> str:
    return "".join(f" ({name})" for _, name in part)


def _axes(ax: Any, *, height: float) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("This picture needs matplotlib: pip install 'dpboost[plot]'.") from error
    return pyplot.subplots(figsize=(7, height), layout="constrained")[1]
