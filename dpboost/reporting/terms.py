"""The data of a privacy report: the guarantee, and the charge of each kind of release."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from itertools import zip_longest
from typing import Any, SupportsFloat, TypeVar

from dpboost._utils.displays import aligned
from dpboost._utils.validation import InvalidParameterError, refuse
from dpboost.privacy.exact_arithmetic import (
    NO_COST,
    ZERO,
    Epsilon,
    PrivacyCost,
    epsilon_of,
    number_of,
)
from dpboost.privacy.ledger import Ledger, LedgerEntry, Scope
from dpboost.privacy.release_record import release_record
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.reporting.epsilon_explanation import EpsilonExplanation

Fact = bool | int | float | str
#: Facts of a small model: a sentence on the step after the fit, and its settings as JSON.
AFTER_THE_FIT, COMPACT_SETTINGS = "after the fit", "settings of compact"
#: Fact of a fit that continues a model of the same budget, which covers both.
CONTINUED = "continued model"
_WITHIN = "charged to the same budget, whose epsilon and delta are those of both fits together"
Terms = TypeVar("Terms", bound="ReportTerms")


#: Fields with other names in stored files.
_STORED = {"neighbors": "neighbours"}


@dataclass(frozen=True, kw_only=True)
class ReleaseSummary:
    """All releases of one kind.

    Parameters
    ----------
    releases : int
        Number of releases; public, because it depends on released values only.
    scope : str
        Names of the scopes, with ``*`` if they differ.
    mechanism : str
        Names of the mechanisms.
    smallest, largest : int
        Smallest and largest sensitivity, in units.
    share : Fraction or None
        Fraction of the capacity that these releases use on the most expensive path through the
        parallel scopes; None if the capacity is infinite. The shares add up to ``spent``.
    """

    label: str
    releases: int
    scope: str
    mechanism: str
    kind: str
    smallest: int
    largest: int
    unit: float
    reason: str
    share: Fraction | None


@dataclass(frozen=True, kw_only=True)
class ReportTerms:
    """The privacy guarantee of a fit, from released and public values only.

    Parameters
    ----------
    kind : {"pure", "approximate", "none"}
        Pure epsilon, (epsilon, delta), or no privacy requested.
    private : bool
        Whether the guarantee is valid.
    reasons : tuple of str
        Reasons why it is not valid; empty if it is.
    assumed_public : tuple of str
        Undeclared metadata that is assumed to be equal for neighboring tables.
    accountant, privacy_measure : str
        Accountant and its unit.
    epsilon, delta : Fraction, or inf
        Requested.
    epsilon_spent : float
        Epsilon of all releases at ``delta``.
    delta_spent : Fraction
        Delta of ``epsilon_spent``.
    capacity, spent : Fraction or inf
        Total and charged amounts in the unit of the accountant.
    releases : tuple of ReleaseSummary
        In the order of their first recording.
    facts : dict
        Public facts of the fit: scalars by name.
    rows_per_user : int or None
        Maximum rows of a user that took part; None if rows are protected.
    earlier_epsilon, earlier_delta : Fraction
        Requested by the model that this fit continues, including its own earlier fits; 0 if
        there is none. The guarantee is for the sums.
    accounting : dict or None
        Every release with its noise and scope, for the certificate; None without a ledger.
    """

    kind: str
    private: bool
    reasons: tuple[str, ...]
    neighbors: str
    assumed_public: tuple[str, ...]
    accountant: str
    privacy_measure: str
    epsilon: Epsilon
    delta: Fraction
    epsilon_spent: float
    delta_spent: Fraction
    capacity: PrivacyCost
    spent: PrivacyCost
    releases: tuple[ReleaseSummary, ...]
    facts: dict[str, Fact] = field(default_factory=dict)
    rows_per_user: int | None = None
    earlier_epsilon: Epsilon = epsilon_of(ZERO)
    earlier_delta: Fraction = Fraction(0)
    accounting: dict[str, Any] | None = None

    @classmethod
    def from_ledger(
        cls: type[Terms],
        ledger: Ledger,
        *,
        assumed_public: Sequence[str] = (),
        facts: Mapping[str, Fact] | None = None,
        not_private: Sequence[str] = (),
        rows_per_user: int | None = None,
        continues: bool = False,
        earlier: ReportTerms | None = None,
        budget: Mapping[str, Any] | None = None,
        parties: Mapping[str, int] | None = None,
    ) -> Terms:
        """Return the report of a ledger.

        The ledger is not modified. ``assumed_public`` is metadata that the guarantee assumes to be
        public; ``facts`` are public facts of the fit, in which numbers are finite; ``not_private``
        are reasons, in addition to those of the ledger, why the guarantee is not valid.
        ``rows_per_user`` are maximum rows of a user, if the ledger protects users. A fit that
        ``continues`` a released model adds the budgets up; without ``earlier``, the report of that
        model, there is no guarantee. ``budget`` has the terms and lines of the budget of the fit,
        as `Claim.record` returns them; ``parties`` are those whose shares make up the noise, as of
        `agreed_fit.shares`.
        """
        if ledger.epsilon == math.inf:
            kind = "none"
        elif ledger.accountant.name == "pure" and ledger.delta_spent == 0:
            kind = "pure"
        else:
            kind = "approximate"
        reasons = (*ledger.reasons, *not_private)
        if continues and earlier is None:
            reasons += ("it continues a model without a privacy report",)
        if earlier is not None:
            reasons += tuple(f"of the model that it continues: {why}" for why in earlier.reasons)
            kind = "approximate" if {kind, earlier.kind} == {"pure", "approximate"} else kind
            assumed_public = tuple(dict.fromkeys((*assumed_public, *earlier.assumed_public)))
        within = earlier is not None and _one_budget(budget, earlier.budget)
        facts = {**(facts or {}), **({CONTINUED: _WITHIN} if within else {})}
        for name, fact in facts.items():
            if not isinstance(fact, (bool, int, float, str)) or fact in (math.inf, -math.inf):
                raise refuse(f"facts[{name!r}]", "PrivacyReport", "a finite scalar", fact)
        return cls(
            kind=kind,
            private=not reasons,
            reasons=reasons,
            neighbors=ledger.neighbors.value,
            assumed_public=tuple(assumed_public),
            accountant=ledger.accountant.name,
            privacy_measure=ledger.accountant.privacy_measure,
            epsilon=ledger.epsilon,
            delta=ledger.delta,
            epsilon_spent=ledger.epsilon_spent,
            delta_spent=ledger.delta_spent if ledger.accountant.name == "pure" else ledger.delta,
            capacity=ledger.capacity,
            spent=ledger.spent,
            releases=_summaries(ledger),
            facts=facts,
            rows_per_user=rows_per_user,
            earlier_epsilon=_added(earlier, "epsilon", epsilon_of(ZERO), within=within),
            earlier_delta=_added(earlier, "delta", Fraction(0), within=within),
            accounting=release_record(ledger)
            | {
                "budget": None if budget is None else dict(budget),
                "parties": None if parties is None else dict(parties),
            },
        )

    @property
    def unit(self) -> str:
        """The unit of privacy, to complete "differ by ..."."""
        relation = Neighbors(self.neighbors)
        if self.rows_per_user is None:
            return relation.sentence
        if relation is Neighbors.ADD_REMOVE:
            return "all rows of one added or removed user"
        return "the content of all rows of one user"

    @property
    def guarantee(self) -> str:
        """The guarantee as a sentence."""
        if not self.private:
            return f"No privacy guarantee: {'; '.join(self.reasons)}."
        name = f"epsilon = {_number(self.epsilon + self.earlier_epsilon)}"
        if self.kind == "approximate":
            name += f", delta = {_number(self.delta + self.earlier_delta)}"
        public = f" with the same {' and the same '.join(self.assumed_public)}"
        return (
            f"Differentially private ({name}) for any two tables"
            f"{public if self.assumed_public else ''} that differ by "
            f"{self.unit}."
        )

    @property
    def total(self) -> tuple[float, float]:
        """Epsilon and delta of the guarantee, including those of the continued model."""
        return (
            float(self.epsilon + self.earlier_epsilon),
            float(self.delta + self.earlier_delta) if self.kind == "approximate" else 0.0,
        )

    @property
    def continues(self) -> bool:
        """Whether the fit continues a model that has a guarantee."""
        return bool(self.earlier_epsilon) or CONTINUED in self.facts

    @property
    def budget(self) -> dict[str, Any] | None:
        """Terms and lines of the budget of the fit; None without a budget."""
        return None if self.accounting is None else self.accounting["budget"]

    @property
    def own(self) -> tuple[float, float]:
        """Epsilon and delta of this fit alone; under a budget, less than the total.

        Epsilon is rounded up to four digits.
        """
        # The model contains both fits, and this report knows the charge of the later fit only.
        if self.budget is None or not self.private or CONTINUED in self.facts:
            return self.total
        if any(line["own"] and line["fraction"] == "1" for line in self.budget["lines"]):
            return self.total
        epsilon = self.epsilon_spent + float(self.earlier_epsilon)
        most, delta = self.total
        return min(four_digits_up(epsilon), most), delta

    @property
    def mu(self) -> float | None:
        """Mu of Gaussian differential privacy, for the unit of privacy.

        Estimated categories and classes may fail in addition, with probability at most delta.
        None if the accountant is not in mu, and for a model that continues another one.
        """
        counted = self.privacy_measure == "mu squared"
        if not counted or not self.private or self.continues:
            return None
        return math.sqrt(self.spent) * (self.rows_per_user or 1)

    @property
    def explanation(self) -> EpsilonExplanation:
        """Bounds on an attacker from this fit alone, as returned by `explain_epsilon`.

        Raises
        ------
        InvalidParameterError
            If the report states no guarantee.
        """
        if not self.private:
            raise InvalidParameterError(
                f"This report states no guarantee to explain: {'; '.join(self.reasons)}."
            )
        epsilon, delta = self.own
        recipe = self.facts.get("recipe")
        what = "" if recipe is None else f"recipe={recipe!r}"
        return EpsilonExplanation(epsilon=epsilon, delta=delta, mu=self.mu, what=what)

    def details(self) -> str:
        """Return terms, accounting, facts, and each kind of release with its sensitivity."""
        assumed = ", ".join(self.assumed_public) or "nothing beyond what was declared"
        private = "yes" if self.private else f"no ({'; '.join(self.reasons)})"
        lines = [
            self.guarantee,
            f"assumed public   {assumed}",
            f"epsilon          {_number(self.epsilon_spent)} spent of {_number(self.epsilon)}",
            f"delta            {_number(self.delta_spent)} spent of {_number(self.delta)}",
            *self._earlier_lines(),
            f"private          {private}",
            f"protected        {_protected(self.rows_per_user)}",
            f"accounting       {self.accountant}: {_number(self.spent)} of "
            f"{_number(self.capacity)} in {self.privacy_measure}",
            *(f"{name:<16} {fact}" for name, fact in self.facts.items()),
            "",
            *_table(self.releases),
        ]
        return "\n".join(lines)

    def _earlier_lines(self) -> list[str]:
        """Return a line on the budget of the continued model, if there is one."""
        if not self.earlier_epsilon:
            return []
        return [
            f"earlier fits     epsilon {_number(self.earlier_epsilon)}, delta "
            f"{_number(self.earlier_delta)} of the model that this one continues; both add up"
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain scalars, lists and dicts.

        Fractions become strings such as ``"1/3"``, and a float with the suffix ``"_float"`` is
        added; infinity is the string ``"inf"``.
        """
        plain: dict[str, Any] = {_STORED.get(k, k): v for k, v in _plain(self).items()}
        plain["guarantee"] = self.guarantee
        return plain

    def to_json(self) -> str:
        """Return :meth:`to_dict` as strict JSON on one line."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls: type[Terms], plain: Mapping[str, Any]) -> Terms:
        """Rebuild a report from :meth:`to_dict`.

        Raises
        ------
        InvalidParameterError
            If a field is missing or malformed.
        """
        earlier = ("earlier_epsilon", "earlier_delta")
        try:
            releases = tuple(
                ReleaseSummary(**{**_fields(ReleaseSummary, row), "share": _exact(row["share"])})
                for row in plain["releases"]
            )
            exact = ("epsilon", "delta", "delta_spent", "capacity", "spent", *earlier)
            # Reports of earlier versions have no accounting.
            plain = {**dict.fromkeys(earlier, "0"), "accounting": None, **plain}
            plain |= {name: plain[stored] for name, stored in _STORED.items()}
            values = _fields(cls, plain) | {name: _exact(plain[name]) for name in exact}
            values["epsilon_spent"] = float(plain["epsilon_spent"])
            for name in ("reasons", "assumed_public"):
                values[name] = tuple(plain[name])
            values |= {"releases": releases, "facts": dict(plain["facts"])}
            values["rows_per_user"] = plain["rows_per_user"]
            return cls(**values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            got = type(plain).__name__
            raise refuse("plain", "PrivacyReport.from_dict", "a report's dict", got) from error


def _one_budget(own: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Return whether two fits are lines of one budget, by its random identifier.

    Proof: docs/proofs/budgets.md, "Continued models".
    """
    names = [None if each is None else each.get("identity") for each in (own, other)]
    return names[0] is not None and names[0] == names[1]


def _added(earlier: ReportTerms | None, name: str, nothing: Any, *, within: bool) -> Any:
    """Return the amount that a continued model adds; zero within the same budget."""
    if earlier is None:
        return nothing
    before = getattr(earlier, f"earlier_{name}")
    return before if within else getattr(earlier, name) + before


def four_digits_up(epsilon: float) -> float:
    """Round epsilon up to four significant digits."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 3) if epsilon > 0 else 1.0
    return math.ceil(epsilon / unit) * unit


def _protected(rows_per_user: int | None) -> str:
    if rows_per_user is None:
        return "one row"
    rows = "row" if rows_per_user == 1 else "rows"
    return (
        f"one user, of whom at most {rows_per_user} {rows} took part, chosen at random, in secret"
    )


def _fields(kind: Any, plain: Mapping[str, Any]) -> dict[str, Any]:
    return {part.name: plain[part.name] for part in fields(kind)}


def _exact(text: str | None) -> Any:
    if text is None:
        return None
    return math.inf if text == "inf" else Fraction(text)


def _plain(value: Any) -> Any:
    # Most of a report are the texts and numbers of its accounting.
    if isinstance(value, (str, int)):
        return value
    if is_dataclass(value):
        return _plain({part.name: getattr(value, part.name) for part in fields(value)})
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    if isinstance(value, dict):
        plain = {}
        for name, part in value.items():
            plain[name] = _plain(part)
            if isinstance(part, Fraction):
                plain[f"{name}_float"] = float(part)
        return plain
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    return value


def _summaries(ledger: Ledger) -> tuple[ReleaseSummary, ...]:
    by_label: dict[str, list[LedgerEntry]] = {}
    for entry in ledger.entries:
        by_label.setdefault(entry.label, []).append(entry)
    costs: dict[str, PrivacyCost] = {}
    _attribute(ledger.root, costs)
    whole = number_of(ledger.capacity)
    return tuple(
        ReleaseSummary(
            label=label,
            releases=len(entries),
            scope=_common_scope([entry.scope for entry in entries]),
            mechanism=_joined(entry.mechanism.name for entry in entries),
            kind=_joined(entry.bound.kind for entry in entries),
            smallest=min(entry.bound.constant for entry in entries),
            largest=max(entry.bound.constant for entry in entries),
            unit=entries[0].unit,
            reason=_joined(entry.bound.reason for entry in entries),
            share=None
            if whole == math.inf
            else Fraction(number_of(costs.get(label, NO_COST))) / Fraction(whole),
        )
        for label, entries in by_label.items()
    )


def _attribute(scope: Scope, costs: dict[str, PrivacyCost]) -> None:
    """Add up the charges along the most expensive path by label."""
    for entry in scope.entries:
        costs[entry.label] = costs.get(entry.label, NO_COST) + entry.charge.cost
    children = list(scope.children.values())
    if scope.parallel and children:
        children = [max(children, key=lambda child: child.total.cost)]
    for child in children:
        _attribute(child, costs)


def _joined(names: Any) -> str:
    return ", ".join(dict.fromkeys(names))


def _common_scope(paths: Sequence[tuple[str, ...]]) -> str:
    """Return a common pattern of paths: ``ensemble */tree */level *``."""
    parts = []
    for names in zip_longest(*dict.fromkeys(paths), fillvalue=""):
        different = set(names)
        stems = {re.sub(r"\d+", "*", name) for name in different}
        parts.append(
            different.pop() if len(different) == 1 else stems.pop() if len(stems) == 1 else "*"
        )
    return "/".join(parts) or "-"


def _number(value: SupportsFloat) -> str:
    return "inf" if value == math.inf else f"{float(value):.6g}"


def _unit(unit: float) -> str:
    mantissa, exponent = math.frexp(unit)
    return f"2^{exponent - 1}" if mantissa == 0.5 and exponent != 1 else f"{unit:.6g}"


def _table(releases: Sequence[ReleaseSummary]) -> list[str]:
    rows = [("release", "times", "scope", "mechanism", "sensitivity", "share", "because")]
    for release in releases:
        span = f"{release.largest}"
        if release.smallest != release.largest:
            span = f"{release.smallest} to {release.largest}"
        share = "-" if release.share is None else f"{float(100 * release.share):.4g} %"
        rows.append(
            (
                release.label,
                str(release.releases),
                release.scope,
                release.mechanism,
                f"{release.kind} {span} x {_unit(release.unit)}",
                share,
                release.reason,
            )
        )
    return aligned(rows, frozenset({1, 5}))
