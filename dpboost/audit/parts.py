"""Parts of the audit of the whole library, which run in sequence or in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from dpboost.audit.boosting_audit import ENSEMBLE, ONE_TREE, bank, black_box, deltas, replay_recipe
from dpboost.audit.budget_session import audit_sessions
from dpboost.audit.claims import unfounded_claims
from dpboost.audit.cluster_audit import (
    fits_on_spark,
    fits_on_workers,
    transcripts_of_workers,
    why_no_spark,
)
from dpboost.audit.dropout_audit import masks_of_lost_parties
from dpboost.audit.fit_variety import other_cases
from dpboost.audit.local_audit import local_reports
from dpboost.audit.network_audit import (
    continued_fits_of_parties,
    cross_validations_of_parties,
    evaluations_of_parties,
    fits_of_parties,
)
from dpboost.audit.noise_independence import dependent_noise
from dpboost.audit.non_interference import non_interference
from dpboost.audit.rare_outcomes import rare_outcomes
from dpboost.audit.recipe_audit import BoxAudit, RecipeAudit, replay_cases
from dpboost.audit.recorded_calls import KINDS, N_ROWS, RecordedCall, recorded_calls
from dpboost.audit.refusals import telling_refusals
from dpboost.audit.run_trace import Violation
from dpboost.audit.sampler_laws import sampler_laws
from dpboost.audit.tree_audit import TREE_RECIPES, replay_tree_recipe, tree_bank, tree_black_box
from dpboost.audit.witnesses import DELTA, Witness
from dpboost.privacy.sensitivity.bound import Neighbors
from dpboost.recipes import ALGORITHMS

#: Recipes of DPTreeClassifier by the names that the command knows them by.
TREES = {f"tree:{name}": name for name in TREE_RECIPES}

#: What is no recipe, by the names that the command knows it by.
SAMPLERS, OTHER = "samplers", "other fits"
CALLS, SESSION = "non-interference", "budget session"

#: Fits to rows that lie on workers, or at parties; of the long audit, where it is not asked for.
CLUSTER, SPARK, PARTIES = "dask", "spark", "parties"

QUICK_RUNS = 400
LONG_RUNS = 100_000

#: So many show as much where a single number holds the whole budget, under a pure epsilon.
LONG_RUNS_OF_ONE_NUMBER = 20_000

#: A row in one tree of several shows far less than the claim, so fewer fits look for alarms.
ENSEMBLE_PART = 10
LEAST_RUNS = 100

#: An epsilon at which the recipe best accounts for its noise in another way.
LARGE_EPSILON = 12.0

#: Recipes of which the quick audit looks at every witness; the others share their preparation.
WHOLE_BANKS = ("best", "dpboost", "tree:best")

#: Witnesses of what recipes share, by how their names begin.
SHARED = (
    "nothing declared",
    "lone category",
    "frequent categories",
    "49 rows or 50, first",
    "49 rows or 50, last",
    "bin border",
    "missing values",
    "offset labels",
    "10,000 rows",
    "20,000 rows",
)

#: Recipes whose black box the quick audit opens.
QUICK_BOXES = ("best", "dpboost", "tree:best")


@dataclass(frozen=True, kw_only=True)
class Request:
    """Selected parts: recipes, trees by their prefix, and other names of this module.

    Without ``runs`` the length of the audit sets the number of black-box fits for each table.
    """

    epsilon: float = 1.0
    quick: bool = False
    names: tuple[str, ...] = ()
    runs: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of one part."""

    name: str
    audit: RecipeAudit | BoxAudit | None = None
    #: In words, where there is no audit of a recipe.
    what: str = ""
    violations: tuple[tuple[str, Violation], ...] = ()
    seconds: float = 0.0
    #: How often something ran, where a part counts it.
    runs: int | None = None
    #: Largest part of its charge that each kind of release cost, where there is no audit of a
    #: recipe, which has its own.
    reached: Mapping[str, float] = field(default_factory=dict)
    #: Kinds of releases that a part audits in another way.
    labels: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing was refuted."""
        return not self.violations


@dataclass(frozen=True, kw_only=True)
class AuditPart:
    """One part of an audit; the most expensive parts start first."""

    name: str
    what: str
    run: Callable[[], Outcome]
    cost: float = 1.0


@dataclass(eq=False)
class Plan:
    """Parts to run, and a description of the excluded parts."""

    parts: list[AuditPart] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def plan(request: Request) -> Plan:
    """Return the parts of an audit."""
    found = Plan()
    every = (SAMPLERS, CALLS, *ALGORITHMS.names, *TREES, OTHER, SESSION)
    if not request.quick:
        every = (*every, CLUSTER, SPARK, PARTIES)
    chosen = request.names or every
    if SAMPLERS in chosen:
        found.parts += _samplers()
    if CALLS in chosen:
        found.parts += _recorded(request)
    for name in (name for name in chosen if name in ALGORITHMS.names):
        found.parts += _recipe(name, request)
    for name in (name for name in chosen if name in TREES):
        found.parts += _tree(name, request)
    if OTHER in chosen:
        found.parts += _others(request)
    if SESSION in chosen:
        what, run = "replay of all calls under one budget", partial(_sessions, request)
        cost = 4 if request.quick else 20
        found.parts.append(_timed(SESSION, what, run, cost=cost))
    _elsewhere(found, chosen)
    if request.names:
        found.left_out.append("not asked for: " + ", ".join(sorted(set(every) - set(chosen))))
    if request.quick:
        found.left_out += [
            f"witnesses of preparation for other recipes than {', '.join(WHOLE_BANKS)}",
            f"black boxes of other recipes than {', '.join(QUICK_BOXES)}, of ensembles, and of "
            f"more than {request.runs or QUICK_RUNS} fits a table",
            "most sessions under one budget",
            "non-interference of other calls than a few, and far tables of other sizes",
            f"epsilon {LARGE_EPSILON:g}; other fits with delta 0 and neighbors='replace'",
        ]
    return found


def _timed(
    name: str, what: str, run: Callable[[], Outcome | Sequence[Violation]], *, cost: float = 1.0
) -> AuditPart:
    """Return a part that counts no loss, with its seconds."""

    def timed() -> Outcome:
        started = time.perf_counter()
        found = run()
        if not isinstance(found, Outcome):
            violations = tuple((what, violation) for violation in found)
            found = Outcome(name=name, violations=violations)
        return replace(found, what=what, seconds=time.perf_counter() - started)

    return AuditPart(name=name, what=what, run=timed, cost=cost)


def _elsewhere(found: Plan, chosen: Sequence[str]) -> None:
    """Add the fits to rows that lie in several places, or that they are left out."""
    missing = find_spec("distributed") is None
    if CLUSTER in chosen and not missing:
        found.parts += [
            _timed(CLUSTER, "replay on the workers of a cluster", fits_on_workers, cost=12),
            _timed(CLUSTER, "replays without rows, far tables", transcripts_of_workers, cost=12),
        ]
    else:
        reason = ": the extra 'dask' is not installed" if CLUSTER in chosen else ""
        found.left_out.append(f"Dask{reason}")
    missing_here = why_no_spark() if SPARK in chosen else None
    if SPARK in chosen and missing_here is None:
        found.parts.append(_timed(SPARK, "replay on tasks of Spark", fits_on_spark, cost=12))
    else:
        found.left_out.append(f"Spark: {missing_here}" if missing_here else "Spark")
    found.left_out.append("replays without rows, classes and replaced rows on Spark")
    if PARTIES in chosen:
        checks: dict[str, Callable[[], Sequence[Violation]]] = {
            "messages": fits_of_parties,
            "fits that continue a model over messages": continued_fits_of_parties,
            "cross-validations over messages": cross_validations_of_parties,
            "evaluations over messages": evaluations_of_parties,
        }
        found.parts += [
            _timed(PARTIES, f"{what}, and replay in one place", check, cost=2)
            for what, check in checks.items()
        ]
        found.parts.append(_timed(PARTIES, "masks where parties are lost", masks_of_lost_parties))
    else:
        found.left_out.append("parties that exchange messages")
    found.left_out.append(
        "what carries messages: Dask's network, Spark's hub, HTTPS and Flower, see tests/unit"
    )


def _samplers() -> list[AuditPart]:
    def reports() -> Outcome:
        violations = tuple(("reports of devices", found) for found in local_reports())
        return Outcome(name=SAMPLERS, violations=violations, labels=("reports",))

    checks: dict[str, Callable[[], Outcome | Sequence[Violation]]] = {
        "outcomes too rare to wait for": rare_outcomes,
        "draws that depend on each other": dependent_noise,
        "laws of samplers, coins and shares of noise": sampler_laws,
        "reports of devices": reports,
        "refusals of bad input": telling_refusals,
        "claims of fits without privacy": unfounded_claims,
    }
    return [_timed(SAMPLERS, what, check, cost=4) for what, check in checks.items()]


def _recorded(request: Request) -> list[AuditPart]:
    """Return the audit of non-interference, one part for each kind of calls."""
    by_kind: dict[str, list[RecordedCall]] = {}
    for call in recorded_calls(quick=request.quick):
        by_kind.setdefault(call.kind, []).append(call)
    return [
        _timed(
            CALLS,
            f"replays without rows, far tables: {kind}",
            partial(_audited, by_kind[kind], request),
            cost=len(by_kind[kind]) * (1 if request.quick else 4),
        )
        for kind in KINDS
        if kind in by_kind
    ]


def _audited(calls: Sequence[RecordedCall], request: Request) -> Outcome:
    audits = {
        call.name: non_interference(
            call.make(), N_ROWS, given=dict(call.given), every_size=not request.quick
        )
        for call in calls
    }
    violations = tuple((name, found) for name, own in audits.items() for found in own.violations)
    n_runs = sum(audit.n_runs for audit in audits.values())
    return Outcome(name=CALLS, violations=violations, runs=n_runs)


def _sessions(request: Request) -> Outcome:
    audit = audit_sessions(quick=request.quick)
    violations = tuple(audit.violations)
    return Outcome(name=SESSION, violations=violations, runs=audit.n_runs, reached=audit.reached)


def _outcome(name: str, run: Callable[[], RecipeAudit | BoxAudit]) -> Outcome:
    audit = run()
    violations = tuple(audit.violations)
    return Outcome(name=name, audit=audit, violations=violations, seconds=audit.seconds)


def _some(witnesses: Iterable[Witness], name: str, request: Request) -> list[Witness]:
    """Return the witnesses that the audit of a recipe looks at."""
    whole = name in WHOLE_BANKS or not request.quick
    return [w for w in witnesses if whole or not w.name.startswith(SHARED)]


def _recipe(recipe: str, request: Request) -> list[AuditPart]:
    parts = []
    divided = ALGORITHMS.find(recipe, "audit").start_share is not None
    for delta in deltas(recipe):
        name = recipe if delta else f"{recipe}, delta 0"
        claimed = {"epsilon": request.epsilon, "delta": delta}

        def replayed(name: str = name, claimed: Any = claimed) -> RecipeAudit:
            return replay_recipe(recipe, **claimed, chosen=_some(bank(), name, request))

        run = partial(_outcome, name, replayed)
        parts.append(AuditPart(name=name, what="replay", run=run, cost=18))
        if request.quick and name not in QUICK_BOXES:
            continue
        long_runs = LONG_RUNS if divided else LONG_RUNS_OF_ONE_NUMBER
        runs = request.runs or (QUICK_RUNS if request.quick else long_runs)
        settings = [(ONE_TREE, runs)]
        if not request.quick:
            settings.append((ENSEMBLE, max(LEAST_RUNS, runs // ENSEMBLE_PART)))
        for setting, n_runs in settings:
            what = "black box, " + ", ".join(f"{key} {value}" for key, value in setting.items())
            run = partial(
                _outcome, name, partial(black_box, recipe, setting, **claimed, n_runs=n_runs)
            )
            parts.append(AuditPart(name=name, what=what, run=run, cost=n_runs / 50))
    return parts


def _tree(name: str, request: Request) -> list[AuditPart]:
    recipe, epsilon = TREES[name], request.epsilon
    runs = request.runs or (QUICK_RUNS if request.quick else LONG_RUNS_OF_ONE_NUMBER)

    def replayed() -> RecipeAudit:
        chosen = _some(tree_bank(recipe), name, request)
        return replay_tree_recipe(recipe, epsilon=epsilon, chosen=chosen)

    parts = [AuditPart(name=name, what="replay", run=partial(_outcome, name, replayed), cost=9)]
    if not request.quick or name in QUICK_BOXES:
        run = partial(_outcome, name, partial(tree_black_box, recipe, epsilon=epsilon, n_runs=runs))
        parts.append(AuditPart(name=name, what="black box, max_depth 0", run=run, cost=runs / 100))
    return parts


def _others(request: Request) -> list[AuditPart]:
    settings = [(request.epsilon, DELTA), (request.epsilon, 0.0)]
    if not request.quick:
        settings.append((LARGE_EPSILON, DELTA))
    parts = []
    for epsilon, delta in settings:
        for relation in Neighbors:
            if request.quick and delta == 0 and relation is Neighbors.REPLACE:
                continue
            name = f"{OTHER}, delta {delta:g}"
            if epsilon != request.epsilon:
                name = f"{OTHER}, epsilon {epsilon:g}"
            cases = other_cases(relation, epsilon=epsilon, delta=delta)
            run = partial(_outcome, name, partial(replay_cases, name, cases, epsilon=epsilon))
            parts.append(AuditPart(name=name, what=f"replay, {relation.value}", run=run, cost=8))
    if not request.quick:
        name = f"best, epsilon {LARGE_EPSILON:g}"
        strong = partial(replay_recipe, "best", epsilon=LARGE_EPSILON, delta=DELTA)
        what = f"replay, epsilon {LARGE_EPSILON:g}"
        parts.append(AuditPart(name="best", what=what, run=partial(_outcome, name, strong)))
    return parts
