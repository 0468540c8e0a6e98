"""Forecast of the accuracy of a private model, without private rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    roc_auc_score,
)
from sklearn.model_selection import KFold, StratifiedKFold

from dpboost._utils.displays import data_frame, html_table, new_axes
from dpboost._utils.validation import (
    InvalidParameterError,
    check_choice,
    check_integer,
    check_real,
    refuse,
)
from dpboost._utils.warnings import quiet
from dpboost.budgeting import windows
from dpboost.budgeting.open_budgets import is_open
from dpboost.data.containers import unpack
from dpboost.data.labels import check_same_length, read_class_labels, read_regression_labels
from dpboost.data.users import take_rows
from dpboost.estimators.base import PrivateEstimator
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.model_selection.planned_guarantee import (
    learns_categories,
    planned_capacity,
    planned_guarantee,
)
from dpboost.privacy.exact_arithmetic import number_of
from dpboost.reporting.epsilon_explanation import EpsilonExplanation
from dpboost.schema import Schema

Array = NDArray[np.float64]

_CLASS_METRICS = ("auc", "accuracy", "log_loss")
_NUMBER_METRICS = ("rmse", "mae")
# Public rows are split so often; each model learns from all of them but one part.
FOLDS = 5
LEAST_ROWS = 50
# A fit has its own noise: so many for each part.
REPEATS = 2
# Part of the gap between scores on rows that were learned from and others which more rows close.
LEARNED_SHARE = 1 / 5
# Standard deviations of a normal law that 90 % of it lie within.
DEVIATIONS = 1.644854


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The expected accuracy of a fit for each epsilon; returned by `forecast`.

    Parameters
    ----------
    metric : str or None
        Forecast metric; None without public rows.
    n_rows : int
    epsilon : tuple of float
    value, low, high : tuple of float
        The metric of a fit on new rows, and a band that should contain 9 of 10 fits. Empty without
        public rows.
    hidden_rows : tuple of float
        Standard deviation, in rows, of the noise of one row count that uses the whole epsilon. A
        pattern in fewer rows than that is hidden by noise, for any data.

    guarantees : tuple of EpsilonExplanation
        Bounds on an attacker, as in the report of the fit.

    Examples
    --------
    >>> from dpboost import forecast
    >>> found = forecast(n_rows=10_000, epsilon=[0.5, 1.0])
    >>> found.epsilon
    (0.5, 1.0)
    >>> found.metric is None  # without public rows, noise alone
    True
    """

    metric: str | None
    n_rows: int
    epsilon: tuple[float, ...]
    value: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    hidden_rows: tuple[float, ...] = ()
    guarantees: tuple[EpsilonExplanation, ...] = ()

    def __str__(self) -> str:
        lines = [self._head, f"{'epsilon':>9}  {'noise, in rows':>14}" + f"  {self.metric or ''}"]
        for position, epsilon in enumerate(self.epsilon):
            line = f"{epsilon:9g}  {self.hidden_rows[position]:14.3g}"
            if self.metric is not None:
                band = f"[{self.low[position]:.3g}, {self.high[position]:.3g}]"
                line += f"  {self.value[position]:.4g} {band}"
            lines.append(line)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head: tuple[str, ...] = ("epsilon", "noise, in rows")
        rows: list[tuple[str, ...]] = [
            (f"{epsilon:g}", f"{rows:.3g}")
            for epsilon, rows in zip(self.epsilon, self.hidden_rows, strict=True)
        ]
        if self.metric is not None:
            head = (*head, self.metric, "nine fits of ten")
            rows = [
                (*row, f"{value:.4g}", f"{low:.3g} to {high:.3g}")
                for row, value, low, high in zip(rows, self.value, self.low, self.high, strict=True)
            ]
        return html_table(head, rows, caption=self._head, numbers=frozenset(range(len(head))))

    def to_frame(self) -> Any:
        """Return a data frame with one row for each epsilon.

        Returns
        -------
        DataFrame
            With ``epsilon``, ``hidden_rows``, and with public rows ``value``, ``low`` and
            ``high``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = ["epsilon", "hidden_rows", "value", "low", "high"]
        columns = columns[:2] if self.metric is None else columns
        rows = zip(*(getattr(self, name) for name in columns), strict=True)
        return data_frame("Forecast", columns, rows)

    @property
    def _head(self) -> str:
        head = f"{self.n_rows} rows"
        if self.metric is None:
            head += (
                ": without public rows (like=...), this only compares the noise with the number of "
                "rows. The accuracy of a model also depends on the data."
            )
        return head

    def plot(self, ax: Any = None) -> Any:
        """Plot the metric with its band against epsilon; without public rows, noise over rows.

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
        ax = new_axes("Forecast.plot()", ax)
        if self.metric is None:
            shares = [rows / self.n_rows for rows in self.hidden_rows]
            ax.plot(self.epsilon, shares, marker=".")
            ax.set(yscale="log", ylabel="noise of one count, as a part of all rows")
        else:
            ax.plot(self.epsilon, self.value, marker=".")
            ax.fill_between(self.epsilon, self.low, self.high, alpha=0.3)
            ax.set(ylabel=f"{self.metric} of a fit")
        ax.set(xscale="log", xlabel="epsilon")
        return ax


def forecast(
    *,
    schema: Any = None,
    n_rows: int,
    epsilon: Sequence[float],
    like: tuple[Any, Any] | None = None,
    estimator: Any = None,
    metric: str | None = None,
    random_state: int | None = None,
) -> Forecast:
    r"""Forecast the accuracy of a private fit at each epsilon, from public rows only.

    Parameters
    ----------
    schema : Schema, dict or path, optional
        Planned schema of the private table.
    n_rows : int
        Approximate number of private rows; a public number.
    epsilon : sequence of float
        Positive, finite.
    like : (X, y), optional
        Public rows similar to the private ones, at least 50. Without them the result only compares
        the noise with the number of rows.
    estimator : DPBoostClassifier or DPBoostRegressor, optional
        Planned estimator, not fitted. Its epsilon and schema are replaced. The default is a
        classifier if the schema has classes, else a regressor.
    metric : {"auc", "accuracy", "log_loss"} or {"rmse", "mae"}, optional
        AUC of a classifier by default, RMSE of a regressor.
    random_state : int, optional
        Seed of splits and resampling; the noise is always fresh.

    Returns
    -------
    Forecast
        Numbers, text by ``str``, and ``plot()``.

    Raises
    ------
    InvalidParameterError
        For invalid arguments.

    Privacy
    -------
    Reads no private rows and charges nothing. ``like`` is assumed to be public.

    Notes
    -----
    Public rows are split into five parts. For each, a model is fitted to rows of the other parts,
    drawn with replacement up to ``n_rows``, so that the noise has its planned size. A model
    of few distinct rows generalizes worse than a model of many. Its scores :math:`l` on the
    :math:`m` training rows and :math:`t` on the left-out part differ by this loss, but mostly by
    memorized rows:

    .. math:: s = t + \frac{1}{5} (l - t) (1 - m / n)

    The factor of a fifth was the most accurate on other divisions of the tables of the benchmark
    ``budget``. The public rows limit the precision of a forecast: the AUC of one model on 1,000 of
    them had a standard deviation of .014 there.

    The band includes the noise of a fit and the differences between the parts. It does not include
    differences between public and private rows.

    Examples
    --------
    >>> from dpboost import forecast
    >>> found = forecast(n_rows=10_000, epsilon=[0.5, 1.0, 2.0])
    >>> found.hidden_rows[0] > found.hidden_rows[1]
    True
    """
    size = check_integer("n_rows", "forecast", n_rows, low=1)
    if isinstance(epsilon, (int, float)):
        epsilon = [epsilon]
    asked = tuple(check_real("epsilon", "forecast", each, low=0, low_open=True) for each in epsilon)
    if not asked:
        raise refuse("epsilon", "forecast", "a list with a number", list(epsilon))
    if is_open(estimator):
        raise InvalidParameterError(
            "forecast fits models to public rows and charges no budget: call it outside of "
            "`with Budget(...)`, with an estimator that was not pickled inside."
        )
    declared = Schema.coerce(schema)
    planned = _planned(estimator, declared)
    delta = float(planned.delta)
    terms = (planned.recipe, planned.rows_per_user)
    lists = _learned_lists(planned, declared, like)
    hidden = tuple(_hidden_rows(each, delta, *terms) for each in asked)
    guarantees = tuple(
        planned_guarantee(terms[0], each, delta, terms[1], "forecast", lists) for each in asked
    )
    if like is None:
        if metric is not None:
            raise refuse("metric", "forecast", "None without public rows in 'like'", metric)
        return Forecast(
            metric=None, n_rows=size, epsilon=asked, hidden_rows=hidden, guarantees=guarantees
        )
    names = _CLASS_METRICS if is_classifier(planned) else _NUMBER_METRICS
    name = check_choice("metric", "forecast", metric or names[0], names)
    X, y = _public_rows(like, planned)
    seed = (
        None
        if random_state is None
        else check_integer("random_state", "forecast", random_state, low=0)
    )
    planned.set_params(schema=declared, verbosity=-1)
    results = [
        _expected(planned.set_params(epsilon=each), X, y, size, name, np.random.default_rng(seed))
        for each in asked
    ]
    value, low, high = (tuple(column) for column in zip(*results, strict=True))
    return Forecast(
        metric=name,
        n_rows=size,
        epsilon=asked,
        value=value,
        low=low,
        high=high,
        hidden_rows=hidden,
        guarantees=guarantees,
    )


def _under_budget(
    budget: Any, epsilon: float, *, schema: Any, estimator: Any, **planned: Any
) -> Forecast:
    """Forecast one fit under a budget, with the epsilon of the fit alone."""
    declared = Schema.coerce(schema)
    own = _planned(estimator, declared).set_params(
        delta=float(budget.delta),
        neighbors=budget.neighbors,
        rows_per_user=budget.rows_per_user,
    )
    return forecast(schema=declared, epsilon=[epsilon], estimator=own, **planned)


windows.forecast_by(_under_budget)


def _planned(estimator: Any, schema: Schema) -> Any:
    """Return a new estimator, as planned or by the schema."""
    if estimator is None:
        return DPBoostClassifier() if schema.classes is not None else DPBoostRegressor()
    if not isinstance(estimator, PrivateEstimator):
        raise refuse("estimator", "forecast", "a DPBoostClassifier or DPBoostRegressor", estimator)
    return clone(estimator)


def _learned_lists(planned: Any, declared: Schema, like: Any) -> int:
    """Return the number of estimated lists of the planned fit: of categories, and of classes."""
    table = like[0] if isinstance(like, tuple) and like else None
    known = set(map(str, declared.categories))
    assumed = planned.assume_public
    open_types = [
        name
        for name, dtype in zip(
            getattr(table, "columns", ()), getattr(table, "dtypes", ()), strict=True
        )
        if type(dtype).__name__ == "CategoricalDtype" and str(name) not in known
    ]
    categories = learns_categories(declared) or (bool(open_types) and "categories" not in assumed)
    classes = is_classifier(planned) and declared.classes is None and "classes" not in assumed
    return int(categories) + int(classes)


def _hidden_rows(epsilon: float, delta: float, recipe: Any, rows_per_user: int | None) -> float:
    """Return the deviation of the noise of one count that the whole of epsilon is spent on."""
    measure, capacity = planned_capacity(recipe, epsilon, delta, rows_per_user, "forecast")
    whole = float(number_of(capacity))
    if not whole:
        return math.inf
    deviations = {"mu squared": 1 / math.sqrt(whole), "rho": 1 / math.sqrt(2 * whole)}
    return deviations.get(measure, math.sqrt(2) / whole)


def _public_rows(like: Any, estimator: Any) -> tuple[Any, NDArray[Any]]:
    """Return the public table and its labels."""
    if not isinstance(like, tuple) or len(like) != 2:
        raise refuse("like", "forecast", "a tuple (X, y) of public rows", type(like).__name__)
    X = unpack(like[0])
    X = X if hasattr(X, "shape") else np.asarray(X)
    labels = (read_class_labels if is_classifier(estimator) else read_regression_labels)(like[1])
    check_same_length(int(X.shape[0]), labels)
    if len(labels) < LEAST_ROWS:
        raise refuse("like", "forecast", f"of at least {LEAST_ROWS} public rows", len(labels))
    if is_classifier(estimator):
        sizes = np.unique(labels, return_counts=True)[1]
        if len(sizes) < 2 or sizes.min() < FOLDS:
            raise InvalidParameterError(
                f"The 'like' argument of forecast must have at least {FOLDS} public rows of each "
                "of two or more classes."
            )
    return X, labels


def _expected(
    estimator: Any, X: Any, y: NDArray[Any], n_rows: int, metric: str, random: np.random.Generator
) -> tuple[float, float, float]:
    """Return the score that a fit is expected to have, and the ends of its band."""
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    parts = kind(FOLDS, shuffle=True, random_state=int(random.integers(2**31)))
    scores = np.empty((FOLDS, REPEATS))
    for position, (learned, left) in enumerate(parts.split(np.zeros(len(y)), y)):
        for again in range(REPEATS):
            drawn = learned[random.integers(0, len(learned), n_rows)]
            with warnings.catch_warnings(), quiet():  # these rows are public
                warnings.simplefilter("ignore")
                # Where users are protected each row is one, with the noise for all of its rows.
                users = None if estimator.rows_per_user is None else np.arange(n_rows)
                model = clone(estimator).fit(take_rows(X, drawn), y[drawn], user_ids=users)
                test = _score(model, take_rows(X, left), y[left], metric)
                train = _score(model, take_rows(X, learned), y[learned], metric)
            missed = min(len(learned) / n_rows, 1.0)
            scores[position, again] = test + LEARNED_SHARE * (train - test) * (1 - missed)
    noise = float(scores.var(axis=1, ddof=1).mean())
    parts_differ = float(scores.mean(axis=1).var(ddof=1)) / FOLDS
    value = float(scores.mean())
    reach = DEVIATIONS * math.sqrt(noise + parts_differ)
    most = 1.0 if metric in ("auc", "accuracy") else math.inf
    return value, max(value - reach, 0.0), min(value + reach, most)


def _score(model: Any, X: Any, y: NDArray[Any], metric: str) -> float:
    """Return a score of public rows."""
    if metric == "rmse":
        return math.sqrt(mean_squared_error(y, model.predict(X)))
    if metric == "mae":
        return float(mean_absolute_error(y, model.predict(X)))
    classes = model.classes_.tolist()
    probability = model.predict_proba(X)
    if metric == "accuracy":
        return float(accuracy_score(y, model.classes_[probability.argmax(axis=1)]))
    if metric == "log_loss":
        return float(log_loss(y, probability, labels=classes))
    if len(classes) == 2:
        return float(roc_auc_score(y == classes[1], probability[:, 1]))
    areas = [
        roc_auc_score(y == label, probability[:, position])
        for position, label in enumerate(classes)
        if 0 < np.count_nonzero(y == label) < len(y)
    ]
    return float(np.mean(areas))
