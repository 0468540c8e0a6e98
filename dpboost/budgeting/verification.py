"""Verification that the claim of a certificate follows from its list of releases.

The library recomputes it with its accountants. ``checker/check_certificate.py`` does the same
without the library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from dpboost._utils.validation import InvalidParameterError
from dpboost.budgeting.budget_records import BudgetLine, check_closing, counted, spent
from dpboost.budgeting.periods import Overlap
from dpboost.privacy.accounting import (
    LATTICE_DELTA,
    LATTICE_EPSILON,
    SMALLEST_SIGMA,
    Accountant,
    GDPAccountant,
    GroupAccountant,
    PureAccountant,
    UnsupportedReleaseError,
    ZCDPAccountant,
)
from dpboost.privacy.exact_arithmetic import Epsilon, cost_of, epsilon_of, number_of
from dpboost.privacy.ledger_records import NO_CHARGE, Charge, Disjoint, added
from dpboost.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Mechanism,
    Noise,
    PermuteAndFlip,
)
from dpboost.privacy.noise_shares import share_sigma
from dpboost.privacy.release_record import FOLDS, FORMAT
from dpboost.privacy.sensitivity.bound import Neighbors, Sensitivity
from dpboost.reporting.certificate_form import CertificateError

_ACCOUNTANTS: dict[str, Accountant] = {
    each.privacy_measure: each for each in (PureAccountant(), ZCDPAccountant(), GDPAccountant())
}
_PURE: dict[str, Any] = {
    each.name: each for each in (DiscreteLaplace, ExponentialMechanism, PermuteAndFlip)
}


def verify_accounting(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Recompute the charge of every release and the total, and compare with the claim.

    The certificate matches its schema. Returns the verified claims, one sentence each.
    CertificateError if the claim does not follow.
    """
    claim, accounting = certificate["claim"], certificate.get("accounting")
    if not claim["private"]:
        reasons = "; ".join(claim["reasons_why_not"])
        raise CertificateError(f"The certificate claims no guarantee: {reasons}.")
    if accounting is None:
        raise CertificateError("The certificate lists no releases to recompute its total.")
    if accounting["format"] != FORMAT:
        raise CertificateError(
            f"The releases are of format {accounting['format']}, and this version reads {FORMAT}."
        )
    try:
        return _Verification(claim, accounting).sentences()
    except (InvalidParameterError, ArithmeticError, LookupError, ValueError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError(f"The releases are inconsistent: {error}") from error


class _Verification:
    """The terms of one certificate."""

    def __init__(self, claim: Mapping[str, Any], accounting: Mapping[str, Any]) -> None:
        self.claim, self.accounting = claim, accounting
        self.inner = _ACCOUNTANTS[accounting["measure"]]
        self.replaces = accounting["relation"] == Neighbors.REPLACE.value
        self.epsilon: Epsilon = epsilon_of(Fraction(accounting["epsilon"]))
        self.delta = Fraction(accounting["delta"])
        self.accountant = self.inner
        self.coordinates = 1
        for each in reversed(accounting["multiples"]):
            self.accountant = GroupAccountant(
                inner=self.accountant,
                factor=Fraction(each["factor"]),
                coordinates=each["coordinates"],
                fits=each["fits"],
                delta=self.delta,
            )
            self.coordinates *= each["coordinates"]
        self.charges = [self._charge(line) for line in accounting["lines"]]

    def sentences(self) -> tuple[str, ...]:
        """Verify everything, and return the verified claims."""
        self._check_terms()
        total = self._total(self.accounting["scopes"], by_content=False)
        stated = self.accounting["spent"]
        if (total.cost, total.delta) != (Fraction(stated["cost"]), Fraction(stated["delta"])):
            raise CertificateError("What is spent is not the sum of the releases that are listed.")
        n_releases = self._number_of_releases(self.accounting["scopes"])
        if n_releases != self.claim["number_of_releases"] and not self._is_of_folds():
            raise CertificateError(
                f"The claim counts {self.claim['number_of_releases']} releases, and {n_releases} "
                "are listed."
            )
        found = [
            f"{n_releases} releases: none costs more than is charged, by the noise that was drawn",
            f"their sum is {float(number_of(total.cost)):.6g} in {self.inner.privacy_measure}",
        ]
        if self.accounting["budget"] is not None:
            found.append(self._check_budget(self.accounting["budget"], total))
        else:
            self._check_covered(total)
        epsilon, delta = self.claim["epsilon"], self.claim["delta"]
        return (*found, f"that is within epsilon = {epsilon:.6g}, delta = {delta:.6g}")

    # -- terms ---------------------------------------------------------------------------------

    def _check_terms(self) -> None:
        """Compare the terms of the accounting with those of the claim."""
        claim, accounting = self.claim, self.accounting
        users = [each for each in accounting["multiples"] if each["of"] == "rows of a user"]
        rows = math.prod(each["coordinates"] for each in users)
        power = 1 if accounting["measure"] == PureAccountant.privacy_measure else 2
        if any(Fraction(each["factor"]) != each["coordinates"] ** power for each in users):
            raise CertificateError("The rows of a user do not count by the factor of the measure.")
        lattice = accounting["lattice"]
        known = {
            "least_sigma": SMALLEST_SIGMA,
            "epsilon": str(LATTICE_EPSILON),
            "delta": str(LATTICE_DELTA),
        }
        if isinstance(self.inner, GDPAccountant) and lattice != known:
            raise CertificateError("The constants of the lattice are not those of the proof.")
        pure = claim["definition"] == "pure"
        stated = {
            "neighbours": accounting["relation"],
            "accountant": self.inner.name,
            "rows_per_person": rows,
            "epsilon": float(number_of(self.epsilon) + Fraction(accounting["earlier"]["epsilon"])),
            "delta": 0.0 if pure else float(self.delta + Fraction(accounting["earlier"]["delta"])),
        }
        earlier = Fraction(accounting["earlier"]["epsilon"])
        if claim["continued_model"] and not earlier and accounting["budget"] is None:
            raise CertificateError("Nothing covers the model that is continued.")
        if pure and (power != 1 or Fraction(accounting["spent"]["delta"])):
            raise CertificateError("The guarantee is not pure, because releases may fail.")
        for name, own in stated.items():
            if claim[name] != own:
                raise CertificateError(
                    f"The claim says {claim[name]!r} for {name!r}, and the releases {own!r}."
                )

    def _is_of_folds(self) -> bool:
        """Whether the claim lists the releases of the metrics alone."""
        return any(each["kind"] == FOLDS for each in self.accounting["scopes"].get("scopes", ()))

    # -- releases ------------------------------------------------------------------------------

    def _charge(self, line: Mapping[str, Any]) -> Charge:
        """Return the charge of a release, or raise if its noise costs more."""
        label = line["label"]
        bound = Sensitivity.listed(line)
        mechanism = self._mechanism(line, bound.constant**2)
        if mechanism.needs != bound.kind:
            raise CertificateError(f"{label}: {mechanism.name} takes no {bound.kind} sensitivity.")
        size = line["sizes"][-1]
        try:
            cost = self.inner.cost(mechanism, bound)
        except UnsupportedReleaseError as error:
            raise CertificateError(f"{label}: {error}") from error
        booked = Charge(
            cost_of(Fraction(line["cost"])),
            Fraction(line["delta"]),
            self.accountant.lattice_error(mechanism, bound, size),
        )
        if cost > booked.cost:
            raise CertificateError(
                f"{label}: this noise costs {float(cost):.6g}, and {float(booked.cost):.6g} is "
                "charged."
            )
        if not 0 <= booked.delta < 1:
            raise CertificateError(f"{label}: a delta of {line['delta']} is none.")
        self._check_share(line, size)
        self._check_threshold(line, mechanism, bound, size)
        return booked

    def _mechanism(self, line: Mapping[str, Any], square: int) -> Mechanism:
        """Return the mechanism whose integers were drawn, at a squared sensitivity."""
        name, noise = line["mechanism"], line["noise"]
        if name == DiscreteGaussian.name:
            (sigma,) = noise
            mechanism: Mechanism = DiscreteGaussian(rho=cost_of(Fraction(square, 2 * sigma**2)))
        elif name in _PURE:
            numerator, denominator = noise
            rate = Fraction(numerator, denominator)
            mechanism = _PURE[name](epsilon=rate * math.isqrt(square))
        else:
            raise CertificateError(f"{line['label']}: the mechanism {name!r} is not known.")
        return mechanism

    def _check_share(self, line: Mapping[str, Any], size: int) -> None:
        share = line["share"]
        if share is None or share["sigma"] is None:
            return
        needed = share_sigma(line["noise"][0], line["constant"], share["honest"], size)
        if share["sigma"] < needed:
            raise CertificateError(f"{line['label']}: the shares do not carry the noise.")

    def _check_threshold(
        self, line: Mapping[str, Any], mechanism: Mechanism, bound: Sensitivity, columns: int
    ) -> None:
        """Raise if a name of one row passes a threshold with more than the charged delta."""
        failure = Fraction(line["delta"])
        if line["threshold"] is None and not failure:
            return
        if line["threshold"] is None or not failure:
            raise CertificateError(f"{line['label']}: a threshold and its delta go together.")
        needed = round(1 / line["unit"]) + cast(Noise, mechanism).tail(bound, failure / columns)
        if line["threshold"] < needed:
            raise CertificateError(
                f"{line['label']}: the threshold {line['threshold']} fails more than is charged."
            )

    # -- scopes --------------------------------------------------------------------------------

    def _total(self, scope: Mapping[str, Any], *, by_content: bool) -> Charge:
        """Add up a scope: sums, and maxima over disjoint rows."""
        because = scope.get("because")
        by_content |= because == Disjoint.CONTENT.value
        total = NO_CHARGE
        for number, times in scope.get("releases", ()):
            if by_content and self.replaces:
                self._check_replaced(self.accounting["lines"][number])
            total = added(total, _times(self.charges[number], times))
        parts = [
            (self._total(each, by_content=by_content), each["times"])
            for each in scope.get("scopes", ())
        ]
        kind = scope["kind"]
        if kind == "parallel":
            if because in (None, Disjoint.NOT_STATED.value) or total is not NO_CHARGE:
                raise CertificateError(
                    f"Scope {scope['name']!r}: no reason is stated why its parts hold disjoint "
                    "rows."
                )
            return _largest([part for part, _ in parts])
        for part, times in parts:
            total = added(total, _times(part, times))
        if kind == FOLDS:
            cheapest = min(part.cost for part, _ in parts)
            total = total._replace(cost=total.cost - cheapest)
        return total

    def _check_replaced(self, line: Mapping[str, Any]) -> None:
        """Raise if a replaced row, which may be in two nodes, costs more than is charged."""
        if line["added"] is not None:
            square = line["added"] if line["norm"] == "l2" else line["added"] ** 2
            mechanism = self._mechanism(line, square)
            twice = 2 * self.inner.cost(mechanism, Sensitivity.listed(line))
            if twice <= cost_of(Fraction(line["cost"])):
                return
        raise CertificateError(
            f"{line['label']}: a replaced row may leave one node for another, which costs more."
        )

    def _number_of_releases(self, scope: Mapping[str, Any]) -> int:
        own = sum(times for _, times in scope.get("releases", ()))
        below = scope.get("scopes", ())
        return own + sum(each["times"] * self._number_of_releases(each) for each in below)

    # -- the claim -----------------------------------------------------------------------------

    def _check_covered(self, total: Charge) -> None:
        """Raise if a total is above the capacity of the claim."""
        limit = self.accountant.lattice_error_limit(self.epsilon)
        if (
            total.delta > self.delta
            or total.cost > self.accountant.capacity(self.epsilon, self.delta - total.delta)
            or total.lattice_error > limit
        ):
            raise CertificateError("The releases cost more than the claim allows.")

    def _check_budget(self, budget: Mapping[str, Any], total: Charge) -> str:
        """Raise if the fit, or all lines together, exceed the budget."""
        if (budget["epsilon"], budget["delta"]) != (
            self.accounting["epsilon"],
            self.accounting["delta"],
        ):
            raise CertificateError("The budget is of another epsilon or delta than the claim.")
        lines: list[BudgetLine] = []
        for each in budget["lines"]:
            line = BudgetLine(
                what=each["what"],
                account=each["account"],
                privacy_measure=each["measure"],
                fraction=Fraction(each["fraction"]),
                part=tuple((division, part) for division, part in each["part"]),
                closes=each["closes"],
            )
            check_closing(lines, line)
            lines.append(line)
        overlap = Overlap.of(budget.get("periods"))
        if any(fraction > 1 for fraction in spent(lines, overlap).values()):
            raise CertificateError("The lines of an account of the budget exceed its total.")
        whole, pure = Fraction(budget["epsilon"]), Fraction(budget["pure_epsilon"])
        left = Fraction(budget["conversion_delta"])
        capacities: dict[str, Fraction] = {}
        for account in budget["accounts"]:
            epsilon = epsilon_of(pure if account["account"] == "pure" else whole - pure)
            measure, stated = account["measure"], Fraction(account["capacity"])
            if cost_of(stated) > _ACCOUNTANTS[measure].capacity(epsilon, left):
                raise CertificateError(f"The {account['account']} account is above its epsilon.")
            capacities[measure] = stated
        own = [
            (line, Fraction(plain["allowance"]))
            for line, plain in zip(lines, budget["lines"], strict=True)
            if plain["own"] and line in counted(lines)
        ]
        if not own:
            raise CertificateError("The budget has no line of this fit.")
        sides = self._sides()
        factor = math.prod(
            (Fraction(each["factor"]) for each in self.accounting["multiples"]), start=Fraction(1)
        )
        for line, allowance in own:
            side = total
            if line.part and line.part[-1][0].startswith("holdout "):
                side = sides.get(line.part[-1][1], total)
            if (
                line.privacy_measure != self.inner.privacy_measure
                or allowance != capacities[line.privacy_measure] * line.fraction
                or number_of(side.cost) * factor > allowance
            ):
                raise CertificateError(f"The fit costs more than its line {line.what!r} allows.")
        largest = max(line.fraction for line, _ in own)
        self._check_failures(budget, total, largest, whole - pure, pure)
        names = f"{float(100 * largest):.6g} % of the budget, which has {len(lines)} lines"
        return f"the fit takes at most {names}"

    def _check_failures(
        self,
        budget: Mapping[str, Any],
        total: Charge,
        fraction: Fraction,
        gaussian: Fraction,
        pure: Fraction,
    ) -> None:
        """Raise if a fit fails more, or is coarser, than its fraction allows."""
        fits = math.prod(each["fits"] for each in self.accounting["multiples"])
        accounts = (gaussian > 0) + (pure > 0)
        aside = Fraction(budget["delta"]) - Fraction(budget["conversion_delta"])
        if total.delta * fits > aside / accounts * fraction:
            raise CertificateError("The fit may fail more than its fraction of delta.")
        limit = self.inner.lattice_error_limit(epsilon_of(gaussian)) * fraction
        if total.lattice_error > limit and isinstance(self.inner, GDPAccountant):
            raise CertificateError("The fit is coarser than Gaussian accounting allows.")

    def _sides(self) -> dict[str, Charge]:
        """Return the totals of the two sides of a holdout, by name."""
        return {
            side["name"]: self._total(side, by_content=False)
            for scope in self.accounting["scopes"].get("scopes", ())
            if scope.get("because") == Disjoint.HOLDOUT.value
            for side in scope.get("scopes", ())
        }


def _times(charge: Charge, times: int) -> Charge:
    return Charge(charge.cost * times, charge.delta * times, charge.lattice_error * times)


def _largest(parts: Sequence[Charge]) -> Charge:
    if not parts:
        return NO_CHARGE
    return Charge(*(max(each) for each in zip(*parts, strict=True)))
