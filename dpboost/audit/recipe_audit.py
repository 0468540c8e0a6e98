"""Shared parts of the audits of recipes: replays of all witnesses, two fits, a black box."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpboost._utils.validation import InvalidParameterError
from dpboost.audit.blackbox import EpsilonEstimate, Statistic, estimate_epsilon
from dpboost.audit.neighboring_pairs import Pair
from dpboost.audit.pair_replay import Fit, PairAudit, replay_pair
from dpboost.audit.run_trace import Recorder, Violation
from dpboost.audit.witnesses import Witness
from dpboost.privacy.accounting import GDPAccountant
from dpboost.privacy.exact_arithmetic import cost_of

#: A black-box bound above the claim is an alarm when it holds with this confidence.
ALARM_CONFIDENCE = 1 - 1e-6

#: A label and the number of the release among those of it.
Part = tuple[str, int]

#: A pair of neighbors and the fit that it is for.
Case = tuple[Witness, Fit]


@dataclass(eq=False)
class RecipeAudit:
    """Result of the replay auditor on all witnesses.

    Parameters
    ----------
    largest_loss : float
        Largest total loss of a run; of pure recipes at most ``epsilon``.
    largest_cost : float
        Largest sum of measured costs, as a part of the capacity; at most 1.
    reached : dict of str to float
        Largest part of its charge that any release of a label attained.
    aimed : dict
        The same for the releases that witnesses aim at, by task, relation, label and number.
    skipped : list of (str, str)
        Witnesses on which both fits stopped, and why.
    """

    recipe: str
    epsilon: float
    privacy_measure: str = "epsilon"
    largest_loss: float = 0.0
    largest_cost: float = 0.0
    reached: dict[str, float] = field(default_factory=dict)
    aimed: dict[tuple[str, str, Part], float] = field(default_factory=dict)
    n_runs: int = 0
    seconds: float = 0.0
    violations: list[tuple[str, Violation]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def add(self, witness: Witness, audit: PairAudit) -> None:
        """Take in the audit of a pair."""
        self.n_runs += 2
        self.privacy_measure = audit.privacy_measure
        self.largest_loss = max(self.largest_loss, abs(audit.loss))
        self.largest_cost = max(self.largest_cost, audit.cost / audit.capacity)
        self.violations += [(repr(witness), violation) for violation in audit.violations]
        if audit.error and not audit.violations:
            self.skipped.append((repr(witness), audit.error))
        seen: dict[str, int] = {}
        for entry in audit.entries:
            part = (entry.label, seen.get(entry.label, 0))
            seen[entry.label] = part[1] + 1
            self.reached[entry.label] = max(self.reached.get(entry.label, 0.0), entry.reached)
            if part in witness.aims_at:
                key = (witness.task, witness.neighbors.value, part)
                self.aimed[key] = max(self.aimed.get(key, 0.0), entry.reached)


def replay_both(
    fit: Fit, witness: Witness, *, seed: int | None = None
) -> tuple[PairAudit, PairAudit]:
    """Replay a fit on a witness, in both directions."""
    options: dict[str, Any] = {"seed": seed, "group": witness.group, "several": witness.several}
    return (
        replay_pair(fit, witness.pair, **options),
        replay_pair(fit, witness.pair.swapped, **options),
    )


def replay_cases(
    name: str,
    cases: Iterable[Case],
    *,
    epsilon: float = 1.0,
    seed: int | None = None,
    adapt: Callable[[Fit, Pair], Pair] | None = None,
) -> RecipeAudit:
    """Audit fits of any kind on pairs of their own, in both directions.

    A fit that refuses its parameters is skipped. ``adapt`` returns a pair that suits a fit.
    """
    started = time.perf_counter()
    result = RecipeAudit(name, epsilon)
    for witness, fit in cases:
        if witness.before is not None:
            witness.before()
        try:
            if adapt is not None:
                witness = replace(witness, pair=adapt(fit, witness.pair))
            audits = replay_both(fit, witness, seed=seed)
        except InvalidParameterError as error:
            result.skipped.append((repr(witness), str(error)))
            continue
        for audit in audits:
            pure = audit.privacy_measure == "epsilon"
            # A group may cost so many times what one row may.
            times = witness.group if pure else witness.group**2
            result.add(witness, replace(audit, cost=audit.cost / times))
    result.seconds = time.perf_counter() - started
    return result


def repeated_noise(fit: Callable[[], Any]) -> list[Violation]:
    """Fit twice on one table of 100 rows and look for long releases whose outcome is the same.

    A histogram of two thousand noisy counts comes out twice by chance with a probability far
    below 10^-100.
    """
    outcomes = []
    for _ in range(2):
        recorder = Recorder(np.arange(100))
        with recorder.watching() as transcript, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit()
        outcomes.append([line.outcome for line in transcript.lines])
    return [
        Violation("fresh noise", "fit", "two fits drew the same noise")
        for first, second in zip(*outcomes, strict=False)
        if first is not None and first.size > 100 and np.array_equal(first, second)
    ][:1]


@dataclass(frozen=True, kw_only=True)
class BoxAudit:
    """A black-box audit of a recipe, whose ``claim`` is a mu under Gaussian accounting."""

    recipe: str
    setting: str
    epsilon: float
    delta: float
    privacy_measure: str
    claim: float
    estimate: EpsilonEstimate
    seconds: float

    @property
    def bound(self) -> float:
        """Lower bound to be compared with the claim."""
        return self.estimate.mu if self.privacy_measure == "mu squared" else self.estimate.epsilon

    @property
    def epsilon_bound(self) -> float:
        """The same as an epsilon at the claimed delta."""
        if self.privacy_measure != "mu squared":
            return self.bound
        return GDPAccountant().epsilon(cost_of(Fraction(self.bound) ** 2), Fraction(self.delta))

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted beyond reasonable doubt."""
        if self.privacy_measure == "mu squared":
            return self.estimate.mu_at(ALARM_CONFIDENCE) > self.claim
        return self.estimate.epsilon_at(ALARM_CONFIDENCE) > self.claim

    @property
    def violations(self) -> list[tuple[str, Violation]]:
        """The refuted claim, or nothing."""
        message = f"measured {self.bound:.6g}, claimed {self.claim:.6g}"
        found = (self.setting, Violation("black box", self.setting, message))
        return [found] if self.violated else []


def boxed(
    recipe: str,
    setting: str,
    make: Callable[[], Any],
    table: tuple[Any, Any],
    tell: Statistic,
    *,
    delta: float,
    n_runs: int,
) -> BoxAudit:
    """Audit estimators from outside by the last row of a table, with ``n_runs`` fits on each."""
    X, y = table
    report = make().fit(X, y).privacy_report_
    measure = report.privacy_measure
    started = time.perf_counter()
    estimate = estimate_epsilon(
        make,
        X,
        y,
        len(y) - 1,
        n_runs=n_runs,
        delta=0.0 if measure == "epsilon" else float(report.delta),
        statistic=tell,
    )
    gaussian = measure == "mu squared"
    return BoxAudit(
        recipe=recipe,
        setting=setting,
        epsilon=float(report.epsilon),
        delta=delta,
        privacy_measure=measure,
        claim=float(report.capacity) ** 0.5 if gaussian else float(report.epsilon),
        estimate=estimate,
        seconds=time.perf_counter() - started,
    )
