"""Audits of the recipes of the library: the whole bank of witnesses, and the black box."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpboost._utils.validation import InvalidParameterError
from dpboost.audit.blackbox import EpsilonEstimate, estimate_epsilon
from dpboost.audit.delta_audit import lone_category
from dpboost.audit.released_surface import estimator_fit
from dpboost.audit.replay import PairAudit, replay_pair
from dpboost.audit.transcript import Recorder, Violation
from dpboost.audit.witnesses import DELTA, Witness, witnesses
from dpboost.estimators.boosting_estimators import DPBoostClassifier, DPBoostRegressor
from dpboost.privacy.accounting import GDPAccountant
from dpboost.privacy.exact_arithmetic import cost_of
from dpboost.privacy.neighbours import Neighbours
from dpboost.recipes import ALGORITHMS

ESTIMATORS = {"regression": DPBoostRegressor, "binary": DPBoostClassifier}

#: A black-box bound above the claim is an alarm when it holds with this confidence.
ALARM_CONFIDENCE = 1 - 1e-6

Part = tuple[str, int]


def deltas(recipe: str) -> tuple[float, ...]:
    """Return the deltas at which a recipe is accounted for differently."""
    accountant = ALGORITHMS.find(recipe, "audit").accountant
    if accountant(1.0, DELTA).name == accountant(1.0, 0.0).name:
        return (DELTA,)
    return (DELTA, 0.0)


def estimator_of(recipe: str, witness: Witness, epsilon: float) -> Callable[[], Any]:
    """Return a function that makes the estimator which a witness asks for."""
    settings = dict(witness.settings)
    if "selection" not in ALGORITHMS.find(recipe, "audit").parameters.names():
        settings.pop("selection", None)

    def make() -> Any:
        return ESTIMATORS[witness.task](
            recipe=recipe,
            epsilon=epsilon,
            neighbours=witness.neighbours.value,
            random_state=0,
            n_jobs=1,
            verbosity=0,
            **settings,
        )

    return make


def replay_witness(
    recipe: str, witness: Witness, *, epsilon: float = 1.0, seed: int | None = None
) -> tuple[PairAudit, PairAudit]:
    """Audit a recipe on one witness, in both directions.

    Parameters
    ----------
    recipe : str
        Name in ``ALGORITHMS``.
    witness : Witness
    epsilon : float, default=1
    seed : int, optional
        Draw from a seed.

    Returns
    -------
    tuple of PairAudit
    """
    fit = estimator_fit(estimator_of(recipe, witness, epsilon))
    return (
        replay_pair(fit, witness.pair, seed=seed),
        replay_pair(fit, witness.pair.swapped, seed=seed),
    )


@dataclass(eq=False)
class RecipeAudit:
    """What the replay auditor found on a bank of witnesses.

    Parameters
    ----------
    epsilon : float
        Claimed.
    privacy_measure : str
        Of the accountant: epsilon, rho or mu squared.
    largest_loss : float
        Largest total loss of a run; of pure recipes at most ``epsilon``.
    largest_cost : float
        Largest sum of measured costs, as a part of the capacity; at most 1.
    reached : dict of str to float
        Largest part of its charge that any release of a label attained.
    aimed : dict
        The same for the releases that witnesses aim at, by task, relation, label and number.
    n_runs : int
        Fits.
    violations : list of (str, Violation)
        With the name of the witness.
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
                key = (witness.task, witness.neighbours.value, part)
                self.aimed[key] = max(self.aimed.get(key, 0.0), entry.reached)


def bank(
    tasks: Sequence[str] = tuple(ESTIMATORS),
    relations: Sequence[Neighbours] = tuple(Neighbours),
) -> Iterator[Witness]:
    """Yield the witnesses of all tasks and relations."""
    for task in tasks:
        for neighbours in relations:
            yield from witnesses(task, neighbours)


def replay_recipe(
    recipe: str,
    *,
    epsilon: float = 1.0,
    seed: int | None = None,
    delta: float | None = None,
    chosen: Sequence[Witness] | None = None,
) -> RecipeAudit:
    """Audit a recipe on a bank of witnesses.

    Parameters
    ----------
    recipe : str
    epsilon : float, default=1
    seed : int, optional
        Draw from a seed.
    delta : float, optional
        Instead of the delta of each witness; zero leaves out those that learn categories or
        classes, which needs some.
    chosen : sequence of Witness, optional
        The whole bank by default.

    Returns
    -------
    RecipeAudit
    """
    start = time.perf_counter()
    result = RecipeAudit(recipe, epsilon)
    everyone = list(bank()) if chosen is None else chosen
    learned = {w.neighbours for w in everyone if (w.name, w.task) == LONE}
    for witness in everyone:
        if delta == 0 and "assume_public" in witness.settings:
            continue
        if delta is not None:
            witness = replace(witness, settings={**witness.settings, "delta": delta})
        try:
            audits = replay_witness(recipe, witness, epsilon=epsilon, seed=seed)
        except InvalidParameterError as error:
            result.skipped.append((repr(witness), str(error)))
            continue
        for audit in audits:
            result.add(witness, audit)
    result.violations += [("two fits", found) for found in stale_noise(recipe)]
    for neighbours in learned if delta != 0 else ():
        found = lone_category(category_learner(recipe, neighbours, epsilon, delta or DELTA))
        result.violations += [("lone category, its chance", violation) for violation in found]
    result.seconds = time.perf_counter() - start
    return result


#: The witness whose relations are also audited for the chance that its category comes out.
LONE = ("lone category", "regression")


def category_learner(
    recipe: str, neighbours: Neighbours, epsilon: float = 1.0, delta: float = DELTA
) -> Callable[[], Any]:
    """Return a function that makes an estimator which learns its categories."""

    def make() -> Any:
        return ESTIMATORS["regression"](
            recipe=recipe,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours.value,
            schema={"label_bounds": (-1.0, 1.0)},
            assume_public=(),
            n_estimators=1,
            max_depth=1,
            n_jobs=1,
            verbosity=0,
        )

    return make


def stale_noise(recipe: str) -> list[Violation]:
    """Fit twice on one table and look for releases whose outcome is the same.

    A histogram of two thousand noisy counts comes out twice by chance with a probability far
    below 10^-100.
    """
    X, y = np.ones((100, 1)), np.ones(100)
    outcomes = []
    for _ in range(2):
        recorder = Recorder(np.arange(100))
        with recorder.watching() as transcript, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ESTIMATORS["regression"](recipe=recipe, n_estimators=1, n_jobs=1, verbosity=0).fit(X, y)
        outcomes.append([line.outcome for line in transcript.lines])
    return [
        Violation(check="fresh noise", where="fit", message="two fits drew the same noise")
        for first, second in zip(*outcomes, strict=False)
        if first is not None and first.size > 100 and np.array_equal(first, second)
    ][:1]


@dataclass(frozen=True, kw_only=True)
class BoxAudit:
    """A black-box audit of a recipe.

    Parameters
    ----------
    epsilon, delta : float
        Claimed.
    privacy_measure : str
        Of the accountant; decides whether ``claim`` is an epsilon or a mu.
    """

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


#: The whole budget is in one leaf, and in the start value where a recipe releases one.
ONE_TREE: dict[str, Any] = {"n_estimators": 1, "max_depth": 0}
ENSEMBLE: dict[str, Any] = {"n_estimators": 5, "max_depth": 1}

#: So many rows keep a released start value in the middle of the labels.
N_BALANCED = 2000


def black_box(
    recipe: str,
    setting: dict[str, Any],
    *,
    epsilon: float = 1.0,
    delta: float = DELTA,
    n_runs: int,
) -> BoxAudit:
    """Audit a recipe from outside.

    The table has a row of either label, of which one comes or goes: a leaf of one row moves as
    far as any. Where a start value is released there are many such pairs instead. It then stays
    in the middle, every gradient is clipped, and the row moves the noisy sums of its leaf by
    all that the clip allows. Edges are declared, so that nothing is spent on bins.

    What tells the tables apart is the start value and the leaves of the first tree with their
    weights: all that the text of a model of one tree holds.

    Parameters
    ----------
    recipe : str
    setting : dict
        ``ONE_TREE``, ``ENSEMBLE`` or other parameters of the estimator.
    epsilon : float, default=1
    delta : float, default=1e-6
    n_runs : int
        Fits on each of the two tables.

    Returns
    -------
    BoxAudit
    """
    released_start = ALGORITHMS.find(recipe, "audit").start_share is not None
    n_rows = N_BALANCED if released_start else 2
    X, y = np.zeros((n_rows, 1)), np.tile([-1.0, 1.0], n_rows // 2)
    schema = {"edges": {0: (0.5,)}, "label_bounds": (-1.0, 1.0)}

    def make() -> Any:
        return DPBoostRegressor(
            recipe=recipe,
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            n_jobs=1,
            verbosity=0,
            **setting,
        )

    def tell(model: Any) -> NDArray[np.float64]:
        first = model.ensemble_.trees[0]
        weights = [] if first.leaf_count is None else first.leaf_count
        return np.concatenate([model.ensemble_.start, first.leaf_value, weights])

    report = make().fit(X, y).privacy_report_
    gaussian = report.privacy_measure == "mu squared"
    pure = report.privacy_measure == "epsilon"
    started = time.perf_counter()
    estimate = estimate_epsilon(
        make,
        X,
        y,
        n_rows - 1,
        n_runs=n_runs,
        delta=0.0 if pure else float(report.delta),
        statistic=tell,
    )
    return BoxAudit(
        recipe=recipe,
        setting=", ".join(f"{name} {value}" for name, value in setting.items()),
        epsilon=epsilon,
        delta=delta,
        privacy_measure=report.privacy_measure,
        claim=float(report.capacity) ** 0.5 if gaussian else float(report.epsilon),
        estimate=estimate,
        seconds=time.perf_counter() - started,
    )
