"""Audit every recipe of the library: ``python -m dpboost.audit [--quick]``.

Exits with 1 when anything refutes a claim. ``python -u -m dpboost.audit | tee FILE`` shows the
lines of the long run as they are known.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import dpboost
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
from dpboost.audit.rare_outcomes import rare_outcomes
from dpboost.audit.tree_audit import (
    TREE_RECIPES,
    replay_tree_recipe,
    tree_bank,
    tree_black_box,
)
from dpboost.audit.witnesses import DELTA
from dpboost.privacy.neighbours import Neighbours
from dpboost.recipes import ALGORITHMS

# Recipes of DPTreeClassifier by the names that the command knows them by.
TREES = {f"tree:{name}": name for name in TREE_RECIPES}

QUICK_RUNS = 400
LONG_RUNS = 100_000

#: So many show as much where a single number holds the whole budget, under a pure epsilon.
LONG_RUNS_OF_ONE_NUMBER = 20_000

#: A row in one tree of several shows far less than the claim, so fewer fits look for alarms.
ENSEMBLE_PART = 10
LEAST_RUNS = 100

ROW = "{:<14} {:<46} {:>8} {:>10} {:>8} {:>8}  {}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the audits and print one line for each.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; that of the process by default.

    Returns
    -------
    int
        0 when every claim stands, else 1.
    """
    options = _options(arguments)
    print(f"dpboost {dpboost.__version__}, epsilon {options.epsilon:g}, delta {DELTA:g} or 0")
    print(ROW.format("recipe", "audit", "claimed", "measured", "runs", "seconds", "verdict"))
    sound = _print_samplers()
    # The long run takes both relations; the quick one leaves "replace" to the tests.
    relations = (Neighbours.ADD_REMOVE,) if options.quick else tuple(Neighbours)
    chosen = options.recipe or [*ALGORITHMS.names, *TREES]
    for name in (name for name in chosen if name in TREES):
        bank_of_tree = list(tree_bank(TREES[name], relations))
        replayed = replay_tree_recipe(TREES[name], epsilon=options.epsilon, chosen=bank_of_tree)
        _print_replay(name, replayed)
        runs = options.runs or (QUICK_RUNS if options.quick else LONG_RUNS_OF_ONE_NUMBER)
        boxed = tree_black_box(TREES[name], epsilon=options.epsilon, n_runs=runs)
        _print_box(name, boxed)
        sound &= not replayed.violations and not boxed.violated
    for recipe in (name for name in chosen if name in ALGORITHMS.names):
        runs = options.runs or (QUICK_RUNS if options.quick else _long_runs(recipe))
        settings = [(ONE_TREE, runs)]
        if not options.quick:
            settings.append((ENSEMBLE, max(LEAST_RUNS, runs // ENSEMBLE_PART)))
        for delta in deltas(recipe):
            name = recipe if delta else f"{recipe}, delta 0"
            replayed = replay_recipe(
                recipe, epsilon=options.epsilon, delta=delta, chosen=list(bank(relations=relations))
            )
            _print_replay(name, replayed)
            sound &= not replayed.violations
            for setting, n_runs in settings:
                boxed = black_box(
                    recipe, setting, epsilon=options.epsilon, delta=delta, n_runs=n_runs
                )
                _print_box(name, boxed)
                sound &= not boxed.violated
    print(
        "every claim stands"
        if sound
        else "VIOLATION: at least one claim is false, see the lines above"
    )
    return 0 if sound else 1


def _long_runs(recipe: str) -> int:
    divided = ALGORITHMS.find(recipe, "audit").start_share is not None
    return LONG_RUNS if divided else LONG_RUNS_OF_ONE_NUMBER


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m dpboost.audit",
        description="Audit every recipe: exact privacy losses of replayed fits, and lower bounds "
        "of epsilon from outside.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"add/remove witnesses and {QUICK_RUNS} fits a table, instead of up to {LONG_RUNS}",
    )
    parser.add_argument("--runs", type=int, help="fits a table in the black box")
    parser.add_argument("--epsilon", type=float, default=1.0, help="claimed epsilon (1)")
    parser.add_argument(
        "--recipe",
        action="append",
        choices=[*ALGORITHMS.names, *TREES],
        help="only this one; repeatable",
    )
    return parser.parse_args(arguments)


def _print_samplers() -> bool:
    """Audit the samplers that all recipes share; return whether they are sound."""
    started = time.perf_counter()
    violations = rare_outcomes()
    verdict = "VIOLATION" if violations else "ok"
    seconds = f"{time.perf_counter() - started:.1f}"
    print(ROW.format("samplers", "outcomes too rare to wait for", "", "", "", seconds, verdict))
    for violation in violations:
        print(f"  {violation}")
    return not violations


def _print_replay(name: str, audit: RecipeAudit) -> None:
    """Print the total, what each kind of release reached, and every violation."""
    pure = audit.privacy_measure == "epsilon"
    what = "largest total loss" if pure else f"largest cost in {audit.privacy_measure}, part of all"
    claimed, measured = (audit.epsilon, audit.largest_loss) if pure else (1.0, audit.largest_cost)
    print(
        ROW.format(
            name,
            f"replay: {what}",
            f"{claimed:.3f}",
            f"{measured:.3f}",
            audit.n_runs,
            f"{audit.seconds:.1f}",
            "VIOLATION" if audit.violations else "ok",
        )
    )
    for label, part in sorted(audit.reached.items()):
        text = f"  {label}, part of its charge"
        print(ROW.format(name, text, "1.000", f"{part:.3f}", "", "", ""))
    for witness, violation in audit.violations:
        print(f"  {witness}: {violation}")
    for witness, reason in audit.skipped:
        print(f"  stopped by an error: {witness}: {reason}")


def _print_box(name: str, audit: BoxAudit) -> None:
    verdict = "VIOLATION" if audit.violated else "ok"
    if audit.privacy_measure == "mu squared":
        verdict += f" (by mu >= {audit.bound:.4f} of {audit.claim:.4f})"
    print(
        ROW.format(
            name,
            f"black box, {audit.setting}"[:46],
            f"{audit.epsilon:.3f}",
            f">={audit.epsilon_bound:.3f}",
            audit.estimate.n_runs,
            f"{audit.seconds:.1f}",
            verdict,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
