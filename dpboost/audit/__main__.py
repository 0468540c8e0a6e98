"""Audit the whole library: ``python -m dpboost.audit [--quick] [--minutes N]``.

The exit code is 1 if a check refutes a claim. ``python -u -m dpboost.audit | tee FILE`` shows the
lines of a long run immediately.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import dpboost
from dpboost._utils.version import build_hash
from dpboost.audit import record
from dpboost.audit.parts import (
    CALLS,
    CLUSTER,
    LONG_RUNS,
    OTHER,
    PARTIES,
    QUICK_RUNS,
    SAMPLERS,
    SESSION,
    TREES,
    AuditPart,
    Outcome,
    Plan,
    Request,
    plan,
)
from dpboost.audit.random_audit import RandomAudit, random_audit
from dpboost.audit.recipe_audit import BoxAudit, RecipeAudit
from dpboost.audit.run_trace import Violation
from dpboost.audit.witnesses import DELTA
from dpboost.recipes import ALGORITHMS

ROW = "{:<24} {:<46} {:>8} {:>10} {:>8} {:>8}  {}"

#: Of one random run, lines that are printed.
MOST_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audits, print one line for each, and return 0 when every claim stands, else 1."""
    options = _options(arguments)
    if options.minutes is not None:
        return _random(options)
    request = Request(
        epsilon=options.epsilon,
        quick=options.quick,
        names=tuple(options.recipe or ()),
        runs=options.runs,
    )
    found = plan(request)
    print(f"dpboost {dpboost.__version__}, epsilon {options.epsilon:g}, delta {DELTA:g} or 0")
    print(f"{record.BUILD} {build_hash()}")
    print(ROW.format("recipe", "audit", "claimed", "measured", "runs", "seconds", "verdict"))
    sound, stopped = True, []
    for outcome in outcomes(found):
        _print(outcome)
        sound &= outcome.sound
        if isinstance(outcome.audit, RecipeAudit):
            stopped += [f"{outcome.name}, {where}" for where, _ in outcome.audit.skipped]
    print(
        "every claim stands"
        if sound
        else "VIOLATION: at least one claim is false, see the lines above"
    )
    _print_left_out(found, stopped)
    return 0 if sound else 1


def outcomes(found: Plan) -> Iterator[Outcome]:
    """Run all parts and yield what they found, in their order, as soon as it is known.

    Where processes can be forked there are as many of them as processors, but no more than parts.
    """
    n_processes = min(_n_processors(), len(found.parts))
    if n_processes < 2:
        for part in found.parts:
            yield _quietly(part)
        return
    # What is patched here is patched there as well, and parts need not be picklable.
    global _PARTS
    _PARTS = found.parts
    context = multiprocessing.get_context("fork")
    # A process for each part: threads that a cluster leaves behind log into what later fits show.
    with context.Pool(n_processes, maxtasksperchild=1) as pool:
        longest_first = sorted(range(len(_PARTS)), key=lambda position: -_PARTS[position].cost)
        found_at = {position: pool.apply_async(_run, (position,)) for position in longest_first}
        for position in range(len(_PARTS)):
            yield found_at[position].get()


_PARTS: list[AuditPart] = []


def _run(position: int) -> Outcome:
    return _quietly(_PARTS[position])


def _quietly(part: AuditPart) -> Outcome:
    """Run a part without the warnings of its fits, which replays compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return part.run()


def _n_processors() -> int:
    """Return how many processors there are where processes can be forked, otherwise one."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m dpboost.audit",
        description="Audit every recipe: exact privacy losses of replayed fits, and lower bounds "
        "of epsilon from outside.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"less than a minute on two processors: {QUICK_RUNS} fits a table in a few black "
        f"boxes, instead of up to {LONG_RUNS} in all",
    )
    parser.add_argument("--runs", type=int, help="fits a table in a black box")
    parser.add_argument("--epsilon", type=float, default=1.0, help="claimed epsilon (1)")
    parser.add_argument(
        "--recipe",
        action="append",
        choices=[SAMPLERS, CALLS, *ALGORITHMS.names, *TREES, OTHER, SESSION, CLUSTER, PARTIES],
        help="only this one; repeatable",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        help="replay random fits for so long instead: tables, parameters and containers at random",
    )
    parser.add_argument("--seed", type=int, help="draws the random fits (not their noise)")
    return parser.parse_args(arguments)


def _random(options: argparse.Namespace) -> int:
    """Replay random fits in every processor, and print what they found."""
    seed = secrets.randbits(32) if options.seed is None else options.seed
    seeds = range(seed, seed + _n_processors())
    run = partial(_random_of, 60 * options.minutes)
    if len(seeds) == 1:
        audits = [run(seed)]
    else:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(len(seeds), mp_context=context) as pool:
            futures = [pool.submit(run, one) for one in seeds]
            audits = [future.result() for future in futures]
    for audit in audits:
        print(
            f"seed {audit.seed}: {audit.n_replays} random replays in {audit.seconds:.0f} seconds, "
            f"{audit.n_stopped} of them ended by an error of both fits, "
            f"{audit.n_refused} fits refused, {len(audit.violations)} violations"
        )
        _print_violations(audit.violations[:MOST_SHOWN])
    return int(any(audit.violations for audit in audits))


def _random_of(seconds: float, seed: int) -> RandomAudit:
    return random_audit(seconds=seconds, seed=seed)


def _print(outcome: Outcome) -> None:
    audit = outcome.audit
    if isinstance(audit, RecipeAudit):
        _print_replay(outcome.name, audit)
    elif isinstance(audit, BoxAudit):
        _print_box(outcome.name, audit)
    else:
        verdict = "ok" if outcome.sound else "VIOLATION"
        runs = "" if outcome.runs is None else outcome.runs
        seconds = f"{outcome.seconds:.1f}"
        print(ROW.format(outcome.name, outcome.what, "", "", runs, seconds, verdict))
        _print_reached(outcome.name, outcome.reached)
        for label in outcome.labels:
            print(ROW.format(outcome.name, f"  {label}, audited", "", "", "", "", "").rstrip())
    if not isinstance(audit, BoxAudit):
        _print_violations(outcome.violations)


def _print_violations(violations: Sequence[tuple[str, Violation]]) -> None:
    for where, violation in violations:
        print(f"  {where}: {violation}")


def _print_left_out(found: Plan, stopped: Sequence[str]) -> None:
    """Say beside the verdict what it does not speak of."""
    left_out = [*found.left_out, *(f"stopped by an error: {where}" for where in stopped)]
    if left_out:
        print("not audited:")
    for line in left_out:
        print(f"  {line}")


def _print_replay(name: str, audit: RecipeAudit) -> None:
    """Print the total and what each kind of release reached."""
    pure = audit.privacy_measure == "epsilon"
    what = "largest total loss" if pure else f"largest cost in {audit.privacy_measure}, part of all"
    claimed, measured = (audit.epsilon, audit.largest_loss) if pure else (1.0, audit.largest_cost)
    verdict, seconds = "VIOLATION" if audit.violations else "ok", f"{audit.seconds:.1f}"
    numbers = (f"{claimed:.3f}", f"{measured:.3f}", audit.n_runs, seconds)
    print(ROW.format(name, f"replay: {what}", *numbers, verdict))
    _print_reached(name, audit.reached)


def _print_reached(name: str, reached: Mapping[str, float]) -> None:
    for label, part in sorted(reached.items()):
        text = f"  {label}, part of its charge"
        print(ROW.format(name, text, "1.000", f"{part:.3f}", "", "", ""))


def _print_box(name: str, audit: BoxAudit) -> None:
    verdict = "VIOLATION" if audit.violated else "ok"
    if audit.privacy_measure == "mu squared":
        verdict += f" (by mu >= {audit.bound:.4f} of {audit.claim:.4f})"
    claimed, measured = f"{audit.epsilon:.3f}", f">={audit.epsilon_bound:.3f}"
    numbers = (claimed, measured, audit.estimate.n_runs, f"{audit.seconds:.1f}")
    print(ROW.format(name, f"black box, {audit.setting}"[:46], *numbers, verdict))


if __name__ == "__main__":
    sys.exit(main())
