"""What an audit of the whole library consists of: parts that run one by one or side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from dpboost.audit.boosting_audit import (
    ENSEMBLE,
    ONE_TREE,
    BoxAudit,
    RecipeAudit,
    bank,
    black_box,
    deltas,
    replay_recipe,
)
from dpboost.audit.budget_session import audit_sessions
from dpboost.audit.claims import unfounded_claims
from dpboost.audit.cluster_audit import fits_on_workers, transcripts_of_workers
from dpboost.audit.dropout_audit import masks_of_lost_parties
from dpboost.audit.fit_variety import Case, other_cases
from dpboost.audit.fold_audit import cross_validations_of_parties
from dpboost.audit.local_audit import local_reports
from dpboost.audit.network_audit import (
    continued_fits_of_parties,
    evaluations_of_parties,
    fits_of_parties,
)
from dpboost.audit.noise_independence import dependent_noise
from dpboost.audit.non_interference import NonInterference, non_interference
from dpboost.audit.rare_outcomes import rare_outcomes
from dpboost.audit.recorded_calls import KINDS, N_ROWS, RecordedCall, recorded_calls
from dpboost.audit.refusals import telling_refusals
from dpboost.audit.replay import replay_pair
from dpboost.audit.sampler_laws import sampler_laws
from dpboost.audit.transcript import Violation
from dpboost.audit.tree_audit import (
    TREE_RECIPES,
    replay_tree_recipe,
    tree_bank,
    tree_black_box,
)
from dpboost.audit.witnesses import DELTA, Witness
from dpboost.privacy.neighbours import Neighbours
from dpboost.recipes import ALGORITHMS

#: Recipes of DPTreeClassifier by the names that the command knows them by.
TREES = {f"tree:{name}": name for name in TREE_RECIPES}

#: What is no recipe, by the names that the command knows it by.
SAMPLERS, OTHER = "samplers", "other fits"
CALLS, SESSION = "non-interference", "budget session"

#: Fits to rows that lie on workers, or at parties; of the long audit, where it is not asked for.
CLUSTER, PARTIES = "dask", "parties"

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
    """What is to be audited.

    Parameters
    ----------
    epsilon : float
        Claimed.
    names : tuple of str
        Recipes, trees by their prefix, and the other names of this module.
    runs : int or None
        Fits a table in a black box; by default as many as the length of the audit has.
    """

    epsilon: float = 1.0
    quick: bool = False
    names: tuple[str, ...] = ()
    runs: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one part found.

    Parameters
    ----------
    audit : RecipeAudit or BoxAudit or None
        None where a part counts no loss.
    what : str
        In words, where there is no audit of a recipe.
    runs : int or None
        How often something ran, where a part counts it.
    reached : mapping of str to float
        Largest part of its charge that each kind of release cost, where there is no audit of a
        recipe, which has its own.
    labels : tuple of str
        Kinds of releases that a part audits in another way.
    """

    name: str
    audit: RecipeAudit | BoxAudit | None = None
    what: str = ""
    violations: tuple[tuple[str, Violation], ...] = ()
    seconds: float = 0.0
    runs: int | None = None
    reached: Mapping[str, float] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing was refuted."""
        return not self.violations


@dataclass(frozen=True, kw_only=True)
class Part:
    """One step of an audit.

    Parameters
    ----------
    name : str
        Recipe, or another name of this module.
    what : str
        What is looked at, in words.
    run : callable
        Returns the outcome.
    cost : float
        About how long it takes beside others, so that the longest begin first.
    """

    name: str
    what: str
    run: Callable[[], Outcome]
    cost: float = 1.0


@dataclass(eq=False)
class Plan:
    """Parts to run, and what is left out.

    Parameters
    ----------
    left_out : list of str
        In words, for whoever reads the verdict.
    """

    parts: list[Part] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def plan(request: Request) -> Plan:
    """Return the parts of an audit."""
    found = Plan()
    every = (SAMPLERS, CALLS, *ALGORITHMS.names, *TREES, OTHER, SESSION)
    if not request.quick:
        every = (*every, CLUSTER, PARTIES)
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
        found.parts.append(_session(request))
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
            f"epsilon {LARGE_EPSILON:g}; other fits with delta 0 and neighbours='replace'",
        ]
    return found


def _elsewhere(found: Plan, chosen: Sequence[str]) -> None:
    """Add the fits to rows that lie in several places, or that they are left out."""
    missing = find_spec("distributed") is None
    if CLUSTER in chosen and not missing:
        what = "replay on the workers of a cluster"
        run = _timed(CLUSTER, what, fits_on_workers)
        found.parts.append(Part(name=CLUSTER, what=what, run=run, cost=12))
        what = "replays without rows, far tables"
        run = _timed(CLUSTER, what, transcripts_of_workers)
        found.parts.append(Part(name=CLUSTER, what=what, run=run, cost=12))
    else:
        reason = ": the extra 'dask' is not installed" if CLUSTER in chosen else ""
        found.left_out.append(f"Dask{reason}")
    if PARTIES in chosen:
        what = "messages, and replay in one place"
        run = _timed(PARTIES, what, fits_of_parties)
        found.parts.append(Part(name=PARTIES, what=what, run=run, cost=2))
        what = "fits that continue a model over messages, and replay in one place"
        run = _timed(PARTIES, what, continued_fits_of_parties)
        found.parts.append(Part(name=PARTIES, what=what, run=run))
        what = "cross-validations over messages, and replay in one place"
        run = _timed(PARTIES, what, cross_validations_of_parties)
        found.parts.append(Part(name=PARTIES, what=what, run=run, cost=2))
        what = "evaluations over messages, and replay in one place"
        run = _timed(PARTIES, what, evaluations_of_parties)
        found.parts.append(Part(name=PARTIES, what=what, run=run))
        what = "masks where parties are lost"
        run = _timed(PARTIES, what, masks_of_lost_parties)
        found.parts.append(Part(name=PARTIES, what=what, run=run))
    else:
        found.left_out.append("parties that exchange messages")
    found.left_out.append("what carries messages: Dask's network, HTTPS and Flower, see tests/unit")


def _timed(
    name: str,
    what: str,
    check: Callable[[], Sequence[Violation]],
    labels: tuple[str, ...] = (),
) -> Callable[[], Outcome]:
    def run() -> Outcome:
        started = time.perf_counter()
        found = tuple((what, violation) for violation in check())
        seconds = time.perf_counter() - started
        return Outcome(name=name, what=what, violations=found, seconds=seconds, labels=labels)

    return run


def _samplers() -> list[Part]:
    checks: dict[str, Callable[[], list[Violation]]] = {
        "outcomes too rare to wait for": rare_outcomes,
        "draws that depend on each other": dependent_noise,
        "laws of samplers, coins and shares of noise": sampler_laws,
        "reports of devices": local_reports,
        "refusals of bad input": telling_refusals,
        "claims of fits without privacy": unfounded_claims,
    }
    labels: dict[object, tuple[str, ...]] = {local_reports: ("reports",)}
    return [
        Part(
            name=SAMPLERS,
            what=what,
            run=_timed(SAMPLERS, what, check, labels.get(check, ())),
            cost=4,
        )
        for what, check in checks.items()
    ]


def _recorded(request: Request) -> list[Part]:
    """Return the audit of non-interference, one part for each kind of calls."""
    found = []
    for kind in KINDS:
        calls = [call for call in recorded_calls(quick=request.quick) if call.kind == kind]
        if not calls:
            continue

        def run(kind: str = kind, calls: Sequence[RecordedCall] = tuple(calls)) -> Outcome:
            started = time.perf_counter()
            audits = {call.name: _audited(call, request) for call in calls}
            violations = tuple(
                (name, found) for name, audit in audits.items() for found in audit.violations
            )
            return Outcome(
                name=CALLS,
                what=f"replays without rows, far tables: {kind}",
                violations=violations,
                seconds=time.perf_counter() - started,
                runs=sum(audit.n_runs for audit in audits.values()),
            )

        cost = len(calls) * (1 if request.quick else 4)
        found.append(Part(name=CALLS, what=kind, run=run, cost=cost))
    return found


def _session(request: Request) -> Part:
    what = "replay of all calls under one budget"

    def run() -> Outcome:
        started = time.perf_counter()
        audit = audit_sessions(quick=request.quick)
        return Outcome(
            name=SESSION,
            what=what,
            violations=tuple(audit.violations),
            seconds=time.perf_counter() - started,
            runs=audit.n_runs,
            reached=audit.reached,
        )

    return Part(name=SESSION, what=what, run=run, cost=4 if request.quick else 20)


def _audited(call: RecordedCall, request: Request) -> NonInterference:
    given = dict(call.given)
    return non_interference(call.make(), N_ROWS, given=given, every_size=not request.quick)


def _replayed(name: str, audit: RecipeAudit) -> Outcome:
    return Outcome(
        name=name, audit=audit, violations=tuple(audit.violations), seconds=audit.seconds
    )


def _boxed(name: str, audit: BoxAudit) -> Outcome:
    found: tuple[tuple[str, Violation], ...] = ()
    if audit.violated:
        message = f"measured {audit.bound:.6g}, claimed {audit.claim:.6g}"
        violation = Violation(check="black box", where=audit.setting, message=message)
        found = ((audit.setting, violation),)
    return Outcome(name=name, audit=audit, violations=found, seconds=audit.seconds)


def _some(witnesses: Iterable[Witness], name: str, request: Request) -> list[Witness]:
    """Return the witnesses that the audit of a recipe looks at."""
    whole = name in WHOLE_BANKS or not request.quick
    return [w for w in witnesses if whole or not w.name.startswith(SHARED)]


def _recipe(recipe: str, request: Request) -> list[Part]:
    parts = []
    for delta in deltas(recipe):
        name = recipe if delta else f"{recipe}, delta 0"

        def replayed(name: str = name, delta: float = delta) -> Outcome:
            chosen = _some(bank(), name, request)
            audit = replay_recipe(recipe, epsilon=request.epsilon, delta=delta, chosen=chosen)
            return _replayed(name, audit)

        parts.append(Part(name=name, what="replay", run=replayed, cost=18))
        if request.quick and name not in QUICK_BOXES:
            continue
        runs = request.runs or (QUICK_RUNS if request.quick else _long_runs(recipe))
        settings = [(ONE_TREE, runs)]
        if not request.quick:
            settings.append((ENSEMBLE, max(LEAST_RUNS, runs // ENSEMBLE_PART)))
        for setting, n_runs in settings:

            def boxed(
                name: str = name,
                delta: float = delta,
                setting: dict[str, int] = setting,
                n_runs: int = n_runs,
            ) -> Outcome:
                audit = black_box(
                    recipe, setting, epsilon=request.epsilon, delta=delta, n_runs=n_runs
                )
                return _boxed(name, audit)

            what = "black box, " + ", ".join(f"{key} {value}" for key, value in setting.items())
            parts.append(Part(name=name, what=what, run=boxed, cost=n_runs / 50))
    return parts


def _long_runs(recipe: str) -> int:
    divided = ALGORITHMS.find(recipe, "audit").start_share is not None
    return LONG_RUNS if divided else LONG_RUNS_OF_ONE_NUMBER


def _tree(name: str, request: Request) -> list[Part]:
    recipe = TREES[name]
    runs = request.runs or (QUICK_RUNS if request.quick else LONG_RUNS_OF_ONE_NUMBER)

    def replayed() -> Outcome:
        chosen = _some(tree_bank(recipe), name, request)
        return _replayed(name, replay_tree_recipe(recipe, epsilon=request.epsilon, chosen=chosen))

    def boxed() -> Outcome:
        return _boxed(name, tree_black_box(recipe, epsilon=request.epsilon, n_runs=runs))

    parts = [Part(name=name, what="replay", run=replayed, cost=9)]
    if not request.quick or name in QUICK_BOXES:
        parts.append(Part(name=name, what="black box, max_depth 0", run=boxed, cost=runs / 100))
    return parts


def replay_cases(
    name: str, cases: Iterable[Case], *, epsilon: float = 1.0, seed: int | None = None
) -> RecipeAudit:
    """Audit fits of any kind on pairs of their own, in both directions.

    Parameters
    ----------
    cases : iterable of (Witness, callable)
    epsilon : float, default=1
        Claimed.
    seed : int, optional
        Draw from a seed.
    """
    started = time.perf_counter()
    result = RecipeAudit(name, epsilon)
    for witness, fit in cases:
        if witness.before is not None:
            witness.before()
        for pair in (witness.pair, witness.pair.swapped):
            audit = replay_pair(fit, pair, seed=seed, group=witness.group, several=witness.several)
            result.add(witness, replace(audit, cost=audit.cost / _factor(witness, audit)))
    result.seconds = time.perf_counter() - started
    return result


def _factor(witness: Witness, audit: object) -> int:
    """Return how many times the cost of one row a group may cost."""
    pure = getattr(audit, "privacy_measure", "epsilon") == "epsilon"
    return witness.group if pure else witness.group**2


def _others(request: Request) -> list[Part]:
    settings = [(request.epsilon, DELTA), (request.epsilon, 0.0)]
    if not request.quick:
        settings.append((LARGE_EPSILON, DELTA))
    parts = []
    for epsilon, delta in settings:
        for relation in Neighbours:
            if request.quick and delta == 0 and relation is Neighbours.REPLACE:
                continue
            name = f"{OTHER}, delta {delta:g}"
            if epsilon != request.epsilon:
                name = f"{OTHER}, epsilon {epsilon:g}"

            def replayed(
                name: str = name,
                epsilon: float = epsilon,
                delta: float = delta,
                relation: Neighbours = relation,
            ) -> Outcome:
                cases = other_cases(relation, epsilon=epsilon, delta=delta)
                return _replayed(name, replay_cases(name, cases, epsilon=epsilon))

            parts.append(Part(name=name, what=f"replay, {relation.value}", run=replayed, cost=8))
    if not request.quick:

        def strong() -> Outcome:
            name = f"best, epsilon {LARGE_EPSILON:g}"
            audit = replay_recipe("best", epsilon=LARGE_EPSILON, delta=DELTA)
            return _replayed(name, audit)

        parts.append(Part(name="best", what=f"replay, epsilon {LARGE_EPSILON:g}", run=strong))
    return parts
