"""Check that parallel scopes use disjoint rows, from the structure of a fit.

A replay detects releases on the same rows that are charged as disjoint only if a row is in two
parts at once. The assignment of rows of a fit is visible in any run.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpboost.audit.run_trace import CoinRequest, RunTrace, Violation
from dpboost.privacy.ledger import Scope

#: Trees of one ensemble: a coin puts each row into one of them.
BY_COINS = "disjoint rows"

#: Rows that train and rows that intervals are read off: a coin puts each row, or user, into one.
HELD_OUT = "rows dealt by secret coins"
HELD_OUT_PARTS = frozenset({"training rows", "rows held out"})

#: Nodes of a tree, by released splits: parts of a level, and what a depth pays for all its nodes.
BY_SPLITS = ("parts", "depth ")

CHECK = "disjoint scopes"


def disjoint_scopes(transcript: RunTrace) -> list[Violation]:
    """Check where a fit asked for coins, and what it charges side by side.

    Every ensemble asks once, before its trees, for one coin a row, and reads it once. A parallel
    scope is one whose rows are known to be disjoint, for a reason that this module knows.
    """
    if transcript.ledger is None:
        return []
    found = [*_read_once(transcript.coins)]
    for scope in _parallel(transcript.ledger.root):
        name = scope.path[-1]
        if name == BY_COINS:
            found += _dealt(scope, transcript.coins)
        elif name == HELD_OUT:
            found += _held_out(scope, transcript.coins)
        elif not name.startswith(BY_SPLITS):
            found.append(_violation(scope, "nothing is known that makes its parts disjoint"))
    return found


def _parallel(scope: Scope) -> Iterator[Scope]:
    for child in scope.children.values():
        if child.parallel:
            yield child
        yield from _parallel(child)


def _dealt(scope: Scope, coins: list[CoinRequest]) -> Iterator[Violation]:
    """Check the coins of one ensemble."""
    outside = scope.path[:-1]
    asked = sum(request.scope == outside for request in coins)
    inside = sum(request.scope[: len(scope.path)] == scope.path for request in coins)
    if inside:
        yield _violation(scope, f"{inside} requests for coins by trees that are to share one")
    if asked > 1 or (asked == 0 and len(scope.children) > 1):
        yield _violation(scope, f"{asked} requests for coins for {len(scope.children)} trees")


def _held_out(scope: Scope, coins: list[CoinRequest]) -> Iterator[Violation]:
    """Check the coins that set rows aside: drawn before either part."""
    if not any(request.scope == scope.path[:-1] for request in coins):
        yield _violation(scope, "no request for the random assignment that holds out rows")
    if not HELD_OUT_PARTS.issuperset(scope.children):
        yield _violation(scope, "other parts than the rows that train and those held out")
    late = (*scope.path, "rows held out")
    if any(request.scope[: len(late)] == late for request in coins):
        yield _violation(scope, "a request for coins by the rows held out")


def _read_once(coins: list[CoinRequest]) -> Iterator[Violation]:
    """Check that no coin decides twice: a row could be in two parts."""
    for request in coins:
        seen = 0
        for first, stop in sorted(request.readings):
            if first < seen:
                where = "/".join(request.scope) or "fit"
                yield Violation(CHECK, where, "a coin of a row is read twice")
                break
            seen = stop


def _violation(scope: Scope, message: str) -> Violation:
    return Violation(CHECK, "/".join(scope.path), message)
