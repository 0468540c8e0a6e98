"""A black-box lower bound of epsilon: train often on two tables and distinguish the models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from dpboost._utils.validation import InvalidParameterError, check_integer, check_real

#: Rows whose predictions tell models apart, unless the caller says what does.
N_PROBES = 8

#: Thresholds tried for each number of the statistic.
N_THRESHOLDS = 99

#: Permitted error of the bounds that events are chosen by: so small that no rare event is chosen
#: for the luck of the fits that choose, which would then show nothing on the others.
CHOICE_ERROR = 1e-9

Statistic = Callable[[Any], Any]


@dataclass(frozen=True, kw_only=True)
class EpsilonEstimate:
    """What the black box found.

    Parameters
    ----------
    epsilon : float
        Lower bound, with the given confidence: a mechanism that is (epsilon', delta)-private for
        a smaller epsilon' would show such outcomes in less than one run of the audit in
        ``1 / (1 - confidence)``. Zero where nothing was found, infinite never.
    mu : float
        The same for Gaussian differential privacy; a bound of its own event.
    delta : float
        Delta for which ``epsilon`` holds.
    n_runs : int
        Fits on each of the two tables.
    event : str
        What was counted, in words.
    counts : (int, int, int)
        Of the fits that did not choose the event: how many showed it on the table where it should
        be frequent, how many on the other one, and how many fits there were on each.
    gaussian_counts : (int, int, int)
        The same for the event of ``mu``.
    """

    epsilon: float
    mu: float
    delta: float
    confidence: float
    n_runs: int
    event: str
    counts: tuple[int, int, int]
    gaussian_counts: tuple[int, int, int]

    def epsilon_at(self, confidence: float) -> float:
        """Return the bound of epsilon at another confidence, from the same fits and event."""
        bound = _epsilon_bound(*self.counts, self.delta, (1 - confidence) / 2)
        return max(0.0, float(bound))

    def mu_at(self, confidence: float) -> float:
        """Return the bound of mu at another confidence, from the same fits and event."""
        return max(0.0, float(_mu_bound(*self.gaussian_counts, (1 - confidence) / 2)))

    def __str__(self) -> str:
        percent = f"{100 * self.confidence:g} %"
        return (
            f"epsilon >= {self.epsilon:.3f} with {percent} confidence from {self.n_runs} fits on "
            f"each table ({self.event}: {self.counts[0]} against {self.counts[1]} of "
            f"{self.counts[2]})"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Combination:
    """The linear combination that distinguishes the tables best under a Gaussian model.

    Each number is first replaced by the normal quantile of its rank among the fits that select
    the combination, so that neither its scale nor a heavy tail matters.
    """

    sorted: NDArray[np.float64]
    weights: NDArray[np.float64]

    @classmethod
    def fitted(cls, with_row: NDArray[np.float64], without: NDArray[np.float64]) -> _Combination:
        """Return Fisher's discriminant of the fits that choose."""
        ordered = np.sort(np.concatenate([with_row, without]), axis=0)
        start = cls(sorted=ordered, weights=np.zeros(ordered.shape[1]))
        sides = [start._quantiles(part) for part in (with_row, without)]
        difference = sides[0].mean(axis=0) - sides[1].mean(axis=0)
        within = sum(np.atleast_2d(np.cov(part, rowvar=False)) for part in sides)
        return cls(sorted=ordered, weights=np.linalg.pinv(within) @ difference)

    def added_to(self, statistic: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers with their sum as one more."""
        return np.column_stack([statistic, self._quantiles(statistic) @ self.weights])

    def _quantiles(self, statistic: NDArray[np.float64]) -> NDArray[np.float64]:
        result = np.empty(statistic.shape)
        for number, column in enumerate(self.sorted.T):
            own = statistic[:, number]
            ranks = np.searchsorted(column, own, "left") + np.searchsorted(column, own, "right")
            result[:, number] = norm.ppf((ranks / 2 + 0.5) / (len(column) + 1))
        return result


@dataclass(frozen=True, kw_only=True)
class _Event:
    """The event that a statistic is beyond a threshold, on the side of ``sign``."""

    number: int
    threshold: float
    sign: float
    first: bool

    def happens(self, statistic: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray(self.sign * statistic[:, self.number] >= self.sign * self.threshold)

    def counts(
        self, with_row: NDArray[np.float64], without: NDArray[np.float64]
    ) -> tuple[int, int]:
        """How often it happens where it should be frequent, and where it should be rare."""
        found = int(self.happens(with_row).sum()), int(self.happens(without).sum())
        return found if self.first else (found[1], found[0])

    def __str__(self) -> str:
        side = "at least" if self.sign > 0 else "at most"
        table = "with" if self.first else "without"
        return f"number {self.number} {side} {self.threshold:.6g}, frequent {table} the row"


def estimate_epsilon(
    make_estimator: Callable[[], Any],
    X: Any,
    y: Any,
    row: int,
    *,
    replacement: tuple[Any, Any] | None = None,
    n_runs: int = 5000,
    delta: float = 0.0,
    confidence: float = 0.95,
    statistic: Statistic | None = None,
) -> EpsilonEstimate:
    r"""Bound the epsilon of any estimator from below by training it many times.

    Parameters
    ----------
    make_estimator : callable
        Returns a new estimator with ``fit(X, y)`` and ``predict(X)``; ours or anyone's. It must
        draw fresh noise each time.
    X : table of shape (n_rows, n_features)
        An array or a DataFrame: the table with the row.
    y : array-like of shape (n_rows,)
        Its labels.
    row : int
        Position of the row that the neighboring table lacks.
    replacement : (row, label), optional
        What the neighbor has in its place instead.
    n_runs : int, default=5000
        Fits on each table. Half of them choose the event, the other half count it.
    delta : float, default=0
        Delta of the claim.
    confidence : float, default=0.95
        Of the bound, in (0.5, 1).
    statistic : callable, optional
        ``statistic(estimator)`` returns numbers; by default predictions of some rows of ``X``,
        the differing one first, as probabilities where there are any. An event is a threshold
        on one of them; the event of ``mu`` may also be one on a weighted sum of all.

    Notes
    -----
    With ``p`` the probability of an event on one table and ``q`` that on the other,
    :math:`(\varepsilon, \delta)`-privacy means :math:`p \le e^\varepsilon q + \delta`. Both
    are bounded by Clopper and Pearson, each with half of the permitted error; the event was
    chosen on other fits, so the confidence is exact. A fit that raises is an outcome like any
    other. The bound proves what it shows and nothing more: zero does not mean private.
    """
    check_integer("n_runs", "estimate_epsilon", n_runs, low=4)
    check_real("delta", "estimate_epsilon", delta, low=0, high=1, high_open=True)
    check_real(
        "confidence", "estimate_epsilon", confidence, low=0.5, high=1, low_open=True, high_open=True
    )
    labels = np.asarray(y)
    check_integer("row", "estimate_epsilon", row, low=0, high=len(labels) - 1)
    probe = _rows(
        X, [row, *(position for position in range(len(labels)) if position != row)][:N_PROBES]
    )
    tell = statistic or (lambda estimator: _predictions(estimator, probe))
    neighbor = _neighbor(X, labels, row, replacement)
    samples = _sample(make_estimator, ((X, labels), neighbor), n_runs, tell)
    half = n_runs // 2
    chosen = samples[0][:half], samples[1][:half]
    tested = samples[0][half:], samples[1][half:]
    error = (1 - confidence) / 2
    strict = min(CHOICE_ERROR, error)

    best = _best_event(*chosen, lambda p, q, trials: _epsilon_bound(p, q, trials, delta, strict))
    counts = (*best.counts(*tested), n_runs - half)
    together = _Combination.fitted(*chosen)
    chosen = together.added_to(chosen[0]), together.added_to(chosen[1])
    tested = together.added_to(tested[0]), together.added_to(tested[1])
    best_gaussian = _best_event(*chosen, lambda p, q, trials: _mu_bound(p, q, trials, strict))
    gaussian_counts = (*best_gaussian.counts(*tested), n_runs - half)
    return EpsilonEstimate(
        epsilon=max(0.0, float(_epsilon_bound(*counts, delta, error))),
        mu=max(0.0, float(_mu_bound(*gaussian_counts, error))),
        delta=delta,
        confidence=confidence,
        n_runs=n_runs,
        event=str(best),
        counts=counts,
        gaussian_counts=gaussian_counts,
    )


def clopper_pearson(successes: Any, trials: int, error: float) -> tuple[Any, Any]:
    """Bound probabilities from both sides, each bound wrong with at most the given error."""
    found = np.asarray(successes)
    low = beta.ppf(error, np.maximum(found, 1), trials - np.maximum(found, 1) + 1)
    most = np.minimum(found, trials - 1)
    high = beta.ppf(1 - error, most + 1, trials - most)
    return np.where(found > 0, low, 0.0), np.where(found < trials, high, 1.0)


def _epsilon_bound(frequent: Any, rare: Any, trials: int, delta: float, error: float) -> Any:
    p_low = clopper_pearson(frequent, trials, error)[0]
    q_high = clopper_pearson(rare, trials, error)[1]
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p_low - delta, 0.0) / q_high)


def _mu_bound(frequent: Any, rare: Any, trials: int, error: float) -> Any:
    """Lower bound of mu: a test with these errors beats every mu-private mechanism below it."""
    p_low = clopper_pearson(frequent, trials, error)[0]
    q_high = clopper_pearson(rare, trials, error)[1]
    return norm.ppf(p_low) - norm.ppf(np.minimum(q_high, 1 - 1e-12))


def _best_event(
    with_row: NDArray[np.float64],
    without: NDArray[np.float64],
    bound: Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.float64]],
) -> _Event:
    """Return the threshold, at a quantile of the fits that choose, with the largest bound."""
    best, highest = None, -math.inf
    levels = np.linspace(0, 1, N_THRESHOLDS + 2)
    trials = len(with_row)
    for number in range(with_row.shape[1]):
        sides = [np.sort(part[:, number]) for part in (with_row, without)]
        thresholds = np.unique(np.quantile(np.concatenate(sides), levels, method="nearest"))
        for sign in (1.0, -1.0):
            if sign > 0:
                counts = [trials - np.searchsorted(side, thresholds, "left") for side in sides]
            else:
                counts = [np.searchsorted(side, thresholds, "right") for side in sides]
            for first in (True, False):
                frequent, rare = counts if first else counts[::-1]
                bounds = bound(frequent, rare, trials)
                position = int(np.argmax(bounds))
                if best is None or bounds[position] > highest:
                    highest = float(bounds[position])
                    best = _Event(
                        number=number, threshold=float(thresholds[position]), sign=sign, first=first
                    )
    assert best is not None
    return best


def _sample(
    make_estimator: Callable[[], Any],
    tables: tuple[tuple[Any, Any], tuple[Any, Any]],
    n_runs: int,
    tell: Statistic,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Statistics of many fits on either table, the tables in turn; the last number is failure."""
    told: tuple[list[Any], list[Any]] = [], []
    error: Exception | None = None
    for _ in range(n_runs):
        for side, (X, y) in enumerate(tables):
            try:
                told[side].append(np.ravel(tell(make_estimator().fit(X, y))).astype(np.float64))
            except Exception as caught:  # noqa: BLE001 - that a fit fails can tell tables apart
                told[side].append(None)
                error = caught
    width = next((len(numbers) for side in told for numbers in side if numbers is not None), None)
    if width is None:
        assert error is not None
        raise error
    failed = np.append(np.zeros(width), 1.0)
    rows = tuple(
        np.array([failed if numbers is None else np.append(numbers, 0.0) for numbers in side])
        for side in told
    )
    return np.nan_to_num(rows[0]), np.nan_to_num(rows[1])


def _predictions(estimator: Any, probe: Any) -> NDArray[np.float64]:
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(probe), dtype=np.float64)[:, -1]
    return np.asarray(estimator.predict(probe), dtype=np.float64)


def _rows(X: Any, positions: list[int]) -> Any:
    return X.iloc[positions] if hasattr(X, "iloc") else np.asarray(X)[positions]


def _neighbor(
    X: Any, y: NDArray[Any], row: int, replacement: tuple[Any, Any] | None
) -> tuple[Any, NDArray[Any]]:
    """Return the table without the row, or with another one in its place."""
    if replacement is None:
        if len(y) < 2:
            raise InvalidParameterError(
                "The 'X' of estimate_epsilon needs two rows: the neighbor has one row less."
            )
        return _rows(X, [position for position in range(len(y)) if position != row]), np.delete(
            y, row
        )
    labels = y.copy()
    labels[row] = replacement[1]
    if hasattr(X, "iloc"):
        other = X.copy()
        other.iloc[row] = replacement[0]
        return other, labels
    table = np.array(X)
    table[row] = replacement[0]
    return table, labels
