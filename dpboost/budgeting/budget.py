"""One budget for all fits on a table. Proof: docs/proofs/budgets.md."""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from dpboost._utils.parameter_effects import EFFECTS, OF_CALLS, with_effects
from dpboost._utils.validation import InvalidParameterError, check_choice, check_integer, refuse
from dpboost.budgeting.budget_display import ShownBudget
from dpboost.budgeting.budget_mark import BudgetMark
from dpboost.budgeting.budget_records import (
    MEASURES,
    TABLES,
    BudgetLine,
    BudgetRecords,
    Part,
    check_closing,
    percent,
    periods_of,
    spent,
    written_fraction,
)
from dpboost.budgeting.charges import ChargedBudget
from dpboost.budgeting.fraction_accountant import FractionAccountant
from dpboost.budgeting.holdout import HeldRows
from dpboost.budgeting.periods import MOST_PERIODS, Overlap
from dpboost.budgeting.windows import WindowedBudget, check_tables
from dpboost.privacy.accounting import Accountant, GDPAccountant, PureAccountant, ZCDPAccountant
from dpboost.privacy.exact_arithmetic import (
    DELTA_SHARE,
    PrivacyCost,
    as_budget,
    as_fraction,
    epsilon_of,
    number_of,
)
from dpboost.privacy.ledger import BudgetExceededError
from dpboost.privacy.sensitivity.bound import Neighbors

#: A fit learns at most so many lists, each with a stability histogram.
MOST_HISTOGRAMS = 2
_ACCOUNTANTS: dict[str, Accountant] = {
    each.privacy_measure: each for each in (PureAccountant(), ZCDPAccountant(), GDPAccountant())
}

# Budgets whose `with` block is running, in any thread: helper threads of a search are inside too.
OPEN: list[Budget] = []
KNOWN: weakref.WeakSet[Budget] = weakref.WeakSet()


def random_identity() -> str:
    """Return the public name of a new budget, which no other one has."""
    return secrets.token_hex(16)


class Budget(ShownBudget, WindowedBudget, ChargedBudget):
    r"""A privacy budget for all fits and scores on a table, with a ledger of their charges.

    ``model.fit(X, y, budget=budget, fraction=.6)`` uses a fraction of the budget; so does
    ``model.fit(X, y, fraction=.6)`` inside ``with Budget(...) as budget:``. The budget replaces
    ``epsilon`` and ``delta`` of the estimator.

    Parameters
    ----------
    epsilon : float or Fraction
        Total of all fits and scores, positive and finite. A float, here and below, is read as the
        decimal that it prints.
    delta : float or Fraction
        Total of all fits and scores, in [0, 1).
    neighbors : {"add_remove", "replace"}, default="add_remove"
        Neighboring relation. Every fit must use the same.
    rows_per_user : int, optional
        Maximum rows of one user, to protect users. Every fit must use the same.
    pure_epsilon : float or Fraction, optional
        Part of ``epsilon`` for fits that account in pure epsilon (``DPTreeClassifier`` and the
        recipes of the papers), at most ``epsilon``. The remainder is for Gaussian noise. The
        default is ``epsilon`` if ``delta`` is 0, and 0 otherwise.
    periods : int, optional
        Maximum number of periods (months, quarters, sites) in which one individual, or user, may
        have rows; 1 if no one has rows in two periods. Every fit then names the periods that it
        reads, by ``budget.window("2026 Q1", ...)``, and is charged to these periods only. Without
        ``rows_per_user`` an individual has at most one row in each period.
    table : str, optional
        Name of the table in reports.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its domain.

    Privacy
    -------
    All releases under the budget together are (epsilon, delta)-differentially private, for the one
    table to which the user applies it. A fit records its whole fraction before its first draw.
    Charges are never refunded, not even after an error. An unused part stays recorded, with one
    exception: if held-out rows may stop a fit, the part that it reserved and did not charge is
    free again at its end.

    A budget cannot be copied or pickled. With a file (:meth:`save`) the line is on disk before the
    first draw, and several processes can charge one file. A copy of that file is a second budget,
    which the library cannot detect.

    An estimator or a `Dataset` that is pickled inside ``with Budget(...)`` refers to the budget.
    After unpickling, its fits and scores are charged to the file, or refused if there is no file.
    A function that creates its own estimator in another process has no such reference: it opens
    the file itself, ``with Budget.load(path):``.

    Notes
    -----
    A budget has two accounts, which are fixed when it is opened: pure, with :math:`\varepsilon_p`
    (``pure_epsilon``), and Gaussian, with the largest :math:`\mu^2` such that
    :math:`\varepsilon_G(\mu, \delta_G) \le \varepsilon - \varepsilon_p`. A fraction refers to the
    account that the fit's recipe needs, in its unit: five fits at a fifth use the whole account. A
    single fit at a fifth of the Gaussian account has an epsilon of more than a fifth, because
    :math:`\mu^2` adds up and :math:`\varepsilon` does not.

    Fits may depend on earlier releases, from either account. Inside an account this is a privacy
    filter (Rogers et al., NeurIPS 2016; Smith and Thakurta, COLT 2022). The two accounts are
    concurrent interactive mechanisms with fixed parameters, whose guarantees add up (Vadhan and
    Zhang, STOC 2023). A split of epsilon that depends on releases would have no such proof.

    A fifth of delta is reserved for stability histograms (estimated categories and classes), or all
    of it if there is only a pure account; a fit may use its fraction of that.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 2))
    >>> y = (X[:, 0] > 0.5).astype(int)

    >>> import dpboost
    >>> schema = {"bounds": {0: (0, 1), 1: (0, 1)}, "classes": [0, 1]}
    >>> with dpboost.Budget(epsilon=2.0, delta=1e-6, table="trial") as budget:
    ...     small = dpboost.DPBoostClassifier(schema=schema, n_estimators=10)
    ...     small = small.fit(X, y, fraction=0.25)
    ...     large = dpboost.DPBoostClassifier(schema=schema).fit(X, y, fraction=0.75)
    >>> budget.epsilon_spent <= 2
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | Fraction,
        delta: float | Fraction,
        neighbors: str = "add_remove",
        rows_per_user: int | None = None,
        pure_epsilon: float | Fraction | None = None,
        periods: int | None = None,
        table: str | None = None,
    ) -> None:
        whole = number_of(as_budget("epsilon", "Budget", epsilon))
        if not isinstance(whole, Fraction):
            raise refuse("epsilon", "Budget", "positive and finite", epsilon)
        self._epsilon = whole
        self._delta = as_fraction("delta", "Budget", delta)
        if not 0 <= self._delta < 1:
            raise refuse("delta", "Budget", "in [0, 1)", delta)
        choices = tuple(relation.value for relation in Neighbors)
        self._neighbors = check_choice("neighbors", "Budget", neighbors, choices)
        self._rows_per_user = rows_per_user
        if rows_per_user is not None:
            check_integer("rows_per_user", "Budget", rows_per_user, low=1)
        self._pure = Fraction(0) if self._delta else whole
        if pure_epsilon is not None:
            self._pure = as_fraction("pure_epsilon", "Budget", pure_epsilon)
            if not 0 <= self._pure <= whole:
                raise refuse("pure_epsilon", "Budget", "in [0, epsilon]", pure_epsilon)
            if self._delta == 0 and self._pure < whole:
                raise refuse("pure_epsilon", "Budget", "epsilon where delta is 0", pure_epsilon)
        self._overlap = None
        if periods is not None:
            most = check_integer("periods", "Budget", periods, low=1, high=MOST_PERIODS)
            if neighbors == Neighbors.REPLACE.value:
                raise InvalidParameterError(
                    "Budget(periods=...) needs neighbors='add_remove': a replaced row "
                    "may move to another period. Two periods then change, which the charge of one "
                    "period does not cover."
                )
            self._overlap = Overlap(most=most, of_users=rows_per_user is not None)
        if table is not None and (not isinstance(table, str) or not table):
            raise refuse("table", "Budget", "a string that is not empty, or None", table)
        self._table = table
        self._identity: str | None = random_identity()
        self._records = BudgetRecords()
        self._counts_in: str | None = None
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.token = secrets.token_hex(16)
        self._seen: list[weakref.ref[Any]] = []
        self._held: weakref.WeakKeyDictionary[Any, tuple[HeldRows, Part]] = (
            weakref.WeakKeyDictionary()
        )
        KNOWN.add(self)

    # -- what anybody may read -----------------------------------------------------------------

    @property
    def epsilon(self) -> Fraction:
        """Epsilon of all releases together."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """Delta of all releases together."""
        return self._delta

    @property
    def neighbors(self) -> str:
        """The relation."""
        return self._neighbors

    @property
    def rows_per_user(self) -> int | None:
        """Maximum rows of a user, if users are protected."""
        return self._rows_per_user

    @property
    def pure_epsilon(self) -> Fraction:
        """Part of epsilon for pure accounting."""
        return self._pure

    @property
    def table(self) -> str | None:
        """Name of the table."""
        return self._table

    @property
    def lines(self) -> tuple[BudgetLine, ...]:
        """Fraction of every fit, in the order of recording."""
        with self._lock:
            self._records.read_again()
            return tuple(self._records.lines)

    @property
    def remaining(self) -> dict[str, Fraction]:
        """Remaining fraction of each account."""
        paid = spent(self.lines, self._overlap)
        return {name: 1 - paid.get(name, Fraction(0)) for name in self._accounts()}

    @property
    def epsilon_spent(self) -> float:
        """Epsilon at ``delta`` of everything recorded so far, used or not."""
        epsilon = Fraction(0)
        gaussian = 0.0
        paid = spent(lines := self.lines, self._overlap)
        if "pure" in paid:
            epsilon = paid["pure"] * self._pure
        if "Gaussian" in paid:
            accountant = _accountant_of(lines)
            capacity = accountant.capacity(
                epsilon_of(self._epsilon - self._pure), self._conversion_delta
            )
            total = capacity * paid["Gaussian"]
            gaussian = accountant.epsilon(total, self._conversion_delta)
        return min(float(epsilon) + gaussian, float(self._epsilon))

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Move the records to a new file, which gets every later line before the draw of its fit.

        Parameters
        ----------
        path : path
            New file, readable by its owner only. Locks need a local disk.

        Raises
        ------
        InvalidParameterError
            If the file exists or cannot be created, or the budget already has a file.

        Notes
        -----
        The file is an SQLite database. It is locked while a line is written and synced, so several
        processes may load it and share the budget.
        """
        self.check_process()
        with self._lock:
            if self._records.path is not None:
                raise InvalidParameterError(
                    f"This budget is already saved in {os.fspath(self._records.path)!r}: it "
                    "cannot be in two files."
                )
            self._records.create(path, self.terms)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Budget:
        """Load the budget in a file.

        Parameters
        ----------
        path : path
            File written by :meth:`save`.

        Returns
        -------
        Budget

        Raises
        ------
        InvalidParameterError
            If the file does not exist, cannot be read, or is not a budget file.
        """
        records, terms = BudgetRecords.load(path)
        try:
            budget: Budget = cls.of_terms(terms)
            for division, name in {pair for line in records.lines for pair in line.part[:1]}:
                if division == TABLES:
                    budget.disjoint(name)
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            raise InvalidParameterError(
                f"The 'path' parameter of Budget.load is {os.fspath(path)!r}, which does not hold "
                f"the terms of a budget ({error}). Pass the file that Budget.save wrote."
            ) from error
        budget._records = records
        return budget

    @property
    def terms(self) -> dict[str, Any]:
        """The parameters of the budget, exact fractions as text."""
        return {
            "epsilon": str(self._epsilon),
            "delta": str(self._delta),
            "neighbours": self._neighbors,  # as in stored files
            "rows_per_user": self._rows_per_user,
            "pure_epsilon": str(self._pure),
            "table": self._table,
            **({} if self._overlap is None else {"periods": self._overlap.most}),
            **self._named,
        }

    @property
    def _named(self) -> dict[str, str]:
        """Random public identifier of this budget; old files have none."""
        return {} if self._identity is None else {"identity": self._identity}

    @classmethod
    def of_terms(cls, terms: Mapping[str, Any]) -> Budget:
        """Return a new budget with the parameters that `terms` gives."""
        exact = ("epsilon", "delta", "pure_epsilon")
        given = {**terms, **{name: written_fraction(terms[name]) for name in exact}}
        identity = given.pop("identity", None)
        budget = cls(neighbors=given.pop("neighbours"), **given)
        budget._identity = identity
        return budget

    @property
    def mark(self) -> BudgetMark:
        """The identifier of this budget for another process; the file is not read."""
        path, n_lines = self._records.path, len(self._records.lines)
        return BudgetMark(
            token=self.token,
            title=self.title,
            path=None if path is None else os.fspath(path),
            n_lines=n_lines,
            digest=self._records.digest(self.terms, n_lines),
        )

    def is_named_by(self, mark: BudgetMark) -> bool:
        """Return whether a mark is of this budget, or of another object on the same file."""
        path = self._records.path
        return mark.token == self.token or (path is not None and mark.path == os.fspath(path))

    def agrees(self, mark: BudgetMark) -> bool:
        """Return whether these records continue the marked ones."""
        return self._records.digest(self.terms, mark.n_lines) == mark.digest

    # -- taking of it --------------------------------------------------------------------------

    def __enter__(self) -> Budget:
        self.check_process()
        if self in OPEN:
            raise InvalidParameterError("This budget is already open.")
        OPEN.append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        OPEN.remove(self)

    def account(self, accountant: Accountant, fraction: Fraction) -> FractionAccountant:
        """Return the accountant of a fit that uses a fraction of its account.

        It is the accountant of the fit's recipe; InvalidParameterError if the budget has no such
        account.
        """
        name = MEASURES[accountant.privacy_measure]
        if name not in self._accounts():
            cure = (
                "reserve a part of epsilon for it, Budget(..., pure_epsilon=...)"
                if name == "pure"
                else "take delta > 0 and a pure_epsilon below epsilon"
            )
            raise InvalidParameterError(
                f"The budget of {self.title} has no {name} account, which this recipe needs: "
                f"{cure}."
            )
        epsilon = epsilon_of(self._pure if name == "pure" else self._epsilon - self._pure)
        return FractionAccountant(
            inner=accountant,
            allowance=accountant.capacity(epsilon, self._conversion_delta) * fraction,
            fraction=fraction,
            account_epsilon=epsilon,
            least_delta=self._delta - self.failure_delta(fraction),
        )

    def total(self, accountant: Accountant) -> PrivacyCost:
        """Return the capacity of an account in the unit of an accountant.

        Parameters
        ----------
        accountant : Accountant
            Of a fit under this budget.
        """
        inner = _ACCOUNTANTS[accountant.privacy_measure]
        return self.account(inner, Fraction(1)).allowance

    @property
    def accountant(self) -> Accountant:
        """The accountant of a release that may use any account: Gaussian if there is one."""
        if "Gaussian" not in self._accounts():
            return PureAccountant()
        if any(line.account == "Gaussian" for line in self.lines):
            return _accountant_of(self.lines)
        return GDPAccountant() if self._counts_in is None else accountant_in(self._counts_in)

    def count_in(self, measure: str) -> None:
        """Set the measure of an empty Gaussian account, for a transcript."""
        self._counts_in = measure

    def record(self, own: Sequence[int] | None = None) -> dict[str, Any]:
        """Return terms and lines as plain data, for a certificate.

        ``own`` are positions of the lines of one fit, to list only these. Fractions are strings. A
        line is ``"booked"``, or ``"closed"`` if a later line with the ``"charged"`` amount replaces
        it.
        """
        lines = self.lines
        shown = [
            position
            for position, line in enumerate(lines)
            if own is None or position in own or line.closes in own
        ]
        closed = {lines[position].closes for position in shown}
        left = self._conversion_delta
        measures = dict.fromkeys(lines[position].privacy_measure for position in shown)
        inner = {measure: accountant_in(measure) for measure in measures}
        capacities = {
            measure: self.account(each, Fraction(1)).allowance for measure, each in inner.items()
        }
        orders = {
            measure: each.witness(capacities[measure], left) for measure, each in inner.items()
        }
        return {
            "epsilon": str(self._epsilon),
            "delta": str(self._delta),
            "pure_epsilon": str(self._pure),
            "conversion_delta": str(left),
            "all_lines": own is None,
            **({} if self._overlap is None else {"periods": self._overlap.plain()}),
            **self._named,
            "accounts": [
                {
                    "account": MEASURES[measure],
                    "measure": measure,
                    "capacity": str(capacity),
                    "alpha": None if orders[measure] is None else str(orders[measure]),
                }
                for measure, capacity in capacities.items()
            ],
            "lines": [
                {
                    "what": line.what,
                    "account": line.account,
                    "measure": line.privacy_measure,
                    "fraction": str(line.fraction),
                    "allowance": str(capacities[line.privacy_measure] * line.fraction),
                    "part": [list(pair) for pair in line.part],
                    "state": "closed"
                    if position in closed
                    else "booked"
                    if line.closes is None
                    else "charged",
                    "closes": None if line.closes is None else shown.index(line.closes),
                    "own": own is not None,
                }
                for position, line in ((position, lines[position]) for position in shown)
            ],
        }

    def failure_delta(self, fraction: Fraction) -> Fraction:
        """Return the delta for the stability histograms of a fit with this fraction."""
        return (self._delta - self._conversion_delta) / max(len(self._accounts()), 1) * fraction

    def reserve(
        self,
        what: str,
        privacy_measure: str,
        fraction: Fraction,
        part: Part = (),
        tables: Mapping[str, str] | None = None,
    ) -> int:
        """Record a fraction, first on disk if the records have a file.

        ``what`` is the name of the estimator, ``part`` the rows that the fraction is for, as in a
        line of the records, and ``tables`` are hashes of the rows of its periods. Returns the
        position of the line, by which `close` finds it.

        BudgetExceededError if less remains; then nothing is recorded. InvalidParameterError in
        another process than the one that opened the budget, or if the rows of a period differ from
        earlier ones.
        """
        self.check_process()
        account = MEASURES[privacy_measure]
        line = BudgetLine(
            what=what,
            account=account,
            privacy_measure=privacy_measure,
            fraction=fraction,
            part=part,
        )

        def check(lines: Sequence[BudgetLine], known: Mapping[str, str]) -> None:
            check_tables(known, tables or {})
            if spent([*lines, line], self._overlap)[account] > 1:
                raise BudgetExceededError(
                    f"{what} would use {percent(fraction)} of the {account} account of the budget "
                    f"of {self.title}{self._left_for(lines, account, part)} is left."
                )
            measures = {each.privacy_measure for each in lines if each.account == account}
            if measures - {privacy_measure}:
                raise InvalidParameterError(
                    f"The {account} account of the budget of {self.title} is measured in "
                    f"{', '.join(sorted(measures))}, but this recipe uses {privacy_measure}: the "
                    "two do not add up."
                )

        with self._lock:
            return self._records.add(line, check, tables)

    def _left_for(self, lines: Sequence[BudgetLine], account: str, part: Part) -> str:
        """Return the remaining fraction; with periods, the smallest one."""
        periods, _ = periods_of(part)
        zero = Fraction(0)
        if self._overlap is None or not periods:
            return f"; {percent(1 - spent(lines, self._overlap).get(account, zero))}"
        paid = {name: spent(lines, self._overlap, name).get(account, zero) for name in periods}
        least = max(paid, key=lambda name: paid[name])
        rows = ""
        if self._overlap.several(len(periods)):
            rows = ", and costs more because one individual may have rows in several of its periods"
        return f"{rows}; of the period {least!r} {percent(1 - paid[least])}"

    def close(self, position: int, fraction: Fraction) -> None:
        """Return the reserved fraction that a fit did not charge.

        ``position`` is that of the line, from `reserve`; the charged ``fraction`` stays recorded.
        ValueError if the line was closed before, or had reserved less; InvalidParameterError in
        another process than the one that opened the budget.
        """
        self.check_process()
        with self._lock:
            line = replace(self._records.lines[position], fraction=fraction, closes=position)
            self._records.add(line, lambda lines, _: check_closing(lines, line))

    def remember(self, *objects: Any) -> None:
        """Remember objects that belong to the budget while they exist."""
        for each in objects:
            with self._lock, suppress(TypeError):  # nothing refers weakly to a list
                self._seen.append(weakref.ref(each))

    def knows(self, thing: Any) -> bool:
        """Return whether this object belongs to the budget; reads no cell."""
        with self._lock:
            self._seen = [ref for ref in self._seen if ref() is not None]
            return any(ref() is thing for ref in self._seen)

    def disjoint(self, table: str) -> DisjointTable:
        """Return this budget for one of several tables that share no row.

        Parameters
        ----------
        table : str
            Name of the table. With ``rows_per_user``, no user may have rows in two of the tables.

        Returns
        -------
        DisjointTable
            Pass it as ``budget`` to a fit or an evaluation.

        Raises
        ------
        InvalidParameterError
            If the name is not a string, or empty, or if ``neighbors`` is "replace".

        Privacy
        -------
        The user must ensure that the tables are disjoint. Each row is then in one of them, and the
        largest of the fractions recorded for them counts. Under "replace" this is not true: a
        replaced row may belong to another table. Two tables then change by one row each, which the
        fraction recorded for one table does not cover.

        Examples
        --------
        >>> budget = Budget(epsilon=1, delta=1e-6)
        >>> north, south = budget.disjoint("north"), budget.disjoint("south")
        """
        return DisjointTable(budget=self, table=table)

    def key(self) -> bytes:
        """Return the secret key of the hashes that identify rows of periods."""
        return self._records.key

    def hold(self, model: Any, rows: HeldRows, part: Part) -> None:
        """Keep the held-out rows of a fit while the model exists."""
        with self._lock:
            self._held[model] = (rows, part)

    def held_out(self, model: Any) -> tuple[HeldRows, Part]:
        """Return the rows that a model's last fit held out, and their part of the records.

        InvalidParameterError if there are none.
        """
        try:
            with self._lock:
                return self._held[model]
        except (KeyError, TypeError):
            raise InvalidParameterError(
                f"The budget of {self.title} has no held-out rows of this model: fit it in this "
                "process with holdout=..., or pass X and y."
            ) from None

    @property
    def title(self) -> str:
        """Name of the table in messages."""
        return "a table without a name" if self._table is None else repr(self._table)

    @property
    def _conversion_delta(self) -> Fraction:
        """Delta for Gaussian noise: the rest after stability histograms."""
        gaussian = "Gaussian" in self._accounts()
        return self._delta * (1 - MOST_HISTOGRAMS * DELTA_SHARE) if gaussian else Fraction(0)

    def _accounts(self) -> tuple[str, ...]:
        found = {"pure": self._pure > 0, "Gaussian": self._pure < self._epsilon}
        return tuple(name for name, there in found.items() if there)

    @property
    def of_this_process(self) -> bool:
        """Whether this process opened the budget, rather than a parent that it was forked from."""
        return os.getpid() == self._pid

    def check_process(self) -> None:
        """Raise `InvalidParameterError` in another process than the one that opened the budget."""
        if not self.of_this_process:
            raise InvalidParameterError(
                "A budget is usable only in the process that opened it: save it, and load its "
                "file here."
            )

    def _refusal(self, *args: Any) -> NoReturn:
        raise TypeError(
            "A budget cannot be copied or pickled, because it could be spent twice: save it to a "
            "file, and load that file. For a search with n_jobs, save it, open it by `with "
            "budget:`, and omit budget=...: workers then charge the file of the open budget."
        )

    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refusal


@dataclass(frozen=True, kw_only=True, eq=False)
class DisjointTable:
    """A budget for one of several disjoint tables; created by `Budget.disjoint`."""

    budget: Budget
    table: str

    def __post_init__(self) -> None:
        if not isinstance(self.table, str) or not self.table:
            raise refuse("table", "Budget.disjoint", "a string that is not empty", self.table)
        if self.budget.periods is not None:
            raise InvalidParameterError(
                "Budget.disjoint and Budget(periods=...) exclude each other: name tables that "
                "share no row as periods, by Budget.window."
            )
        if self.budget.neighbors == Neighbors.REPLACE.value:
            raise InvalidParameterError(
                "Budget.disjoint needs neighbors='add_remove' of the Budget, which has 'replace': "
                "a replaced row may move to another table. Two tables then change by one row each, "
                "which the charge of one table does not cover. Open a "
                "Budget(neighbors='add_remove'), or pass the budget itself to the fits: their "
                "fractions then add up."
            )


def accountant_in(measure: str) -> Accountant:
    """Return the accountant that counts in a measure: epsilon, rho or mu squared."""
    return PureAccountant() if measure == PureAccountant.privacy_measure else _ACCOUNTANTS[measure]


def _accountant_of(lines: Sequence[BudgetLine]) -> Accountant:
    """Return the accountant of the Gaussian account, of which all lines name one measure."""
    (measure,) = {line.privacy_measure for line in lines if line.account == "Gaussian"}
    return accountant_in(measure)


Budget.__doc__ = with_effects(Budget, effects={**EFFECTS, **OF_CALLS})
