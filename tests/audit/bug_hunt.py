"""How many planted bugs the audit of the whole library sees, which check does, and how soon.

    python -m tests.audit.bug_hunt          # a line of JSON for each bug, as they are known
    python -m tests.audit.bug_hunt --again  # only the steps that saw them, as kept
    python -m tests.audit.bug_hunt --page > benchmarks/results/planted-bugs.txt

Every step of the long audit but its black boxes runs, each pair in one direction, until one of
them sees the bug. A bug is planted in a process of its own. The page shows the lines that are kept
in ``planted_bugs_first.jsonl``, of the audit as it was when the bugs were written, and
``planted_bugs.jsonl``, of the audit as it is.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from dpboost.audit import Violation, Witness, estimator_fit
from dpboost.audit.boosting_audit import bank, category_learner, estimator_of, stale_noise
from dpboost.audit.claims import unfounded_claims
from dpboost.audit.delta_audit import lone_category
from dpboost.audit.fit_variety import other_cases
from dpboost.audit.local_audit import local_reports
from dpboost.audit.noise_independence import dependent_noise
from dpboost.audit.pair_replay import replay_pair
from dpboost.audit.parts import SHARED, WHOLE_BANKS
from dpboost.audit.rare_outcomes import rare_outcomes
from dpboost.audit.refusals import telling_refusals
from dpboost.audit.sampler_laws import sampler_laws
from dpboost.audit.tree_audit import TREE_RECIPES, stale_tree_noise, tree_bank, tree_fit
from dpboost.privacy.sensitivity.bound import Neighbors
from tests.audit.planted_bugs import BUGS, PlantedBug

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE

Step = tuple[str, Callable[[], Iterable[Violation]]]


def steps() -> Iterator[Step]:
    """Yield the steps of an audit, the ones that see most first."""
    yield "rare outcomes", rare_outcomes
    yield "laws of samplers", sampler_laws
    yield "reports of devices", local_reports
    yield "refusals", telling_refusals
    yield "claims without privacy", unfounded_claims
    yield from _cases(ADD, 1.0, 1e-6)
    for recipe in ("best", "dpboost"):
        yield from _recipe(recipe, ADD, 1e-6)
    for recipe in TREE_RECIPES:
        yield from _tree(recipe, ADD)
    for recipe in ("best", "dpboost"):
        yield f"{recipe}, two fits", lambda recipe=recipe: stale_noise(recipe)
    yield "tree:best, two fits", lambda: stale_tree_noise("best")
    yield "lone category", lambda: lone_category(category_learner("best", ADD))
    yield "independent noise", dependent_noise
    yield from _cases(REPLACE, 1.0, 1e-6)
    for recipe in ("best", "dpboost"):
        yield from _recipe(recipe, REPLACE, 1e-6)
    yield from _recipe("best", ADD, 0.0)
    yield from _cases(ADD, 12.0, 1e-6)
    for recipe in ("para", "seq"):
        yield from _recipe(recipe, ADD, 1e-6)


def _own(witnesses: Iterable[Witness], name: str) -> Iterator[Witness]:
    """Leave out what several recipes share, but for the first of them, as the quick audit does."""
    return (w for w in witnesses if name in WHOLE_BANKS or not w.name.startswith(SHARED))


def _cases(neighbors: Neighbors, epsilon: float, delta: float) -> Iterator[Step]:
    for witness, fit in other_cases(neighbors, epsilon=epsilon, delta=delta):

        def check(witness=witness, fit=fit) -> Iterator[Violation]:
            if witness.before is not None:
                witness.before()
            more = {"group": witness.group, "several": witness.several}
            yield from replay_pair(fit, witness.pair, **more).violations

        yield f"other fits, epsilon {epsilon:g}, {witness.name}, {neighbors.value}", check


def _recipe(recipe: str, neighbors: Neighbors, delta: float) -> Iterator[Step]:
    for witness in _own(bank(relations=[neighbors]), recipe):
        if delta == 0 and "assume_public" in witness.settings:
            continue
        asked = replace(witness, settings={**witness.settings, "delta": delta})

        def check(asked=asked) -> Iterator[Violation]:
            fit = estimator_fit(estimator_of(recipe, asked, 1.0))
            yield from replay_pair(fit, asked.pair).violations

        yield f"{recipe}, delta {delta:g}, {witness!r}", check


def _tree(recipe: str, neighbors: Neighbors) -> Iterator[Step]:
    for witness in _own(tree_bank(recipe, [neighbors]), f"tree:{recipe}"):

        def check(witness=witness) -> Iterator[Violation]:
            yield from replay_pair(tree_fit(recipe, witness, 1.0), witness.pair).violations

        yield f"tree:{recipe}, {witness!r}", check


def hunt(bug: PlantedBug) -> dict[str, Any]:
    """Plant a bug and run the audit until a step sees it."""
    started = time.process_time()
    errors = 0
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for patch in bug.patches():
            stack.enter_context(mock.patch.object(*patch))
        for where, check in steps():
            try:
                violation = next(iter(check()), None)
            except Exception as error:  # noqa: BLE001 - what stops a step is no finding
                errors += 1
                violation, last = None, repr(error)
                print(bug.name, where, last[:200], file=sys.stderr)
            if violation is not None:
                seconds = time.process_time() - started
                found = {"check": violation.check, "where": where, "seconds": round(seconds, 2)}
                return {"bug": bug.name, "kind": bug.kind, "errors": errors, **found}
    seconds = time.process_time() - started
    return {
        "bug": bug.name,
        "kind": bug.kind,
        "errors": errors,
        "check": "",
        "where": "",
        "seconds": round(seconds, 2),
    }


def seen_again(bug: PlantedBug, where: str, by_name: dict[str, Any]) -> dict[str, Any]:
    """Plant a bug and run one step of the audit, which is to see it."""
    told = {"bug": bug.name, "kind": bug.kind, "errors": 0, "check": "", "where": where}
    if not where:
        return {**told, "seconds": 0.0}
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for patch in bug.patches():
            stack.enter_context(mock.patch.object(*patch))
        started = time.process_time()
        runs = (next(iter(by_name[where]()), None) for _ in range(TRIES))
        violation = next(filter(None, runs), None)
        seconds = time.process_time() - started
    check = "" if violation is None else violation.check
    return {**told, "check": check, "seconds": round(seconds, 2)}


def main() -> None:
    """Hunt every bug, or those whose names hold an argument; or print the page."""
    if sys.argv[1:] == ["--page"]:
        print(page())
        return
    if sys.argv[1:] == ["--again"]:
        by_name = dict(steps())
        for bug in BUGS:
            print(json.dumps(seen_again(bug, kept(NOW)[bug.name]["where"], by_name)), flush=True)
        return
    chosen = [bug for bug in BUGS if not sys.argv[1:] or any(a in bug.name for a in sys.argv[1:])]
    context = multiprocessing.get_context("fork")
    with context.Pool(2, maxtasksperchild=1) as pool:
        for result in pool.imap_unordered(_by_name, [bug.name for bug in chosen], chunksize=1):
            print(json.dumps(result), flush=True)


def kept(name: str) -> dict[str, dict[str, Any]]:
    """Return the lines that a file keeps, by the names of the bugs."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return {result["bug"]: result for result in map(json.loads, lines)}


#: A step runs so often until it sees a bug whose effect depends on the noise of the fit.
TRIES = 40

FIRST, NOW = "planted_bugs_first.jsonl", "planted_bugs.jsonl"


def page() -> str:
    """Return what was found at first and is found now, as a page."""
    first, now = kept(FIRST), kept(NOW)
    names = [bug.name for bug in BUGS]
    rates = [sum(bool(found[name]["check"]) for name in names) for found in (first, now)]
    lines = [
        "# Planted bugs",
        "",
        f"{len(names)} bugs of kinds that the tables of the audit lacked, written before anybody "
        "looked whether they are seen.",
        f"At first the audit saw {rates[0]} of them; after it was mended it sees {rates[1]}.",
        "",
        "    python -m tests.audit.bug_hunt",
        "    python -m tests.audit.bug_hunt --page > benchmarks/results/planted-bugs.txt",
        "",
        "At first the steps of the long audit ran, but for its black boxes and with each pair of "
        "tables in one direction, until one saw the bug. That was the audit with rare outcomes, "
        "independent noise, disjoint scopes and the fits of `fit_variety.py`, before this list led "
        "to sampler laws, claims, side effects, refusals, reports of devices, cross-validation, "
        "ensembles under Gaussian noise, and tables that one row more moves as a whole. Now the "
        f"step that sees the bug runs alone, {TRIES} times at most where its effect depends on the "
        "noise; seconds are those of the processor until it does. "
        "`tests/audit/test_planted_bugs.py` keeps this true.",
        "",
        "| bug | kind | at first | now | by which step | seconds |",
        "|---|---|---|---|---|---|",
    ]
    for bug in BUGS:
        before, after = first[bug.name], now[bug.name]
        lines.append(
            f"| {bug.name} | {bug.kind} | {before['check'] or 'missed'} | "
            f"{after['check'] or 'missed'} | {after['where'].replace('|', '/')} | "
            f"{after['seconds'] if after['check'] else ''} |"
        )
    return "\n".join(lines)


def _by_name(name: str) -> dict[str, Any]:
    return hunt(next(bug for bug in BUGS if bug.name == name))


if __name__ == "__main__":
    main()
