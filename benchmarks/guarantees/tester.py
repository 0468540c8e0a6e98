"""Runs a case: many fits where the library lives, then dpboost's own black-box audit of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.errors import PeerUnavailableError
from benchmarks.guarantees.cases import Case
from benchmarks.harness.results import Result, Results
from benchmarks.peers import ask_peer
from dpboost.audit import estimate_epsilon

#: So rarely wrong is a bound that refutes: once in a thousand cases.
CONFIDENCE = 0.999

Retrain = Callable[[Case, int], "Mapping[str, np.ndarray]"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What an audit has shown.

    Attributes
    ----------
    case, method, relation : str
        Names of the case and of the method, and in what the tables differ.
    epsilon, delta : float
        What the library was reported to keep.
    bound : float or None
        Lower bound of its epsilon, with the confidence of this module; ``None`` where the library
        cannot be installed.
    counts : (int, int, int)
        How often the event happened on the table where it is frequent, on the other one, and fits.
    repeats : bool
        Whether two fits in turn had the same noise.
    missing : str
        Why the library is not there.
    """

    case: str
    method: str
    relation: str
    epsilon: float
    delta: float
    bound: float | None
    counts: tuple[int, int, int] = (0, 0, 0)
    repeats: bool = False
    missing: str = ""

    @property
    def is_refuted(self) -> bool:
        """Whether the library has shown more than it promised to."""
        return self.repeats or (self.bound is not None and self.bound > self.epsilon)


def results_of(finding: Finding) -> list[Result]:
    """Return a finding as results; one that could not be made has but its case."""
    frequent, rare, fits = finding.counts
    numbers: dict[str, float] = {"delta": finding.delta}
    if finding.bound is not None:
        numbers |= {"lower bound": finding.bound, "event": frequent, "event of the other": rare}
        numbers |= {"fits": fits, "same noise twice": float(finding.repeats)}
    return [
        Result(
            data=finding.case,
            method=finding.method,
            epsilon=finding.epsilon,
            x=finding.relation,
            measure=name,
            value=float(value),
        )
        for name, value in numbers.items()
    ]


def findings_of(results: Results) -> list[Finding]:
    """Return the findings that results are of; why one is missing is among the facts."""
    found: dict[tuple[str, str, float | None, str], dict[str, float]] = {}
    for row in results.rows:
        key = row.data, row.method, row.epsilon, row.x
        found.setdefault(key, {})[row.measure] = row.value
    findings = []
    for (case, method, epsilon, relation), numbers in found.items():
        assert epsilon is not None
        missing = "" if "lower bound" in numbers else "its library could not be installed"
        findings.append(
            Finding(
                case=case,
                method=method,
                relation=relation,
                epsilon=epsilon,
                delta=numbers["delta"],
                bound=numbers.get("lower bound"),
                counts=(
                    int(numbers.get("event", 0)),
                    int(numbers.get("event of the other", 0)),
                    int(numbers.get("fits", 0)),
                ),
                repeats=bool(numbers.get("same noise twice", 0)),
                missing=missing,
            )
        )
    return findings


def retrained(case: Case, runs: int) -> Mapping[str, np.ndarray]:
    """Return what the models reported, from the environment of the library."""
    other_X, other_y = case.neighbor()
    arrays = {"X": case.X, "y": case.y, "other_X": other_X, "other_y": other_y}
    arrays["bounds"] = case.bounds
    settings = {"epsilon": case.epsilon, "delta": case.delta, "runs": runs, **case.settings}
    if case.environment is not None:
        return ask_peer(case.environment, case.script, arrays, settings, 1)
    from benchmarks.guarantees import ours

    settings["neighbors"] = "add_remove" if case.replacement is None else "replace"
    return ours.answer(case.script, arrays, settings)


class _Replay:
    """An estimator whose fits were made before: it tells them one after another."""

    def __init__(self, case: Case, told: Mapping[str, np.ndarray]) -> None:
        self.case = case
        self.here, self.there = iter(told["here"]), iter(told["there"])

    def fit(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        is_here = np.array_equal(X, self.case.X) and np.array_equal(y, self.case.y)
        numbers: np.ndarray = next(self.here if is_here else self.there)
        if np.isnan(numbers).all():
            raise RuntimeError("This fit failed where it was made.")
        return numbers


def audit(case: Case, runs: int, retrain: Retrain = retrained) -> Finding:
    """Fit ``runs`` models on each table and bound epsilon from below.

    Parameters
    ----------
    case : Case
        What is fitted.
    runs : int
        Fits on each table; half of them choose the event, the others count it.
    retrain : callable, optional
        ``retrain(case, runs)`` makes the fits.
    """
    names: dict[str, Any] = {
        "case": case.name,
        "method": case.method,
        "relation": case.relation,
        "epsilon": case.epsilon,
        "delta": case.delta,
    }
    try:
        told = retrain(case, runs)
    except PeerUnavailableError as error:
        return Finding(**names, bound=None, missing=str(error))
    replay = _Replay(case, told)
    found = estimate_epsilon(
        lambda: replay,
        case.X,
        case.y,
        case.row,
        replacement=case.replacement,
        n_runs=runs,
        delta=case.delta,
        confidence=CONFIDENCE,
        statistic=lambda numbers: numbers,
    )
    return Finding(**names, bound=found.epsilon, counts=found.counts, repeats=bool(told["repeats"]))
