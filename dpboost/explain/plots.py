"""LightGBM's plots, and plots of feature effects with their errors from noise.

They use released models and metrics of public rows only.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import lightgbm
import lightgbm.plotting
import numpy as np

from dpboost._utils.displays import new_axes, pyplot
from dpboost._utils.validation import check_integer, check_real, refuse

_COLORS = ("#2b6cb0", "#c05621")
_MOST_LABELS = 20
_WHAT = "A plot of shapes"


def plot_importance(booster: Any, *args: Any, with_error: bool = False, **kwargs: Any) -> Any:
    """Plot the importance of features.

    Parameters
    ----------
    booster : Booster or estimator
    *args
        As in ``lightgbm.plot_importance``.
    with_error : bool, default=False
        Whether to draw the mean absolute effect of each feature and its standard error, of an
        estimator of this library, in place of LightGBM's importances.
    **kwargs
        As in ``lightgbm.plot_importance``; with errors ``ax``, ``height``, ``title``, ``xlabel``,
        ``ylabel``, ``max_num_features``, ``figsize``, ``dpi``, ``grid``, ``precision`` and
        ``output``.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidParameterError
        For errors of what cannot explain itself.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, delta=1e-6, schema=schema).fit(X, y)

    >>> axes = dpboost.plot_importance(model, with_error=True)  # needs matplotlib
    """
    if not with_error:
        own = lightgbm.plot_importance
        given = inspect.signature(own).bind_partial(booster, *args, **kwargs).arguments
        # Splits that are drawn at random say nothing; an estimator knows it by itself.
        ours = getattr(booster, "privacy_report", None) is not None
        if ours and given.get("importance_type", "auto") == "auto":
            given["importance_type"] = "gain"
        return own(**{**given.pop("kwargs", {}), **given})
    return _importance_with_error(booster, *args, **kwargs)


def _importance_with_error(
    model: Any,
    ax: Any = None,
    height: float = 0.6,
    title: str = "Feature importance",
    xlabel: str = "Mean absolute effect on the raw score",
    ylabel: str = "Features",
    max_num_features: int | None = 20,
    figsize: tuple[float, float] | None = None,
    dpi: int | None = None,
    grid: bool = True,
    precision: int = 3,
    output: int = 0,
) -> Any:
    """Draw mean absolute effects, the largest at the top, with their standard errors."""
    explanation = _explanation(model, "plot_importance", pairs=0)
    rows = explanation.importances(output)[:max_num_features][::-1]
    positions = np.arange(len(rows))
    ax = _axes(ax, figsize or (9, 1.2 + 0.38 * len(rows)), dpi)
    lengths = [value for _, value, _ in rows]
    errors = [0.0 if np.isnan(error) else error for _, _, error in rows]
    ax.barh(
        positions, lengths, xerr=errors, height=height, color=_COLORS[0], capsize=3, align="center"
    )
    largest = max([a + b for a, b in zip(lengths, errors, strict=True)], default=1.0) or 1.0
    for position, (_, value, error) in zip(positions, rows, strict=True):
        shown = f"{value:.{precision}g}"
        shown += "" if np.isnan(error) else f" ± {error:.1g}"
        end = value + (0.0 if np.isnan(error) else error)
        ax.text(end + 0.015 * largest, position, shown, va="center")
    ax.set_yticks(positions, [name for name, _, _ in rows])
    ax.set_xlim(0, 1.25 * largest)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    ax.grid(grid, axis="x")
    ax.set_axisbelow(True)
    return ax


def plot_shapes(
    model: Any,
    features: Sequence[int | str] | int | str | None = None,
    ax: Any = None,
    *,
    level: float = 0.9,
    output: int = 0,
    max_num_features: int = 6,
    figsize: tuple[float, float] | None = None,
    dpi: int | None = None,
    grid: bool = True,
    title: str = "@name@",
    ylabel: str = "Effect on the raw score",
) -> Any:
    """Plot the effects of features with bands of their noise.

    Parameters
    ----------
    model : estimator or Explanation
    features : list of int or str, optional
        The most important ones by default.
    ax : matplotlib.axes.Axes, optional
        For one feature.
    level : float, default=0.9
        Coverage of a band in each bin, for the effect of a fit without noise.
    output : int, default=0
        Which raw score, where there is one for each of several classes.
    max_num_features : int, default=6
        If no features are given.
    figsize, dpi, grid, title, ylabel
        As in LightGBM's functions; ``@name@`` stands for the name of a feature.

    Returns
    -------
    matplotlib.axes.Axes, or ndarray of them for several features

    Raises
    ------
    InvalidParameterError
        If the model does not split on a feature.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, delta=1e-6, schema=schema).fit(X, y)

    >>> axes = dpboost.plot_shapes(model)  # needs matplotlib
    """
    level = check_real("level", "plot_shapes", level, low=0, high=1, low_open=True, high_open=True)
    explanation = _explanation(model, "plot_shapes", pairs=0)
    if features is None:
        check_integer("max_num_features", "plot_shapes", max_num_features, low=1)
        shapes = list(explanation.shapes[:max_num_features])
    else:
        asked = [features] if isinstance(features, (int, str)) else list(features)
        shapes = [explanation.shape(feature) for feature in asked]
    if not shapes:
        raise refuse("model", "plot_shapes", "one that splits a feature", "one without splits")
    if len(shapes) == 1:
        own = _axes(ax, figsize or (7, 4.2), dpi)
        _draw_shape(own, shapes[0], level, output, _COLORS[0])
        _dress(own, shapes[0], title, ylabel, grid)
        return own
    if ax is not None:
        raise refuse("ax", "plot_shapes", "None for several features", ax)
    axes = _grid_of_axes(len(shapes), figsize, dpi)
    for own, shape in zip(axes, shapes, strict=True):
        _draw_shape(own, shape, level, output, _COLORS[0])
        _dress(own, shape, title, ylabel, grid)
    axes[0].figure.tight_layout()
    return axes


def plot_shape_compare(
    first: Any,
    second: Any,
    feature: int | str,
    ax: Any = None,
    *,
    labels: tuple[str, str] = ("first model", "second model"),
    level: float = 0.9,
    output: int = 0,
    figsize: tuple[float, float] | None = None,
    dpi: int | None = None,
    grid: bool = True,
    title: str = "@name@",
    ylabel: str = "Effect on the raw score",
) -> Any:
    """Plot the effect of one feature in two models, each with its error band.

    Parameters
    ----------
    first, second : estimator or Explanation
    feature : int or str
    ax : matplotlib.axes.Axes, optional
    labels : (str, str)
        For the legend.
    level, output, figsize, dpi, grid, title, ylabel
        As in `plot_shapes`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InvalidParameterError
        If a model does not split on the feature, or its bins or categories differ.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, delta=1e-6, schema=schema).fit(X, y)

    >>> other = dpboost.DPBoostClassifier(epsilon=8.0, delta=1e-6, schema=schema).fit(X, y)
    >>> axes = dpboost.plot_shape_compare(model, other, 0)  # needs matplotlib
    """
    owner = "plot_shape_compare"
    level = check_real("level", owner, level, low=0, high=1, low_open=True, high_open=True)
    shapes = [_explanation(model, owner, pairs=0).shape(feature) for model in (first, second)]
    if shapes[0].labels != shapes[1].labels:
        raise refuse("feature", owner, "of the same categories, or a number, in both", feature)
    own = _axes(ax, figsize or (7, 4.2), dpi)
    for position, (shape, color, label) in enumerate(zip(shapes, _COLORS, labels, strict=True)):
        _draw_shape(own, shape, level, output, color, label=label, shift=0.3 * position - 0.15)
    _dress(own, shapes[0], title, ylabel, grid)
    own.legend()
    return own


def plot_interactions(
    model: Any,
    pairs: Sequence[tuple[int | str, int | str]] | None = None,
    *,
    output: int = 0,
    max_num_pairs: int = 4,
    figsize: tuple[float, float] | None = None,
    dpi: int | None = None,
    title: str = "@first@ × @second@",
) -> Any:
    """Plot the interaction effects of pairs of features.

    Cells whose effect is within 1.64 standard errors of zero are hatched.

    Parameters
    ----------
    model : estimator or Explanation
    pairs : list of (int or str, int or str), optional
        The most important ones by default; others have to be among those that
        ``model.explain(pairs=...)`` returns.
    output : int, default=0
    max_num_pairs : int, default=4
        If no pairs are given.
    figsize, dpi, title
        As in LightGBM's functions; ``@first@`` and ``@second@`` stand for names.

    Returns
    -------
    ndarray of matplotlib.axes.Axes

    Raises
    ------
    InvalidParameterError
        If a pair does not exist, or the model has no interactions.

    Examples
    --------
    >>> import numpy as np
    >>> import dpboost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> model = dpboost.DPBoostClassifier(epsilon=2.0, delta=1e-6, schema=schema).fit(X, y)

    >>> axes = dpboost.plot_interactions(model)  # needs matplotlib
    """
    owner = "plot_interactions"
    check_integer("max_num_pairs", owner, max_num_pairs, low=1)
    explanation = _explanation(model, owner, pairs=max_num_pairs if pairs is None else 1000)
    shown = list(explanation.pairs[:max_num_pairs])
    if pairs is not None:
        shown = [_find_pair(explanation, pair) for pair in pairs]
    if not shown:
        raise refuse("model", owner, "one in which features meet", "a sum of single features")
    axes = _grid_of_axes(len(shown), figsize, dpi, wide=True)
    for own, pair in zip(axes, shown, strict=True):
        _draw_pair(own, pair, output)
        names = {"@first@": pair.first.name, "@second@": pair.second.name}
        text = title
        for mark, name in names.items():
            text = text.replace(mark, name)
        own.set_title(text)
    axes[0].figure.tight_layout()
    return axes


def _explanation(model: Any, owner: str, *, pairs: int) -> Any:
    """Return what a model says of itself, or what it has said."""
    if hasattr(model, "shapes") and hasattr(model, "pairs"):
        return model
    if hasattr(model, "explain"):
        return model.explain(pairs=pairs)
    must = "a fitted estimator of boosting, or what its explain() returns"
    raise refuse("model", owner, must, type(model).__name__)


def _find_pair(explanation: Any, pair: tuple[int | str, int | str]) -> Any:
    for own in explanation.pairs:
        sides = [{side.name, side.feature} for side in (own.first, own.second)]
        if (pair[0] in sides[0] and pair[1] in sides[1]) or (
            pair[1] in sides[0] and pair[0] in sides[1]
        ):
            return own
    raise refuse("pairs", "plot_interactions", "pairs that meet in a tree", pair)


def _axes(ax: Any, figsize: tuple[float, float], dpi: int | None) -> Any:
    """Return axes to draw on."""
    return new_axes(_WHAT, ax, figsize=figsize, dpi=dpi, layout="constrained")


def _grid_of_axes(
    n: int, figsize: tuple[float, float] | None, dpi: int | None, *, wide: bool = False
) -> Any:
    """Return so many axes, two or three in a line."""
    columns = min(n, 2 if wide else 3)
    lines = -(-n // columns)
    size = figsize or ((4.6 if wide else 3.8) * columns, (3.8 if wide else 3.0) * lines)
    axes = pyplot(_WHAT).subplots(lines, columns, figsize=size, dpi=dpi, squeeze=False)[1].ravel()
    for spare in axes[n:]:
        spare.set_visible(False)
    return axes[:n]


def _draw_shape(
    ax: Any,
    shape: Any,
    level: float,
    output: int,
    color: str,
    *,
    label: str | None = None,
    shift: float = 0.0,
) -> None:
    """Draw a staircase with its band, or points with whiskers for categories."""
    effect = shape.effect[output]
    low, high = shape.band(level, output)
    low, high = np.where(np.isnan(low), effect, low), np.where(np.isnan(high), effect, high)
    if not shape.is_categorical:
        ends = shape.edges
        ax.fill_between(
            ends,
            np.append(low[:-1], low[-2]),
            np.append(high[:-1], high[-2]),
            step="post",
            color=color,
            alpha=0.25,
            linewidth=0,
        )
        ax.step(ends, np.append(effect[:-1], effect[-2]), where="post", color=color, label=label)
        return
    known = len(shape.labels)
    positions = np.arange(known) + shift
    errors = [effect[:known] - low[:known], high[:known] - effect[:known]]
    ax.errorbar(
        positions, effect[:known], yerr=errors, fmt="o", color=color, capsize=3, label=label
    )


def _dress(ax: Any, shape: Any, title: str, ylabel: str, grid: bool) -> None:
    """Name axes and ticks."""
    ax.axhline(0.0, color="#777777", linewidth=0.8)
    ax.set_title(title.replace("@name@", shape.name))
    ax.set_ylabel(ylabel)
    if shape.is_categorical:
        known = len(shape.labels)
        every = max(1, -(-known // _MOST_LABELS))
        ticks = np.arange(0, known, every)
        shown = [shape.labels[tick] for tick in ticks]
        turned = sum(map(len, shown)) > 30
        ax.set_xticks(
            ticks,
            shown,
            rotation=45 if turned else 0,
            ha="right" if turned else "center",
            fontsize="small",
        )
    else:
        ax.locator_params(axis="x", nbins=5)
    ax.grid(grid)
    ax.set_axisbelow(True)


def _draw_pair(ax: Any, pair: Any, output: int) -> None:
    """Draw a pair as a map, what may be noise hatched."""
    effect = pair.effect[output][:-1, :-1]
    largest = max(float(np.abs(effect).max()), 1e-12)
    sides = [_map_edges(side) for side in (pair.first, pair.second)]
    mesh = ax.pcolormesh(
        sides[0], sides[1], effect.T, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="flat"
    )
    error = pair.error[output][:-1, :-1]
    if not np.isnan(error).any():
        unsure = np.ma.masked_where(np.abs(effect) > 1.64 * error, np.zeros_like(effect))
        from matplotlib.colors import ListedColormap

        clear = ListedColormap([(0.0, 0.0, 0.0, 0.0)])
        ax.pcolor(
            *sides, unsure.T, cmap=clear, hatch="////", edgecolor=(0, 0, 0, 0.25), linewidth=0
        )
    ax.figure.colorbar(mesh, ax=ax, label="Effect on the raw score")
    for side, axis, name in ((pair.first, ax.xaxis, "x"), (pair.second, ax.yaxis, "y")):
        if side.is_categorical:
            ticks = np.arange(len(side.labels))[:: max(1, -(-len(side.labels) // _MOST_LABELS))]
            axis.set_ticks(ticks, [side.labels[tick] for tick in ticks])
            ax.tick_params(axis=name, labelsize="small")
            if name == "x":
                for text in axis.get_ticklabels():
                    text.set(rotation=45, ha="right", rotation_mode="anchor")
    ax.set_xlabel(pair.first.name)
    ax.set_ylabel(pair.second.name)


def _map_edges(side: Any) -> Any:
    return np.arange(len(side.labels) + 1) - 0.5 if side.is_categorical else side.edges
