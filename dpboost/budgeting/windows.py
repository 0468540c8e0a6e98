"""Budgets of rows in periods: the periods that a fit reads, and the remaining budget of each.

Proof: docs/proofs/budgets.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError, check_integer, refuse
from dpboost.budgeting.budget_records import BudgetLine, Part, periods_of, spent
from dpboost.budgeting.holdout import HELD, TRAINED
from dpboost.budgeting.periods import PERIODS, Overlap
from dpboost.data.batches import READ_ONCE, Batches
from dpboost.data.containers import is_batched, is_distributed, unpack
from dpboost.data.fingerprint import RowHash
from dpboost.data.users import take_rows
from dpboost.privacy.accounting import Accountant
from dpboost.privacy.exact_arithmetic import as_fraction
from dpboost.privacy.ledger import BudgetExceededError

#: Periods, or models, that `Budget.next_fit` takes: docs/howto/next-months-rows.md has the figures.
_LAST = 4

# What fits models to public rows. Its room is above this one, and puts it here.
_EXPECTED: list[Callable[..., Any]] = []

if TYPE_CHECKING:
    from dpboost.budgeting.fraction_accountant import FractionAccountant


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Window:
    """A budget for fits that read the rows of some periods; created by `Budget.window`.

    Parameters
    ----------
    of_rows : array-like, optional
        Private: the period of each row.
    """

    budget: Any
    periods: tuple[str, ...]
    of_rows: Any = None

    def __repr__(self) -> str:
        return f"Window({', '.join(self.periods)} of the budget of {self.budget.title})"

    @property
    def part(self) -> Part:
        """The periods, as in a line of the records."""
        return tuple((PERIODS, name) for name in self.periods)

    def hashes(self, X: Any, key: bytes, call: str) -> dict[str, str]:
        """Return a hash of the rows of each period, to recognize a table.

        Batches are read an additional time; ``call`` is the name of the function, for messages.
        InvalidParameterError if rows are on a cluster or can be read only once, or the periods do
        not match.
        """
        if is_distributed(X):
            raise InvalidParameterError(
                f"{call} does not take rows of Dask or Spark under a budget with periods. Such a "
                "budget compares the rows of a period with those of earlier fits, in order. Pass "
                "their files to an estimator of one process, for example as a "
                "pyarrow.dataset.Dataset, or use a budget without periods."
            )
        found = {name: RowHash(key) for name in self.periods}
        parts, n_rows = _parts(X, call)
        named = self._named(n_rows, call)
        first = 0
        for part in parts:
            own = named[first : first + part.shape[0]]
            for name, rows in found.items():
                rows.add(take_rows(part, np.flatnonzero(own == name)))
            first += part.shape[0]
        return {name: rows.digest().hex() for name, rows in found.items()}

    def _named(self, n_rows: int, call: str) -> NDArray[Any]:
        """Return the period of each row, as text."""
        if self.of_rows is None:
            if len(self.periods) > 1:
                raise InvalidParameterError(
                    f"{call} reads several periods: Budget.window needs of_rows=..., the period "
                    "of each row."
                )
            return np.full(n_rows, self.periods[0], dtype=object)
        named = np.asarray(self.of_rows)
        if named.shape != (n_rows,):
            raise InvalidParameterError(
                "The 'of_rows' parameter of Budget.window must be 1-D, one period for each row of "
                f"the table that {call} gets."
            )
        named = np.array([str(each) for each in named.tolist()], dtype=object)
        if not set(named) <= set(self.periods):
            raise InvalidParameterError(
                "The 'of_rows' parameter of Budget.window must hold only names of its periods: "
                f"name every period whose rows {call} gets, or leave other rows out."
            )
        return named

    def _refusal(self, *args: Any) -> NoReturn:
        raise TypeError(
            "A window of a budget stays in its process: create it in the process of the rows."
        )

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refusal


@dataclass(frozen=True, kw_only=True)
class BudgetForecast:
    """The number of new periods that a budget covers; created by `Budget.forecast`.

    Parameters
    ----------
    n_fits : int or inf
        Fits that the budget still allows, one for each new period; infinite if periods that leave
        the window release enough budget for new ones.
    epsilon : float
        Epsilon of each fit alone, at the budget's delta, as ``dpboost.forecast`` uses it.
    fraction : Fraction
    window : int
    accuracy : Forecast or None
        Of one fit, by ``dpboost.forecast``, if public rows were given.

    Examples
    --------
    >>> import dpboost
    >>> budget = dpboost.Budget(epsilon=1, delta=1e-6, periods=1)
    >>> print(budget.forecast(fraction=0.5, window=3).n_fits)
    2
    """

    n_fits: float
    epsilon: float
    fraction: Fraction
    window: int
    accuracy: Any = None

    def __str__(self) -> str:
        many = "as many as there are new periods" if self.n_fits == math.inf else f"{self.n_fits}"
        line = (
            f"fits at {float(self.fraction):.6g} of the budget on the last {self.window} periods: "
            f"{many}; each has epsilon {self.epsilon:.6g} by itself"
        )
        return line if self.accuracy is None else f"{line}\n{self.accuracy}"


@dataclass(frozen=True, kw_only=True, eq=False)
class NextFit:
    """The next fit to the newest periods; created by `Budget.next_fit`.

    Parameters
    ----------
    budget : Budget
    periods : tuple of str
        Periods to fit, oldest first.
    fraction : Fraction
        Fraction of the budget for the fit.
    epsilon : float
        Epsilon of the fit alone, at the budget's delta.
    average : int
        Number of latest models, including this fit, whose predictions to average, without charge.

    Examples
    --------
    >>> import dpboost
    >>> budget = dpboost.Budget(epsilon=1, delta=1e-6, periods=1)
    >>> print(budget.next_fit("2026 Q1", "2026 Q2"))
    fit 2026 Q1, 2026 Q2 at 1/4 of the budget: epsilon 0.471171 by itself
    """

    budget: Any
    periods: tuple[str, ...]
    fraction: Fraction
    epsilon: float
    average: int

    def arguments(self, of_rows: Any = None) -> dict[str, Any]:
        """Return ``budget`` and ``fraction`` as arguments for ``fit`` and similar functions.

        Parameters
        ----------
        of_rows : array-like of shape (n_rows,), optional
            As in :meth:`Budget.window`: the period of each row of the fit.

        Examples
        --------
        >>> import dpboost
        >>> plan = dpboost.Budget(epsilon=1, delta=1e-6, periods=1).next_fit("2026 Q1")
        >>> plan.arguments()["fraction"]
        Fraction(1, 4)
        """
        window = self.budget.window(*self.periods, of_rows=of_rows)
        return {"budget": window, "fraction": self.fraction}

    def __str__(self) -> str:
        line = (
            f"fit {', '.join(self.periods)} at {self.fraction} of the budget: "
            f"epsilon {self.epsilon:.6g} by itself"
        )
        return line if self.average == 1 else f"{line}; average the last {self.average} models"


class WindowedBudget:
    """Mixin of `Budget` for periods."""

    _overlap: Overlap | None
    _accounts: Any
    account: Any
    if TYPE_CHECKING:

        @property
        def epsilon(self) -> Fraction:
            """Epsilon of everything together."""

        @property
        def delta(self) -> Fraction:
            """Delta of everything together."""

        @property
        def table(self) -> str | None:
            """Name of the table."""

        @property
        def remaining(self) -> dict[str, Fraction]:
            """Remaining fraction of each account."""

        @property
        def lines(self) -> tuple[BudgetLine, ...]:
            """Fraction of every fit."""

        @property
        def accountant(self) -> Accountant:
            """The accountant."""

    @property
    def periods(self) -> int | None:
        """Maximum number of periods of an individual; None without periods."""
        return None if self._overlap is None else self._overlap.most

    @property
    def overlap(self) -> Overlap | None:
        """The same, with the charge of rows in several periods."""
        return self._overlap

    @property
    def promise(self) -> str:
        """Return the user's declaration about rows of periods."""
        if self._overlap is None:
            return ""
        who, most = ("user", "") if self._overlap.of_users else ("person", ", one row in each")
        return f"no {who} has rows in more than {self._overlap.most} of its periods{most}"

    def window(self, *periods: str, of_rows: Any = None) -> Window:
        """Return this budget for a fit on the rows of some periods.

        Parameters
        ----------
        *periods : str
            Names of the periods, which are public. A name always means the same period.
        of_rows : array-like of shape (n_rows,), optional
            Name of the period of each row, private; optional for a single period.

        Returns
        -------
        Window
            Pass it as ``budget`` to a fit, an evaluation or a similar function.

        Raises
        ------
        InvalidParameterError
            If a name is not text, or the budget has no periods.

        Privacy
        -------
        Only these periods are charged. The first line that names a period fixes its rows: the
        ledger keeps their hash under a secret key, and refuses other rows for that period before
        anything is drawn. Labels are not compared, so fits may use several labels of the same
        rows. The user must ensure that no individual has rows in more periods than ``periods``,
        under any name.

        Examples
        --------
        >>> import dpboost
        >>> budget = dpboost.Budget(epsilon=1, delta=1e-6, periods=1)
        >>> budget.window("2026 Q1")
        Window(2026 Q1 of the budget of a table without a name)
        """
        owner = "Budget.window"
        if self._overlap is None:
            raise InvalidParameterError(
                f"{owner} needs a budget with periods: Budget(..., periods=b), if one individual "
                "has rows in at most b periods."
            )
        known = all(isinstance(name, str) and name for name in periods)
        # Names of the sides of a holdout mean these in the records.
        if not periods or not known or {TRAINED, HELD} & set(periods):
            raise refuse("periods", owner, "names of periods: text that is not empty", periods)
        return Window(budget=self, periods=tuple(dict.fromkeys(periods)), of_rows=of_rows)

    @property
    def left_of_periods(self) -> dict[str, dict[str, Fraction]]:
        """Remaining fraction of each account by period, for individuals with rows in it.

        The largest possible charge of an individual in the period determines it.
        """
        lines = self.lines
        names = named_periods(lines)
        paid = {name: spent(lines, self._overlap, name) for name in names}
        return {
            account: {name: 1 - paid[name].get(account, Fraction(0)) for name in names}
            for account in self._accounts()
        }

    def forecast(
        self,
        *,
        fraction: Any,
        window: int = 1,
        like: tuple[Any, Any] | None = None,
        n_rows: int | None = None,
        schema: Any = None,
        estimator: Any = None,
        metric: str | None = None,
        random_state: int | None = None,
    ) -> BudgetForecast:
        """Return the number of remaining fits, with one fit on the last periods per new period.

        With public rows it also forecasts the accuracy of one of them.

        Parameters
        ----------
        fraction : float or Fraction
            Fraction of the budget for each fit.
        window : int, default=1
            Periods that a fit reads: the new one, and those before it.
        like : (X, y), optional
            Public rows similar to the private ones.
        n_rows : int, optional
            Approximate number of rows of a fit over all of its periods; needed with ``like``.
        schema, estimator, metric, random_state : optional
            As in :func:`dpboost.forecast`. The estimator gets delta, relation and ``rows_per_user``
            of the budget; each public row then counts as a user.

        Returns
        -------
        BudgetForecast

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its domain, or the budget counts no periods.

        Privacy
        -------
        Reads the records, which are public; nothing is recorded. ``like`` is taken as public.

        Examples
        --------
        >>> import dpboost
        >>> budget = dpboost.Budget(epsilon=1, delta=1e-6, periods=2)
        >>> found = budget.forecast(fraction=0.25, window=2)
        >>> found.n_fits
        1
        >>> print(budget.forecast(fraction=0.125, window=2).n_fits)  # for ever
        inf
        """
        owner = "Budget.forecast"
        check_integer("window", owner, window, low=1)
        part = as_fraction("fraction", owner, fraction)
        if not 0 < part <= 1:
            raise refuse("fraction", owner, "in (0, 1]", fraction)
        if self._overlap is None:
            raise InvalidParameterError(
                f"{owner} needs a budget with periods, Budget(..., periods=1); for any other "
                "budget read its property `remaining`."
            )
        name, epsilon = self._of_fit(part)
        accuracy = None
        if like is not None:
            planned = {"schema": schema, "estimator": estimator, "metric": metric}
            (expected,) = _EXPECTED
            accuracy = expected(
                self, epsilon, like=like, n_rows=n_rows, random_state=random_state, **planned
            )
        elif (n_rows, schema, estimator, metric, random_state) != (None,) * 5:
            raise refuse(
                "like", owner, "public rows (X, y), which the other arguments describe", like
            )
        n_fits = _fits_left(self.lines, self._overlap, name, part, window)
        return BudgetForecast(
            n_fits=n_fits, epsilon=epsilon, fraction=part, window=window, accuracy=accuracy
        )

    def _of_fit(self, fraction: Fraction) -> tuple[str, float]:
        """Return the account of a fit, and the epsilon that a fraction of it has by itself."""
        accountant = self.accountant
        granted: FractionAccountant = self.account(accountant, fraction)
        account = "pure" if accountant.privacy_measure == "epsilon" else "Gaussian"
        return account, granted.epsilon(granted.allowance, granted.least_delta)

    def next_fit(self, *periods: str, window: int | None = None) -> NextFit:
        """Return the next fit: its periods and its fraction.

        It is a new model, at a fraction that every later period can use as well. By default it
        uses the last four periods, if their charge for an individual is at most that of four fits
        on one period each; otherwise it uses the newest period, and the last four models are
        averaged. See ``docs/howto/next-months-rows.md`` for measurements.

        Parameters
        ----------
        *periods : str
            Names of the available periods, oldest first.
        window : int, optional
            Maximum number of periods to fit. More periods have less noise; fewer adapt faster to
            drift. The default is four under Gaussian noise if no one has rows in two periods, or
            if users are protected, and one otherwise.

        Returns
        -------
        NextFit
            Periods with too little remaining budget are omitted. If less than the planned fraction
            remains for the newest period, the fraction is the remainder.

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its domain, or the budget counts no periods.
        BudgetExceededError
            If nothing remains for the newest period.

        Privacy
        -------
        Reads the records, which are public; nothing is recorded.

        Examples
        --------
        >>> import dpboost
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, quarter = rng.uniform(size=(600, 1)), np.repeat(["Q1", "Q2", "Q3"], 200)
        >>> y = (X[:, 0] > 0.5).astype(int)
        >>> budget = dpboost.Budget(epsilon=2, delta=1e-6, periods=1)
        >>> plan = budget.next_fit("Q1", "Q2", "Q3", window=2)
        >>> plan.periods
        ('Q2', 'Q3')
        >>> own = np.isin(quarter, plan.periods)
        >>> schema = {"bounds": {0: (0, 1)}, "classes": [0, 1]}
        >>> model = dpboost.DPBoostClassifier(schema=schema, verbosity=-1)
        >>> model = model.fit(X[own], y[own], **plan.arguments(quarter[own]))
        >>> budget.remaining
        {'Gaussian': Fraction(1, 2)}
        """
        owner = "Budget.next_fit"
        *older, newest = self.window(*periods).periods
        overlap = cast(Overlap, self._overlap)  # `window` has refused a budget without
        lines, name = self.lines, self._of_fit(Fraction(1))[0]
        if window is None:
            window = 1 if name == "pure" or overlap.several(_LAST) else _LAST
        check_integer("window", owner, window, low=1)
        everywhere = [line for line in lines if not periods_of(line.part)[0]]
        fresh, left = (
            1 - spent(own, overlap, newest).get(name, Fraction(0)) for own in (everywhere, lines)
        )
        fraction = min(overlap.lasting(window, name) * fresh, left)
        if fraction <= 0:
            raise BudgetExceededError(
                f"{owner}: of the period {newest!r} nothing is left. Go on with the model that "
                "you have, until there is a new period."
            )
        chosen = [newest]
        for period in reversed(older[-(window - 1) :] if window > 1 else []):
            line = _planned(name, fraction, [period, *chosen])
            if spent([*lines, line], overlap)[name] <= 1:
                chosen.insert(0, period)
        return NextFit(
            budget=self,
            periods=tuple(chosen),
            fraction=fraction,
            epsilon=self._of_fit(fraction)[1],
            average=_LAST if window == 1 else 1,
        )


def forecast_by(expected: Callable[..., Any]) -> None:
    """Register the function that `Budget.forecast` calls for the accuracy of a fit."""
    _EXPECTED[:] = [expected]


def _parts(X: Any, call: str) -> tuple[Iterable[Any], int]:
    """Return a table in the parts in which it comes, and its number of rows."""
    if is_batched(X):
        batches = X if isinstance(X, Batches) else Batches(X)
        if batches.once:
            reason = "a budget with periods compares them with those of earlier fits first"
            raise InvalidParameterError(READ_ONCE.format(reason=reason))
        return (batch.X for batch in batches), batches.n_rows
    X = unpack(X)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise refuse("X", call, "a table with rows and columns", type(X).__name__)
    return (X,), int(X.shape[0])


def named_periods(lines: Sequence[BudgetLine]) -> list[str]:
    """Return the periods of lines, in the order in which they were named."""
    return list(dict.fromkeys(name for line in lines for name in periods_of(line.part)[0]))


def check_tables(known: Mapping[str, str], given: Mapping[str, str]) -> None:
    """Raise if the rows of a period differ from earlier ones.

    ``known`` and ``given`` are hashes of the rows of periods, by name. The InvalidParameterError
    names the public period, but no row and no number of rows.

    Notes
    -----
    If the user passes the same rows for a period, this never happens, so it reveals nothing about
    them. Two periods with the same rows are not an error, because any two tables may be equal.
    """
    for name, own in given.items():
        if known.get(name, own) != own:
            raise InvalidParameterError(
                f"The rows of the period {name!r} differ from its rows in earlier fits of this "
                "budget. Pass the same table: the same order of rows, columns and types of "
                "columns. Put rows that arrived later into a new period."
            )


def _fits_left(
    lines: Sequence[BudgetLine], overlap: Overlap, account: str, fraction: Fraction, window: int
) -> float:
    """Return how many fits with a new period each still fit into an account.

    Periods of one person that are `window` apart share no fit. Anyone who pays most of all fits to
    come therefore has a like among those whose periods span ``most * window``: once so many fits
    were allowed, with one more window at each end, all are.
    """
    booked, last = list(lines), named_periods(lines)
    enough = (overlap.most + 2) * window
    for number in range(enough):
        last = [*last, f"new period {number}"]
        booked.append(_planned(account, fraction, last[-window:]))
        if spent(booked, overlap)[account] > 1:
            return number
    return math.inf


def _planned(account: str, fraction: Fraction, periods: Sequence[str]) -> BudgetLine:
    """Return the line that a fit to some periods would have."""
    return BudgetLine(
        what="a planned fit",
        account=account,
        privacy_measure="epsilon" if account == "pure" else "rho",
        fraction=fraction,
        part=tuple((PERIODS, name) for name in periods),
    )
