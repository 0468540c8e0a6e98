"""The result of `evaluate`: released metrics, curves and their plots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from dpboost._utils.displays import MOST_ROWS, data_frame, html_table, new_axes
from dpboost._utils.validation import InvalidParameterError, check_choice
from dpboost.evaluating.class_figures import Curve
from dpboost.evaluating.figures import TOO_FEW, Estimate
from dpboost.reporting.privacy_report import PrivacyReport

#: Heading of the scores of rows that no fit has learned from.
HELD_OUT = "rows held out of the fit"
_KINDS = ("roc", "precision_recall", "calibration", "groups")


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Metrics of a released model on private rows.

    Parameters
    ----------
    metrics : dict of str to Estimate
        Metrics of all rows; ``evaluation["auc"]`` returns one of them. Each has a 95 % confidence
        interval that includes noise and sampling error.
    groups : dict of group to dict of str to Estimate
        The same for the rows of each group; empty without groups. Rows without a declared group are
        under ``"other"``.
    curves : dict of str to dict of label to Curve
        ``"roc"``, ``"precision_recall"`` and ``"calibration"`` of each output of a classifier.
    report : PrivacyReport
        Report of the evaluation alone.
    notes : tuple of str
        Limitations of the metrics.
    held_out : bool, default=False
        Whether the rows were held out by the fit: `model.fit(..., holdout=...)`.
    transcript : Transcript or None
        Of the call, for `dpboost.replay`.

    Examples
    --------
    >>> import numpy as np
    >>> from dpboost import Budget, DPBoostRegressor, evaluate
    >>> X = np.random.default_rng(0).uniform(size=(2000, 1))
    >>> schema = dict(bounds={0: (0, 1)}, label_bounds=(0, 1))
    >>> model = DPBoostRegressor(schema=schema, n_estimators=30)
    >>> budget = Budget(epsilon=2, delta=1e-6)
    >>> model = model.fit(X, X[:, 0], budget=budget, fraction=1, holdout=0.3)
    >>> found = evaluate(model, budget=budget, fraction=1)
    >>> found["rmse"].low <= found["rmse"].value <= found["rmse"].high
    True
    """

    metrics: Mapping[str, Estimate]
    groups: Mapping[Any, Mapping[str, Estimate]] = field(default_factory=dict)
    curves: Mapping[str, Mapping[Any, Curve]] = field(default_factory=dict)
    report: PrivacyReport
    notes: tuple[str, ...] = ()
    held_out: bool = False
    transcript: Any = None

    def __getitem__(self, name: str) -> Estimate:
        return self.metrics[name]

    def __str__(self) -> str:
        lines = []
        for group, figures in islice(self._blocks.items(), MOST_ROWS):
            lines.append(f"{group}:")
            lines += [f"  {name:<18} {figure}" for name, figure in figures.items()]
        left = len(self._blocks) - MOST_ROWS
        if left > 0:
            lines.append(f"... and {left} more: to_frame() has all of them")
        return "\n".join([*lines, "", *self.notes, self.report.guarantee])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for notebooks: one row for all rows, and one for each group."""
        names = tuple(self.metrics)
        rows = [
            (str(group), *(f"{figures[name]:.3g}" for name in names))
            for group, figures in self._blocks.items()
        ]
        notes = ("In brackets intervals of 95 %.", *self.notes, self.report.guarantee)
        return html_table(("rows", *names), rows, notes=notes)

    def to_frame(self) -> Any:
        """Return all metrics as a data frame.

        Returns
        -------
        DataFrame
            One row for each metric of all rows and of each group, with ``rows``, ``metric``,
            ``value``, ``low``, ``high`` and ``noise_stddev``. Values are NaN if there are too few
            rows.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = ("value", "low", "high", "noise_stddev")
        lines = [
            (
                group,
                name,
                *(math.nan if figure.too_few else getattr(figure, each) for each in columns),
            )
            for group, figures in self._blocks.items()
            for name, figure in figures.items()
        ]
        return data_frame("Evaluation", ("rows", "metric", *columns), lines)

    @property
    def _blocks(self) -> dict[Any, Mapping[str, Estimate]]:
        """Figures by heading: all rows first, then the groups."""
        return {HELD_OUT if self.held_out else "all rows": self.metrics, **self.groups}

    def plot(self, kind: str | None = None, *, metric: str | None = None, ax: Any = None) -> Any:
        """Plot a curve of a classifier, or a metric by group.

        Parameters
        ----------
        kind : {"roc", "precision_recall", "calibration", "groups"}, optional
            The default is the ROC curve for a classifier, and groups for a regressor.
        metric : str, optional
            Metric of the groups; the first one by default.
        ax : matplotlib.axes.Axes, optional
            Axes of the plot; new axes by default.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        InvalidParameterError
            If there is no such curve or metric.
        ImportError
            If matplotlib is not installed.
        """
        owner = "Evaluation.plot"
        kind = kind or ("roc" if self.curves else "groups")
        check_choice("kind", owner, kind, _KINDS)
        if kind != "groups" and kind not in self.curves:
            raise InvalidParameterError(f"A regressor has no curve {kind!r}: plot 'groups'.")
        if kind == "groups":
            metric = check_choice(
                "metric", owner, metric or next(iter(self.metrics)), tuple(self.metrics)
            )
        ax = new_axes("Evaluation.plot()", ax, layout="constrained")
        if kind == "groups":
            assert metric is not None
            self._plot_groups(ax, metric)
        else:
            self._plot_curve(ax, kind)
        return ax

    def _plot_groups(self, ax: Any, metric: str) -> None:
        blocks = self._blocks
        for position, figures in enumerate(blocks.values()):
            figure = figures[metric]
            if figure.too_few:
                middle = ax.get_xaxis_transform()
                ax.text(position, 0.5, TOO_FEW, transform=middle, ha="center", rotation=90)
                continue
            ax.plot([position, position], [figure.low, figure.high], color="gray")
            ax.plot([position], [figure.value], marker="o", color="C0")
        # The heading of all rows is long.
        names = [str(name).replace(" of ", "\nof ") for name in blocks]
        ax.set_xticks(range(len(blocks)), names)
        ax.set(ylabel=metric, xlim=(-0.5, len(blocks) - 0.5))

    def _plot_curve(self, ax: Any, kind: str) -> None:
        axes = {
            "roc": ("false positives", "true positives"),
            "precision_recall": ("recall", "precision"),
            "calibration": ("predicted probability", "share of the label"),
        }
        for label, curve in self.curves[kind].items():
            drawn = ax.plot(curve.x, curve.y, marker=".", label=str(label))
            if curve.low is not None and curve.high is not None:
                color = drawn[0].get_color()
                ax.vlines(curve.x, curve.low, curve.high, color=color, alpha=0.5)
        if kind != "precision_recall":
            ax.plot([0, 1], [0, 1], linestyle=":", color="gray")
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=axes[kind][0], ylabel=axes[kind][1])
        ax.legend(title="label")
